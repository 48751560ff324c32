// The page of metrics of a sample in Go, as Go's client library for Prometheus would write it: what it answered, how long that took, what
// the process has, and what its garbage collector did. `run.sh` builds it together with the legacy.go of an example.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Edges of the histogram lie a tenth apart, from 5 µs on.
const edges = 130

var (
	started = float64(time.Now().UnixNano()) / 1e9
	counted sync.Mutex
	took    [edges + 1]uint64
	total   time.Duration
	codes   = map[int]uint64{}
)

type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// measured counts what a service answers, and answers /metrics itself. METRICS=HOST:PORT in the environment is one more address of that
// page, for a service that has only a socket.
func measured(answer http.HandlerFunc) http.HandlerFunc {
	if address := os.Getenv("METRICS"); address != "" {
		go func() {
			log.Fatal(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { page(w) })))
		}()
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			page(w)
			return
		}
		begun := time.Now()
		recorder := &recorder{w, http.StatusOK}
		answer(recorder, r)
		elapsed := time.Since(begun)
		bucket, edge := 0, 5e-6
		for bucket < edges && elapsed.Seconds() > edge {
			bucket, edge = bucket+1, edge*1.1
		}
		counted.Lock()
		defer counted.Unlock()
		took[bucket]++
		total += elapsed
		codes[recorder.code]++
	}
}

func page(w http.ResponseWriter) {
	counted.Lock()
	defer counted.Unlock()
	fmt.Fprintln(w, "# TYPE http_requests_total counter")
	for code, count := range codes {
		fmt.Fprintf(w, "http_requests_total{code=\"%d\"} %d\n", code, count)
	}
	name := "http_request_duration_seconds"
	fmt.Fprintf(w, "# TYPE %s histogram\n", name)
	within, edge := uint64(0), 5e-6
	for _, count := range took[:edges] {
		within += count
		fmt.Fprintf(w, "%s_bucket{le=\"%.7f\"} %d\n", name, edge, within)
		edge *= 1.1
	}
	within += took[edges]
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %f\n%s_count %d\n", name, within, name, total.Seconds(), name, within)
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		seconds := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
		fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %f\n", seconds)
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, _ := strconv.ParseUint(strings.Fields(string(statm))[1], 10, 64)
		fmt.Fprintf(w, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %d\n", pages*uint64(os.Getpagesize()))
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		fmt.Fprintf(w, "# TYPE process_open_fds gauge\nprocess_open_fds %d\n", len(files))
	}
	fmt.Fprintf(w, "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %f\n", started)
	pauses(w)
}

// The quantiles are of the last 256 pauses, sum and count of all of them.
func pauses(w http.ResponseWriter) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	name := "go_gc_duration_seconds"
	fmt.Fprintf(w, "# TYPE %s summary\n", name)
	for at, pause := range stats.PauseQuantiles {
		fmt.Fprintf(w, "%s{quantile=\"%g\"} %.9f\n", name, float64(at)/4, pause.Seconds())
	}
	fmt.Fprintf(w, "%s_sum %.9f\n%s_count %d\n", name, stats.PauseTotal.Seconds(), name, stats.NumGC)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(w, "# TYPE go_memstats_heap_inuse_bytes gauge\ngo_memstats_heap_inuse_bytes %d\n", memory.HeapInuse)
}
