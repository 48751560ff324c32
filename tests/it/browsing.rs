//! What a person takes from the pages: the next exchange, a command of curl, a pointer, a file. And what no page shows raw.

use std::process::Command;

use crate::support::client::{self, Answer as Answered};
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};

/// A text that a page must neither carry out nor hide.
const HOSTILE: &str = "<script>alert(1)</script>'; exit 7; '\u{202e}\u{200b}";

fn page(of: &Mirror<'_>, path: &str) -> String {
    let answer = of.ask(path);
    let text = answer.text();
    assert_eq!(answer.status, 200, "{path}: {text}");
    clean(path, &text);
    text
}

/// Captured text is never markup, and no character that nobody sees is left in a page.
fn clean(path: &str, page: &str) {
    assert!(!page.contains("<script>alert"), "{path}: {page}");
    let raw = page.chars().find(|one| {
        matches!(one, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{1b}' | '\u{85}' | '\0')
    });
    assert_eq!(raw, None, "{path}: {page}");
}

/// As a browser reads it.
fn text_of(html: &str) -> String {
    html.replace("&#60;", "<")
        .replace("&#62;", ">")
        .replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#38;", "&")
}

/// What stands between two texts.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let behind = page.split_once(begin);
    let (_, behind) = behind.unwrap_or_else(|| panic!("no {begin}: {page}"));
    behind.split_once(end).expect(end).0
}

/// The address that a link of this kind leads to.
fn rel(page: &str, name: &str) -> Option<String> {
    let (_, behind) = page.split_once(&format!("<a rel=\"{name}\" href=\""))?;
    Some(text_of(behind.split_once('"')?.0))
}

fn services() -> [Service; 2] {
    [0, 1].map(|side| {
        Service::start(move |request| {
            let wrong = side == 1;
            if request.target.starts_with("/long") {
                let text = if wrong { "b" } else { "a" };
                return Answer::json(format!("{{\"text\":\"{}\"}}", text.repeat(100_000)));
            }
            let name = if wrong { HOSTILE } else { "plain" };
            Answer::json(serde_json::json!({ "name": name }).to_string())
        })
    })
}

/// The ids of all recorded mismatches of a route, the newest first.
fn ids(mirror: &Mirror<'_>, route: &str) -> Vec<String> {
    let listed = mirror
        .ask(&format!("/api/v1/mismatches?route={route}"))
        .json();
    let listed = listed["mismatches"].as_array().expect("a list").clone();
    let id = |one: &serde_json::Value| one["id"].as_str().expect("an id").to_owned();
    listed.iter().map(id).collect()
}

#[test]
fn each_exchange_of_a_group_leads_to_the_one_before_and_behind() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    for number in 0..5 {
        mirror.get(&format!("/names/{number}"));
        mirror.get(&format!("/others/{number}"));
    }
    mirror.settled(10);
    let route = "GET%20/names/%7Bid%7D";
    let all = ids(&mirror, route);
    assert_eq!(all.len(), 5);
    let groups = page(&mirror, &format!("/groups?of_route={route}&since=1h"));
    let group = format!("/groups/{}", between(&groups, "href=\"/groups/", "\""));
    let group = page(&mirror, &text_of(&group));
    let newest = format!(
        "/mismatches/{}",
        between(&group, "<td class=\"time\"><a href=\"/mismatches/", "\"")
    );
    let mut address = text_of(&newest);
    for (place, id) in all.iter().enumerate() {
        assert!(
            address.contains(id) && address.contains("since=1h") && address.contains("group="),
            "{address}"
        );
        let exchange = page(&mirror, &address);
        assert!(
            exchange.contains(&format!("<span>{} of 5 kept</span>", place + 1)),
            "{exchange}"
        );
        let previous = rel(&exchange, "prev");
        assert_eq!(previous.is_some(), place > 0);
        if let Some(previous) = previous {
            assert!(previous.contains(&all[place - 1]), "{previous}");
        }
        match rel(&exchange, "next") {
            Some(next) => address = next,
            None => assert_eq!(place, 4),
        }
    }
    // In whatever layout somebody reads them.
    let split = page(&mirror, &format!("/mismatches/{}?split=true", all[2]));
    for to in ["prev", "next"] {
        let to = rel(&split, to).expect("there is one");
        assert!(to.contains("split=true"), "{to}");
    }
    mirror.stop();
}

