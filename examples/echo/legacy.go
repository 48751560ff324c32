// The echo service before its rewrite: 1 KB of JSON comes in, 2 KB go out, with the server's time and the name of who answered.
// ../common/page.go has its page of metrics. Usage: legacy HOST:PORT
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"
	"unicode/utf8"
)

const largest = 64 * 1024

type entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type ping struct {
	ID        string  `json:"id"`
	UserAgent string  `json:"user_agent"`
	Metadata  []entry `json:"metadata"`
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text})
}

func answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/echo" {
		fail(w, http.StatusNotFound, "no such resource")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "the request is too large or broke off")
		return
	}
	var in ping
	if err := json.Unmarshal(body, &in); err != nil {
		fail(w, http.StatusBadRequest, "the request is no ping")
		return
	}
	metadata := []map[string]any{}
	for index, one := range in.Metadata {
		metadata = append(metadata, map[string]any{
			"index":  index,
			"key":    one.Key,
			"value":  one.Value,
			"length": utf8.RuneCountInString(one.Value),
			"line":   one.Key + "=" + one.Value,
		})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"id":           in.ID,
		"user_agent":   in.UserAgent,
		"processed_by": "echo-go",
		"server_time":  time.Now().UTC(),
		"metadata":     metadata,
	})
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: legacy HOST:PORT")
	}
	log.Fatal(http.ListenAndServe(os.Args[1], measured(answer)))
}
