//! The screen with fixed models, as text.

use std::sync::Arc;
use std::time::Duration;

use parity_schemas::clients::ClientOutcome;
use parity_schemas::history::History;
use parity_schemas::time::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::json;

use super::*;
use crate::view::{SinkStatus, Status};

const HOSTILE: &str = "GET /\u{1b}[2J\u{202e}x/{id}";

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros((1_790_000_000 + second) * 1_000_000)
}

fn status() -> Status {
    serde_json::from_value(json!({
        "migration": "payments", "legacy_version": "go", "candidate_version": "rust", "rules_hash": "r1",
        "clients": {"2xx": 90, "5xx": 10}, "last_failed_client": null, "ready": true, "shadowing": true,
        "legacy_reachable": true, "candidate_reachable": true, "shadows_in_flight": 3, "shadow_bytes": 0,
        "store_error": null, "store_loss": null, "records_queued": 2, "records_dropped": 0, "spool_bytes": 0,
        "recording": null, "descriptors_low": null, "config_error": null
    }))
    .expect("a status")
}

fn history() -> History {
    let bucket = |minute: i64, differing: u64, failures: u64| {
        json!({
            "from": at(minute * 60).to_string(), "received": 120, "compared": 100, "differing": differing,
            "mismatches": differing - failures, "classes": {}, "excused": 0, "candidate_failures": failures, "candidate_unanswered": failures,
            "clients_failed": 0, "identities": [], "legacy_head_us": {}, "candidate_head_us": {}
        })
    };
    serde_json::from_value(json!({
        "schema": "parity.history/v1", "migration": "payments", "legacy_version": null, "candidate_version": null,
        "route": null, "window": {"from": at(0).to_string(), "to": at(360).to_string()}, "bucket_seconds": 60,
        "buckets": [bucket(0, 0, 0), bucket(1, 1, 0), bucket(3, 10, 0), bucket(4, 100, 100), bucket(5, 100, 100)],
        "without_excused": true, "with_latency": false, "identities": [], "marks": [], "routes": [],
        "routes_left_out": 0, "groups": []
    }))
    .expect("a history")
}

fn report() -> parity_schemas::report::Report {
    let counts = json!({
        "received": 200, "clients": {"2xx": 200}, "match": 150, "mismatch": 30,
        "classes": {"confirmed": 30}, "rechecks": {}, "not_compared": {"sampled_out": 20}, "legacy_answers": {}
    });
    let group = |fingerprint: &str, pattern: &str, count: u64| {
        json!({
            "fingerprint": fingerprint, "route": HOSTILE, "part": "body", "pattern": pattern, "kind": "value",
            "severity": "body", "explanation": null, "legacy_status": 200, "candidate_status": 200, "count": count,
            "classes": {"confirmed": count}, "first_seen": at(0).to_string(), "last_seen": at(50).to_string(),
            "example_id": "00000000-0000-0000-0000-000000000007",
            "example": {"target": "/\u{1b}[2J7", "path": "/total", "candidate_path": null, "legacy": "12.50",
                "candidate": "12.\u{200b}51", "text_diff": null}
        })
    };
    let mut document = counts.clone();
    let route = {
        let mut route = counts;
        route["route"] = json!(HOSTILE);
        route["compared"] = json!(180);
        route["differing"] = json!(30);
        for times in ["legacy_us", "candidate_us"] {
            route[times] = json!({});
        }
        route
    };
    for (name, value) in [
        ("schema", json!("parity.report/v1")),
        ("migration", json!("payments")),
        ("legacy_version", json!("go")),
        ("candidate_version", json!("rust")),
        ("rules_hash", json!("r1")),
        (
            "window",
            json!({"from": at(0).to_string(), "to": at(360).to_string()}),
        ),
        ("instances", json!(["one"])),
        ("complete_until", json!(at(350).to_string())),
        ("compared", json!(180)),
        ("differing", json!(30)),
        ("routes", json!([route])),
        (
            "groups",
            json!([
                group("000000000000000a", "/total", 20),
                group("000000000000000b", "/fee", 10)
            ]),
        ),
        ("rules", json!([])),
    ] {
        document[name] = value;
    }
    serde_json::from_value(document).expect("a report")
}

fn seen() -> Seen {
    let report = report();
    let evidence = report.evidence();
    let standing = parity_schemas::watermark::Standing {
        complete_until: report.complete_until,
        watermarks: report.watermarks.clone(),
    };
    let thresholds = parity_schemas::evidence::Thresholds::default();
    let decision = parity_comparator::decision::decide_knowing(
        &parity_comparator::decision::Asked {
            migration: "payments",
            evidence: evidence.as_ref(),
            standing: &standing,
            thresholds: &thresholds,
        },
        &[],
        parity_schemas::id::new_id(),
        at(360),
    );
    let mut seen = Seen::nothing("http://127.0.0.1:9900");
    seen.connection = Connection::Answered(at(361));
    seen.process = Process::Mirror(Box::new(status()));
    seen.live = Some(Live {
        rate: 41.5,
        failed: 0.0,
        left: 0.0,
        errors: 0.1,
    });
    seen.overhead = Some(Overhead {
        within: vec![(100, 90), (1_000, 100)],
        count: 100,
    });
    seen.decided(report, decision);
    seen.history = Some(history().into());
    seen
}

