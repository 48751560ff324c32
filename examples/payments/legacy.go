// The payments service before its rewrite: balance and statistics of an account, computed from its ledger.
// ../common/page.go has its page of metrics. Usage: legacy HOST:PORT
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	accounts = 16000
	first    = 10000
	entries  = 200
)

type entry struct {
	Cents   uint64
	Partner string
}

var partners = []string{"retail", "online", "travel"}

// The amounts of an account; every version of the service has the same ledger.
func ledger(account uint64) []entry {
	all := make([]entry, 0, entries)
	state := account
	for len(all) < entries {
		state = (state*1103515245 + 12345) % (1 << 31)
		all = append(all, entry{Cents: (state>>8)%20000*5 + 5, Partner: partners[len(all)%len(partners)]})
	}
	return all
}

func money(cents uint64) string {
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

type balance struct {
	Account  string    `json:"account"`
	Currency string    `json:"currency"`
	Balance  string    `json:"balance"`
	AsOf     time.Time `json:"as_of"`
}

type statistics struct {
	Account  string   `json:"account"`
	Payments int      `json:"payments"`
	Total    string   `json:"total"`
	Median   string   `json:"median"`
	Largest  string   `json:"largest"`
	Fees     string   `json:"fees"`
	Partners []string `json:"partners"`
	Flags    []string `json:"flags"`
}

func balanceOf(account uint64) balance {
	var total uint64
	for _, one := range ledger(account) {
		total += one.Cents
	}
	return balance{
		Account:  fmt.Sprintf("acc-%d", account),
		Currency: "EUR",
		Balance:  money(total),
		AsOf:     time.Date(2026, 3, 1, 9, 30, 12, 120000000+int(account%10)*1000000, time.UTC),
	}
}

func statisticsOf(account uint64) statistics {
	all := ledger(account)
	// A copy for each order in which the ledger is wanted.
	sorted := append([]entry(nil), all...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Cents < sorted[j].Cents })
	var total, fees uint64
	byPartner := map[string][]entry{}
	for _, one := range all {
		total += one.Cents
		fees += (one.Cents*13 + 500) / 1000
		byPartner[one.Partner] = append(byPartner[one.Partner], one)
	}
	result := statistics{
		Account:  fmt.Sprintf("acc-%d", account),
		Payments: len(all),
		Total:    money(total),
		Median:   money(sorted[len(sorted)/2].Cents),
		Largest:  money(sorted[len(sorted)-1].Cents),
		Fees:     money(fees),
	}
	// The order of a map: another one for every answer.
	for partner := range byPartner {
		result.Partners = append(result.Partners, partner)
	}
	if account%4 == 0 {
		result.Flags = append(result.Flags, "watched")
	}
	return result
}

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.Method == http.MethodGet && len(path) == 3 && path[0] == "accounts" {
		account, err := strconv.ParseUint(strings.TrimPrefix(path[1], "acc-"), 10, 64)
		if err == nil && strings.HasPrefix(path[1], "acc-") && account >= first && account < first+accounts {
			switch path[2] {
			case "balance":
				json.NewEncoder(w).Encode(balanceOf(account))
				return
			case "statistics":
				json.NewEncoder(w).Encode(statisticsOf(account))
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
	json.NewEncoder(w).Encode(map[string]string{"error": "no such account"})
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: legacy HOST:PORT")
	}
	log.Fatal(http.ListenAndServe(os.Args[1], measured(answer)))
}