#[test]
fn a_request_is_copied_as_a_command_and_a_place_as_a_pointer() {
    let services = services();
    let place = Place::new();
    let config = place.write(
        "parity.toml",
        "[redact]\nkeep_query = [\"q\"]\nkeep_headers = [\"content-type\", \"x-quoted\"]\n\
         [[route]]\nmatch = \"POST /names/{id}\"\nshadow = true\n",
    );
    let config = config.display().to_string();
    let mirror = place.mirror(
        &services[0].url(),
        &services[1].url(),
        &["--config", &config],
    );
    let body = serde_json::json!({ "text": HOSTILE, "it's": 1 }).to_string();
    client::send(
        mirror.address,
        "POST",
        "/names/1?q=it%27s",
        &[
            ("content-type", "application/json"),
            ("authorization", "Bearer very-secret-value"),
            ("x-quoted", "it's \"so\" $HOME `id`"),
        ],
        body.as_bytes(),
    );
    mirror.settled(1);
    let id = ids(&mirror, "POST%20/names/%7Bid%7D").remove(0);
    let exchange = page(&mirror, &format!("/mismatches/{id}"));
    assert!(
        exchange.contains("<code data-copy>/name</code>"),
        "{exchange}"
    );
    assert!(
        exchange.contains("header/authorization: the record has only its keyed hash; left out"),
        "{exchange}"
    );
    assert!(!exchange.contains("very-secret-value"), "{exchange}");
    let link = text_of(between(
        &exchange,
        "<a data-copy rel=\"bookmark\" href=\"",
        "\"",
    ));
    assert_eq!(page(&mirror, &link), exchange);
    let command = text_of(between(&exchange, "<pre id=\"curl\" data-copy>", "</pre>"));
    // A shell and a real curl send what the client sent.
    let (seen, asked) = std::sync::mpsc::channel();
    let target = Service::start(move |request| {
        let _gone = seen.send(Request {
            method: request.method.clone(),
            target: request.target.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
        });
        Answer::json("{}")
    });
    let ran = Command::new("bash")
        .args(["-c", &command])
        .env("SERVICE", target.url())
        .env("no_proxy", "127.0.0.1")
        .output()
        .expect("bash runs");
    assert!(ran.status.success(), "{ran:?}: {command}");
    let sent = asked.try_recv().expect("curl asked it");
    assert_eq!(
        (sent.method.as_str(), sent.target.as_str()),
        ("POST", "/names/1?q=it%27s")
    );
    assert_eq!(String::from_utf8_lossy(&sent.body), body);
    let header = |name: &str| sent.header(name).map(str::to_owned);
    assert_eq!(
        header("x-quoted").as_deref(),
        Some("it's \"so\" $HOME `id`")
    );
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    for name in ["authorization", "user-agent", "accept"] {
        assert_eq!(header(name), None, "{name}");
    }
    mirror.stop();
}

/// Whether an answer is a file that no browser takes for a page.
fn is_file(answer: &Answered, name: &str) {
    for (header, expected) in [
        (
            "content-disposition",
            format!("attachment; filename=\"{name}\"").as_str(),
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(answer.header(header), Some(expected), "{header}");
    }
}

#[test]
fn a_stored_body_is_a_file_and_says_if_it_is_cut() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    mirror.get("/names/1");
    mirror.get("/long/1");
    mirror.settled(2);
    let id = ids(&mirror, "GET%20/names/%7Bid%7D").remove(0);
    let exchange = page(&mirror, &format!("/mismatches/{id}"));
    let to = between(&exchange, "The body of the candidate", "as a file");
    assert_eq!(to, " ");
    let path = format!("/mismatches/{id}/bodies/candidate");
    assert!(exchange.contains(&path), "{exchange}");
    let answer = mirror.ask(&path);
    assert_eq!(answer.status, 200);
    is_file(&answer, &format!("parity-{id}-candidate.txt"));
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(answer.header("parity-stored"), None);
    // As it was recorded, to the byte.
    assert_eq!(
        answer.text(),
        serde_json::json!({ "name": HOSTILE }).to_string()
    );
    // A GET has none.
    assert!(!exchange.contains(&format!("/mismatches/{id}/bodies/request")));

    let id = ids(&mirror, "GET%20/long/%7Bid%7D").remove(0);
    let answer = mirror.ask(&format!("/mismatches/{id}/bodies/legacy"));
    is_file(&answer, &format!("parity-{id}-legacy-cut.txt"));
    let stored = answer.header("parity-stored").expect("it says so");
    assert!(
        stored.starts_with("cut; 65536 bytes are stored, of a body of 100011"),
        "{stored}"
    );
    assert_eq!(answer.text().len(), 65_536);
    assert!(page(&mirror, &format!("/mismatches/{id}")).contains("as a file</a>, cut"));

    for (path, told) in [
        (
            format!("/mismatches/{id}/bodies/other"),
            "an exchange has a <code>request</code>, a <code>legacy</code>",
        ),
        (
            "/mismatches/x/bodies/legacy".to_owned(),
            "<code>x</code> is not a UUID",
        ),
        (
            format!("/mismatches/{}/bodies/legacy", uuid::Uuid::nil()),
            "no mismatch",
        ),
        (
            format!("/mismatches/{id}/bodies/legacy?x=1"),
            "there is no parameter <code>x</code>; none is taken here",
        ),
        (
            format!("/decisions/{}/export?x=1", uuid::Uuid::nil()),
            "there is no parameter <code>x</code>; none is taken here",
        ),
        (
            format!("/mismatches/{id}?group=nonsense"),
            "<code>nonsense</code> is no fingerprint",
        ),
        (
            format!("/mismatches/{id}?group=0123456789ABCDEF"),
            "is no fingerprint",
        ),
    ] {
        let answer = mirror.ask(&path);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(answer.text().contains(told), "{path}: {}", answer.text());
    }
    mirror.stop();
}

