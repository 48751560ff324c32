//! What `[metrics]`, `[legacy_metrics]` and `[candidate_metrics]` say: names, limits, credentials, and all that is wrong with them.

use parity_schemas::metrics::Measure;

use super::{near, values};
use crate::support::exporter::exporter;
use crate::support::process::Place;
use crate::support::service::{Answer, Service, nobody};

#[test]
fn a_file_maps_names_and_sets_limits_and_a_flag_is_stronger() {
    let place = Place::new();
    let legacy = exporter(|asked| {
        let all = asked * 100;
        let page = format!(
            "served{{what=\"api\",outcome=\"ok\"}} {all}\nserved{{what=\"probe\"}} {}\n\
             took_bucket{{le=\"10\"}} {all}\ntook_bucket{{le=\"+Inf\"}} {all}\nmemory_of_it 512\n",
            all * 50
        );
        Answer::new(200, page)
    });
    let candidate = exporter(|asked| {
        let all = asked * 100;
        let page = format!(
            "http_requests_total {all}\nlasted_seconds_bucket{{le=\"0.02\"}} {all}\n\
             lasted_seconds_bucket{{le=\"+Inf\"}} {all}\nprocess_resident_memory_bytes 262144\n"
        );
        Answer::new(200, page)
    });
    let text = format!(
        "[metrics]\nwindow = \"500ms\"\ninterval = \"100ms\"\nthresholds = [\"rss <= -40%\", \"p99 <= 1ms\"]\n\
         [legacy_metrics]\nurl = \"{}/metrics\"\nrequests = 'served{{what=\"api\"}}'\nlatency = \"took in ms\"\nmemory = \"memory_of_it in KiB\"\n\
         [candidate_metrics]\nurl = \"{}\"\nlatency = \"lasted_seconds\"\n",
        legacy.url(),
        candidate.url()
    );
    place.write("parity.toml", text);
    let checked = place.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(
        checked.stderr.contains("metrics with 2 thresholds"),
        "{}",
        checked.stderr
    );
    let ended = place.run(&["metrics", "--output", "json"]);
    // The p99 of the candidate is above 1 ms as far as its value tells, and below 20 ms as far as its bounds do.
    assert_eq!(ended.code, 3, "{}{}", ended.stdout, ended.stderr);
    let document = serde_json::from_str(&ended.stdout).expect("of this type");
    let rates = values(&document, Measure::Rate);
    near(rates[0], rates[1], 0.5);
    let rss = values(&document, Measure::Rss);
    assert_eq!(rss.map(|value| value as u64), [512 << 10, 256 << 10]);
    let p99 = values(&document, Measure::P99);
    near(p99[0], 0.0099, 1e-9);
    near(p99[1], 0.0198, 1e-9);
    let stronger = ["metrics", "--threshold", "rss <= -40%", "--window", "200ms"];
    assert_eq!(place.run(&stronger).code, 0);
    let environment = [("PARITY_METRICS_THRESHOLDS", "rss <= -60%")];
    assert_eq!(place.run_with(&["metrics"], &environment, "").code, 1);
}

#[test]
fn all_that_is_wrong_is_told_at_once_with_its_line() {
    let place = Place::new();
    place.write(
        "parity.toml",
        "[metrics]\nwindow = \"soon\"\ninterval = \"1ms\"\nthresholds = [\"p9 <= 5ms\", \"p99 <= 5MiB\", \"rss\"]\njudged_by = \"luck\"\nwindows = \"1s\"\n\
         [legacy_metrics]\nurl = \"ftp://a/b\"\nlatency = \"took\"\nrequests = \"a{b\"\nmemory = \"m in weeks\"\n\
         [candidate_metrics]\nurl = \"http://user:secret@host:1/metrics\"\ncredentials_file = \"none\"\nlatencies = \"a\"\n",
    );
    for command in [&["metrics"][..], &["config", "check"]] {
        let ended = place.run(command);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        for words in [
            "parity.toml:2:1: metrics.window: `soon`",
            "parity.toml:4:1: metrics.thresholds: `p9` is no measure; did you mean `p",
            "parity.toml:4:1: metrics.thresholds: `5MiB` is no limit of p99; write 50ms",
            "parity.toml:4:1: metrics.thresholds: `rss` is no threshold",
            "parity.toml:5:1: metrics.judged_by: `luck` is none of bounds, values",
            "parity.toml:6:1: unknown key `windows` in [metrics]",
            "did you mean `window`?",
            "parity.toml:8:1: legacy_metrics.url: `ftp://a/b` is no address of a page",
            "parity.toml:9:1: legacy_metrics.latency: the unit of `took` cannot be seen from its name; write `took in ms`",
            "parity.toml:10:1: legacy_metrics.requests: `a{b` is no metric",
            "parity.toml:11:1: legacy_metrics.memory: `weeks` is no unit",
            "parity.toml:13:1: candidate_metrics.url: credentials do not belong into an address",
            "parity.toml:14:1: cannot read none",
            "parity.toml:15:1: unknown key `latencies` in [candidate_metrics]",
            "did you mean `latency`?",
        ] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    }
}

