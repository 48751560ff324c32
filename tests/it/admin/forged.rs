//! Changes that a page of somebody else causes: none is made, whatever browser sends them.

use super::{CHANGES, basic, bearer, form, is_shadowing, post};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// What browsers send with a form of a page that is elsewhere, the older ones last. Those say nothing of where it is.
const BROWSERS: [&[(&str, &str)]; 7] = [
    &[
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"),
        ("origin", "http://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ],
    &[("origin", "null")],
    &[("sec-fetch-site", "same-site")],
    &[
        (
            "user-agent",
            "Mozilla/5.0 (X11; rv:52.0) Gecko/20100101 Firefox/52.0",
        ),
        ("accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("accept-language", "en"),
        ("referer", "http://evil.example/"),
    ],
    &[(
        "user-agent",
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
    )],
    &[("accept-language", "en"), ("user-agent", "w3m/0.5.3")],
    &[],
];
/// The three ways in which a form is written.
const FORMS: [(&str, &str); 3] = [
    (
        "application/x-www-form-urlencoded",
        "form=0123456789abcdef&a=b",
    ),
    (
        "multipart/form-data; boundary=x",
        "--x\r\ncontent-disposition: form-data; name=\"form\"\r\n\r\nabc\r\n--x--\r\n",
    ),
    (
        "text/plain",
        "{\"metadata\":{\"store\":\"true\",\"x\":\"=\"}}\r\n",
    ),
];

fn recorded<'a>(place: &'a Place, services: &[Service; 2], more: &[&str]) -> (Mirror<'a>, String) {
    let mirror = place.mirror(&services[0].url(), &services[1].url(), more);
    mirror.get("/items/1");
    let token = bearer(CHANGES);
    let id = wait_for("a mismatch", || {
        let headers = [("authorization", token.as_str())];
        let page = client::send(mirror.admin, "GET", "/api/v1/mismatches", &headers, b"");
        let page = (page.status == 200).then(|| page.json())?;
        Some(page["mismatches"][0]["id"].as_str()?.to_owned())
    });
    (mirror, id)
}

fn services() -> [Service; 2] {
    [Service::json("{\"a\":1}"), Service::json("{\"a\":2}")]
}

#[test]
fn forged_forms_of_every_kind_change_nothing() {
    let services = services();
    for with_token in [false, true] {
        let place = Place::new();
        place.write("changes", CHANGES);
        let more: &[&str] = if with_token {
            &["--admin-token-file", "changes"]
        } else {
            &[]
        };
        let (mirror, id) = recorded(&place, &services, more);
        let seen = services[1].seen();
        // The browser adds the password that its user typed once.
        let known = basic("anna", CHANGES);
        let paths = [
            "/api/v1/shadowing/off".to_owned(),
            "/api/v1/gate".to_owned(),
            format!("/api/v1/mismatches/{id}/rerun"),
            format!("/mismatches/{id}/rerun"),
            "/gate/flagger/confirm".to_owned(),
            "/gate/flagger/rollback".to_owned(),
        ];
        for browser in BROWSERS {
            for (kind, body) in FORMS {
                for path in &paths {
                    if browser.is_empty() && path.starts_with("/gate") {
                        // A webhook by hand: without any sign of a browser, its type does not matter.
                        continue;
                    }
                    for content in [Some((kind, body)), None] {
                        if content.is_none() && browser.is_empty() {
                            continue;
                        }
                        let mut headers = browser.to_vec();
                        if with_token {
                            headers.push(("authorization", &known));
                        }
                        let mut text = "";
                        if let Some((kind, body)) = content {
                            headers.push(("content-type", kind));
                            text = body;
                        }
                        let answer = post(&mirror, path, &headers, text);
                        assert_eq!(answer.status, 403, "{path} {headers:?}: {}", answer.text());
                        let told = answer.text();
                        assert!(!told.contains(CHANGES), "{told}");
                    }
                }
            }
        }
        let headers = [("authorization", known.as_str())];
        let ask = |path| client::send(mirror.admin, "GET", path, &headers, b"");
        assert_eq!(is_shadowing(&ask("/api/v1/status")), true);
        assert_eq!(
            ask("/api/v1/decisions").json()["decisions"],
            serde_json::json!([])
        );
        assert_eq!(services[1].seen(), seen, "nothing was sent");
        mirror.stop();
    }
}

#[test]
fn a_form_of_our_own_page_changes_what_it_says() {
    let services = services();
    let place = Place::new();
    let (mirror, id) = recorded(&place, &services, &[]);
    let origin = format!("http://{}", mirror.admin);
    let host = mirror.admin.to_string();
    let own = [
        ("host", host.as_str()),
        ("origin", origin.as_str()),
        ("user-agent", "Mozilla/5.0"),
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    // As today's browsers send it, and as older ones do.
    for headers in [&own[..], &own[2..], &own[4..]] {
        let page = mirror.ask("/").text();
        let token = form(&page).expect(&page);
        assert!(token.len() >= 32, "{token}");
        let off = post(
            &mirror,
            "/api/v1/shadowing/off",
            headers,
            &format!("form={token}"),
        );
        let status = if headers.len() > 1 { 303 } else { 200 };
        assert_eq!(off.status, status, "{}", off.text());
        assert_eq!(mirror.status()["shadowing"], false);
        let page = mirror.ask("/health").text();
        let token = form(&page).expect(&page);
        post(
            &mirror,
            "/api/v1/shadowing/on",
            headers,
            &format!("form={token}"),
        );
        assert_eq!(mirror.status()["shadowing"], true);
    }
    let path = format!("/mismatches/{id}");
    let page = mirror.ask(&path).text();
    let body = format!("form={}", form(&page).expect(&page));
    let again = post(&mirror, &format!("{path}/rerun"), &own, &body);
    assert_eq!(again.status, 200, "{}", again.text());
    // And once more from the page of what came of it.
    let page = again.text();
    let body = format!("form={}", form(&page).expect(&page));
    assert_eq!(
        post(&mirror, &format!("{path}/rerun"), &own, &body).status,
        200
    );
    // A form of another process, such as of a page that was open when this one was started, has the buttons again.
    let old = post(
        &mirror,
        "/api/v1/shadowing/off",
        &own,
        "form=00000000000000000000000000000000",
    );
    assert_eq!(old.status, 403);
    let page = old.text();
    assert!(
        page.contains("open the page again") && form(&page).is_some(),
        "{page}"
    );
    assert_eq!(mirror.status()["shadowing"], true);
    // A form that is no form of ours, because it is too long or never ends.
    let long = "a".repeat(5 << 10);
    assert_eq!(
        post(&mirror, "/api/v1/shadowing/off", &own, &long).status,
        400
    );
    mirror.stop();
}

#[test]
fn a_program_needs_no_form() {
    let place = Place::new();
    place.write("changes", CHANGES);
    let services = services();
    let (mirror, _) = recorded(&place, &services, &["--admin-token-file", "changes"]);
    let (bearer, basic) = (bearer(CHANGES), basic("", CHANGES));
    for headers in [
        &[
            ("authorization", bearer.as_str()),
            ("user-agent", "curl/8.5.0"),
        ][..],
        // What curl says of `--data ''`, and what nobody can make a browser send elsewhere.
        &[
            ("authorization", bearer.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ],
        &[
            ("authorization", basic.as_str()),
            ("user-agent", "curl/8.5.0"),
        ],
    ] {
        for (state, on) in [("off", false), ("on", true)] {
            let answer = post(&mirror, &format!("/api/v1/shadowing/{state}"), headers, "");
            assert_eq!(is_shadowing(&answer), on, "{headers:?}");
        }
    }
    mirror.stop();
}
