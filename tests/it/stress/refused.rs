//! What is refused before anything is loaded: targets that nobody allowed, requests that may do harm, files and processes that are
//! not there.

use super::stress;
use crate::support::process::Place;
use crate::support::service::{Service, nobody};

/// Says what is wrong, exits with 2, and sends nothing.
fn refuses(services: [&str; 2], more: &[&str], words: &[&str]) {
    let place = Place::new();
    place.write("empty.ndjson", "");
    place.write(
        "posts.ndjson",
        "{\"method\":\"POST\",\"url\":\"/a\"}\n{\"method\":\"DELETE\",\"url\":\"/a\"}\n",
    );
    let (ended, document) = stress(&place, services, more);
    assert_eq!(ended.code, 2, "{more:?}: {}{}", ended.stdout, ended.stderr);
    assert!(document.is_none());
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` in {}", ended.stderr);
    }
}

#[test]
fn a_target_that_is_not_on_the_list_gets_nothing() {
    let service = Service::json("{}");
    let url = service.url();
    for (target, host) in [
        ("http://192.0.2.7:8080", "192.0.2.7"),
        ("https://staging.invalid", "staging.invalid"),
        ("http://[2001:db8::1]", "[2001:db8::1]"),
    ] {
        let allow = format!("--allow-target {host}");
        let words = ["is not on this machine", &*allow];
        refuses([&url, target], &["--rates", "60"], &words);
        // Another one on the list is not this one.
        let other = ["--rates", "60", "--allow-target", "192.0.2.8,192.0.2.7:80"];
        refuses([target, &url], &other, &words);
    }
    assert_eq!(service.seen(), 0);
}

#[test]
fn what_may_do_harm_is_not_sent_unless_somebody_says_so() {
    let (legacy, candidate) = (Service::json("{}"), Service::json("{}"));
    let (legacy_url, candidate_url) = (legacy.url(), candidate.url());
    let services = [&*legacy_url, &*candidate_url];
    let words = [
        "nothing can be sent",
        "may change something",
        "--allow-unsafe",
    ];
    let template = ["--request", "POST /a/{id}", "--ids", "9", "--rates", "60"];
    refuses(services, &template, &words);
    refuses(services, &["posts.ndjson", "--rates", "60"], &words);
    assert_eq!(legacy.seen() + candidate.seen(), 0);
    let place = Place::new();
    let allowed = [&template[..], &["--allow-unsafe"]].concat();
    let (ended, _) = stress(&place, services, &allowed);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn what_is_not_there_is_told_before_the_load() {
    let service = Service::json("{}");
    let (url, nobody) = (service.url(), nobody());
    let hanging = Service::misbehaving(|_, stream| {
        let mut rest = [0; 64];
        while std::io::Read::read(stream, &mut rest).is_ok_and(|read| read > 0) {}
    });
    let both = [&*url, &*hanging.url()];
    let refused = ["the candidate at ", "does not answer (refused)"];
    refuses([&url, &nobody], &["--rates", "60"], &refused);
    let silent = ["does not answer (timeout)"];
    refuses(both, &["--rates", "60", "--deadline", "300ms"], &silent);
    refuses(both, &["empty.ndjson", "--rates", "60"], &["is empty"]);
    refuses(
        both,
        &["missing.ndjson", "--rates", "60"],
        &["missing.ndjson"],
    );
    let pid = ["--rates", "60", "--legacy-pid", "0"];
    refuses(both, &pid, &["`0` is not the number of a process"]);
    let pid = ["--rates", "60", "--legacy-pid", "4194304"];
    refuses(both, &pid, &["the legacy", "there is no process 4194304"]);
    let group = ["--rates", "60", "--candidate-cgroup", "/nowhere"];
    refuses(both, &group, &["the candidate", "/nowhere/cpu.stat"]);
    let html = ["--rates", "60", "--html", "/nowhere/a.html"];
    refuses(both, &html, &["--html: no file can be made in /nowhere"]);
    let ended = Place::new().run(&["stress"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("--request 'GET"), "{}", ended.stderr);
}

/// It was measured, and passed whatever the candidate did. `soak` has the same check.
#[test]
fn what_is_of_both_sides_is_told_before_the_load() {
    let services = [Service::json("{}"), Service::json("{}")];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let both = [&*legacy, &*candidate];
    let port = legacy.rsplit(':').next().expect("a port");
    let beside = "would be set beside itself";
    let page = format!("{legacy}/metrics");
    let same = format!("http://localhost:{port}/metrics");
    let pages = ["--legacy-metrics", &page, "--candidate-metrics", &same];
    let own = std::process::id().to_string();
    let more = format!("1,{own}");
    let pids = ["--legacy-pid", &own, "--candidate-pid", &more];
    let told = format!("process {own}");
    let groups = ["--legacy-cgroup", "/a", "--candidate-cgroup", "/a/b"];
    for (given, word) in [
        (pages, "page of the legacy"),
        (pids, &*told),
        (groups, "/a/b"),
    ] {
        let given = [&["--rates", "60"], &given[..]].concat();
        refuses(both, &given, &[beside, word]);
    }
    assert_eq!(services.each_ref().map(Service::seen), [0, 0]);
}

#[test]
fn all_that_is_wrong_with_the_settings_is_told_at_once() {
    let url = "http://127.0.0.1:9";
    let more = [
        "--rates",
        "0",
        "--factor",
        "1",
        "--price-vcpu",
        "free",
        "--threshold",
        "speed >= 1",
        "--legacy-pid",
        "1",
        "--legacy-cgroup",
        "/a",
        "--max-errors",
        "2",
    ];
    let words = [
        "`0` is no rate",
        "`1` is no factor",
        "`free` is no price",
        "`speed` is no measure",
        "say the same in two ways",
        "max_errors",
    ];
    refuses([url, "http://127.0.0.1:10"], &more, &words);
    for more in [
        &["--request", "nonsense"][..],
        &["--request", "GET /a b{id}", "--ids", "9"],
    ] {
        refuses(
            [url, "http://127.0.0.1:10"],
            more,
            &["nonsense", "cannot be sent"][usize::from(more[1] != "nonsense")..][..1],
        );
    }
}

#[test]
fn a_window_that_says_nothing_and_ids_that_nobody_gave_are_told_before_the_load() {
    let services = [Service::json("{}"), Service::json("{}")];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let short = ["--rates", "40,400", "--window", "2s"];
    let words = [
        "in 2s at 40/s only 80 requests are due",
        "a p99 needs 100",
        "window = \"3s\"",
    ];
    refuses([&legacy, &candidate], &short, &words);
    let template = ["--request", "GET /a/{id}", "--rates", "60"];
    refuses(
        [&legacy, &candidate],
        &template,
        &["has {id}", "--ids 16000"],
    );
    assert_eq!(services.each_ref().map(Service::seen), [0, 0]);
}

#[test]
fn secrets_of_what_would_be_sent_are_not_told() {
    let services = [Service::json("{}"), Service::json("{}")];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let place = Place::new();
    for more in [
        &["--request", "GET /a/{id}?token=hunter2"][..],
        &["--request", "GET /a b?token=hunter2"],
        &["--request", "https://me:hunter2@there.example/ GET"],
        &["--request", "GET /a", "--header", "Authorization hunter2"],
    ] {
        let more = [more, &["--rates", "60"]].concat();
        let (ended, _) = stress(&place, [&legacy, &candidate], &more);
        assert_eq!(ended.code, 2, "{}{}", ended.stdout, ended.stderr);
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
}

/// A wrong address was told after the whole load, or never. `soak` has the same check.
#[test]
fn a_page_of_metrics_that_says_nothing_is_told_before_the_load() {
    let services = [Service::json("{}"), Service::json("{}")];
    let [legacy, candidate] = services.each_ref().map(Service::url);
    let gone = format!("{}/metrics", nobody());
    let other = format!("{candidate}/metrics");
    let pages = ["--legacy-metrics", &gone, "--candidate-metrics", &other];
    let given = [&["--rates", "60"], &pages[..]].concat();
    let words = [
        "of the legacy at http://",
        "cannot be read (it does not answer",
        "of the candidate at http://",
        "that is no page of metrics",
    ];
    refuses([&legacy, &candidate], &given, &words);
    // More are asked by the load itself.
    let seen = services.each_ref().map(Service::seen);
    assert!(seen.iter().all(|seen| *seen < 60), "{seen:?}");
}
