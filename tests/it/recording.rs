//! Recordings of live traffic: what is in the file, that a replay of it is the same traffic, and what a recording costs a client
//! when the disk is full or the process is killed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::client::{self, Connection};
use crate::support::process::{Ended, Mirror, Place, limited};
use crate::support::service::{Answer, Service, nobody};
use crate::support::wait_for;

/// The lines of a file that is packed or not.
fn lines(place: &Place, file: &str) -> Vec<Value> {
    let bytes = std::fs::read(place.path().join(file)).expect("a recording");
    let text = if file.ends_with(".zst") {
        zstd::decode_all(&*bytes).expect("whole frames")
    } else {
        bytes
    };
    let text = String::from_utf8(text).expect("UTF-8");
    let read =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(read).collect()
}

/// The files of a recording, the oldest first.
fn files(place: &Place, begin: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path()).expect("readable");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(begin))
        })
        .collect();
    files.sort();
    files
}

/// A service that tells what it was asked.
fn echo() -> Service {
    Service::start(|request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let told = json!({"method": request.method, "target": request.target, "body": body});
        Answer::json(told.to_string()).header("x-request-id", "7")
    })
}

fn replay(place: &Place, more: &[&str]) -> Ended {
    let mut arguments = vec!["replay"];
    arguments.extend(more);
    arguments.extend(["--output", "json"]);
    place.run(&arguments)
}

/// Received, match, mismatch.
fn counts(ended: &Ended) -> [u64; 3] {
    let report = ended.json();
    ["received", "match", "mismatch"].map(|name| report[name].as_u64().expect("a number"))
}

fn written(mirror: &Mirror<'_>, expected: u64) {
    wait_for("the recording", || {
        let recording = &mirror.status()["recording"];
        (recording["written"].as_u64()? >= expected).then_some(())
    });
}