fn drawn(width: u16, height: u16, screen: &Screen, seen: &Seen, colors: bool) -> (String, usize) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is memory");
    terminal
        .draw(|frame| draw(frame, screen, seen, colors))
        .expect("it is drawn");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(width.max(1)));
    let text: Vec<String> = rows
        .map(|row| {
            let row: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            row.trim_end().to_owned()
        })
        .collect();
    let colored = buffer.content.iter();
    let colored = colored.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
    (text.join("\n"), colored.count())
}

fn press(keys: &[Press], seen: &Seen) -> Screen {
    let mut screen = Screen::default();
    for key in keys {
        screen.press(*key, seen);
    }
    screen
}

#[test]
fn the_screen_answers_in_the_order_of_a_night() {
    let (text, colored) = drawn(120, 34, &Screen::default(), &seen(), true);
    let mut rest = text.as_str();
    for wanted in [
        "parity top · mirror http://127.0.0.1:9900 · payments · updated",
        "1 CLIENTS",
        "41.5 requests/s · 0 % without a whole answer · 10 % errors of the legacy",
        "added p50 ≤ 100 µs, p99 ≤ 1.0 ms",
        "legacy answers · candidate failed between",
        "2 PARITY",
        "FAIL 30 of 180 compared requests differ",
        "worst: body /total value on GET /\\u{1b}[2J\\u{202e}x/{id}",
        "3 TRUST",
        "complete up to",
        "of 200 received 180 compared (90 %) · 20 sampled out (10 %)",
        "30 requests count as differing: 30 mismatches",
        "4 DIFFERING OVER TIME",
        "_▁·▁██",
        "5 DIFFERENCES ◂",
        ">       20 × body /total value on GET /\\u{1b}[2J\\u{202e}x/{id}",
        "10 × body /fee value",
        "6 ROUTES WITHOUT A VERDICT",
        "none: each is decided",
        "q quit",
    ] {
        let at = rest.find(wanted);
        let at = at.unwrap_or_else(|| panic!("`{wanted}` is not where it belongs in\n{text}"));
        rest = rest.split_at(at).1;
    }
    assert!(colored > 0);
    let (plain, colored) = drawn(120, 34, &Screen::default(), &seen(), false);
    assert_eq!(
        (plain, colored),
        (text, 0),
        "without colours the same is said"
    );
}

