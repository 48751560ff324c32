//! What is forbidden under which spelling.

use super::super::{RoutePolicy, RouteResolver};
use super::*;

fn resolver(rules: &[(&str, Option<bool>)]) -> RouteResolver {
    let rules = rules.iter().map(|(text, shadow)| {
        let policy = RoutePolicy {
            shadow: *shadow,
            ..RoutePolicy::default()
        };
        RouteRule::parse(text, policy).expect("a route")
    });
    RouteResolver::new(rules.collect())
}

#[test]
fn a_forbidden_route_is_forbidden_in_every_spelling() {
    let mut resolver = resolver(&[
        ("GET /logout", Some(false)),
        ("GET /users/{id}/Close", Some(false)),
        ("* /{*all}", Some(true)),
    ]);
    let mut shadow = |method: &Method, path: &str| {
        let route = resolver.resolve(method, path);
        route.policy().shadow
    };
    for path in [
        "/logout",
        "/%6cogout",
        "/%256cogout",
        "//logout",
        "/logout/",
        "/./logout",
        "/a/../logout",
        "/%2e/logout",
        "/%2Flogout",
        "/LOGOUT",
        "/logout;a=b",
        "/logout%20",
        "\\logout",
        "/logout+",
        "/+/logout",
        "/\u{ff4c}ogout",
        "/%EF%BD%8Cogout",
        "/logout\u{ff0e}",
        "/logout..;",
        "/logout.html",
        "/users/7/close+",
        "/users/+/close",
        "/users/%FF/close",
        "/users/7/close",
        "/users/7/Close",
        "/users//7/%43lose",
    ] {
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(shadow(&method, path), Some(false), "{method} {path}");
        }
        assert_eq!(shadow(&Method::POST, path), Some(true), "{path}");
    }
    for path in [
        "/",
        "/log",
        "/logout/now",
        "/users/close",
        "/a/logout",
        "/logout-all",
        "/\u{65e5}\u{672c}",
    ] {
        assert_eq!(shadow(&Method::GET, path), Some(true), "{path}");
    }
}

#[test]
fn an_escape_in_a_segment_and_the_end_of_a_path_have_every_reading() {
    let mut resolver = resolver(&[
        ("GET /admin/{id}/close", Some(false)),
        ("GET /logout", Some(false)),
        ("GET /Admin/open", Some(true)),
        ("* /{*all}", Some(true)),
    ]);
    let mut shadow = |method: &Method, path: &str| {
        let route = resolver.resolve(method, path);
        route.policy().shadow
    };
    for path in [
        "/admin/a%2Fb/close",
        "//admin/a%2Fb/close",
        "/admin/a%2Fb/clos%65",
        "/admin/a%252Fb/clos%65",
        "/Admin/a%2Fb/close",
        "/admin/a%2Fb/close/",
        "/admin/a%5Cb/close/",
        "/Admin/a\\b/close",
        "/admin/%2e%2e/close",
        "//admin/%2e%2e/close",
        "//admin/..%2f/close",
        "//admin/;v=1/close",
        "/x/%2e%2e/admin/a%2Fb/close",
        "/admin%2Fa%2Fclose",
        "/admin/a%2Fb/close%00.png",
        "/logout%00",
        "/logout%3Fx=1",
        "/logout%3fx=1",
        "/logout%23",
        "/logout%2523",
        "/logout%25%32%33x",
        "//Logout%2500",
        "/logout/%3Fx",
    ] {
        for method in [Method::GET, Method::HEAD] {
            assert_eq!(shadow(&method, path), Some(false), "{method} {path}");
        }
        assert_eq!(shadow(&Method::POST, path), Some(true), "{path}");
    }
    for path in [
        "/admin/open%2Fb",
        "/Admin/open",
        "/admin/a/closed%23",
        "/x%23/logout",
        "/x%3F/logout",
        "/%",
        "/logout%2",
        "/logout%24",
        "/\u{e4}%e4%ff",
    ] {
        assert_eq!(shadow(&Method::GET, path), Some(true), "{path}");
    }
}

/// Rules behind the last one that forbids are not read again, and still say what is of their very spelling.
#[test]
fn only_rules_up_to_the_last_forbidding_one_are_folded() {
    let rules = [
        ("GET /a", None),
        ("GET /b", Some(false)),
        ("GET /B", Some(true)),
        ("GET /c", None),
    ];
    let closed = resolver(&rules).closed;
    assert_eq!(closed.folded.len(), 2);
    assert!(!closed.forbids(&Method::GET, "/B", Some(2)));
    assert!(closed.forbids(&Method::GET, "/%62", None));
    assert!(resolver(&rules[2..]).closed.folded.is_empty());
}