#[test]
fn what_was_recorded_is_the_traffic_once_more() {
    for file in ["live.ndjson", "live.ndjson.zst"] {
        let place = Place::new();
        let (legacy, candidate) = (echo(), echo());
        let more = ["--record", file, "--record-answers", "on"];
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &more);
        let json = [("content-type", "application/json")];
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000));
        let hostile = "\u{1b}[31m\u{202e}::error::\r\n\u{9b}1m";
        let named = [
            ("authorization", "Bearer abc"),
            ("cookie", "sid=1; theme=dark"),
            ("accept", "text/html, \t*/*;q=0.1"),
        ];
        let sent: [(&str, &str, &[(&str, &str)], Vec<u8>); 8] = [
            ("GET", "/items/1?page=2", &named, Vec::new()),
            ("GET", "/items/1?q=cats", &[], Vec::new()),
            ("POST", "/items", &json, br#"{"name":"x","n":1.0}"#.to_vec()),
            (
                "POST",
                "/login",
                &json,
                br#"{"user":"ann","password":"x"}"#.to_vec(),
            ),
            ("PUT", "/form", &form, b"a=%7e&b=+".to_vec()),
            ("POST", "/large", &json, large.into_bytes()),
            (
                "POST",
                "/text",
                &[("content-type", "text/plain")],
                hostile.into(),
            ),
            (
                "POST",
                "/bytes",
                &[("content-type", "text/plain")],
                vec![0xff, 0xfe, 0],
            ),
        ];
        for (method, path, headers, body) in &sent {
            assert_eq!(
                client::send(mirror.address, method, path, headers, body).status,
                200
            );
        }
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
        assert!(
            log.contains(&format!("recorded 8 requests in {file}")),
            "{log}"
        );
        let raw = std::fs::read(place.path().join(file)).expect("a recording");
        assert!(file.ends_with("zst") || !raw.iter().any(|byte| *byte < b' ' && *byte != b'\n'));

        let recorded = lines(&place, file);
        let hidden: Vec<&Value> = recorded.iter().map(|line| &line["hidden"]).collect();
        let with_host = |parts: &[&str]| json!([parts, &["header/host"]].concat());
        let expected = [
            with_host(&[
                "header/authorization",
                "header/cookie/sid",
                "header/cookie/theme",
            ]),
            with_host(&["query/q"]),
            with_host(&[]),
            with_host(&["body/password"]),
            with_host(&[]),
            with_host(&[]),
            with_host(&[]),
            with_host(&["body"]),
        ];
        for (hidden, expected) in hidden.iter().zip(&expected) {
            // Fields come in the order in which they were sent.
            let set = |value: &Value| -> BTreeSet<String> {
                value
                    .as_array()
                    .expect("names")
                    .iter()
                    .map(|name| name.as_str().expect("a name").to_owned())
                    .collect()
            };
            assert_eq!(set(hidden), set(expected));
        }
        assert_eq!(recorded[2]["body"], r#"{"name":"x","n":1.0}"#);
        assert_eq!(recorded[6]["body"], hostile);
        assert_eq!(recorded[5]["body"].as_str().map(str::len), Some(1_000_008));
        let sessions: BTreeSet<&str> = recorded
            .iter()
            .filter_map(|line| line["session"].as_str())
            .collect();
        assert_eq!(sessions.len(), 1);
        assert!(!sessions.iter().any(|name| name.contains("127.0.0.1")));
        assert!(
            recorded
                .iter()
                .all(|line| line["response"]["status"] == 200)
        );

        // To two services: each gets what clients sent, but for what is hidden.
        let (legacy, candidate) = (echo(), echo());
        let urls = [legacy.url(), candidate.url()];
        let live = replay(
            &place,
            &[
                file,
                "--legacy",
                &urls[0],
                "--candidate",
                &urls[1],
                "--allow-unsafe",
                "--migration",
                "live",
            ],
        );
        assert_eq!(counts(&live), [8, 8, 0], "{}", live.stderr);
        assert!(
            live.stderr.contains("hidden in the recording: "),
            "{}",
            live.stderr
        );
        for told in [
            "header/host (8)",
            "header/authorization (1)",
            "query/q (1)",
            "body/password (1)",
            "body (1)",
        ] {
            assert!(live.stderr.contains(told), "{told}: {}", live.stderr);
        }
        // Against the answers: those to requests with a hidden value in body or query tell that value, so they differ.
        let safe = replay(
            &place,
            &[
                file,
                "--recorded-answers",
                "--candidate",
                &urls[1],
                "--migration",
                "safe",
            ],
        );
        assert_eq!(counts(&safe), [8, 1, 1], "{}", safe.stderr);
        let all = replay(
            &place,
            &[
                file,
                "--recorded-answers",
                "--candidate",
                &urls[1],
                "--allow-unsafe",
                "--migration",
                "all",
            ],
        );
        let [received, same, differing] = counts(&all);
        assert_eq!((received, same + differing), (8, 8), "{}", all.stderr);
        assert!(same >= 5, "{}", all.stderr);
    }
}

