//! The input of `parity diff`: compressed files, saved answers, and hostile bytes, which never reach the terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::command_diff_text::{diff, diff_in, prices};
use crate::support::process::Place;

#[test]
fn nothing_hostile_reaches_a_terminal() {
    let hostile = "\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{200b}\u{2028}\u{feff}";
    let place = Place::new();
    let name = format!("{hostile}.json");
    let string = serde_json::to_string(hostile).expect("a string");
    for (legacy, candidate) in [
        (format!("{{{string}:1}}"), "{}".to_owned()),
        (
            format!("{{{string}:1,\"b\":1}}"),
            format!("{{{string}:2,\"b\":1}}"),
        ),
        (format!("[{string}]"), "[\"\"]".to_owned()),
        (format!("[{string},1]"), format!("[1,{string}]")),
        (format!("[\"{hostile}\"]"), "[1]".to_owned()),
        (
            "{}".to_owned(),
            format!("{{\"a\":{{\"b\":[{string},\"{}\"]}}}}", "x".repeat(200)),
        ),
        (
            "[\"a\\nb\"]".to_owned(),
            format!("[\"a\\n\"{string}]").replace("\"\"", ""),
        ),
        (format!("a\n{hostile}\n"), "a\nb\n".to_owned()),
    ] {
        let files = [
            (&*name, legacy.as_bytes()),
            ("b.json", candidate.as_bytes()),
        ];
        for more in [&[][..], &["--stat"], &["--all"], &["--output", "json"]] {
            let ended = diff_in(&place, files, more);
            assert_eq!(ended.code, 1, "{legacy} {}", ended.stderr);
            let raw = |character: char| {
                character != '\n' && !character.is_ascii_graphic() && hostile.contains(character)
            };
            assert!(
                !ended.stdout.contains(raw),
                "{legacy} {more:?}: {:?}",
                ended.stdout
            );
        }
        if let Some(shown) =
            diff_in(&place, files, &["--output", "json"]).json()["findings"][0]["path"].as_str()
        {
            assert!(
                !shown.contains("\\u"),
                "the document means what it meant: {shown}"
            );
        }
    }
    let ended = place.run(&["diff", &format!("none{hostile}"), "b.json"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("none\\u{1b}") && !ended.stderr.contains('\u{9b}'),
        "{:?}",
        ended.stderr
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Place::new();
    let [legacy, candidate] = prices(20_000);
    place.write("a.json", legacy);
    place.write("b.json", candidate);
    let mut child = place
        .command(&["diff", "a.json", "b.json", "--all"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("parity can be started");
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut first).expect("a line");
    drop(stdout);
    let mut stderr = String::new();
    let pipe = child.stderr.as_mut().expect("piped");
    pipe.read_to_string(&mut stderr).expect("UTF-8");
    assert_eq!((&*first, &*stderr), ("--- a.json (legacy)\n", ""));
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn compressed_files_are_compared_by_their_content() {
    let packed = gzip("{\"a\":1}");
    let plain = &b"{\"a\": 1.0}"[..];
    let broken = &packed[..packed.len() - 9];
    for (name, legacy, more, code) in [
        ("a.json.gz", &*packed, &[][..], 0),
        ("a", &*packed, &[], 0),
        ("a.gz", &*packed, &["--as", "json"], 0),
        ("a.json.gz", &*packed, &["--as", "bytes"], 1),
        ("a.gz", broken, &["--as", "text"], 1),
    ] {
        let ended = diff([(name, legacy), ("b.json", plain)], more);
        assert_eq!(ended.code, code, "{name} {}{}", ended.stdout, ended.stderr);
    }
}

#[test]
fn answers_as_curl_saves_them_are_read() {
    let answer = |head: &str, body: &str| {
        format!("HTTP/1.1 {head}\r\nContent-Type: application/json\r\n\r\n{body}")
    };
    let plain = answer("200 OK", "{\"a\":1}");
    let undone = answer(
        "200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip",
        "{\"a\": 1}",
    );
    let redirected = format!("HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n{plain}");
    for (name, candidate) in [("b.http", &undone), ("b.json", &undone), ("b", &redirected)] {
        let files = [("a.json", plain.as_bytes()), (name, candidate.as_bytes())];
        let ended = diff(files, &[]);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    }
    let large = "x".repeat(2 << 20);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n";
    let packed = |end: &str| [head.as_bytes(), &gzip(&format!("{large}{end}"))].concat();
    let ended = diff([("a.http", &packed("1")), ("b.http", &packed("1\n"))], &[]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_saved_answer_that_was_cut_short_is_no_match() {
    let of = |length: usize, body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let whole = of(6, "a\nb\nc\n");
    let cut = of(100, "a\nb\nc\n");
    for (legacy, candidate, code, reason) in [
        (&cut, &cut, 3, "legacy_truncated"),
        (&cut, &whole, 3, "legacy_truncated"),
        (&whole, &cut, 3, "candidate_truncated"),
        (&cut, &of(6, "x\nb\nc\n"), 1, "null"),
        // Saved by `curl -I`: a length and no body.
        (&of(6, ""), &of(6, ""), 0, "null"),
        (&of(4, "a\nb\nc\n"), &whole, 0, "null"),
    ] {
        let files = [
            ("a.http", legacy.as_bytes()),
            ("b.http", candidate.as_bytes()),
        ];
        let ended = diff(files, &["--output", "json"]);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        let told = ended.json()["reason"].to_string();
        assert_eq!(told.trim_matches('"'), reason);
        let is_cut = [legacy, candidate].contains(&&cut);
        let said = ended.stderr.contains("6 of the 100 bytes");
        assert_eq!(said, is_cut, "{}", ended.stderr);
    }
}

#[test]
fn a_saved_answer_that_clients_refuse_for_its_length_is_no_match() {
    let of = |fields: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{fields}\r\n{body}")
    };
    let sound = of("Content-Length: 5\r\n", "a\nbc\n");
    let (legacy, candidate) = ("legacy_unreachable", "candidate_protocol");
    for fields in [
        "Content-Length: 5\r\nContent-Length: 7\r\n",
        "Content-Length: 7\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 7\r\n",
        "Content-Length: five\r\n",
        "Content-Length: 5,\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Content-Encoding: gzip\r\nContent-Length: 5, 7\r\n",
    ] {
        let refused = of(fields, "a\nbc\n");
        expect_reason(&sound, &refused, 3, candidate);
        expect_reason(&refused, &sound, 3, legacy);
        expect_reason(&refused, &refused, 3, legacy);
        // What differs besides is told all the same.
        expect_reason(&of("", "x"), &refused, 1, "null");
    }
    for fields in [
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 05\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5, 7\r\n",
        "",
    ] {
        expect_reason(&sound, &of(fields, "a\nbc\n"), 0, "null");
        expect_reason(&of(fields, "a\nbc\n"), &sound, 0, "null");
    }
}

fn expect_reason(legacy: &str, candidate: &str, code: i32, reason: &str) {
    let files = [
        ("a.http", legacy.as_bytes()),
        ("b.http", candidate.as_bytes()),
    ];
    let ended = diff(files, &["--output", "json"]);
    assert_eq!(ended.code, code, "{candidate}{}", ended.stderr);
    let told = ended.json()["reason"].to_string();
    assert_eq!(told.trim_matches('"'), reason, "{candidate}");
    let said = ended.stderr.contains("clients refuse");
    assert_eq!(said, code != 0, "{}", ended.stderr);
}

#[test]
fn saved_answers_are_known_by_their_first_line_whatever_they_are_called() {
    let json = "Content-Type: application/json";
    let one = format!("HTTP/1.1 200 OK\r\n{json}\r\n\r\n{{\"a\":1}}");
    let two = format!("HTTP/2 200 \n{json}\n\n{{\"a\": 1.0}}\n");
    let followed = format!(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 Unauthorized\r\nContent-Type: text/html\r\n\r\nHTTP/2 302 \r\nlocation: /b\r\n\r\n{one}"
    );
    for name in [
        "b", "b.txt", "b.json", "b.yaml", "b.md", "b.bin", "b.log", "b.ndjson",
    ] {
        for candidate in [&two, &followed] {
            for legacy in ["a", "a.txt", "a.http"] {
                let files = [(legacy, one.as_bytes()), (name, candidate.as_bytes())];
                let ended = diff(files, &[]);
                assert_eq!(ended.code, 0, "{name} {}{}", ended.stdout, ended.stderr);
            }
        }
        let files = [("a.txt", one.as_bytes()), (name, two.as_bytes())];
        assert_eq!(diff(files, &["--as", "text"]).code, 1, "{name}");
    }
    // A text that mentions HTTP is not an answer.
    let about = "HTTP/1.1 200 is what it says\nand then it goes on\n";
    let ended = diff(
        [("a.txt", about.as_bytes()), ("b.txt", about.as_bytes())],
        &[],
    );
    assert_eq!((ended.code, &*ended.stderr), (0, ""));
}

#[test]
fn two_files_that_are_empty_or_broken_are_equal_and_it_is_said() {
    let compared = |name: &'static str, text: &str| {
        let files = [(name, text.as_bytes()), ("b", text.as_bytes())];
        let place = Place::new();
        let ended = diff_in(&place, files, &[]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let document = place.run(&["diff", name, "b", "--output", "json"]).json();
        (ended.stdout, document["notes"].clone())
    };
    for (name, text, words, note) in [
        ("a.json", "", "both are empty", "both_empty"),
        ("a.txt", "", "both are empty", "both_empty"),
        (
            "a.json",
            "{\"a\":",
            "both are not what they were compared as",
            "both_invalid",
        ),
        (
            "a.ndjson",
            "{}\n{\"a\":\n",
            "both are not what they were compared as",
            "both_invalid",
        ),
        (
            "a.yaml",
            "a: [1",
            "both are not what they were compared as",
            "both_invalid",
        ),
    ] {
        let (text, notes) = compared(name, text);
        assert!(text.contains(&format!("note: {words}")), "{name}: {text}");
        assert!(text.ends_with("match\n"), "{name}: {text}");
        assert_eq!(notes, serde_json::json!([note]), "{name}");
    }
    for (name, text) in [("a.json", "{}"), ("a.txt", "{"), ("a.yaml", "a: 1")] {
        let (text, notes) = compared(name, text);
        assert_eq!((text.as_str(), notes), ("match\n", serde_json::Value::Null));
    }
    let broken = [("a.json", &b"{\"a\":1"[..]), ("b.json", b"{\"a\":2")];
    let ended = diff(broken, &[]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stdout.contains("note: both are not"),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_was_not_compared_of_two_answers_is_said_beside_what_differs() {
    let answer = |head: &str, body: &[u8]| [head.as_bytes(), b"\r\n\r\n", body].concat();
    let json = "Content-Type: application/json";
    let legacy = answer(&format!("HTTP/1.1 200 OK\r\n{json}"), b"{}");
    let unknown = format!("HTTP/1.1 500 No\r\n{json}\r\nContent-Encoding: compress");
    let files = [("a.http", &*legacy), ("b.http", &*answer(&unknown, b"{}"))];
    let ended = diff(files, &[]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stdout.ends_with(
            "mismatch: at least 1 difference (value); the bodies were not compared: candidate_undecodable, only the candidate has a content encoding that cannot be undone\n"
        ),
        "{}",
        ended.stdout
    );
    let document = diff(files, &["--output", "json"]).json();
    assert_eq!(document["body_not_compared"], "candidate_undecodable");
    // Dates of answers that were saved on different days do not prove a wrong clock.
    let at = |date: &str| answer(&format!("HTTP/1.1 200 OK\r\n{json}\r\nDate: {date}"), b"{}");
    let days = [
        ("a.http", &*at("Sun, 01 Feb 2026 12:00:00 GMT")),
        ("b.http", &*at("Mon, 02 Feb 2026 12:00:00 GMT")),
    ];
    assert_eq!(diff(days, &[]).code, 0);
}

#[test]
fn what_is_no_file_or_has_no_end_is_an_error_or_not_compared() {
    let place = Place::new();
    place.write("a.json", "[1]");
    let ended = place.run(&["diff", ".", "a.json"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .stderr
            .contains("it is a directory; two files are compared"),
        "{}",
        ended.stderr
    );
    let ended = place.run(&["diff", "a.json", "a.json", "--stat", "--output", "json"]);
    assert_eq!(ended.code, 2);
    // Nine levels of nine aliases stand for some gigabytes.
    let level = |level: usize| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("a{level}: &a{level} [{aliases}]\n")
    };
    let levels: String = (1..10).map(level).collect();
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{levels}");
    let ended = diff([("a.yaml", bomb.as_bytes()), ("b.yaml", b"a: 1")], &[]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with("not compared: response_too_large"),
        "{}",
        ended.stdout
    );
}
