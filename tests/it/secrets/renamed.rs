//! Secrets that have a harmless name in the candidate, by rules that say so.

use super::*;

const NEW_NAMES: &str = r#"
[[route]]
match = "GET /{name}"

[[rule]]
id = "token"
path = "/**/accessToken"
action = "rename"
to = "label7"

[[rule]]
id = "attribute"
path = "/**/@accessToken"
action = "rename"
to = "@label7"

[[rule]]
id = "header"
part = "header"
path = "x-api-key"
action = "rename"
to = "x-powered-by"

[[rule]]
id = "cookie"
part = "header"
path = "set-cookie/sid"
action = "rename"
to = "look"
"#;

/// What is answered below a path, by the name of the field and its value.
type Body = fn(&str, &str) -> String;

#[rustfmt::skip]
const BODIES: &[(&str, &str, Body)] = &[
    ("/json", "application/json", |n, s| format!(r#"{{"a":1,"b":[{{"{n}":"{s}"}}]}}"#)),
    ("/within", "application/json", |n, s| format!(r#"{{"{n}":{{"deep":["{s}"],"{s}":1}}}}"#)),
    ("/xml", "application/xml", |n, s| format!("<a><{n}>{s}</{n}><b {n}='{s}'/></a>")),
    ("/text", "application/xml", |n, s| format!("<!DOCTYPE a [<!ELEMENT a ANY>]><a><{n}>{s}</{n}></a>")),
    ("/table", "text/csv", |n, s| format!("id,{n}\n1,{s}\n")),
    ("/form", "application/x-www-form-urlencoded", |n, s| format!("a=1&{n}={s}")),
    ("/parts", "multipart/form-data; boundary=x", |n, s| format!("--x\r\nContent-Disposition: form-data; name={n}\r\n\r\n{s}\r\n--x--\r\n")),
];

fn service([field, header, cookie]: [&'static str; 3], secret: &'static str) -> Service {
    Service::start(move |request| {
        let mut bodies = BODIES.iter();
        let (_, media, body) = bodies
            .find(|(path, ..)| request.target.starts_with(path))
            .expect("a path that is asked for");
        Answer::new(200, body(field, secret))
            .header("content-type", media)
            .header(header, secret)
            .header("set-cookie", &format!("{cookie}={secret}; Path=/"))
    })
}

#[test]
fn a_secret_under_a_harmless_name_is_on_no_surface() {
    let legacy = service(["accessToken", "x-api-key", "sid"], LEGACY);
    let candidate = service(["label7", "x-powered-by", "look"], CANDIDATE);
    let place = Place::new();
    place.write("parity.toml", NEW_NAMES);
    let more = ["--config", "parity.toml"];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        command.env("PARITY_LOG", "trace")
    });
    for (path, ..) in BODIES {
        mirror.get(path);
    }
    let report = mirror.settled(BODIES.len() as u64);
    let text = report.0.to_string();
    look("the report", text.as_bytes());
    for told in [
        "/b/0/accessToken",
        "/b/0/label7",
        "x-api-key",
        "set-cookie/look",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    let groups = report.0["groups"].as_array().expect("groups");
    for group in groups {
        let id = group["example_id"].as_str().expect("an id");
        let api = format!("/api/v1/mismatches/{id}");
        for path in [format!("/mismatches/{id}"), api] {
            look(&path, &mirror.ask(&path).body);
        }
    }
    look("the log", mirror.log().as_bytes());
    mirror.stop();
    look_at_files(place.path());
}
