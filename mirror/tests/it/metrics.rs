//! The Prometheus metrics.

use parity_mirror::Metrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::support::{Rig, Service, ok};

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
        "parity_upstream_request_duration_seconds_count{upstream=\"legacy\"} 4",
        "parity_upstream_request_duration_seconds_count{upstream=\"candidate\"} 3",
        "parity_upstream_request_duration_seconds_bucket{le=\"+Inf\",upstream=\"legacy\"} 4",
        "parity_proxy_overhead_seconds_count 4",
        "parity_shadow_requests_total{outcome=\"sent\"} 3",
        "parity_shadow_requests_total{outcome=\"shed\"} 0",
        "parity_shadow_queue_depth 0",
        "parity_shadow_bytes 0",
        "parity_client_connections 1",
        "parity_client_connections_accepted_total 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in:\n{text}");
    }
    mirror.stop();
    assert!(scrape(&mirror.metrics).contains("\nparity_client_connections 0\n"));
}
