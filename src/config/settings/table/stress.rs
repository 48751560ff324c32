//! How `parity stress` and `parity soak` load both services, what a service must hold, and what is seen of it meanwhile.

use std::path::PathBuf;
use std::time::Duration;

use parity_comparator::metrics::{Judged, Threshold};

#[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
use super::*;

settings! {
    RATES: Many<u32> = Many::new("stress.rates", Kind::List, value::stress::rate, "Rates of the load in requests a second, from low to high; without any it escalates from stress.from")
        .empty().flag("--rates", "RATES");
    FROM: One<u32> = count("stress.from", "The first rate, in requests a second")
        .read_as(value::stress::rate).default("100").flag("--from", "RATE");
    FACTOR: One<f64> = text("stress.factor", "Each rate is so many times the one before it")
        .read_as(value::stress::factor).default("1.5").flag("--factor", "NUMBER");
    UP_TO: One<u32> = count("stress.up_to", "No rate is higher")
        .read_as(value::stress::rate).default("100000").flag("--up-to", "RATE");
    REFINE: One<usize> = number("stress.refine", "Rates between the last that a service held and the first that it did not, which are tried to find its limit")
        .read_as(value::stress::refinements).default("2").flag("--refine", "N");
    REPEATS: One<usize> = count("stress.repeats", "Runs of each rate and service; medians and their spread are of these")
        .read_as(value::stress::repeats).default("3").flag("--repeats", "N");
    WINDOW: One<Duration> = duration("stress.window", "What of each run is measured")
        .read_as(some_time).default("10s").flag("--window", "DURATION");
    WARM_UP: One<Duration> = duration("stress.warm_up", "What is sent before that and not measured")
        .default("3s").flag("--warm-up", "DURATION");
    PAUSE: One<Duration> = duration("stress.pause", "Between two runs, so that one does not pay for the other")
        .default("2s").flag("--pause", "DURATION");
    RECOVERY: One<Duration> = duration("stress.recovery", "How long a service that broke may take until it answers again; after that it is asked no more")
        .read_as(some_time).default("15s").flag("--recovery", "DURATION");
    P99: One<Duration> = duration("stress.p99", "A service holds a rate if its p99, from when requests are due, is at most this")
        .read_as(some_time).default("100ms").flag("--p99", "DURATION");
    MAX_ERRORS: One<f64> = share("stress.max_errors", "And if at most this share of the requests gets no answer, 5xx or 429")
        .default("0.01").flag("--max-errors", "SHARE");
    MIN_ANSWERED: One<f64> = share("stress.min_answered", "And if answers come at this share of the rate at least; below it is saturated")
        .default("0.95").flag("--min-answered", "SHARE");
    DEADLINE: One<Duration> = duration("stress.deadline", "An answer must be whole within this time")
        .read_as(some_time).default("5s").flag("--deadline", "DURATION");
    IN_FLIGHT: One<usize> = count("stress.in_flight", "Requests that may be unanswered at once, each of which may need a connection; further ones are not sent and count as failed")
        .default("2048").flag("--in-flight", "N");
    THREADS: One<usize> = count("stress.threads", "Threads that send (one per core by default)")
        .flag("--threads", "N");
    COMPARE: One<usize> = number("stress.compare", "Requests a second that are sent to both services besides, whose answers are compared while one of them is loaded; 0 for none")
        .default("10").flag("--compare", "N");
    MAX_MISMATCH_RATE: One<f64> = share("stress.max_mismatch_rate", "Share of those answers that may differ")
        .default("0.001").flag("--max-mismatch-rate", "SHARE");
    THRESHOLDS: Many<Threshold> = list("stress.thresholds", "What the candidate must hold: `rate >= +20%` of the highest rate, `p99 <= +10%` and the like at the highest rate that both hold")
        .read_as(parsed).empty().flag("--threshold", "LIMIT");
    JUDGED_BY: One<Judged> = text("stress.judged_by", "bounds: what some runs hold and others do not is undecided; values: by the medians")
        .read_as(|text| value::word(text, &Judged::WORDS))
        .default_of(|| default::word(&Judged::default(), &Judged::WORDS)).flag("--judged-by", "bounds|values");
    AT: Many<u32> = Many::new("stress.at", Kind::List, value::stress::rate, "Rates at which both are set beside each other (the highest that both hold by default)")
        .empty().flag("--at", "RATES");
    PRICE_VCPU: One<f64> = text("stress.price_vcpu", "What a vCPU costs, in any currency and for any time")
        .read_as(value::stress::price).example("25.5").flag("--price-vcpu", "PRICE");
    PRICE_GIB: One<f64> = text("stress.price_gib", "What a GiB of memory costs, in the same currency and for the same time")
        .read_as(value::stress::price).example("3.4").flag("--price-gib", "PRICE");
    ALLOW_TARGETS: Many<String> = list("stress.allow_targets", "Hosts that may be loaded besides this machine, with their port where only that is meant")
        .read_as(value::stress::host).empty().flag("--allow-target", "HOST[:PORT]");
    LEGACY_PIDS: Many<u32> = Many::new("stress.legacy_pids", Kind::List, value::stress::pid, "Processes of the legacy on this machine, whose CPU, memory, files and threads are measured together")
        .empty().flag("--legacy-pid", "PID");
    CANDIDATE_PIDS: Many<u32> = Many::new("stress.candidate_pids", Kind::List, value::stress::pid, "Processes of the candidate, likewise")
        .empty().flag("--candidate-pid", "PID");
    LEGACY_CGROUP: One<PathBuf> = path("stress.legacy_cgroup", "In the place of processes: folder of the legacy's control group (version 2)")
        .example("/sys/fs/cgroup/legacy").flag("--legacy-cgroup", "PATH");
    CANDIDATE_CGROUP: One<PathBuf> = path("stress.candidate_cgroup", "Folder of the candidate's control group, likewise")
        .example("/sys/fs/cgroup/candidate").flag("--candidate-cgroup", "PATH");
}
