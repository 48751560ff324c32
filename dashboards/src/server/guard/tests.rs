//! Which hosts, tokens and names the guard takes, and which it does not.

use axum::http::Uri;
use base64::Engine as _;

use super::*;

#[test]
fn only_loopback_names_are_taken_for_loopback() {
    for name in [
        "localhost",
        "localhost:9900",
        "127.0.0.1:9900",
        "127.1.2.3",
        "[::1]:9900",
        "[::1]",
        "LOCALHOST",
    ] {
        assert!(is_loopback_name(name), "{name}");
    }
    for name in [
        "",
        "evil.example",
        "localhost.evil.example:9900",
        "10.0.0.1",
        "[::2]",
        "127.0.0.1.evil.example",
        "[::1].evil.example",
        "[::1].evil.example:9900",
        "[::1]evil",
        "[::1]:9900.evil.example",
        "[127.0.0.1]:9900",
        "[localhost]",
        "[::1",
        "::1",
        "localhost:evil.example",
        "localhost:",
        "localhost:99999",
        "127.0.0.1:80:80",
        "user@localhost",
        "localhost, evil.example",
    ] {
        assert!(!is_loopback_name(name), "{name}");
    }
}

#[test]
fn a_request_says_once_where_it_is_for() {
    for (target, hosts, expected) in [
        ("/", &["localhost:9900"][..], Some("localhost:9900")),
        ("/", &[], Some("")),
        ("http://localhost/", &["localhost"], Some("localhost")),
        ("/", &["localhost", "evil.example"], None),
        ("/", &["localhost", "localhost"], None),
        ("http://evil.example/", &["localhost"], None),
        ("http://evil.example/", &[], None),
        ("http://localhost@evil.example/", &["localhost"], None),
    ] {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_static(host));
        }
        let target = Uri::from_static(target);
        assert_eq!(place(&target, &headers), expected, "{target} {hosts:?}");
    }
    let mut headers = HeaderMap::new();
    let odd = HeaderValue::from_bytes(b"localhost\xff").expect("a value");
    headers.append(header::HOST, odd);
    assert_eq!(place(&Uri::from_static("/"), &headers), None);
}

#[test]
fn the_token_counts_as_bearer_and_as_password() {
    let token = b"0123456789abcdef";
    let open = Access::new(None, None);
    let given = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
        Given::of(&headers)
    };
    for (value, user) in [
        ("Bearer 0123456789abcdef", None),
        ("bearer  0123456789abcdef ", None),
        ("Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVm", Some("user")),
        ("BASIC OjAxMjM0NTY3ODlhYmNkZWY=", None),
    ] {
        let given = given(value);
        assert_eq!(given.token(), Some(&token[..]), "{value}");
        assert_eq!(given.user(&open).as_deref(), user, "{value}");
    }
    for wrong in [
        "Bearer 0123456789abcdeX",
        "Bearer ",
        "Basic !!",
        // Without a colon.
        "Basic MDEyMzQ1Njc4OWFiY2RlZg==",
        "0123456789abcdef",
        "Digest 0123456789abcdef",
    ] {
        assert_ne!(given(wrong).token(), Some(&token[..]), "{wrong}");
    }
    assert!(Given::of(&HeaderMap::new()).token().is_none());
    // What is wrong with it is told, and nothing of what would be right.
    for (value, code, told) in [
        (None, "token_needed", "this port needs a token: "),
        (Some("Bearer "), "token_needed", "this port needs a token: "),
        (Some("Digest x"), "token_needed", "is none: write Bearer"),
        (Some("Basic !!"), "token_needed", "is none: write Bearer"),
        (Some("Bearer 0123"), "token_wrong", "the token is wrong: "),
        (Some("Basic dXNlcjp4"), "token_wrong", "--token-file"),
    ] {
        let refused = without_role(&value.map_or(Given::Nothing, given));
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{value:?}");
        assert_eq!(refused.code().as_str(), code, "{value:?}");
        assert!(refused.message().contains(told), "{}", refused.message());
        assert!(!refused.message().contains("0123"), "{value:?}");
    }
    // A name comes to logs and pages.
    assert_eq!(
        given("Basic YRtbMW3igK46eA==").user(&open).as_deref(),
        Some("a\\u{1b}[1m\\u{202e}")
    );
}

/// A token that is typed as the name would stand in the record, in the log and on a page.
#[test]
fn no_token_and_nothing_of_a_stranger_is_kept_as_a_name() {
    const CHANGES: &str = "0123456789abcdef0123456789abcdef";
    // Longer than a name that is kept, so that a cut one would not equal it.
    let looks = "fedcba9876543210".repeat(8);
    let both = Access::new(Some(CHANGES.to_owned()), Some(looks.clone()));
    let open = Access::new(None, None);
    let tried = |access: &Access, user: &str, password: &str| {
        let engine = base64::engine::general_purpose::STANDARD;
        let basic = format!("Basic {}", engine.encode(format!("{user}:{password}")));
        let request = Request::post("/api/v1/shadowing/off");
        let request = request.header(header::AUTHORIZATION, basic);
        let request = request.body(axum::body::Body::empty()).expect("a request");
        let tried = Tried::of(access, &request).expect("a change");
        (tried.role, tried.by.user)
    };
    let ada = || Some("ada".to_owned());
    for (access, user, password, expected) in [
        (&both, CHANGES, "", (None, None)),
        (&both, &*looks, "", (None, None)),
        // With a slip of the finger.
        (&both, CHANGES.trim_start_matches('0'), "", (None, None)),
        (&both, "ada", "wrong", (None, None)),
        (&both, "ada", CHANGES, (Some(Role::Change), ada())),
        (&both, "ada", &*looks, (Some(Role::Look), ada())),
        (&both, CHANGES, CHANGES, (Some(Role::Change), None)),
        (&both, CHANGES, &*looks, (Some(Role::Look), None)),
        (&both, &*looks, CHANGES, (Some(Role::Change), None)),
        // Most of one, and one in another notation.
        (
            &both,
            CHANGES.split_at(20).0,
            CHANGES,
            (Some(Role::Change), None),
        ),
        (
            &both,
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
            &*looks,
            (Some(Role::Look), None),
        ),
        (
            &both,
            &format!("ada {CHANGES}"),
            &*looks,
            (Some(Role::Look), None),
        ),
        (&open, "ada", "", (Some(Role::Change), ada())),
    ] {
        assert_eq!(tried(access, user, password), expected, "{user}:{password}");
    }
}
