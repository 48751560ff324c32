//! What goes wrong while live traffic is recorded: a full disk, a kill, names that cannot be, bodies that do not fit; and files that
//! grow.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{counts, echo, files, lines, replay, written};
use crate::support::client::{self, Connection};
use crate::support::process::{Place, limited};
use crate::support::service::{Service, nobody};
use crate::support::wait_for;

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
        written(&mirror, 3_000);
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

#[test]
fn a_record_whose_file_could_not_be_written_is_an_error() {
    let place = Place::new();
    let service = Service::json(&format!("{{\"a\":\"{}\"}}", "y".repeat(9_000)));
    for more in [&["samples.ndjson", "--samples"][..], &["live.ndjson"]] {
        let mut command = place.command(&["record", "--legacy", &service.url()]);
        command.args(["--listen", "127.0.0.1:0"]).args(more);
        let mut proxy = place.start(limited(&place, &mut command, 1));
        proxy.address = proxy.announced("clients send to http://");
        for number in 0..40 {
            let answer = client::get(proxy.address, &format!("/items/{number}"));
            assert_eq!(answer.status, 200);
        }
        proxy.signal("INT");
        let (code, log) = proxy.ended();
        assert_eq!(code, 2, "{more:?}: {log}");
        assert!(
            log.contains("could not be written as it"),
            "{more:?}: {log}"
        );
    }
    assert!(!place.path().join("samples.ndjson").exists());
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
    let mut cut = TcpStream::connect(mirror.address).expect("it listens");
    let head = b"POST /cut HTTP/1.1\r\nhost: h\r\ncontent-length: 100\r\n\r\nabc";
    cut.write_all(head).expect("it reads");
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
