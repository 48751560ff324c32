//! Which route a request gets, and what is no route.

use http::Method;
use proptest::prelude::*;

use super::*;

fn label(rules: &[&str], method: &str, path: &str) -> String {
    let rules = rules
        .iter()
        .map(|text| RouteRule::parse(text, RoutePolicy::default()).expect("valid route"))
        .collect();
    let method = Method::from_bytes(method.as_bytes()).expect("valid method");
    RouteResolver::new(rules).resolve(&method, path).to_string()
}

#[test]
fn get_and_head_at_the_path_of_a_graphql_service_are_graphql_too() {
    let graphql = RoutePolicy {
        graphql: true,
        ..RoutePolicy::default()
    };
    let rules = [
        RouteRule::parse("POST /graphql", graphql),
        RouteRule::parse("GET /graphql", RoutePolicy::default()),
    ];
    let rules = rules.map(|rule| rule.expect("a route"));
    let mut resolver = RouteResolver::new(rules.into());
    let mut is_graphql =
        |method: Method, path: &str| resolver.resolve(&method, path).policy().graphql;
    assert!(is_graphql(Method::GET, "/graphql"));
    assert!(is_graphql(Method::HEAD, "/graphql"));
    assert!(!is_graphql(Method::OPTIONS, "/graphql"));
    assert!(!is_graphql(Method::GET, "/graphql/schema"));
}

#[test]
fn segments_are_classified_one_by_one() {
    for (path, template) in [
        ("/", "/"),
        ("/users/42", "/users/{id}"),
        ("/users/42/", "/users/{id}/"),
        ("/api/v1/oauth2/token", "/api/v1/oauth2/token"),
        (
            "/orders/3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "/orders/{id}",
        ),
        ("/blobs/deadbeef0", "/blobs/{id}"),
        ("/reports/2026-01-31", "/reports/{id}"),
        ("/orders/ord-10023/items", "/orders/{id}/items"),
        ("/accounts/acc_129/users/usr_7", "/accounts/{id}/users/{id}"),
        ("/v1.2/wizard/step-2/utf-8", "/v1.2/wizard/step-2/utf-8"),
        ("/s/dGhpc0lzQVRva2VuRm9yWW91", "/s/{id}"),
        (
            "/blog/this-is-a-long-slug-for-a-post",
            "/blog/this-is-a-long-slug-for-a-post",
        ),
        ("/search/caf%C3%A9", "/search/{id}"),
        ("/a//b", "/a//b"),
        (
            "/invite/token/opensesame/accept",
            "/invite/token/{id}/accept",
        ),
        ("/invite/token/./opensesame", "/invite/token/./{id}"),
        ("/invite/token//opensesame", "/invite/token//{id}"),
        (
            "/invite/token/x/../opensesame",
            "/invite/token/{id}/../{id}",
        ),
        ("/auth/login", "/auth/login"),
        ("/%70assword/opensesame", "/{id}/{id}"),
        ("/token/%2e/opensesame", "/token/{id}/{id}"),
        ("/secrets/app/opensesame", "/secrets/{id}/{id}"),
        ("/magic-link/Open7", "/magic-link/{id}"),
        ("/login/password,opensesame", "/login/{id}"),
        ("/cart;jsessionid=opensesame/items", "/{id}/items"),
        ("*", "*"),
    ] {
        assert_eq!(label(&[], "GET", path), format!("GET {template}"), "{path}");
    }
    assert_eq!(label(&[], "BREW", "/pot"), "OTHER /pot");
}

#[test]
fn the_operators_routes_come_first_and_in_order() {
    let rules = ["GET /users/{name}", "GET /users/me", "* /files/{*path}"];
    for (method, path, expected) in [
        ("GET", "/users/ada", "GET /users/{name}"),
        ("GET", "/users/me", "GET /users/{name}"),
        ("GET", "/users/", "GET /users/"),
        ("POST", "/users/ada", "POST /users/ada"),
        ("PUT", "/files/a/b/c", "* /files/{*path}"),
        ("GET", "/users/ada/x", "GET /users/ada/x"),
    ] {
        assert_eq!(label(&rules, method, path), expected, "{method} {path}");
    }
}

#[test]
fn what_is_no_route_is_refused_with_its_text() {
    for text in [
        "/users",
        "GET users",
        "G@T /",
        "GET /a{b}",
        "GET /{}",
        "GET /{*rest}/x",
        "GET /a?b=1",
        "GET /my path",
        "POST /graphql query Orders { a }",
        "POST /graphql persisted 1a2b",
        "POST /graphql unknown Orders",
        "POST /graphql Query Orders",
        "",
    ] {
        let error = RouteRule::parse(text, RoutePolicy::default())
            .expect_err(text)
            .to_string();
        assert!(error.contains('`'), "{error}");
    }
}

proptest! {
    #[test]
    fn labels_are_bounded_and_do_not_depend_on_history(paths in prop::collection::vec("/?[ -~é]{0,300}", 1..8)) {
        let mut resolver = RouteResolver::new(Arc::new([]));
        for path in &paths {
            let warm = resolver.resolve(&Method::GET, path);
            let cold = RouteResolver::new(Arc::new([])).resolve(&Method::GET, path);
            prop_assert_eq!(&warm, &cold);
            let longest = MAX_LABEL_BYTES + "OPTIONS /{*rest}".len();
            prop_assert!(warm.label().len() <= longest);
        }
    }
}