#[test]
fn a_snapshot_has_the_same_lines() {
    let text = snapshot(&seen());
    for pane in Pane::ALL {
        assert!(text.contains(pane.name()), "{text}");
    }
    assert!(
        text.contains("FAIL 30 of 180 compared requests differ"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
}

#[test]
fn every_size_is_drawn_and_what_is_chosen_is_seen() {
    let seen = seen();
    for height in 0..40 {
        for width in [0, 1, 2, 5, 20, 79, 300] {
            for pane in 0..=Pane::ALL.len() {
                drawn(
                    width,
                    height,
                    &press(&[Press::Pane(pane)], &seen),
                    &seen,
                    true,
                );
            }
            drawn(width, height, &press(&[Press::Open], &seen), &seen, true);
            drawn(width, height, &press(&[Press::Help], &seen), &seen, true);
        }
    }
    let (text, _) = drawn(20, 5, &Screen::default(), &seen, true);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(
        text.contains("DIFFERENCES") && text.contains(">       20 ×"),
        "{text}"
    );
    let (text, _) = drawn(20, 5, &press(&[Press::Pane(1)], &seen), &seen, true);
    assert!(text.contains("CLIENTS") && text.contains("41.5"), "{text}");
}

#[test]
fn what_is_selected_is_opened_and_stays_open_when_the_order_changes() {
    let mut seen = seen();
    let mut screen = press(&[Press::Down, Press::Open], &seen);
    let of = |screen: &Screen, seen: &Seen| drawn(120, 30, screen, seen, true).0;
    let text = of(&screen, &seen);
    for wanted in [
        "body /fee",
        "10 × ",
        "12.50",
        "12.\\u{200b}51",
        "/\\u{1b}[2J7",
        "000000000000000b",
    ] {
        assert!(text.contains(wanted), "`{wanted}` is not in\n{text}");
    }
    assert!(
        !text.contains('\u{200b}') && !text.contains('\u{1b}'),
        "{text}"
    );
    let mut report = report();
    report.groups.swap(0, 1);
    report.groups[0].count = 90;
    let decision = seen.decided.as_ref().expect("there").decision.clone();
    seen.decided(report.clone(), decision.clone());
    assert!(of(&screen, &seen).contains("000000000000000b"));
    report.groups.remove(0);
    seen.decided(report, decision);
    let gone = of(&screen, &seen);
    assert!(gone.contains("is not among what is counted now"), "{gone}");
    screen.press(Press::Last, &seen);
    screen.press(Press::Back, &seen);
    assert!(of(&screen, &seen).contains("5 DIFFERENCES"));
}

#[test]
fn a_route_is_opened_and_keys_do_nothing_where_there_is_nothing() {
    let nothing = Seen::nothing("x");
    for keys in [
        &[Press::Open, Press::Down, Press::Last, Press::PageDown][..],
        &[Press::Pane(6), Press::Open, Press::Up, Press::Back],
        &[
            Press::Pane(99),
            Press::Pane(0),
            Press::Previous,
            Press::Next,
        ],
        &[Press::Help, Press::Help, Press::First, Press::PageUp],
        &[Press::Help, Press::Other, Press::Other],
    ] {
        let screen = press(keys, &nothing);
        let (text, _) = drawn(80, 24, &screen, &nothing, true);
        assert!(text.contains("asking"), "{text}");
    }
    let (text, _) = drawn(80, 24, &press(&[Press::Help], &nothing), &nothing, true);
    assert!(text.contains("Ctrl-C"), "{text}");
    let (text, _) = drawn(80, 24, &press(&[Press::Pause], &nothing), &nothing, true);
    assert!(text.starts_with("PAUSED"), "{text}");
}

#[test]
fn a_connection_that_is_lost_is_told_before_everything_else() {
    let mut seen = seen();
    seen.connection = Connection::Lost {
        why: "connection \u{1b}]0;x\u{7} refused".to_owned(),
        last: Some(at(300)),
        again: at(400),
    };
    let (text, _) = drawn(120, 30, &Screen::default(), &seen, true);
    assert!(
        text.lines()
            .next()
            .is_some_and(|first| first.contains("NO CONNECTION since")),
        "{text}"
    );
    assert!(
        text.contains("connection \\u{1b}]0;x\\u{7} refused; what is here is of"),
        "{text}"
    );
    // What was known stays.
    assert!(text.contains("FAIL 30 of 180"), "{text}");
}

#[test]
fn what_is_wrong_with_a_process_is_told() {
    let mut seen = seen();
    let mut bad = status();
    bad.candidate_reachable = false;
    bad.legacy_reachable = false;
    bad.shadowing = false;
    bad.store_error = Some("disk \u{1b}[31mfull".to_owned());
    seen.process = Process::Mirror(Box::new(bad));
    let (text, _) = drawn(120, 40, &Screen::default(), &seen, true);
    for wanted in [
        "LEGACY DOWN",
        "CANDIDATE DOWN since",
        "SHADOWING IS OFF",
        "the store: disk \\u{1b}[31mfull",
    ] {
        assert!(text.contains(wanted), "`{wanted}` is not in\n{text}");
    }
    seen.process = Process::Sink(SinkStatus {
        ready: false,
        partitions: 3,
        lag: 1_234,
        buffered_bytes: 0,
        dead_letters: 1,
        error: Some("no broker".to_owned()),
    });
    seen.trouble = Some("the store is away".to_owned());
    let (text, _) = drawn(120, 40, &Screen::default(), &seen, true);
    for wanted in [
        "lag 1,234 records in 3 partitions",
        "no broker",
        "2.0 requests/s",
        "the store is away",
    ] {
        assert!(text.contains(wanted), "`{wanted}` is not in\n{text}");
    }
}

/// Before the first request nobody knows whether a service answers.
#[test]
fn a_service_that_was_not_asked_is_not_told_to_answer() {
    let mut seen = seen();
    seen.history = None;
    let mut asked = |legacy: bool, candidate: bool, since: [Option<i64>; 2]| {
        let mut status = status();
        (status.legacy_asked, status.candidate_asked) = (legacy, candidate);
        [status.legacy_failing_since, status.candidate_failing_since] =
            since.map(|since| since.map(at));
        status.legacy_reachable = since[0].is_none();
        seen.process = Process::Mirror(Box::new(status));
        drawn(120, 34, &Screen::default(), &seen, true).0
    };
    let nobody = asked(false, false, [None; 2]);
    assert!(
        nobody.contains("legacy not asked yet · candidate not asked yet"),
        "{nobody}"
    );
    assert!(!nobody.contains("answers"), "{nobody}");
    let shadowing_off = asked(true, false, [None; 2]);
    assert!(
        shadowing_off.contains("legacy answers · candidate not asked yet"),
        "{shadowing_off}"
    );
    // One request, on which both failed: the candidate is not left alone yet, and has answered nothing.
    let failed = asked(true, true, [Some(3), Some(4)]);
    for told in [
        format!("LEGACY DOWN since {}", seen::clock(at(3))),
        format!(
            "candidate fails since {}, and is still asked",
            seen::clock(at(4))
        ),
    ] {
        assert!(failed.contains(&told), "`{told}` is not in\n{failed}");
    }
}

#[test]
fn what_is_down_is_in_view_on_the_smallest_screen_and_whatever_is_open() {
    let mut seen = seen();
    let mut bad = status();
    bad.candidate_reachable = false;
    bad.shadowing = false;
    seen.process = Process::Mirror(Box::new(bad));
    for (width, height) in [(60, 15), (40, 8), (24, 5)] {
        let panes = (1..=Pane::ALL.len()).map(|pane| vec![Press::Pane(pane)]);
        for keys in panes.chain([vec![Press::Open], vec![Press::Help]]) {
            let (text, _) = drawn(width, height, &press(&keys, &seen), &seen, true);
            let told = text.replace('\n', " ");
            assert!(
                told.contains("CANDIDATE DOWN since"),
                "{width}x{height}: {text}"
            );
            assert!(
                told.contains("SHADOWING IS OFF"),
                "{width}x{height}: {text}"
            );
        }
    }
    // Otherwise there is no such line.
    let (text, _) = drawn(60, 15, &Screen::default(), &self::seen(), true);
    assert!(!text.contains("CANDIDATE DOWN"), "{text}");
}

/// A process that only reads a store knows of the candidate what the record says, as the pages do.
#[test]
fn without_a_mirror_a_candidate_is_down_by_the_rule_of_the_pages() {
    let seen = |failures: u64, state: &str| {
        let mut seen = seen();
        seen.process = Process::Reader;
        let history = seen.history.as_mut().map(Arc::make_mut).expect("a history");
        for bucket in &mut history.buckets[3..] {
            (bucket.compared, bucket.candidate_unanswered) = (failures, failures);
        }
        let decided = seen.decided.as_mut().and_then(Arc::get_mut).expect("ours");
        let run = json!({
            "instance": "one", "started": at(0).to_string(), "complete_until": null, "last_heard": null,
            "under_way": 0, "state": state
        });
        decided.report.watermarks = vec![serde_json::from_value(run).expect("a run")];
        seen
    };
    let drawn = |seen: &Seen| drawn(120, 34, &Screen::default(), seen, true).0;
    let down = seen(2, "complete");
    assert_eq!(
        down.alarms(),
        [format!(
            "CANDIDATE DOWN since {}–{}",
            seen::clock(at(240)).trim_end_matches(" UTC"),
            seen::clock(at(300))
        )]
    );
    assert!(drawn(&down).contains("CANDIDATE DOWN since"));
    // Two requests are no outage, and what has ended is over.
    for (failures, state, told) in [(1, "complete", false), (100, "ended", true)] {
        let seen = seen(failures, state);
        assert_eq!(seen.alarms(), Vec::<String>::new(), "{failures} {state}");
        let text = drawn(&seen);
        assert!(!text.contains("CANDIDATE DOWN"), "{text}");
        assert_eq!(text.contains("candidate failed between"), told, "{text}");
    }
}

#[test]
fn rates_are_of_what_was_counted_between_two_answers() {
    let mut meter = Meter::default();
    let mut now = status();
    assert_eq!(meter.clients(&now, Duration::ZERO), None);
    *now.clients.entry(ClientOutcome::Success).or_default() += 30;
    *now.clients.entry(ClientOutcome::LegacyTimeout).or_default() += 10;
    let live = meter.clients(&now, Duration::from_secs(4)).expect("known");
    assert!(
        (live.rate - 10.0).abs() < 1e-9 && (live.failed - 0.25).abs() < 1e-9,
        "{live:?}"
    );
    let idle = meter.clients(&now, Duration::from_secs(1)).expect("known");
    assert!(
        idle.rate.abs() < 1e-9 && idle.failed.abs() < 1e-9,
        "{idle:?}"
    );
    // It began anew.
    assert_eq!(meter.clients(&status(), Duration::from_secs(1)), None);
    let overhead = |count, within: u64| Overhead {
        within: vec![(50, within), (1_000, count)],
        count,
    };
    assert_eq!(meter.overhead(overhead(100, 100)).quantile(0.99), Some(50));
    assert_eq!(
        meter.overhead(overhead(110, 100)).quantile(0.5),
        Some(1_000)
    );
    assert_eq!(
        meter.overhead(overhead(110, 100)).count,
        110,
        "nothing came: of all"
    );
    assert_eq!(Overhead::default().quantile(0.5), None);
}
