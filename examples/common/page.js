// The page of metrics of a sample in Node, as its client library for Prometheus would write it: what it answered, how long that took,
// what the process has, and what its garbage collector did.
"use strict";
const fs = require("fs");
const { PerformanceObserver } = require("perf_hooks");

// Edges of the histograms lie a tenth apart, from 5 µs on.
const EDGES = Array.from({ length: 130 }, (_, at) => 5e-6 * 1.1 ** at);
const started = Date.now() / 1000 - process.uptime();

function histogram() {
  return { counts: new Array(EDGES.length + 1).fill(0), sum: 0 };
}

function observe(into, seconds) {
  let low = 0;
  let high = EDGES.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (EDGES[middle] < seconds) low = middle + 1;
    else high = middle;
  }
  into.counts[low] += 1;
  into.sum += seconds;
}

const took = histogram();
const pauses = histogram();
const codes = new Map();
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) observe(pauses, entry.duration / 1000);
}).observe({ entryTypes: ["gc"] });

function lines(name, { counts, sum }) {
  let within = 0;
  const buckets = counts.map((count, at) => {
    within += count;
    const edge = at < EDGES.length ? EDGES[at].toFixed(7) : "+Inf";
    return `${name}_bucket{le="${edge}"} ${within}\n`;
  });
  return `# TYPE ${name} histogram\n${buckets.join("")}${name}_sum ${sum}\n${name}_count ${within}\n`;
}

function page() {
  const { user, system } = process.cpuUsage();
  const memory = process.memoryUsage();
  let text = "# TYPE http_requests_total counter\n";
  for (const [code, count] of codes) text += `http_requests_total{code="${code}"} ${count}\n`;
  text += lines("http_request_duration_seconds", took) + lines("nodejs_gc_duration_seconds", pauses);
  const values = [
    ["process_cpu_seconds_total", "counter", (user + system) / 1e6],
    ["process_resident_memory_bytes", "gauge", memory.rss],
    ["nodejs_heap_size_used_bytes", "gauge", memory.heapUsed],
    ["process_start_time_seconds", "gauge", started],
  ];
  try {
    values.push(["process_open_fds", "gauge", fs.readdirSync("/proc/self/fd").length]);
  } catch {
    // What the machine does not tell is missing.
  }
  for (const [name, kind, value] of values) text += `# TYPE ${name} ${kind}\n${name} ${value}\n`;
  return text;
}

// Counts what a service answers, and answers /metrics itself.
exports.measured = (answer) => (request, response) => {
  if (request.url === "/metrics") {
    response.writeHead(200, { "content-type": "text/plain" });
    return response.end(page());
  }
  const begun = process.hrtime.bigint();
  response.on("finish", () => {
    observe(took, Number(process.hrtime.bigint() - begun) / 1e9);
    codes.set(response.statusCode, (codes.get(response.statusCode) || 0) + 1);
  });
  return answer(request, response);
};
