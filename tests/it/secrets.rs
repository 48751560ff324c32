//! Secrets in requests and answers of every format, looked for in all that a running mirror leaves behind: the files of
//! the store, the spool, the report, pages, API, metrics with their labels, and the log at its most talkative.

mod renamed;

use std::path::Path;

use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service, nobody};
use crate::support::{client, wait_for};

/// What is planted, different on each side so that each pair differs.
const LEGACY: &str = "ZqKlmnbvcxwrt";
const CANDIDATE: &str = "ZqPlmnbvcxwrz";

/// A path, the media type of what is sent and answered there, and the body around a secret.
type Case = (&'static str, &'static str, fn(&str) -> Vec<u8>);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("/json", "application/json", |s| format!(r#"{{"a":1,"accessTokenV2":"{s}","tokens":{{"{s}":["{s}"]}}}}"#).into()),
    ("/imitation", "application/json", |s| format!(r#"{{"password":"sha256:00 ({s} bytes)"}}"#).into()),
    ("/nested", "application/json", |s| format!(r#"{{"x":"{{\"pass\\u0077ord\":\"{s}\"}}","u":"https://x/?page=1;token={s}"}}"#).into()),
    ("/broken", "application/json", |s| format!(r#"{{"password":"{s}","#).into()),
    ("/lines", "application/x-ndjson", |s| format!("{{\"a\":1}}\n{{\"pass\\u0077ord\":\"{s}\"}}\n").into()),
    ("/wide", "application/json; charset=utf-16le", |s| format!(r#"{{"password":"{s}"}}"#).encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ("/yaml", "application/yaml", |s| format!("password: &p |\n  {s}\nagain: *p\n").into()),
    ("/form", "application/x-www-form-urlencoded", |s| format!("user%5Bpassword%5D={s}&a=1").into()),
    ("/untyped", "", |s| format!("user%5Bpassword%5D={s}").into()),
    ("/xml", "application/xml", |s| format!("<a><w:Password xmlns:w='u' Type='t'><![CDATA[{s}]]></w:Password><login password='{s}'/></a>").into()),
    ("/html", "text/html", |s| format!("<form><input name=password value='{s}'><script>k='{s}'</script></form>").into()),
    ("/graphql", "application/graphql", |s| format!("mutation {{ login(password: \"{s}\") {{ id }} }}").into()),
    ("/events", "text/event-stream-of-old", |s| format!("data: {{\"token\":\"{s}\"}}\n\n").into()),
    ("/parts", "multipart/form-data; boundary=x", |s| format!("--x\r\nContent-Disposition: form-data; name=pin_code\r\n\r\n{s}\r\n--x--\r\n").into()),
    ("/bytes", "application/octet-stream", |s| s.into()),
    ("/protobuf", "application/x-protobuf", |s| format!("\n\u{d}{s}").into()),
    ("/text", "text/plain", |s| format!("x :password=>\"{s}\" 'password' => '{s}'\nsession_key: {s}\n").into()),
    ("/patch", "application/json-patch+json", |s| format!(r#"[{{"op":"replace","path":"/password","value":"{s}"}}]"#).into()),
    ("/invalid", "application/json", |s| format!(r#"{{"detail":[{{"loc":["body","password"],"msg":"x","input":"{s}"}}],"h":[["X-Api-Key","{s}"]]}}"#).into()),
    ("/rows", "application/json", |s| format!(r#"{{"columns":["id","password"],"rows":[[1,"{s}"]],"csv":"id,pw\n1,{s}\n"}}"#).into()),
    ("/table", "text/csv", |s| format!("# users\nid,passwort\n1,{s}\n").into()),
    ("/variables", "application/json", |s| format!(r#"{{"query":"mutation($x:String){{login(password:$x){{id}}}}","variables":{{"x":"{s}"}}}}"#).into()),
    ("/label", "text/html", |s| format!("<input id=a value='{s}'><p>x</p><label for=a>Password</label><i DATA-NAME=pin DATA-VALUE='{s}'>x</i>").into()),
    ("/foot", "text/html", |s| format!("<table><tr><td>1</td><td>{s}</td></tr><tfoot><tr><th>id</th><th>pin</th></tr></tfoot></table>").into()),
    ("/athena", "application/json", |s| format!(r#"{{"ResultSet":{{"Rows":[{{"Data":[{{"VarCharValue":"id"}},{{"VarCharValue":"password"}}]}},{{"Data":[{{"VarCharValue":"1"}},{{"VarCharValue":"{s}"}}]}}]}}}}"#).into()),
    ("/meta", "application/json", |s| format!(r#"{{"meta":[{{"name":"id"}},{{"name":"password"}}],"data":[[1,"{s}"]],"setting":{{"name":"password"}},"value":"{s}"}}"#).into()),
    ("/key", "application/json", |s| format!(r#"{{"kty":"RSA","d":"{s}","db":{{"sensitive":true,"value":"{s}"}},"psk":"{s}","code_verifier":"{s}"}}"#).into()),
    ("/pairs", "application/xml", |s| format!("<r><c n='password'/><c v='{s}'/></r>").into()),
    ("/ill", "application/xml", |s| format!("<a><Note>{s}</note></a>").into()),
    ("/unclosed", "", |s| format!("<order><note>{s}</order>").into()),
    ("/sentence", "text/plain", |s| format!("The password for bob is: {s}\n").into()),
    ("/links", "application/json", |s| format!(r#"{{"a":"/magic-link/{s}","b":"//u:{s}@h/","c":"/login/password,{s}","contraseña":"{s}"}}"#).into()),
];

/// Paths of which some servers drop a segment. They are in the labels of routes and metrics, too.
const DETOURS: [&str; 5] = [
    "/otp/./{s}",
    "/otp/%2e/{s}",
    "/otp//{s}",
    "/otp/y/../{s}",
    "/otp/;v=1/{s}",
];

fn case_of(request: &Request) -> Option<&'static Case> {
    CASES
        .iter()
        .find(|(path, ..)| request.target.starts_with(path))
}

fn service(secret: &'static str) -> Service {
    Service::start(move |request| match case_of(request) {
        Some((_, "", body)) => Answer::new(200, body(secret)),
        Some((_, media, body)) => Answer::new(200, body(secret)).header("content-type", media),
        // A path with a token, and answers with fields that hold one.
        None => Answer::json(format!(
            "{{\"n\":{}}}",
            secret.len() + secret.matches('P').count()
        ))
        .header("set-cookie", &format!("sid={secret}; Path=/"))
        .header("location", &format!("/x?code={secret}"))
        .header("x-secret", secret),
    })
}

/// Sends every body, and a secret in path, query and fields.
fn drive(mirror: &Mirror<'_>) -> u64 {
    for (path, media, body) in CASES {
        let typed = [("content-type", *media)];
        let headers = if media.is_empty() {
            &[][..]
        } else {
            &typed[..]
        };
        let answer = client::send(mirror.address, "POST", path, headers, &body(LEGACY));
        assert_eq!(
            (answer.status, &answer.body),
            (200, &body(LEGACY)),
            "{path}"
        );
    }
    let path = format!(
        "/reset/kjhqwexzvbnmasdfghjkl/{LEGACY}{LEGACY}/token/{LEGACY}/pw/{LEGACY}/x;jsessionid={LEGACY}/secrets/a/b/{LEGACY}?page=1;token={LEGACY}&q={LEGACY}"
    );
    let headers = [
        ("authorization", "Bearer ZqKlmnbvcxwrt"),
        ("cookie", "sid=ZqKlmnbvcxwrt"),
        ("referer", "https://x/?access_token=ZqKlmnbvcxwrt"),
    ];
    assert_eq!(
        client::send(mirror.address, "GET", &path, &headers, b"").status,
        200
    );
    for path in DETOURS {
        let path = path.replace("{s}", LEGACY);
        assert_eq!(
            client::send(mirror.address, "GET", &path, &headers, b"").status,
            200,
            "{path}"
        );
    }
    (CASES.len() + 1 + DETOURS.len()) as u64
}

/// The encodings of a secret that anybody can decode.
fn writings(secret: &str) -> Vec<Vec<u8>> {
    const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let base64 = |shift: usize| -> Vec<u8> {
        let bytes = [vec![b'x'; shift], secret.as_bytes().to_vec()].concat();
        let whole = bytes.chunks_exact(3).flat_map(|three| {
            let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
            [18, 12, 6, 0].map(|at| BASE64[(bits >> at & 63) as usize])
        });
        // The first letters are not of the secret alone.
        whole.skip(4).collect()
    };
    let percent = secret
        .bytes()
        .fold(String::new(), |out, byte| format!("{out}%{byte:02X}"));
    let hex = percent.replace('%', "").to_lowercase();
    let wide = |bytes: fn(u16) -> [u8; 2]| secret.encode_utf16().flat_map(bytes).collect();
    vec![
        secret.into(),
        percent.to_lowercase().into(),
        percent.into(),
        hex.into(),
        wide(u16::to_le_bytes),
        wide(u16::to_be_bytes),
        base64(0),
        base64(1),
        base64(2),
    ]
}

fn look(surface: &str, bytes: &[u8]) {
    let tokens = [LEGACY, CANDIDATE, "kjhqwexzvbnmasdfghjkl"];
    for writing in tokens.iter().flat_map(|secret| writings(secret)) {
        let found = bytes
            .windows(writing.len())
            .position(|window| window == writing);
        assert!(
            found.is_none(),
            "{surface} has {}: …{}",
            String::from_utf8_lossy(&writing),
            found.map_or(String::new(), |at| {
                let around = at.saturating_sub(200)..(at + 40).min(bytes.len());
                String::from_utf8_lossy(&bytes[around]).into_owned()
            })
        );
    }
}

/// Every file below a folder.
fn look_at_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            look_at_files(&path);
        } else if path.extension().is_none_or(|extension| extension != "toml") {
            look(
                &path.display().to_string(),
                &std::fs::read(&path).expect("readable"),
            );
        }
    }
}

const SHADOW_ALL: &str = "[[route]]\nmatch = \"POST /{name}\"\nshadow = true\n";

#[test]
fn planted_secrets_are_on_no_surface() {
    let (legacy, candidate) = (service(LEGACY), service(CANDIDATE));
    let place = Place::new();
    place.write("parity.toml", SHADOW_ALL);
    let recording = ["--record", "live.ndjson", "--record-answers", "on"];
    let more = [&["--config", "parity.toml"][..], &recording].concat();
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        command.env("PARITY_LOG", "trace")
    });
    let sent = drive(&mirror);
    wait_for("the recording of all", || {
        (mirror.status()["recording"]["written"] == sent).then_some(())
    });
    let report = mirror.settled(sent);
    assert_eq!(report.count("mismatch"), sent, "{}", report.0);
    look("the report", report.0.to_string().as_bytes());
    for path in [
        "/",
        "/metrics",
        "/api/v1/report",
        "/api/v1/gate",
        "/api/v1/mismatches",
        "/api/v1/status",
    ] {
        look(path, &mirror.ask(path).body);
    }
    let mut hashes = 0;
    for group in report.0["groups"].as_array().expect("groups") {
        let id = group["example_id"].as_str().expect("an id");
        for path in [
            format!("/mismatches/{id}"),
            format!("/api/v1/mismatches/{id}"),
        ] {
            let answer = mirror.ask(&path);
            assert_eq!(answer.status, 200, "{path}");
            hashes += answer.text().matches("hmac:").count();
            look(&path, &answer.body);
        }
    }
    assert!(
        hashes > 100,
        "{hashes} hashes say that something was hidden"
    );
    for output in ["text", "json"] {
        look(
            output,
            place.run(&["report", "--output", output]).stdout.as_bytes(),
        );
    }
    look("the log", mirror.log().as_bytes());
    mirror.stop();
    look_at_files(place.path());
}

/// Secrets that only their form tells, or a word before them, in all that is counted of requests besides their routes.
/// Pieces of the secrets below, with what stands beside them where they are digits: hashes have digits, too.
const PLANTED_IN_ATTRIBUTES: [&str; 9] = [
    "SEKA",
    "IOSFODNN7",
    "4111-1111",
    "4111 1111",
    "4111+1111",
    "89 3704",
    "89+3704",
    "code: 493817",
    "code:+493817",
];

#[test]
fn attributes_of_requests_show_no_secret() {
    const SECRETS: [&str; 16] = [
        "4111-1111-1111-1111",
        "4111 1111 1111 1111",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-SEKAabcdefghijklmnop",
        "AIzaSEKAabcdefghijklmnopqrstuvwxyzabcde",
        "npm_SEKAabcdefghijklmnopqrstuvwxyz",
        "SG.SEKAabcdefghijklmnop.qrstuvwxyz",
        "hvs.SEKAabcdefghijklmnopqrst",
        "DE89 3704 0044 0532 0130 00",
        "token:SEKAb7",
        "alice:SEKApw",
        "password: SEKApw",
        "Bearer SEKAhunter2a",
        "Your code: 493817",
        "mysql -pSEKApw",
        "the password is SEKApw",
    ];
    let (legacy, candidate) = (
        Service::json("{\"n\":1}"),
        // It says of itself what it was asked with, as one that logs into a header does.
        Service::start(|request| {
            let told = request.header("x-tenant-tier").unwrap_or("a").to_owned();
            Answer::json("{\"n\":2}").header("x-pod", &told)
        }),
    );
    let place = Place::new();
    place.write(
        "parity.toml",
        "[attributes]\nheaders = [\"x-tenant-tier\"]\ncandidate_instance = \"x-pod\"\n",
    );
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        command.env("PARITY_LOG", "trace")
    });
    let mut sent = 0;
    for secret in SECRETS {
        let target = format!("/orders?page=1&{}=1", secret.replace(' ', "+"));
        for agent in [secret.to_owned(), format!("{secret}/1.0")] {
            let headers = [("user-agent", agent.as_str()), ("x-tenant-tier", secret)];
            let answer = client::send(mirror.address, "GET", &target, &headers, b"");
            assert_eq!(answer.status, 200, "{secret}");
            sent += 1;
        }
    }
    let report = mirror.settled(sent);
    let text = report.0.to_string();
    for shown in [
        "query=page",
        "query=_hidden",
        "client=_hidden",
        "header x-tenant-tier=_hidden",
        "candidate_instance=_hidden",
    ] {
        assert!(text.contains(shown), "{shown} is not in {text}");
    }
    let mut surfaces = vec![
        ("log".to_owned(), mirror.log().into_bytes()),
        ("report".to_owned(), text.into_bytes()),
    ];
    for path in [
        "/",
        "/metrics",
        "/api/v1/gate",
        "/api/v1/mismatches",
        "/api/v1/status",
    ] {
        surfaces.push((path.to_owned(), mirror.ask(path).body));
    }
    mirror.stop();
    for output in ["text", "markdown"] {
        let printed = place.run(&["report", "--output", output]).stdout;
        surfaces.push((output.to_owned(), printed.into_bytes()));
    }
    for entry in std::fs::read_dir(place.path()).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_file() {
            surfaces.push((
                path.display().to_string(),
                std::fs::read(&path).expect("readable"),
            ));
        }
    }
    for (surface, bytes) in surfaces {
        for planted in PLANTED_IN_ATTRIBUTES {
            let found = bytes
                .windows(planted.len())
                .position(|window| window == planted.as_bytes());
            let around = found.map(|at| {
                let around = at.saturating_sub(100)..(at + 40).min(bytes.len());
                String::from_utf8_lossy(&bytes[around]).into_owned()
            });
            assert_eq!(around, None, "{surface}");
        }
    }
}

#[test]
fn planted_secrets_are_not_in_the_spool() {
    let (legacy, candidate) = (service(LEGACY), service(CANDIDATE));
    let place = Place::new();
    place.write("parity.toml", SHADOW_ALL);
    // Nobody listens there: everything goes to the spool.
    let store = format!("{}/t", nobody().replace("http://", "kafka://"));
    let more = ["--config", "parity.toml", "--store", &store];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &more, |command| {
        command.env("PARITY_LOG", "trace")
    });
    drive(&mirror);
    wait_for("the records to be spooled", || {
        let status = mirror.ask("/api/v1/status").json();
        (status["spool_bytes"].as_u64() > Some(10_000)).then_some(())
    });
    look("the log", mirror.log().as_bytes());
    mirror.signal("TERM");
    mirror.ended();
    look_at_files(place.path());
}

#[test]
fn plain_text_is_not_stored_where_that_is_asked_for() {
    let (legacy, candidate) = (
        Service::start(|_| Answer::new(200, "colour blue").header("content-type", "text/plain")),
        Service::start(|_| Answer::new(200, "colour green").header("content-type", "text/plain")),
    );
    for (text, kept) in [("patterns", true), ("hidden", false)] {
        let place = Place::new();
        place.write("parity.toml", format!("[redact]\ntext = \"{text}\"\n"));
        let mirror = place.mirror(
            &legacy.url(),
            &candidate.url(),
            &["--config", "parity.toml"],
        );
        mirror.get("/x");
        let report = mirror.settled(1);
        let id = report.0["groups"][0]["example_id"].as_str().expect("an id");
        let shown = mirror.ask(&format!("/api/v1/mismatches/{id}")).text();
        assert_eq!(shown.contains("blue"), kept, "{shown}");
        assert_eq!(shown.contains("(11 bytes)"), !kept, "{shown}");
        mirror.stop();
    }
    let place = Place::new();
    place.write("parity.toml", "[redact]\ntext = \"some\"\n");
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(told.contains("neither patterns nor hidden"), "{told}");
}
