//! What the book tells Prometheus.

use super::*;

fn metrics(book: &Arc<TallyBook>) -> String {
    let mut registry = Registry::default();
    register(Arc::clone(book), &mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing to a string");
    text
}

#[test]
fn metrics_have_the_promised_names_and_labels() {
    let book = book(1, MAX_GROUPS);
    let recorder = book.recorder(book.generation());
    let (known, beyond) = (Route::new("GET /users/{id}"), Route::new("PUT /x"));
    assert!(!metrics(&book).contains("parity_last_comparison"));
    recorder.received(&known);
    recorder.answered(&known, 204);
    recorder.matched(&known, 1, 1);
    recorder.answered(&beyond, 502);
    recorder.client(&known, ClientOutcome::Success);
    assert_eq!(book.totals().last_failed_client, None);
    recorder.client(&beyond, ClientOutcome::LegacyUnreachable);
    assert!(book.totals().last_failed_client.is_some());
    recorder.not_compared(&beyond, Reason::LegacyUnreachable);
    let mut missing = group("y");
    missing.kind = Kind::Missing;
    let groups = [group("x"), group("z"), missing];
    recorder.mismatch(
        &known,
        1,
        1,
        &Sighting::unconfirmed(new_id(), Timestamp::now(), &groups),
    );
    let text = metrics(&book);
    for line in [
        "# TYPE parity_requests counter",
        r#"parity_requests_total{route="GET /users/{id}",method="GET",code_class="2xx"} 1"#,
        r#"parity_requests_total{route="_other",method="_other",code_class="5xx"} 1"#,
        r#"parity_clients_total{route="GET /users/{id}",outcome="2xx"} 1"#,
        r#"parity_clients_total{route="GET /users/{id}",outcome="legacy_unreachable"} 0"#,
        r#"parity_clients_total{route="GET /users/{id}",outcome="legacy_timeout"} 0"#,
        r#"parity_clients_total{route="_other",outcome="legacy_unreachable"} 1"#,
        r#"parity_clients_total{route="_other",outcome="5xx"} 0"#,
        r#"parity_comparisons_total{route="GET /users/{id}",result="match"} 1"#,
        r#"parity_comparisons_total{route="GET /users/{id}",result="mismatch"} 1"#,
        r#"parity_comparisons_total{route="_other",result="legacy_unreachable"} 1"#,
        r#"parity_mismatches_total{route="GET /users/{id}",kind="value"} 1"#,
        r#"parity_mismatches_total{route="GET /users/{id}",kind="missing"} 1"#,
        r#"parity_mismatch_classes_total{route="GET /users/{id}",class="unconfirmed"} 1"#,
        r#"parity_mismatch_classes_total{route="GET /users/{id}",class="confirmed"} 0"#,
        r#"parity_mismatch_classes_total{route="_other",class="unstable"} 0"#,
        "# TYPE parity_last_comparison_timestamp_seconds gauge",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains(r#"class="noise""#), "{text}");
}

#[test]
fn a_long_pattern_is_cut_and_an_unknown_status_has_a_class() {
    let book = book(MAX_ROUTES, MAX_GROUPS);
    let recorder = book.recorder(book.generation());
    let route = Route::new("GET /a");
    let mut long = group("long");
    long.pattern = "ö".repeat(10_000);
    let time = Timestamp::from_micros(START);
    recorder.mismatch(
        &route,
        1,
        1,
        &Sighting::unconfirmed(new_id(), time, &[long]),
    );
    let snapshot = book.snapshot(time);
    assert!(snapshot.groups[0].group.pattern.len() < 1_100);
    recorder.answered(&route, 0);
    recorder.answered(&route, 999);
    assert!(metrics(&book).contains("code_class=\"other\"} 2"));
}