#[test]
fn flags_that_cannot_be_meant_are_usage() {
    let place = Place::new();
    let nobody = nobody();
    let sides = [
        "metrics",
        "--legacy-metrics",
        &nobody,
        "--candidate-metrics",
        &nobody,
    ];
    for (more, words) in [
        (&["--window", "0s"][..], "leaves no time"),
        (
            &["--window", "1s", "--interval", "2s"],
            "--interval: metrics.interval: 2s is longer than",
        ),
        (&["--interval", "1ms"], "would be a load"),
        (&["--threshold", "p99 <= 5"], "`5` is no limit of p99"),
        (&["--threshold", "p99 < 5ms"], "is no threshold"),
        (&["--judged-by", "luck"], "none of bounds, values"),
        (&["--treshold", "p99 <= 5ms"], "--threshold"),
    ] {
        let ended = place.run(&[&sides[..], more].concat());
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let ended = place.run(&["metrics"]);
    assert_eq!(ended.code, 2);
    for words in [
        "no legacy-metrics is given",
        "--candidate-metrics http://",
        "`url = …` in [legacy_metrics]",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let ended = place.run(&[
        "metrics",
        "--legacy-metrics",
        "http://u:secret@h:1",
        "--candidate-metrics",
        &nobody,
    ]);
    assert_eq!(ended.code, 2);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
}

#[test]
fn credentials_come_from_a_file_and_are_told_nobody() {
    let place = Place::new();
    let guarded = Service::start(|request| match request.header("authorization") {
        Some("Bearer hush-hush") => Answer::new(200, "process_open_fds 3\n"),
        _ => Answer::new(401, "who are you?"),
    });
    let open = exporter(|_| Answer::new(200, "process_open_fds 3\n"));
    place.write(
        "page.headers",
        "# of the page\nauthorization: Bearer hush-hush\n",
    );
    let config = |file: &str| {
        let text = format!(
            "[metrics]\nwindow = \"200ms\"\ninterval = \"100ms\"\ndeadline = \"500ms\"\n\
             [legacy_metrics]\nurl = \"{}/metrics?token=in-the-query\"\n{file}[candidate_metrics]\nurl = \"{}\"\n",
            guarded.url(),
            open.url()
        );
        place.write("parity.toml", text);
        place.run(&["metrics", "-vv", "--output", "json"])
    };
    let ended = config("");
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("it answers 401 Unauthorized: who are you?"),
        "{}",
        ended.stderr
    );
    let ended = config("credentials_file = \"page.headers\"\n");
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    for told in [&ended.stdout, &ended.stderr] {
        assert!(
            !told.contains("hush-hush") && !told.contains("in-the-query"),
            "{told}"
        );
    }
}

#[test]
fn one_page_for_both_services_is_refused_unless_names_tell_them_apart() {
    let place = Place::new();
    let both = exporter(|asked| {
        let page = format!("a_total {}\nb_total {}\n", asked * 100, asked * 200);
        Answer::new(200, page)
    });
    let url = both.url() + "/metrics";
    // Whatever the address by which it is named.
    let other = url.replace("127.0.0.1", "localhost");
    assert_ne!(other, url);
    for candidate in [&url, &other] {
        let flags = ["--legacy-metrics", &url, "--candidate-metrics", candidate];
        let ended = place.run(&[&["metrics"], &flags[..]].concat());
        assert_eq!(ended.code, 2, "{}", ended.stdout);
        for words in ["a service would be set beside itself", "names or labels"] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
    }
    assert_eq!(both.seen(), 0);
    place.write(
        "parity.toml",
        format!(
            "[legacy_metrics]\nurl = \"{url}\"\nrequests = \"a_total\"\n\
             [candidate_metrics]\nurl = \"{url}\"\nrequests = \"b_total\"\n"
        ),
    );
    let ended = place.run(&["metrics", "--window", "300ms", "--interval", "100ms"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.starts_with("NOT JUDGED"), "{}", ended.stdout);
}