#[test]
fn a_decision_is_exported_from_its_page_as_by_the_command() {
    let services = services();
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    mirror.get("/names/1");
    mirror.settled(1);
    let gate = place.run(&["gate"]);
    assert_eq!(gate.code, 1, "{}", gate.stdout);
    let list = page(&mirror, "/decisions");
    let id = between(&list, "href=\"/decisions/", "\"").to_owned();
    let decision = page(&mirror, &format!("/decisions/{id}"));
    let to = between(&decision, "<a download href=\"", "\"");
    let answer = mirror.ask(to);
    assert_eq!(answer.status, 200);
    is_file(&answer, &format!("parity-decision-{id}.json"));
    place.write("export.json", answer.text());
    let verified = place.run(&["decisions", "verify", "export.json"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    // A list of decisions is chosen as other screens are.
    assert!(list.contains("name=\"since\"") && list.contains("name=\"migration\""));
    mirror.stop();
}

#[test]
fn no_parameter_stands_raw_in_a_form_or_an_error_and_a_form_sends_it_back() {
    let service = Service::json("{}");
    let place = Place::new();
    let mirror = place.mirror(&service.url(), &service.url(), &[]);
    // A reversing mark, an escape and a next line; each is in its place a parameter that the page keeps.
    let odd = "x%E2%80%AE%1B%C2%85%3Cb%3E";
    let shown = "x\\u{202e}\\u{1b}\\u{85}&#60;b&#62;";
    for path in [
        format!("/groups?find={odd}&of_route={odd}"),
        format!("/groups?migration={odd}&candidate_version={odd}&gone={odd}"),
        format!("/?migration={odd}"),
        format!("/decisions?migration={odd}"),
    ] {
        let page = page(&mirror, &path);
        assert!(
            page.contains(&format!("value=\"{shown}\"")),
            "{path}: {page}"
        );
    }
    // As a form sends it, it is the same as what a link has.
    let sent = "x%5Cu%7B202e%7D%5Cu%7B1b%7D%5Cu%7B85%7D%3Cb%3E";
    let by = |text: &str| page(&mirror, &format!("/groups?migration={text}&find={text}"));
    assert_eq!(by(odd), by(sent));
    for path in [
        format!("/groups?tab={odd}"),
        format!("/groups/{odd}"),
        format!("/mismatches/{odd}"),
        format!("/nothing?{odd}=1"),
    ] {
        let answer = mirror.ask(&path);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        clean(&path, &answer.text());
    }
    mirror.stop();
}

/// Bytes of a body that nobody reads whole: almost as many as are compared. The record keeps the same of a larger one.
const LARGE: usize = 900 << 10;

#[test]
fn two_large_bodies_are_a_page_of_bounded_size() {
    let services = [0, 1].map(|side| {
        Service::start(move |request| {
            // One value of many differs: among the first ones, or near the end.
            let is_early = request.target.starts_with("/early");
            let (text, items) = ("é".repeat(300), LARGE / 640);
            let at = if is_early { 10 } else { items - 10 };
            let each = (0..items).map(|item| {
                let value = if item == at { side } else { 7 };
                format!("{{\"id\":{item},\"value\":{value},\"text\":\"{text}\"}}")
            });
            let mut body = String::from("[");
            body.push_str(&each.collect::<Vec<_>>().join(","));
            body.push(']');
            Answer::json(body)
        })
    });
    let place = Place::new();
    let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
    mirror.get("/early/1");
    mirror.settled(1);
    mirror.get("/late/1");
    mirror.settled(2);
    for (route, told) in [
        (
            "GET%20/early/%7Bid%7D",
            "a body was cut where it was recorded",
        ),
        (
            "GET%20/late/%7Bid%7D",
            "What is stored of the two bodies is the same",
        ),
    ] {
        let id = ids(&mirror, route).remove(0);
        for layout in ["", "?split=true"] {
            let page = page(&mirror, &format!("/mismatches/{id}{layout}"));
            assert!(page.contains(told), "{page}");
            assert!(page.len() < 512 << 10, "{} bytes", page.len());
        }
    }
    mirror.stop();
}
