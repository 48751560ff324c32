//! The Prometheus metrics.

use parity_mirror::{Metrics, Mode};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::support::{Next, Rig, Service, ok};

fn scrape(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).expect("memory");
    text
}

#[test]
fn every_family_is_there_and_counts() {
    let service = Service::saying(ok("a"));
    let mut mirror = Rig::new(&service, &service).workers(2).start();
    let mut client = mirror.client();
    for _ in 0..3 {
        client.get("/");
    }
    mirror.ledger.reasons(3);
    mirror.control.set_shadowing(false);
    client.get("/");
    mirror.ledger.reasons(4);
    mirror.ledger.exchanges(3);
    let text = scrape(&mirror.metrics);
    for line in [
        "parity_upstream_request_duration_seconds_count{purpose=\"traffic\",upstream=\"legacy\"} 4",
        "parity_upstream_request_duration_seconds_count{purpose=\"traffic\",upstream=\"candidate\"} 3",
        "parity_upstream_request_duration_seconds_bucket{le=\"+Inf\",purpose=\"traffic\",upstream=\"legacy\"} 4",
        "parity_proxy_overhead_seconds_count 4",
        "parity_shadow_requests_total{outcome=\"sent\",purpose=\"traffic\"} 3",
        "parity_shadow_requests_total{outcome=\"shed\",purpose=\"traffic\"} 0",
        "parity_shadow_queue_depth{upstream=\"legacy\"} 0",
        "parity_shadow_queue_depth{upstream=\"candidate\"} 0",
        "parity_shadow_connections{upstream=\"legacy\"} 0",
        "parity_shadow_bytes 0",
        "parity_upstream_up{upstream=\"legacy\"} 1",
        "parity_upstream_up{upstream=\"candidate\"} 1",
        "parity_shadowing 0",
        "parity_client_connections 1",
        "parity_client_connections_accepted_total 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in:\n{text}");
    }
    mirror.stop();
    assert!(scrape(&mirror.metrics).contains("\nparity_client_connections 0\n"));
}

#[test]
fn in_a_tap_the_legacy_does_not_count_as_the_candidate() {
    let hangs = || Service::new(|_, _| Next::Hang);
    let answers = || Service::saying(ok("a"));
    for (legacy, candidate, waiting) in [(hangs(), answers(), [1, 0]), (answers(), hangs(), [0, 1])]
    {
        let mirror = Rig::new(&legacy, &candidate)
            .policy(|policy| policy.mode = Mode::Tap)
            .start();
        assert_eq!(mirror.client().get("/").status(), 204);
        let [of_legacy, of_candidate] = waiting;
        let lines = [
            format!("parity_shadow_queue_depth{{upstream=\"legacy\"}} {of_legacy}"),
            format!("parity_shadow_queue_depth{{upstream=\"candidate\"}} {of_candidate}"),
            // One in use, one idle.
            "parity_shadow_connections{upstream=\"legacy\"} 1".to_owned(),
            "parity_shadow_connections{upstream=\"candidate\"} 1".to_owned(),
        ];
        mirror.wait("each service's own numbers", |mirror| {
            let text = scrape(&mirror.metrics);
            let is_there = |line: &String| text.lines().any(|it| it == line);
            lines.iter().all(is_there)
        });
    }
}
