//! How long `parity soak` loads both services, and what counts as growth.

use std::time::Duration;

#[allow(clippy::wildcard_imports, reason = "what a definition is written with")]
use super::*;

settings! {
    RATE: One<u32> = count("soak.rate", "Requests a second to each service, for the whole time")
        .read_as(value::stress::rate).default("200").flag("--rate", "RATE");
    FOR: One<Duration> = duration("soak.for", "How long `parity soak` loads both services")
        .read_as(some_time).default("30m").flag("--for", "DURATION");
    WARM_UP: One<Duration> = duration("soak.warm_up", "What of it is left out at the beginning: caches and pools fill (a tenth of the whole by default)")
        .example("3m").flag("--warm-up", "DURATION");
    INTERVAL: One<Duration> = duration("soak.interval", "How often memory, files and threads are read (a 600th of the whole by default, between 50 ms and 10 s)")
        .read_as(some_time).example("1s").flag("--interval", "DURATION");
    CONFIDENCE: One<f64> = share("soak.confidence", "Confidence of the test for growth, and of the interval of the slope")
        .read_as(value::stress::confidence).default("0.99").flag("--confidence", "SHARE");
    GROWTH: One<u64> = size("soak.growth", "Growth over the whole time that is none, whatever its trend: allocators and page caches move by this")
        .default("4MiB").flag("--growth", "SIZE");
}
