"""Prints what `run` has measured as Markdown, beside what was published: table.py FOLDER head COMMAND WINDOW REPEATS, or FOLDER PART.

A figure stands here only where something was measured. What the published setup had and this machine has not is said."""

import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

import published

WORK = pathlib.Path(sys.argv[1])


def read(name):
    path = WORK / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else None


def version(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]


def short(value):
    """Three digits that say something."""
    if value == 0:
        return "0"
    digits = max(0, 2 - int(f"{abs(value):e}".partition("e")[2]))
    return f"{value:,.{digits}f}"


def seconds(value):
    for factor, unit in (1, "s"), (1e-3, "ms"):
        if abs(value) >= factor:
            return f"{short(value / factor)} {unit}"
    return f"{short(value * 1e6)} µs"


def size(value):
    for factor, unit in (1 << 20, "MiB"), (1 << 10, "KiB"):
        if abs(value) >= factor:
            return f"{short(value / factor)} {unit}"
    return f"{short(value)} B"


def count(value):
    return f"{value:,.0f}"


def share(value):
    return f"{short(value * 100)} %"


def spread(found, spelled):
    """A median, and between what the runs were."""
    if not found:
        return "–"
    middle, low, high = (spelled(found[key]) if found.get(key) is not None else None for key in ("value", "low", "high"))
    return middle if low == high or None in (low, high) else f"{middle} ({low} to {high})"


def change(before, after):
    if not before or not after or not before["value"]:
        return "–"
    return f"{(after['value'] / before['value'] - 1) * 100:+.0f} %"


def table(head, rows):
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def head(command, *runs):
    cpu = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    memory = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1])
    now = datetime.datetime.now(datetime.timezone.utc)
    title = "Four rewrites, measured" if runs else "A mirror under a steady load"
    print(f"# {title}\n\nHow this is measured, and how to read it: [rewrites.md](rewrites.md).\n")
    print(f"Measured on {now:%Y-%m-%d, %H:%M} UTC by `{command}`: {len(os.sched_getaffinity(0))} cores ({cpu[0] if cpu else 'unknown'}), "
          f"{memory / (1 << 20):.0f} GiB, Linux {os.uname().release.split('-')[0]}, {version('go', 'version').split()[2].replace('go', 'Go ')}, "
          f"Node {version('node', '--version').lstrip('v')}, {version('rustc', '--version').split(' (')[0].replace('rustc', 'Rust')}.")
    if runs:
        window, repeats = runs
        print(f"Of each rate {repeats} × {window} s on each service, in turn: medians, and between what the runs were.")
    print()


def others():
    """How busy the machine was with other things, before the part began."""
    cores = len(os.sched_getaffinity(0))
    busy = float((WORK / "busy").read_text())
    said = f"Other programs took {busy:.2f} of {cores} cores before it"
    return said + (": rates and latencies are worse than on a quiet machine." if busy > 0.1 * cores else ".")


def held(side):
    rate = side["sustained"]
    if rate is None:
        return "none"
    if side["broken"] is None:
        # The last word is who was the limit.
        return f"at least {rate:,.0f}/s"
    return f"{rate:,.0f}/s"


# Of the measures of a table: how it is called, and how it is spelled.
MEASURES = [
    ("cpu", "CPU (cores)", short),
    ("cpu_per_request", "CPU per request", seconds),
    ("rss", "memory (RSS)", size),
    ("heap", "heap", size),
    ("p50", "p50", seconds),
    ("p95", "p95", seconds),
    ("p99", "p99", seconds),
    ("p999", "p999", seconds),
    ("errors", "errors", share),
    ("gc_max", "longest GC pause", seconds),
    ("gc_share", "time in GC pauses", share),
]


def example(name):
    document, reported = read(name), published.REPORTED[name]
    legacy, candidate = document["legacy"], document["candidate"]
    print(f"## {reported['title']}\n\n{reported['setting']} {others()}\n")
    rows = [["highest rate held", reported.get("rate", "–"), held(legacy), held(candidate), change_of_rates(legacy, candidate)]]
    besides = read(f"{name}-common")
    common = next((each for each in (besides or document)["tables"] if len(set(each["rates"])) == 1), None)
    measures = {each["measure"]: each for each in common["measures"]} if common else {}
    if common:
        which = "both were measured at" if besides else "both hold"
        rows.append([f"at a rate that {which}", reported.get("at", "–"), *(f"{rate:,.0f}/s" for rate in common["rates"]), "–"])
    for measure, title, spelled in MEASURES:
        found = measures.get(measure, {})
        before, after = found.get("legacy"), found.get("candidate")
        if before or after or measure in reported:
            no_gc = measure.startswith("gc") and before and not after
            rows.append([title, reported.get(measure, "–"), spread(before, spelled), "no collector" if no_gc else spread(after, spelled), change(before, after)])
    answers = document["answers"]
    compared = answers["equal"] + answers["differing"]
    rows.append(["answers compared under load", reported["answers"], f"{compared:,}, {answers['differing']:,} differ", "–", "–"])
    cost = (besides or document)["cost"]
    if cost and measures.get("cpu_per_request"):
        rows.append(saving(cost, measures, reported))
    rows += MORE.get(name, lambda: [])()
    table(["", "reported", "legacy here", "candidate here", "change here"], rows)
    for note in notes(document):
        print(f"- {note}")
    print(f"- {reported['missing']}\n")


