"""What was published of the four rewrites, and the words about each."""

# Dollars a year: 300,000 of them for 400 vCPU were reported.
VCPU_PRICE = 750
# The rate at which both clusters were compared.
PAYMENTS_RATE = 80_000

REPORTED = {
    "payments": {
        "title": "Payments: balance and statistics, Go → Rust",
        "setting": "32,000 different requests: both endpoints of 16,000 accounts.",
        "rate": "85,000 → 150,000/s and 105,000 → 210,000/s, on 40 vCPU each",
        "at": "80,000/s",
        "cpu": "78.3 → 52.0 % of 40 vCPU (-33.6 %)",
        "rss": "7.4 → 2.07 % of 80 GB (-72 %)",
        "p99": "19.87 → 4.79 ms (-76 %)",
        "answers": "in shadow mode for weeks, until 100 % agreed",
        "saving": "more than 400 vCPU fewer, about 300,000 dollars a year",
        "missing": "Not had here: two clusters of 40 vCPU and 80 GB, so neither 80,000/s nor a share of such a machine. Each service has one core. "
        "What is fewer at 80,000/s is computed from the CPU per request here, and not measured.",
    },
    "events": {
        "title": "Events: a router behind a Unix socket, Go → Rust",
        "setting": "2,000 different messages of 512 bytes of YAML.",
        "rss": "800 → 36 MB",
        "heap": "2 GB → 45 MB; 4 MB → 32 KB for one message",
        "p99": "489 → 12 ms (target: below 50)",
        "gc_max": "14 → below 1 ms",
        "answers": "not reported",
        "missing": "Not had here: 12,000 and 45,000 concurrent users, 30 minutes of soak in this table, and the heap for one message. The sample's router has "
        "no other work and no large documents, so its heap is small. The call through C (700 µs more) is no part of the sample.",
    },
    "items": {
        "title": "Items: a POST with a downstream call, Node → Rust",
        "setting": "2,000 different requests of 20 items; the downstream is nginx with a fixed answer, on the generator's core.",
        "rate": "1,200 → 21,600/s, on 4 cores",
        "p50": "300 → 17 ms",
        "p95": "820 → 38 ms",
        "rss": "lower and steady",
        "answers": "in shadow mode for a week; a health check by one payload",
        "missing": "Not had here: 4 cores, and a window of 60 seconds. The reported latencies are those of a closed load at each one's limit; here both "
        "get the same rate, which both hold.",
    },
    "echo": {
        "title": "Echo: JSON of 1 KB, Go net/http → Rust hyper",
        "setting": "2,000 different requests of 1 KB, answered with 2 KB.",
        "rate": "98,200 → 102,400/s",
        "at": "100,000/s",
        "cpu": "81 → 72 %",
        "rss": "190 → 112 MB",
        "p50": "31 → 23 ms",
        "p95": "98 → 67 ms",
        "p99": "136 → 89 ms",
        "p999": "187 → 112 ms",
        "gc_max": "12 → 0 ms",
        "answers": "none",
        "missing": "Not had here: 100,000/s, 30 minutes after 5 of warm-up, and requests of 256 and 512 bytes. Three runs, but each with its spread "
        "and not averaged.",
    },
}

GENERATORS = (
    "All ask the candidate of echo, with one body of 1 KB. The service has one core, the generator the others. CPU is that of the generator's process "
    "from its start to its end, divided by the answers. Closed: 64 connections, each of which waits for its answer; parity has no such mode. Open: "
    "requests are due at a rate, and latencies count from then (`oha -q RATE --latency-correction`; wrk has no such mode). The higher rate is nine "
    "tenths of what wrk got answered in its first round. Errors of parity are mostly requests that were due and found no place, because too many were "
    "unanswered; closed generators never see those."
)

MIRROR = (
    "A mirror with SQLite stands between the two versions of echo, compares and records everything. `parity soak` sends the same requests to the legacy "
    "alone and to the mirror, and watches the mirror's process."
)