#[test]
fn a_route_for_this_very_spelling_or_before_it_says_otherwise() {
    let mut resolver = resolver(&[
        ("GET /users/{id}", None),
        ("GET /users/me", Some(false)),
        ("GET /logout", Some(false)),
        ("HEAD /logout", Some(true)),
        ("GET /Logout", Some(true)),
    ]);
    for (method, path, expected) in [
        // As the exact routes: the first one holds.
        (Method::GET, "/users/me", None),
        (Method::GET, "/users/%6de", None),
        (Method::HEAD, "/logout", Some(true)),
        (Method::GET, "/Logout", Some(true)),
        (Method::GET, "/LOGOUT", Some(false)),
        (Method::HEAD, "/LOGOUT", Some(false)),
    ] {
        let route = resolver.resolve(&method, path);
        assert_eq!(route.policy().shadow, expected, "{method} {path}");
    }
    // Where everything is sent, too.
    let forbidden = RoutePolicy {
        shadow: Some(false),
        ..RoutePolicy::default()
    };
    let rule = RouteRule::parse("POST /pay", forbidden).expect("a route");
    let mut resolver = RouteResolver::new([rule].into()).with_unsafe_methods(true);
    for (path, expected) in [("/%70ay", false), ("/payed", true)] {
        let route = resolver.resolve(&Method::POST, path);
        assert_eq!(route.policy().shadow, Some(expected), "{path}");
    }
}

/// Who merges slashes reads `//logout` as `/logout`, and not as `/logout/`.
#[test]
fn an_open_route_with_more_than_its_steps_opens_only_what_is_written_so() {
    let mut resolver = resolver(&[
        ("GET /logout/", Some(true)),
        ("GET /Users/{id}", Some(true)),
        ("GET /users/{id}", Some(false)),
        ("GET /logout", Some(false)),
        ("* /{*all}", Some(true)),
    ]);
    for (path, expected) in [
        ("/logout/", true),
        ("/logout", false),
        ("//logout", false),
        ("//logout/", false),
        ("/Users/7", true),
        ("/Users/a%20b", true),
        ("/users/7", false),
        ("/USERS/7", false),
        ("//Users/7", false),
    ] {
        let route = resolver.resolve(&Method::GET, path);
        assert_eq!(route.policy().shadow, Some(expected), "{path}");
    }
}

/// A list of what is open, and all else closed.
#[test]
fn what_is_listed_as_open_stays_open_before_a_rest_that_is_closed() {
    let mut resolver = resolver(&[
        ("GET /users/{id}", Some(true)),
        ("GET /files/{*path}", Some(true)),
        ("* /{*rest}", Some(false)),
    ]);
    for (path, expected) in [
        ("/users/7", true),
        ("/users/Ann%20Lee", true),
        ("/users/a.b", true),
        ("/files/a/index.html", true),
        ("/users/7/orders", false),
        ("/", false),
        ("/users", false),
    ] {
        let route = resolver.resolve(&Method::GET, path);
        assert_eq!(route.policy().shadow, Some(expected), "{path}");
    }
}

#[test]
fn what_leads_out_of_the_root_is_forbidden_where_anything_is() {
    let mut closed = resolver(&[("GET /logout", Some(false)), ("* /{*all}", Some(true))]);
    let mut open = resolver(&[("* /{*all}", Some(true))]);
    for path in ["/../api/logout", "/a/%2e%2e/../x"] {
        for (resolver, expected) in [(&mut closed, false), (&mut open, true)] {
            let route = resolver.resolve(&Method::GET, path);
            assert_eq!(route.policy().shadow, Some(expected), "{path}");
        }
    }
    let route = closed.resolve(&Method::POST, "/../api/logout");
    assert_eq!(route.policy().shadow, Some(true), "no POST is closed");
}

/// ASP.NET routes `get` as GET, and werkzeug, too.
#[test]
fn a_method_in_other_case_is_the_method() {
    let mut resolver = resolver(&[("GET /logout", Some(false)), ("* /{*all}", Some(true))]);
    for (method, path, expected) in [
        ("get", "/logout", false),
        ("Get", "//logout", false),
        ("hEAD", "/logout", false),
        ("post", "/logout", true),
    ] {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let route = resolver.resolve(&method, path);
        assert_eq!(route.policy().shadow, Some(expected), "{method} {path}");
    }
}

/// Its directory, another format of it, and the bytes that services get instead of those that a URL may contain.
#[test]
fn a_document_is_its_directory_and_what_is_sent_counts() {
    let mut resolver = resolver(&[
        ("GET /admin/index.php", Some(false)),
        ("GET /logout", Some(false)),
        ("* /{*all}", Some(true)),
    ]);
    for path in [
        "/admin/index.php",
        "/admin",
        "/admin/",
        "/admin/index.php/x",
        "/admin/index",
    ] {
        let route = resolver.resolve(&Method::GET, path);
        assert_eq!(route.policy().shadow, Some(false), "{path}");
    }
    let route = resolver.resolve_sent(&Method::GET, "/logout!x", "/logout%23x");
    assert_eq!(route.policy().shadow, Some(false));
    assert_eq!(route.label(), "* /{*all}");
}