def change_of_rates(legacy, candidate):
    before, after = legacy["sustained"], candidate["sustained"]
    # Of a legacy that could do more nobody knows by how much the candidate is above it.
    if not before or not after or legacy["broken"] is None:
        return "–"
    return f"{'at least ' if candidate['broken'] is None else ''}{(after / before - 1) * 100:+.0f} %"


def notes(document):
    demands = document["demands"]
    yield (
        f"Held: a p99 of at most {seconds(demands['p99'])} from when a request is due, at most {share(demands['errors'])} errors, answers at "
        f"{share(demands['answered'])} of the rate at least, in most of {demands['repeats']} runs."
        if demands["repeats"] > 1
        else "Held: as the documentation of `parity stress` has it, in one run."
    )
    for name in "legacy", "candidate":
        if document[name]["why"]:
            yield f"The {name} {document[name]['why']}."
    yield from (f"{text[0].upper()}{text[1:]}." for text in document["reasons"])
    own = document["generator"]
    yield f"The generator took at most {short(own['cpu'] or 0)} cores and was late by at most {seconds(own['lateness'])} at its p99 where a rate was held."


def saving(cost, measures, reported):
    per_request = measures["cpu_per_request"]
    before, after = (per_request[side]["value"] for side in ("legacy", "candidate"))
    fewer = (before - after) * published.PAYMENTS_RATE
    return [
        f"saving, a vCPU at {published.VCPU_PRICE} dollars a year",
        reported["saving"],
        f"{short(cost['legacy']['vcpus'])} vCPU",
        f"{short(cost['candidate']['vcpus'])} vCPU",
        f"{short(cost['saving'])} dollars a year at this rate; {short(abs(fewer))} vCPU {'fewer' if fewer >= 0 else 'more'} at {published.PAYMENTS_RATE:,}/s by CPU per request",
    ]


def trend(side, what="rss"):
    found = next((each for each in side["trends"] if each["of"] == what), None)
    if not found:
        return "–"
    slope = found["per_request"]
    if found["verdict"] == "flat":
        return "flat"
    if not slope or found["verdict"] == "undecided":
        return f"undecided: {found['why']}"
    spelled = size if what == "rss" else short
    return f"{found['verdict'].replace('below_limit', 'growing, below the limit')}: {spread(slope, spelled)} a request"


def events_more():
    plain, leak = read("soak-events"), read("soak-events-leak")
    return [
        [f"RSS in a soak of {plain['seconds']:.0f} s at {plain['rate']:,.0f}/s", "grew by 8 KB a request in 30 minutes, not called a leak",
         trend(plain["legacy"]), trend(plain["candidate"]), "–"],
        [f"the same with a planted leak of 8 KB, {leak['seconds']:.0f} s", "–", trend(leak["legacy"]), trend(leak["candidate"]), "–"],
    ]


def echo_more():
    cold, own = read("cold"), read("pages")
    said = {each["measure"]: each for each in own["measures"]} if own else {}
    found = {side: {"value": statistics.median(took), "low": min(took), "high": max(took)} for side, took in cold.items()}
    sizes = {side: {"value": (WORK / f"size-{side}").stat().st_size} for side in found}
    pages = []
    for measure, title, spelled in MEASURES:
        one = said.get(measure, {})
        if measure in ("p99", "cpu_per_request") and one.get("legacy"):
            before, after = one["legacy"], one.get("candidate")
            pages.append([f"{title} by their own pages, {said['rate']['legacy']['value']:,.0f}/s", "scraped by Prometheus", spread(before, spelled),
                          spread(after, spelled), change(before, after)])
    return [
        *pages,
        ["cold start to the first answer, 10 times", "45 against 142 ms", *(spread(found[side], seconds) for side in ("legacy", "candidate")),
         change(found["legacy"], found["candidate"])],
        ["program without symbols", "6.8 against 2.1 MB", *(size(sizes[side]["value"]) for side in ("legacy", "candidate")),
         change(sizes["legacy"], sizes["candidate"])],
    ]


MORE = {"events": events_more, "echo": echo_more}


def middle(values):
    return {"value": statistics.median(values), "low": min(values), "high": max(values)}