#[test]
fn files_are_rotated_and_few_and_each_can_be_read() {
    let place = Place::new();
    let service = Service::json("{\"a\":1}");
    for file in ["live.ndjson", "packed.ndjson.zst"] {
        let more = ["--record", file];
        let mirror = place.mirror_with(&service.url(), &service.url(), &more, |command| {
            command
                .env("PARITY_RECORDING_FILE_SIZE", "300KiB")
                .env("PARITY_RECORDING_FILES", "3")
        });
        let mut connection = Connection::open(mirror.address);
        let mut noise = 1_u64;
        for number in 0..3_000 {
            let mut body = format!("{{\"n\":{number},\"x\":\"");
            for _ in 0..64 {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                write!(body, "{noise:016x}").expect("memory");
            }
            body.push_str("\"}");
            connection.send(
                "POST",
                "/x",
                &[("content-type", "application/json")],
                body.as_bytes(),
            );
            assert_eq!(connection.answer("POST").expect("answered").status, 200);
        }
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
        let kept = files(&place, file.split('.').next().expect("a name"));
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert_eq!(
            kept.last().and_then(|path| path.file_name()),
            Some(file.as_ref())
        );
        let mut numbers = Vec::new();
        for path in &kept {
            // One batch may be as large as that.
            let size = path.metadata().expect("it is there").len();
            assert!(size <= 600 << 10, "{size} {path:?}");
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            for line in lines(&place, &name) {
                let body: Value =
                    serde_json::from_str(line["body"].as_str().expect("a body")).expect("JSON");
                numbers.push(body["n"].as_u64().expect("a number"));
            }
        }
        let first = numbers[0];
        assert!(first > 0, "nothing was removed");
        // Those that are kept are the newest, in their order, without a gap.
        assert_eq!(numbers, (first..3_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_full_disk_costs_no_client_and_what_was_written_can_be_read() {
    for file in ["live.ndjson", "live.ndjson.zst"] {
        let place = Place::new();
        let service = Service::json("{\"a\":1}");
        let more = ["--record", file];
        let mirror = place.mirror_with(&service.url(), &service.url(), &more, |command| {
            limited(&place, command, 4)
        });
        let body = format!("{{\"a\":\"{}\"}}", "y".repeat(2_000));
        let mut sent = 0;
        let mut noise = 7_u64;
        wait_for("the full disk", || {
            for _ in 0..20 {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let path = format!("/{noise}");
                let json = [("content-type", "application/json")];
                assert_eq!(
                    client::send(mirror.address, "POST", &path, &json, body.as_bytes()).status,
                    200
                );
                sent += 1;
            }
            mirror.status()["recording"]["error"].as_str().map(drop)
        });
        assert!(
            mirror.log().contains("cannot write the recording"),
            "{}",
            mirror.log()
        );
        let metrics = mirror.ask("/metrics").text();
        assert!(metrics.contains("parity_recording_failing 1"), "{metrics}");
        mirror.make_room();
        wait_for("room on the disk", || {
            mirror.status()["recording"]["error"]
                .is_null()
                .then_some(())
        });
        assert_eq!(mirror.get("/last").status, 200);
        sent += 1;
        let dropped = wait_for("the count of all", || {
            let recording = &mirror.status()["recording"];
            let [written, dropped] = ["written", "dropped"].map(|name| recording[name].as_u64());
            (written? + dropped? == sent).then_some(dropped?)
        });
        let (code, log) = mirror.stop();
        assert_eq!(code, 0, "{log}");
        // What waited for room is there, the first that was sent included.
        let lines = lines(&place, file);
        assert_eq!(lines.len() as u64, sent - dropped, "{log}");
        let told = format!("recorded {} requests", grouped(lines.len()));
        assert!(log.contains(&told), "{told}: {log}");
        if dropped > 0 {
            assert!(
                log.contains("not recorded: the file could not be written to"),
                "{log}"
            );
        }
        assert_eq!(
            lines.last().map(|line| line["url"].clone()),
            Some(json!("/last"))
        );
    }
}

/// A number as people read it.
fn grouped(number: usize) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

#[test]
fn after_a_kill_all_that_was_written_is_replayed_and_the_rest_told() {
    for file in ["live.ndjson", "live.ndjson.zst"] {
        let place = Place::new();
        let (legacy, candidate) = (echo(), echo());
        let mirror = place.mirror(&legacy.url(), &candidate.url(), &["--record", file]);
        for number in 0..50 {
            assert_eq!(mirror.get(&format!("/items/{number}")).status, 200);
        }
        written(&mirror, 50);
        mirror.kill();
        // The kill may come in the middle of a batch.
        let path = place.path().join(file);
        let whole = std::fs::read(&path).expect("a recording");
        let part = if file.ends_with("zst") {
            &whole[..whole.len() / 2]
        } else {
            &b"{\"schema\":\"parity.exch"[..]
        };
        let mut open = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("a file");
        open.write_all(part).expect("room");
        let urls = [legacy.url(), candidate.url()];
        let ended = replay(
            &place,
            &[
                file,
                "--legacy",
                &urls[0],
                "--candidate",
                &urls[1],
                "--migration",
                "after",
            ],
        );
        assert_eq!(counts(&ended), [50, 50, 0], "{}", ended.stderr);
        assert!(
            ended.stderr.contains("ends in the middle"),
            "{}",
            ended.stderr
        );
        // The next start leaves it as it is, under another name.
        let mirror = place.mirror(&urls[0], &urls[1], &["--record", file]);
        assert_eq!(mirror.get("/again").status, 200);
        assert_eq!(mirror.stop().0, 0);
        assert_eq!(lines(&place, file).len(), 1);
        assert_eq!(files(&place, "live").len(), 2);
    }
}

#[test]
fn a_body_that_is_too_large_or_cut_is_left_out_with_its_reason() {
    let place = Place::new();
    let service = echo();
    let mirror = place.mirror_with(
        &service.url(),
        &service.url(),
        &["--record", "live.ndjson"],
        |command| command.env("PARITY_LIMITS_BODY", "1KiB"),
    );
    let text = [("content-type", "text/plain")];
    assert_eq!(
        client::send(mirror.address, "POST", "/large", &text, &[b'x'; 2_000]).status,
        200
    );
    let mut cut = Connection::open(mirror.address);
    cut.send("POST", "/cut", &[("content-length", "100")], b"abc");
    drop(cut);
    written(&mirror, 2);
    assert_eq!(mirror.stop().0, 0);
    let mut reasons: Vec<Value> = lines(&place, "live.ndjson")
        .iter()
        .map(|line| json!([line["url"], line["body_left_out"], line["body"]]))
        .collect();
    reasons.sort_by_key(Value::to_string);
    assert_eq!(
        reasons,
        [
            json!(["/cut", "cut_off", null]),
            json!(["/large", "too_large", null])
        ]
    );
    let ended = replay(
        &place,
        &[
            "live.ndjson",
            "--legacy",
            &service.url(),
            "--candidate",
            &service.url(),
            "--self-comparison",
            "on",
        ],
    );
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    for told in [
        "its body is not in the recording: it did not come whole",
        "it was larger than the recording mirror takes",
    ] {
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn a_name_that_can_never_be_written_to_is_an_error_of_the_start() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("folder.ndjson")).expect("a folder");
    for (file, message) in [
        (
            "missing/live.ndjson",
            "cannot write the recording missing/live.ndjson",
        ),
        ("folder.ndjson", "no file"),
        ("/dev/full", "no file"),
    ] {
        let (legacy, candidate) = (nobody(), nobody());
        let ended = place.run(&[
            "mirror",
            "--legacy",
            &legacy,
            "--candidate",
            &candidate,
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--record",
            file,
        ]);
        assert_eq!(ended.code, 2, "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{file}: {}", ended.stderr);
    }
    let tap = place.run(&[
        "mirror",
        "--legacy",
        &nobody(),
        "--candidate",
        &nobody(),
        "--mode",
        "tap",
        "--record",
        "x",
        "--record-answers",
        "on",
    ]);
    assert_eq!(tap.code, 2);
    assert!(
        tap.stderr
            .contains("recording.answers: a tap has no client to answer"),
        "{}",
        tap.stderr
    );
}

/// A running `parity record`.
pub(crate) fn recording<'a>(place: &'a Place, legacy: &str, more: &[&str]) -> Mirror<'a> {
    let mut arguments = vec!["record", "--legacy", legacy, "--listen", "127.0.0.1:0"];
    arguments.extend(more);
    let mut recording = place.start(&mut place.command(&arguments));
    recording.address = recording.announced("clients send to http://");
    recording
}

#[test]
fn record_asks_the_legacy_alone_and_writes_no_store() {
    let place = Place::new();
    let legacy = echo();
    let proxy = recording(&place, &legacy.url(), &["live.ndjson"]);
    for number in 0..20 {
        let answer = client::get(proxy.address, &format!("/items/{number}"));
        assert_eq!(answer.status, 200);
    }
    assert_eq!(legacy.seen(), 20);
    proxy.signal("INT");
    let (code, log) = proxy.ended();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("recorded 20 requests in live.ndjson"), "{log}");
    let recorded = lines(&place, "live.ndjson");
    assert_eq!(recorded.len(), 20);
    assert!(recorded.iter().all(|line| line.get("response").is_none()));
    assert!(!place.path().join("parity.db").exists());
    let mode = std::os::unix::fs::MetadataExt::mode(
        &place.path().join("live.ndjson").metadata().expect("a file"),
    );
    assert_eq!(mode & 0o777, 0o600);
}
