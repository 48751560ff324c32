//! What is put where, of whose answers, and what is left as it was.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use http::header::HeaderName;
use parity_schemas::exchange::{Body, Capture, Origin, OwnParts};
use parity_schemas::fields::FieldLines;
use parity_schemas::route::RoutePolicy;

use super::*;
use crate::replay::Place;

fn fields(lines: &[(&'static str, &str)]) -> FieldLines {
    let mut fields = FieldLines::default();
    for (name, value) in lines {
        fields.push(HeaderName::from_static(name), value.as_bytes());
    }
    fields
}

fn recorded(target: &str, headers: &[(&'static str, &str)], body: &str) -> Recorded {
    Recorded {
        place: Place {
            file: Path::new("r").into(),
            line: 1,
        },
        time: None,
        session: Some("s".into()),
        hidden: Box::default(),
        host: None,
        request: Request {
            method: Method::POST,
            target: target.into(),
            headers: fields(headers),
            body: body.as_bytes().to_vec().into(),
            origin: Origin::default(),
        },
        answer: None,
    }
}

fn answer(headers: &[(&'static str, &str)], body: &str) -> Capture {
    Capture {
        status: 200,
        headers: fields(headers),
        body: Body::from(body.as_bytes().to_vec()),
        trailers: None,
        hidden: None,
        head_elapsed: Duration::ZERO,
        elapsed: Duration::ZERO,
    }
}

fn route(text: &str) -> RouteRule {
    RouteRule::parse(text, RoutePolicy::default()).expect("a route")
}

fn part(text: &str) -> Part {
    text.parse().expect("a part")
}

fn fixed(put: &str, value: &str, to: &[&str]) -> Substitution {
    Substitution {
        put: part(put),
        value: ValueFrom::Operator(value.to_owned()),
        around: Default::default(),
        to: to.iter().map(|to| route(to)).collect(),
        legacy: true,
        candidate: true,
    }
}

fn taken(take: &str, put: &str) -> Substitution {
    Substitution {
        value: ValueFrom::Answers {
            from: vec![route("POST /login")],
            take: part(take),
        },
        ..fixed(put, "", &[])
    }
}

fn substituting(rules: Vec<Substitution>, cookies: Cookies, alone: bool) -> Rc<Substituting> {
    let all = Substitutions {
        done: Substituted::of(rules.len()),
        rules,
        cookies,
        set: <[Vec<HeaderName>; 2]>::default(),
        decode: |_, body| Some(Cow::Borrowed(body)),
    };
    Substituting::new(all, alone)
}

/// What a service gets: target, the header fields as lines, body.
fn sent(recorded: &Recorded, own: &OwnParts) -> (String, Vec<String>, String) {
    let request = own.of(&recorded.request);
    let lines = request.headers.iter();
    let lines = lines.map(|(name, value)| format!("{name}: {}", value.lossy()));
    let body = String::from_utf8(request.body.contiguous().into_owned()).expect("text");
    (request.target.to_string(), lines.collect(), body)
}

#[test]
fn a_value_is_put_in_its_place_and_all_else_stays_as_it_is_written() {
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let all = ["* /{*all}"];
    // Where, target, content type, body; what comes of target and body.
    for (put, to, target, media, body, becomes) in [
        (
            "query:t",
            &[][..],
            "/a?x=%20&t=old&t=2&y",
            json,
            "",
            Some(("/a?x=%20&t=n%20w%26&t=n%20w%26&y", "")),
        ),
        ("query:t", &[], "/a?x=1", json, "", None),
        ("query:t", &all, "/a", json, "", Some(("/a?t=n%20w%26", ""))),
        (
            "query:a b",
            &[],
            "/?a+b=1",
            json,
            "",
            Some(("/?a+b=n%20w%26", "")),
        ),
        (
            "form:csrf",
            &[],
            "/",
            form,
            "a=1&csrf=",
            Some(("/", "a=1&csrf=n%20w%26")),
        ),
        ("form:csrf", &[], "/", json, "a=1&csrf=", None),
        (
            "body:/a/1/t~1",
            &[],
            "/",
            json,
            "{ \"a\":[1.0, {\"t/\" :\"o\\\"ld\", \"n\":1e5}]}",
            Some(("/", "{ \"a\":[1.0, {\"t/\" :\"n w&\", \"n\":1e5}]}")),
        ),
        (
            "body:/t",
            &[],
            "/",
            json,
            "{\"t\":1,\"t\":[2]}",
            Some(("/", "{\"t\":1,\"t\":\"n w&\"}")),
        ),
        ("body:/t", &[], "/", json, "{\"a\":1}", None),
        (
            "body:/a/t",
            &all,
            "/",
            json,
            "{\"a\": { }}",
            Some(("/", "{\"a\": {\"t\":\"n w&\" }}")),
        ),
        (
            "body:/t",
            &all,
            "/",
            json,
            "{\"a\":1}",
            Some(("/", "{\"t\":\"n w&\",\"a\":1}")),
        ),
        ("body:/t", &all, "/", json, "{\"a\":", None),
        ("body:/t", &all, "/", json, "[]", None),
    ] {
        let rule = fixed(put, "n w&", to);
        let substituting = substituting(vec![rule], Cookies::Off, false);
        let length = body.len().to_string();
        let headers = [("content-type", media), ("content-length", &*length)];
        let recorded = recorded(target, &headers, body);
        let own = substituting.own(&recorded);
        let found = own.map(|own| {
            let [one, two] = [&own.legacy, &own.candidate].map(|own| sent(&recorded, own));
            assert_eq!(one, two, "{put}");
            let length = format!("content-length: {}", one.2.len());
            assert!(one.1.contains(&length), "{put}: {:?}", one.1);
            (one.0, one.2)
        });
        let becomes = becomes.map(|(target, body)| (target.to_owned(), body.to_owned()));
        assert_eq!(found, becomes, "{put} {target} {body}");
    }
}

#[test]
fn what_a_service_gave_out_goes_to_that_service() {
    let mut rule = taken("body:/token", "header:authorization");
    rule.around = ("Bearer ".to_owned(), String::new());
    let substituting = substituting(
        vec![rule, taken("header:x-n", "body:/n")],
        Cookies::Off,
        false,
    );
    let later = recorded(
        "/later",
        &[
            ("a", "1"),
            ("authorization", "Bearer old"),
            ("content-length", "7"),
        ],
        "{\"n\":0}",
    );
    assert!(
        substituting.own(&later).is_none(),
        "nothing was given out yet"
    );
    let login = recorded("/login?x", &[], "");
    let heard = substituting.heard(&login).expect("it is listened to");
    heard(
        Side::Legacy,
        &answer(&[("x-n", "7")], "{\"token\":\"of-legacy\"}"),
    );
    heard(Side::Candidate, &answer(&[], "{\"token\":12}"));
    assert!(substituting.heard(&later).is_none());
    let own = substituting.own(&later).expect("both have a value");
    assert_eq!(
        sent(&later, &own.legacy),
        (
            "/later".to_owned(),
            [
                "a: 1",
                "authorization: Bearer of-legacy",
                "content-length: 9"
            ]
            .map(str::to_owned)
            .to_vec(),
            "{\"n\":\"7\"}".to_owned()
        )
    );
    assert_eq!(
        sent(&later, &own.candidate).1[2],
        "authorization: Bearer 12"
    );
    assert_eq!(sent(&later, &own.candidate).2, "{\"n\":0}");
    // Not in another session, and not without any.
    for session in [None, Some("other".into())] {
        let other = Recorded {
            session,
            ..recorded("/later", &[("authorization", "old")], "")
        };
        assert!(substituting.own(&other).is_none());
    }
    let [bearer, number] = substituting.done.rules()[..] else {
        panic!("two rules");
    };
    assert_eq!((bearer.answers, bearer.taken, bearer.put), (2, 2, 2));
    assert_eq!((number.answers, number.taken, number.put), (2, 1, 1));
}

#[test]
fn with_recorded_answers_only_the_candidate_has_values_of_its_own() {
    let rules = vec![
        taken("cookie:sid", "header:x-sid"),
        fixed("header:b", "new", &[]),
    ];
    let substituting = substituting(rules, Cookies::Replace, true);
    let heard = substituting
        .heard(&recorded("/login", &[], ""))
        .expect("listened to");
    for side in Side::ALL {
        heard(side, &answer(&[("set-cookie", "sid=1")], ""));
    }
    let later = recorded(
        "/",
        &[("cookie", "sid=0"), ("x-sid", "0"), ("b", "old")],
        "",
    );
    let own = substituting.own(&later).expect("the candidate's");
    assert!(own.legacy.is_empty());
    let lines = sent(&later, &own.candidate).1;
    assert_eq!(lines, ["cookie: sid=1", "x-sid: 1", "b: new"]);
}

#[test]
fn cookies_are_those_of_a_browser_at_this_service() {
    let set = [
        "sid=new; Path=/; HttpOnly",
        "deep=1; Path=/a/b",
        "gone=1; Max-Age=0",
        "old=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT",
        "kept=1; Expires=Wed, 01 Jan 2098 00:00:00 GMT",
        "here=1",
        "bad name=1",
        "nothing",
        "ctl=\u{1}",
    ];
    let lines: Vec<_> = set.iter().map(|line| ("set-cookie", *line)).collect();
    for (cookies, target, cookie, becomes) in [
        (
            Cookies::Replace,
            "/a/b/c",
            "x=0; sid=0; gone=0",
            "x=0; sid=new; deep=1; kept=1; here=1",
        ),
        (
            Cookies::Replace,
            "/a/bc",
            "sid=0; deep=0",
            "sid=new; deep=0; kept=1; here=1",
        ),
        (Cookies::Replace, "/a", "old=2", "kept=1; here=1; sid=new"),
        (Cookies::Replace, "/", "", ""),
        (Cookies::All, "/", "", "sid=new"),
        (Cookies::Off, "/", "sid=0", "sid=0"),
        // A recording hides them all together.
        (Cookies::Replace, "/", "hmac:abc", "sid=new"),
    ] {
        let substituting = substituting(Vec::new(), cookies, false);
        if let Some(heard) = substituting.heard(&recorded("/a/login", &[], "")) {
            heard(Side::Legacy, &answer(&lines, ""));
        }
        let headers: Vec<_> = (!cookie.is_empty())
            .then_some(("cookie", cookie))
            .into_iter()
            .collect();
        let later = recorded(target, &headers, "");
        let own = substituting.own(&later).map(|own| own.legacy.clone());
        let (_, lines, _) = sent(&later, &own.unwrap_or_default());
        let line = lines.iter().find_map(|line| line.strip_prefix("cookie: "));
        assert_eq!(
            line.unwrap_or_default(),
            becomes,
            "{cookies:?} {target} {cookie}"
        );
    }
}

#[test]
fn what_stays_hidden_is_counted_by_its_name() {
    let rules = vec![fixed("header:authorization", "new", &[])];
    let substituting = substituting(rules, Cookies::Replace, false);
    let mut hidden = recorded("/", &[("authorization", "hmac:1"), ("x", "hmac:2")], "");
    hidden.hidden = ["header/Authorization", "header/x"].map(Into::into).into();
    for _ in 0..2 {
        assert!(substituting.own(&hidden).is_some());
    }
    hidden.hidden = (0..40)
        .map(|number| format!("query/{number}").into())
        .collect();
    assert!(substituting.own(&hidden).is_some());
    // Without one of two cookies it is another request, whichever cookie the service has set; also if only one service gets it.
    let answered = |cookie: &str| answer(&[("set-cookie", cookie)], "");
    let mut one = recorded("/", &[("cookie", "sid=hmac:1; lb=hmac:2")], "");
    one.session = Some("s".into());
    one.hidden = ["header/cookie/sid", "header/cookie/lb"]
        .map(Into::into)
        .into();
    let heard = substituting.heard(&one).expect("it is heard");
    heard(Side::Legacy, &answered("lb=3"));
    heard(Side::Candidate, &answered("lb=4"));
    assert!(substituting.own(&one).is_some());
    heard(Side::Legacy, &answered("sid=5"));
    assert!(substituting.own(&one).is_some());
    heard(Side::Candidate, &answered("sid=6"));
    assert!(substituting.own(&one).is_some());
    let Hidden {
        requests,
        incomplete,
        parts,
        others,
    } = substituting.done.hidden();
    assert_eq!(
        (requests, incomplete, parts.get("header/x"), parts.len()),
        (5, 3, Some(&2), 16)
    );
    assert_eq!(others, 25 + 2, "{parts:?}");
}

#[test]
fn sessions_are_forgotten_before_they_take_all_memory() {
    let substituting = substituting(Vec::new(), Cookies::Replace, false);
    let value = "v".repeat(4_000);
    let lines: Vec<_> = (0..60).map(|number| format!("c{number}={value}")).collect();
    let lines: Vec<_> = lines.iter().map(|line| ("set-cookie", &**line)).collect();
    let answer = answer(&lines, "");
    let of = |session: usize| Recorded {
        session: Some(session.to_string().into()),
        ..recorded("/", &[("cookie", "c1=0")], "")
    };
    for session in 0..400 {
        let heard = substituting.heard(&of(session)).expect("listened to");
        heard(Side::Candidate, &answer);
    }
    let forgotten = substituting.done.forgotten();
    // 400 sessions of 240 KB are 96 MB.
    assert!((100..200).contains(&forgotten), "{forgotten}");
    assert!(substituting.own(&of(0)).is_none());
    assert!(substituting.own(&of(399)).is_some());
}

#[test]
fn what_is_no_place_for_a_value_is_refused() {
    for (text, told) in [
        ("authorization", "no part of a message"),
        ("header:", "no part of a message"),
        ("header:a b", "`a b` is not a header name"),
        ("header:Cookie", "write cookie:NAME"),
        ("header:content-length", "cannot be set"),
        ("cookie:a b", "no part of a message"),
        ("body:token", "`token` is no JSON Pointer"),
        ("trailer:x", "no part of a message"),
    ] {
        let error = text.parse::<Part>().expect_err(text).to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
    // A value that a field cannot have leaves the request as it was.
    for (put, value) in [
        ("header:a", "x\r\ny: z"),
        ("cookie:a", "1; b=2"),
        ("header:a", "\u{1}"),
    ] {
        let rule = fixed(put, value, &["* /{*all}"]);
        let substituting = substituting(vec![rule], Cookies::Off, false);
        assert!(substituting.own(&recorded("/", &[], "")).is_none(), "{put}");
        assert_eq!(substituting.done.rules()[0].refused, 2);
    }
}

/// A request whose record hides these parts, and the rules of an operator.
fn left(hidden: &[&str], rules: Vec<Substitution>, set: [&'static str; 2]) -> Vec<String> {
    let headers = [
        ("authorization", "hmac:1"),
        ("cookie", "hmac:2"),
        ("content-type", "application/json"),
    ];
    let mut recorded = recorded("/x?id=hmac:3", &headers, "{\"card\":\"hmac:4\"}");
    recorded.hidden = hidden.iter().map(|name| (*name).into()).collect();
    let names = |name: &'static str| match name {
        "" => Vec::new(),
        name => vec![HeaderName::from_static(name)],
    };
    let substitutions = Substitutions {
        rules,
        set: set.map(names),
        ..Substitutions::none()
    };
    let left = substitutions.left_hidden(&recorded);
    left.into_iter().map(str::to_owned).collect()
}

#[test]
fn what_a_request_alone_would_lack_is_known_before_it_is_sent() {
    let by_operator = |put: &str, to: &[&str], [legacy, candidate]: [bool; 2]| Substitution {
        put: part(put),
        value: ValueFrom::Operator("value".to_owned()),
        around: (String::new(), String::new()),
        to: to.iter().map(|to| route(to)).collect(),
        legacy,
        candidate,
    };
    let both = [true, true];
    let all = [
        "header/authorization",
        "header/cookie",
        "query/id",
        "body/card",
        "path",
    ];
    assert_eq!(
        left(&all, Vec::new(), ["", ""]),
        [
            "body/card",
            "header/authorization",
            "header/cookie",
            "path",
            "query/id"
        ]
    );
    let rules = vec![
        by_operator("header:authorization", &[], both),
        by_operator("cookie:sid", &["* /{*all}"], both),
        by_operator("query:id", &[], both),
        by_operator("body:/card", &[], both),
    ];
    assert_eq!(left(&all, rules, ["", ""]), ["path"]);
    // A value for one service alone is not enough.
    let rules = vec![by_operator("header:authorization", &[], [true, false])];
    assert_eq!(left(&all[..1], rules, ["", ""]), ["header/authorization"]);
    let rules = vec![by_operator("header:authorization", &[], [true, false])];
    assert_eq!(left(&all[..1], rules, ["", "authorization"]), [""; 0]);
    // Nor is one that only an answer would give, or that is for other requests.
    let rules = vec![
        Substitution {
            value: ValueFrom::Answers {
                from: vec![route("* /{*all}")],
                take: part("body:/token"),
            },
            ..by_operator("header:authorization", &[], both)
        },
        by_operator("header:authorization", &["GET /other"], both),
    ];
    assert_eq!(left(&all[..1], rules, ["", ""]), ["header/authorization"]);
}