def of_run(name, document):
    """Requests, errors, rate, p50 and p99 of what a generator says of itself, and its CPU a request."""
    result = document["result"]
    if name.startswith("parity"):
        runs = [run for side in ("legacy", "candidate") for step in result[side]["steps"] for run in step["runs"]]
        answered = sum(sum(run["statuses"].values()) for run in runs)
        errors = sum(number for run in runs for status, number in run["statuses"].items() if status != "2xx") + sum(sum(run["failures"].values()) for run in runs)
        rate = statistics.mean(run["values"]["rate"]["value"] for run in runs)
        p50, p99 = (statistics.mean(run["latency"][each] for run in runs) for each in ("p50", "p99"))
    elif name.startswith("oha"):
        answered = sum(result["statusCodeDistribution"].values())
        ended = {"aborted due to deadline"}
        errors = answered - result["statusCodeDistribution"].get("200", 0)
        errors += sum(number for why, number in result["errorDistribution"].items() if why not in ended)
        rate = answered / result["summary"]["total"]
        p50, p99 = (result["latencyPercentiles"][each] for each in ("p50", "p99"))
    else:
        answered, errors = result["requests"], result["errors"]
        rate, p50, p99 = answered / result["seconds"], result["p50"], result["p99"]
    return {"rate": rate, "cpu": document["cpu"] / answered, "p50": p50, "p99": p99, "errors": errors}


def generators():
    print(f"## The load generator beside oha and wrk\n\n{published.GENERATORS} {others()}\n")
    rows = []
    rates = read("rates")
    loads = [("low", f"open, {rates['low']:,}/s"), ("high", f"open, {rates['high']:,}/s"), ("closed", "closed, 64 connections")]
    for load, title in loads:
        for program in "parity", "oha", "wrk":
            runs = [of_run(program, json.loads(path.read_text())) for path in sorted(WORK.glob(f"generator-{program}-{load}-*.json"))]
            if not runs:
                why = "–" if program == "oha" else "has no closed load" if load == "closed" else "has no open load"
                rows.append([title, program, why, "–", "–", "–", "–"])
                continue
            of = {key: middle([run[key] for run in runs]) for key in runs[0]}
            rows.append([title, program, spread(of["rate"], lambda rate: f"{rate:,.0f}/s"), spread(of["cpu"], seconds),
                         spread(of["p50"], seconds), spread(of["p99"], seconds), f"{sum(run['errors'] for run in runs):,}"])
    table(["load", "generator", "answered", "CPU of the generator per request", "p50 it tells", "p99 it tells", "errors"], rows)


def soak():
    document, report = read("soak-mirror"), json.loads((WORK / "report.json").read_text())
    candidate = document["candidate"]
    outcome = {"pass": "nothing of it grows by more than is allowed", "fail": "for what follows"}.get(document["outcome"], "it cannot be told")
    print(f"## Does the mirror grow?\n\n{published.MIRROR} {others()}\n")
    rows = []
    for what, title, spelled in ("rss", "memory (RSS)", size), ("anon", "without pages of files", size), ("descriptors", "open files", count), ("threads", "threads", count):
        found = next((each for each in candidate["trends"] if each["of"] == what), None)
        if found:
            slope, hour = found["per_request"], found["per_hour"]
            first, last = (spelled(found[each]) if found[each] is not None else "–" for each in ("first", "last"))
            verdict = found["verdict"].replace("below_limit", "growing, below the limit") + (f": {found['why']}" if found["why"] else "")
            jumps = spelled(found["jumps"]) if found["jumps"] else "–"
            rows.append([title, first, last, jumps, verdict, spread(slope, size if spelled is size else lambda value: f"{value:.2g}") if slope else "–",
                         spelled(hour["value"]) if hour else "–"])
    table(["the mirror's", "at first", "at last", "of it at once, by two jumps at most", "verdict", "slope a request", "slope an hour"], rows)
    answers, load = document["answers"], candidate["load"]
    print(f"- Outcome of `parity soak`: {document['outcome']}, {outcome}; {document['rate']:,.0f}/s for {document['seconds'] / 60:.1f} minutes.")
    for text in document["reasons"]:
        print(f"- {text[0].upper()}{text[1:]}.")
    print(f"- Through the mirror: {load['due']:,} requests after the warm-up, p50 {seconds(load['latency']['p50'])}, p99 {seconds(load['latency']['p99'])}; "
          f"to the legacy alone p50 {seconds(document['legacy']['load']['latency']['p50'])}, p99 {seconds(document['legacy']['load']['latency']['p99'])}.")
    left_out = ", ".join(f"{lost:,} {why}" for why, lost in report["not_compared"].items() if lost) or "none"
    print(f"- Its record: {report['received']:,} received, {report['match']:,} equal, {report['mismatch']:,} different, not compared: {left_out}; "
          f"{size(int((WORK / 'store').read_text()))} of SQLite.")
    for group in report["groups"]:
        print(f"- Different there: {group['count']:,} × {group['route']}, {group['part']} `{group['pattern']}`.")
    print(f"- Answers compared by the soak itself: {answers['equal'] + answers['differing']:,}, {answers['differing']:,} differ.\n")


if sys.argv[2] == "head":
    head(*sys.argv[3:])
elif sys.argv[2] in published.REPORTED:
    example(sys.argv[2])
else:
    {"generators": generators, "soak": soak}[sys.argv[2]]()
