//! What a recording has of a request: its own format, and the name of each part that is hidden.

use parity_schemas::recording::RecordedBody;

use super::*;

/// What a request body of this type becomes, and what is named as hidden.
fn check(media: &str, body: &str, expected: &str, hidden: &[&str]) {
    let fields: &[(&str, &str)] = if media.is_empty() {
        &[]
    } else {
        &[("content-type", media)]
    };
    let same = || answer(fields, body.as_bytes());
    let exchange = exchange("/users/1", fields, body.as_bytes(), same(), same());
    let line = line(&plain(), &exchange, &exchange.legacy);
    let shown = line.body.text.clone().unwrap_or_default();
    // The hash of the key of the tests is any.
    let masked = masked(&shown);
    assert_eq!(
        (&*masked, &*line.hidden),
        (expected, &*owned(hidden)),
        "{media} {body}"
    );
    let response = line.response.expect("it was answered");
    assert_eq!(
        (&response.body, &response.hidden),
        (&line.body, &line.hidden),
        "{media}"
    );
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// With `#` in the place of each hash.
fn masked(text: &str) -> String {
    let mut parts = text.split("hmac:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push('#');
        out.push_str(part.get(32..).expect("a whole hash"));
    }
    out
}

#[test]
fn a_body_stays_in_its_own_format_and_its_hidden_parts_are_named() {
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    for (media, body, expected, hidden) in [
        (
            json,
            r#"{ "a": 1.0, "b":"x" }"#,
            r#"{ "a": 1.0, "b":"x" }"#,
            &[][..],
        ),
        (
            json,
            r#"{"card":{"number":"4111111111111111"},"a~/b":[1,{"token":"x"}],"password":{"x":1}}"#,
            r##"{"card":{"number":"#"},"a~/b":[1,{"token":"#"}],"password":"# (7 bytes)"}"##,
            &["body/a~0~1b/1/token", "body/card/number", "body/password"],
        ),
        // A number of a card is a text then, wherever it stands and whatever it was.
        (
            json,
            r#"{"a":4111111111111111,"b":"4111111111111111 ","c":"4111-1111-1111-1111","d":["4111111111111111",{"e":"[4111111111111111]"}]}"#,
            r##"{"a":"#","b":"# ","c":"#","d":["#",{"e":"[\"#\"]"}]}"##,
            &["body/a", "body/b", "body/c", "body/d/0", "body/d/1/e"],
        ),
        (json, "4111111111111111", r##""#""##, &["body"]),
        (json, r#""4111111111111111""#, r##""#""##, &["body"]),
        (
            "application/x-ndjson",
            "4111111111111111\n\"4111111111111111\"\n",
            "\"#\"\n\"#\"\n",
            &["body/0", "body/1"],
        ),
        (form, "a=4111111111111111&b=1", "a=#&b=1", &["body/a"]),
        (json, r#"{"a":"#, "# (5 bytes, invalid JSON)", &["body"]),
        ("", r#"{"pin":1}"#, r##"{"pin":"#"}"##, &["body/pin"]),
        (
            "application/x-ndjson",
            "{\"a\":1}\n{\"otp\":2}\n",
            "{\"a\":1}\n{\"otp\":\"#\"}\n",
            &["body/1/otp"],
        ),
        (form, "a=1&b=%7e+x&a=2", "a=1&b=%7e+x&a=2", &[]),
        (
            form,
            "a=1&pass%77ord=x&b=2&password=",
            "a=1&pass%77ord=#&b=2&password=#",
            &["body/pass%77ord", "body/password"],
        ),
        ("application/xml", "<a><b>1</b></a>", "<a><b>1</b></a>", &[]),
        (
            "application/xml",
            "<a><password>x</password></a>",
            "<a><password>#</password></a>",
            &["body"],
        ),
        (
            "application/yaml",
            "a: 1\nb: x\n",
            r#"{"a":1,"b":"x"}"#,
            &[],
        ),
        (
            "application/yaml",
            "# password: x\npassword: y\n",
            r##"{"password":"#"}"##,
            &["body/password"],
        ),
        ("text/plain", "hello", "hello", &[]),
        ("text/plain", "password: x", "password: #", &["body"]),
        ("application/octet-stream", "abc", "# (3 bytes)", &["body"]),
    ] {
        check(media, body, expected, hidden);
    }
}

#[test]
fn path_query_and_fields_are_named_where_they_are_hidden() {
    let fields = [
        ("host", "shop.example"),
        ("accept", "text/html"),
        ("authorization", "Bearer x"),
        ("cookie", "sid=abc; theme=dark; novalue"),
    ];
    let same = || {
        answer(
            &[
                ("x-request-id", "1"),
                ("set-cookie", "sid=new; Path=/; HttpOnly"),
            ],
            b"",
        )
    };
    let target = "/reset/token/abc?page=2&q=cats&empty=&token=x";
    let exchange = exchange(target, &fields, b"", same(), same());
    let line = line(&plain(), &exchange, &exchange.legacy);
    assert_eq!(
        masked(&line.url),
        "/reset/token/#?page=2&q=#&empty=&token=#"
    );
    let shown: Vec<(&str, String)> = line
        .headers
        .iter()
        .map(|(name, value)| (&**name, masked(value)))
        .collect();
    let expected = [
        ("host", "#"),
        ("accept", "text/html"),
        ("authorization", "#"),
        ("cookie", "sid=#; theme=#; #"),
    ];
    assert_eq!(
        shown,
        expected.map(|(name, value)| (name, value.to_owned()))
    );
    let hidden = [
        "path",
        "query/q",
        "query/token",
        "header/host",
        "header/authorization",
        "header/cookie/sid",
        "header/cookie/theme",
        "header/cookie",
    ];
    assert_eq!(line.hidden, owned(&hidden));
    assert_eq!(line.session, None);
    let response = line.response.expect("it was answered");
    assert_eq!(
        response.hidden,
        owned(&["header/x-request-id", "header/set-cookie/sid"])
    );
    assert_eq!(response.body, RecordedBody::default());
}

#[test]
fn a_session_is_one_address_and_does_not_tell_it() {
    let line_of = |redactor: &Redactor, address: &str| {
        let mut exchange = exchange("/", &[], b"", answer(&[], b""), answer(&[], b""));
        exchange.request.origin.client = Some(parity_schemas::exchange::Client {
            address: address.parse().expect("an address"),
            secure: false,
        });
        line(redactor, &exchange, &exchange.legacy)
            .session
            .expect("there is a client")
    };
    let one = line_of(&plain(), "10.0.0.1");
    assert_eq!(one, line_of(&plain(), "10.0.0.1"));
    assert_ne!(one, line_of(&plain(), "10.0.0.2"));
    assert_eq!(masked(&one), "#");
    // Not the hash of the address, which a field may hold.
    assert_ne!(one, plain().hash(b"10.0.0.1"));
}

#[test]
fn an_extension_method_bytes_and_other_charsets_are_hidden() {
    let latin = || {
        answer(
            &[("content-type", "text/plain; charset=iso-8859-1")],
            b"caf\xe9",
        )
    };
    let mut exchange = exchange("/", &[], b"\xff\xfe", latin(), latin());
    exchange.request.method = Method::from_bytes(b"SECRETWORD").expect("a method");
    exchange.request.headers = {
        let mut fields = FieldLines::default();
        fields.push(HeaderName::from_static("accept"), b"a\xff");
        fields
    };
    let line = line(&plain(), &exchange, &exchange.legacy);
    assert_eq!(line.method, "OTHER");
    assert_eq!(line.hidden, owned(&["method", "header/accept", "body"]));
    assert_eq!(masked(&line.headers[0].1), "#");
    let response = line.response.expect("it was answered");
    assert_eq!(
        (
            masked(response.body.text.as_deref().expect("a body")),
            response.hidden
        ),
        ("# (4 bytes)".to_owned(), owned(&["body"]))
    );
}

#[test]
fn a_session_or_a_link_in_a_path_is_hidden_and_an_id_is_not() {
    let uuid = "6f1c2b34-8d5e-4f60-9a7b-0c1d2e3f4a5b";
    for (before, last, is_hidden) in [
        ("/sessions/", "s3cr3tSessionId99", true),
        ("/sessions/", uuid, true),
        ("/magic/login/", "k7Qz31xTb9Wm", true),
        ("/reset/", "k7qz31xtb9wm", true),
        ("/invite/", "k7qz31xtb9wm", true),
        ("/invite/accept/", uuid, true),
        ("/sessions/", "4711", false),
        ("/sessions/", "current", false),
        ("/orders/", "4711", false),
        ("/orders/", uuid, false),
        ("/users/", "k7qz31xtb9wm", false),
    ] {
        let path = format!("{before}{last}");
        let same = || answer(&[], b"");
        let exchange = exchange(&path, &[], b"", same(), same());
        let line = line(&plain(), &exchange, &exchange.legacy);
        let named: &[&str] = if is_hidden { &["path"] } else { &[] };
        assert_eq!(line.hidden, owned(named), "{path}");
        assert_eq!(line.url.contains(last), !is_hidden, "{path}");
    }
}

#[test]
fn a_token_in_place_of_the_name_of_a_cookie_or_a_field_is_hidden() {
    const TOKENS: [&str; 5] = [
        "kX9vQz2LmN8pRt4WbYc7",
        "3f9c2b7e8d1a4c5f9e0b7d6a2c4e8f1a",
        "aHVudGVyMnNlY3JldHRva2VuMTIzNDU2Nzg5MA",
        "550e8400-e29b-41d4-a716-446655440000",
        "4111111111111111",
    ];
    for token in TOKENS {
        let ends = [("", "1"), ("", ""), ("", "="), ("sess_", "x")];
        for (begin, value) in ends {
            let set = format!("{begin}{token}={value}; Path=/");
            let cookie = format!("theme=dark; {begin}{token}={value}");
            let header = format!("x-{token}").to_lowercase();
            let fields = [("cookie", &*cookie), (&*header, "1")];
            let legacy = answer(&[("set-cookie", &set), (&*header, "1")], b"a");
            let exchange = exchange("/", &fields, b"", legacy, answer(&[], b"b"));
            let line = line(&plain(), &exchange, &exchange.legacy);
            let recording = serde_json::to_string(&line).expect("a line");
            let (groups, record) = recorded_groups(&plain(), &exchange);
            let record = serde_json::to_string(&(groups, record)).expect("a record");
            for text in [recording, record] {
                let found = text.to_lowercase().contains(&token.to_lowercase());
                assert!(!found, "{token} {value}: {text}");
            }
        }
    }
    let names = [
        "sid",
        "_ga",
        "theme_dark",
        "XSRF-TOKEN",
        "PHPSESSID",
        "connect.sid",
        "__Host-next-auth.csrf",
    ];
    for name in names {
        let set = format!("{name}=x");
        let legacy = answer(&[("set-cookie", &set)], b"a");
        let exchange = exchange("/", &[("cookie", &set)], b"", legacy, answer(&[], b"b"));
        let line = line(&plain(), &exchange, &exchange.legacy);
        assert_eq!(
            line.hidden,
            owned(&[&format!("header/cookie/{name}")]),
            "{name}"
        );
        let (groups, _) = recorded_groups(&plain(), &exchange);
        let patterns: Vec<&str> = groups.iter().map(|group| &*group.pattern).collect();
        assert!(
            patterns.contains(&&*format!("set-cookie/{name}")),
            "{patterns:?}"
        );
    }
}

#[test]
fn a_value_without_a_name_is_hidden_with_its_padding() {
    for (query, shown) in [
        ("aHVudGVyMnNlY3JldHRva2VuMTIzNDU2Nzg5MA==", "#="),
        ("aHVudGVyMnNlY3JldHRva2VuMTIzNDU2Nzg5MA%3D%3D", "#"),
        ("c2VjcmV0c2VjcmV0c2VjcmU=", "#="),
        ("3f9c2b7e8d1a4c5f9e0b7d6a2c4e8f1a=", "#="),
        ("3f9c2b7e8d1a4c5f9e0b7d6a2c4e8f1a=1", "#=#"),
        ("page=2&k7Qz31xTb9Wm=", "page=2&#="),
        (
            "empty=&include_archived=&page=",
            "empty=&include_archived=&page=",
        ),
    ] {
        let same = || answer(&[], b"");
        let exchange = exchange(&format!("/verify?{query}"), &[], b"", same(), same());
        let line = line(&plain(), &exchange, &exchange.legacy);
        let url = masked(&line.url).replace("#==", "#=");
        assert_eq!(url, format!("/verify?{shown}"), "{query}");
        assert_eq!(line.hidden.is_empty(), !shown.contains('#'), "{query}");
    }
}

#[test]
fn trailers_are_shown_and_hidden_as_fields_are() {
    let line_of = |trailers: Option<&[(&str, &str)]>| {
        let mut legacy = answer(&[], b"");
        legacy.trailers = trailers.map(headers);
        let exchange = exchange("/", &[], b"", legacy, answer(&[], b""));
        let hiding = mask(Part::Trailer, "x-total-count");
        let config = RedactConfig::default();
        let response = line(&redactor(&config, &[hiding]), &exchange, &exchange.legacy).response;
        let response = response.expect("it was answered");
        let trailers = response.trailers.expect("they are known");
        let shown: Vec<String> = trailers
            .iter()
            .map(|(name, value)| format!("{name}: {}", masked(value)))
            .collect();
        (shown, response.hidden)
    };
    let fields = [
        ("grpc-status", "7"),
        ("grpc-message", "no card 4111111111111111"),
        ("x-total-count", "3"),
        ("set-cookie", "sid=1"),
    ];
    assert_eq!(
        line_of(Some(&fields)),
        (
            owned(&[
                "grpc-status: 7",
                "grpc-message: #",
                "x-total-count: #",
                "set-cookie: #"
            ]),
            owned(&[
                "trailer/grpc-message",
                "trailer/x-total-count",
                "trailer/set-cookie"
            ])
        )
    );
    assert_eq!(line_of(None), (Vec::new(), Vec::new()));
}

#[test]
fn values_of_a_list_that_is_the_whole_body_are_hidden_by_their_places() {
    let json = [("content-type", "application/json")];
    let by_rule = |path: &str| redactor(&RedactConfig::default(), &[mask(Part::Body, path)]);
    let by_place = |path: &str| {
        let config = RedactConfig {
            mask_places: vec![path.to_owned()],
            ..RedactConfig::default()
        };
        // A rule before them keeps its number.
        redactor(&config, &[mask(Part::Body, "/other")])
    };
    for (path, body, other, expected, hidden) in [
        (
            "/0",
            r#"["a","b"]"#,
            r#"["Zq","b"]"#,
            r##"["#","b"]"##,
            "body/0",
        ),
        (
            "/1",
            r#"["a",7]"#,
            r#"["a","Zq"]"#,
            r##"["a","#"]"##,
            "body/1",
        ),
        (
            "/0/1",
            r#"[["a","b"],"c"]"#,
            r#"[["a","Zq"],"c"]"#,
            r##"[["a","#"],"c"]"##,
            "body/0/1",
        ),
        (
            "/0/_",
            r#"[{"_":"a","b":"b"}]"#,
            r#"[{"_":"Zq","b":"b"}]"#,
            r##"[{"_":"#","b":"b"}]"##,
            "body/0/_",
        ),
        (
            "/0",
            r#"[{"a":1},2]"#,
            r#"[{"a":"Zq"},2]"#,
            r##"["# (7 bytes)",2]"##,
            "body/0",
        ),
        (
            "/-",
            r#"{"-":"a"}"#,
            r#"{"-":"Zq"}"#,
            r##"{"-":"#"}"##,
            "body/-",
        ),
        ("/", r#"{"":"a"}"#, r#"{"":"Zq"}"#, r##"{"":"#"}"##, "body/"),
    ] {
        for redactor in [by_rule(path), by_place(path)] {
            let same = || answer(&json, body.as_bytes());
            let exchange = exchange("/users/1", &json, body.as_bytes(), same(), same());
            let line = line(&redactor, &exchange, &exchange.legacy);
            let response = line.response.expect("it was answered");
            for (shown, names) in [(line.body, line.hidden), (response.body, response.hidden)] {
                let shown = masked(shown.text.as_deref().expect("a body"));
                assert_eq!(
                    (&*shown, names),
                    (expected, owned(&[hidden])),
                    "{path} {body}"
                );
            }
            // Nor do findings and samples show it.
            let other = answer(&json, other.as_bytes());
            let exchange = super::exchange("/users/1", &json, body.as_bytes(), same(), other);
            let record = super::record(&redactor, &exchange);
            let text = serde_json::to_string(&record).expect("a record");
            assert!(!text.contains("Zq"), "{path} {text}");
        }
    }
    let deep = "/0".repeat(300);
    let config = RedactConfig {
        mask_places: vec![deep.clone()],
        ..RedactConfig::default()
    };
    let refused = Redactor::new(&config, KEY, Arc::default()).err();
    assert!(
        matches!(&refused, Some(RedactError::MaskPlace(place, _)) if *place == deep),
        "{refused:?}"
    );
}
