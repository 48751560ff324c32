// The event router before its rewrite: a YAML message of 512 bytes comes in, where it is to go is answered.
// It reads the whole document and makes generic maps of all of it.
// ../common/page.go has its page of metrics. Usage: legacy /PATH/OF/SOCKET
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
)

// parse reads the part of YAML that events use: a block mapping whose values are scalars or one more block mapping.
func parse(text string) (map[string]any, error) {
	document := map[string]any{}
	var inner map[string]any
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, found := strings.Cut(line, ":")
		if !found {
			return nil, errors.New("a line without a key")
		}
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(line, " "):
			if inner == nil {
				return nil, errors.New("a line that belongs to nothing")
			}
			inner[strings.TrimSpace(key)] = value
		case value == "":
			inner = map[string]any{}
			document[key] = inner
		default:
			inner = nil
			document[key] = value
		}
	}
	return document, nil
}

var areas = map[string]string{"SE": "eu-north", "NO": "eu-north", "DE": "eu-central", "US": "us-east"}

func route(document map[string]any, bytes int) (map[string]string, error) {
	text := func(key string) string {
		value, _ := document[key].(string)
		return value
	}
	priority, err := strconv.Atoi(text("priority"))
	if err != nil || text("id") == "" || text("type") == "" {
		return nil, errors.New("no event")
	}
	area, known := areas[text("region")]
	if !known {
		area = "other"
	}
	word := "normal"
	if priority >= 7 {
		word = "high"
	}
	topic, _, _ := strings.Cut(text("type"), ".")
	labels, _ := document["labels"].(map[string]any)
	return map[string]string{
		"id":          text("id"),
		"destination": area + "/" + topic,
		"region":      strconv.Quote(text("region")),
		"priority":    word,
		"labels":      strconv.Itoa(len(labels)),
		"bytes":       strconv.Itoa(bytes),
	}, nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	if r.Method != http.MethodPost || r.URL.Path != "/events" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintln(w, "error: no such resource")
		return
	}
	body, err := io.ReadAll(r.Body)
	var document map[string]any
	if err == nil {
		document, err = parse(string(body))
	}
	var routed map[string]string
	if err == nil {
		routed, err = route(document, len(body))
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, "error: no event")
		return
	}
	keys := make([]string, 0, len(routed))
	for key := range routed {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Fprintf(w, "%s: %s\n", key, routed[key])
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: legacy /PATH/OF/SOCKET")
	}
	listener, err := net.Listen("unix", strings.TrimPrefix(os.Args[1], "unix:"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, measured(answer)))
}
