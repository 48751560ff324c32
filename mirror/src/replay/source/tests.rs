//! What is read of recordings in each format, whole and broken ones.

use std::fmt::Write as _;
use std::io::Write as _;

use http::HeaderName;
use parity_schemas::fields::{FieldLines, FieldValue};

use super::*;

/// A line for each request or error of a recording.
fn read_as(text: impl Into<Vec<u8>>, format: Option<Format>) -> Vec<String> {
    let file = Box::new(Cursor::new(text.into()));
    match Source::read(file, Path::new("r"), format) {
        Ok(source) => source
            .map(|item| item.map_or_else(|error| error.to_string(), |recorded| told(&recorded)))
            .collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn read(text: impl Into<Vec<u8>>) -> Vec<String> {
    read_as(text, None)
}

fn told(recorded: &Recorded) -> String {
    let Recorded {
        place,
        time,
        session,
        host,
        request,
        answer,
        hidden,
    } = recorded;
    let lines = |fields: &FieldLines| {
        let line =
            |(name, value): (&HeaderName, FieldValue<'_>)| format!("{name}: {}", value.lossy());
        fields.iter().map(line).collect::<Vec<_>>().join(", ")
    };
    let mut told = format!("{}: {} {}", place.line, request.method, request.target);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            write!(told, " {name}={value}").expect("memory");
        }
    };
    add("host", host.as_deref().map(str::to_owned));
    add("session", session.as_deref().map(str::to_owned));
    add("time", time.map(|time| time.to_string()));
    add("headers", Some(format!("[{}]", lines(&request.headers))));
    add("hidden", Some(hidden.join(",")));
    add(
        "body",
        Some(String::from_utf8_lossy(&request.body.contiguous()).into_owned()),
    );
    add(
        "answer",
        answer.as_ref().map(|answer| {
            let body = answer.body.contiguous();
            let body = String::from_utf8_lossy(&body);
            format!(
                "{} [{}] {body} {}",
                answer.status,
                lines(&answer.headers),
                answer.elapsed.as_micros()
            )
        }),
    );
    told
}

fn gor(messages: &[(&str, &str)]) -> String {
    let one = |(header, message): &(&str, &str)| format!("{header}\n{message}\n🐵🙈🙉\n");
    messages.iter().map(one).collect()
}

#[test]
fn goreplay_requests_come_in_their_order_with_their_answers() {
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let text = gor(&[
        ("1 aa 1700000000000001000 -1", &get("/1")),
        (
            "1 bb 1700000000000002000 0",
            "POST /2 HTTP/1.1\r\nHost: A\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n0\r\n\r\n",
        ),
        (
            "2 bb 1700000000000003000 5000",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 2\r\n\r\nokX",
        ),
        ("3 aa 1 2", "HTTP/1.1 500 No\r\n\r\n"),
        (
            "2 aa 1 7000",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
        ),
        ("2 zz 1 2", "HTTP/1.1 200 OK\r\n\r\n"),
        ("1 cc 1700000000000004000", &get("http://b:1/3?x=y")),
    ]);
    assert_eq!(
        read(text.clone()),
        [
            "1: GET /1 host=a time=2023-11-14T22:13:20.000001Z headers=[host: a]",
            "7: POST /2 host=a time=2023-11-14T22:13:20.000002Z headers=[host: A, content-length: 3] body=a\nb answer=201 [content-length: 2] ok 5",
            "43: GET /3?x=y host=a time=2023-11-14T22:13:20.000004Z headers=[host: a]",
        ]
    );
    // Its own captures have no latency, but the time of the answer.
    let answered = gor(&[
        ("1 aa 1700000000000001000 0", &get("/1")),
        ("2 aa 1700000000007002000 0", "HTTP/1.1 204 No\r\n\r\n"),
    ]);
    let told = read(answered).concat();
    assert!(told.ends_with("answer=204 []  7001"), "{told}");
    // Packed, and cut off in the middle.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    assert_eq!(read(packed.clone()), read(text.clone()));
    assert_eq!(
        read(zstd::encode_all(text.as_bytes(), 0).expect("memory")),
        read(text.clone())
    );
    let cut = read(&packed[..packed.len() - 20]);
    assert!(
        cut.last()
            .is_some_and(|last| last.ends_with("the recording ends in the middle of this request")),
        "{cut:?}"
    );
}

#[test]
fn of_a_broken_goreplay_file_the_rest_is_read() {
    let text = gor(&[
        ("1 aa 1", "GET / HTTP/1.1\r\n\r\n"),
        ("no header", "GET / HTTP/1.1\r\n\r\n"),
        ("1 bb 2", "\x16\x03\x01\x02"),
        (
            "1 cc 3",
            "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort",
        ),
        ("1 dd 4", "GET / HTTP/1.1\r\nA: b"),
        ("1 aa 5", "GET /again HTTP/1.1\r\n\r\n"),
    ]);
    assert_eq!(
        read(format!("{text}1 ee 6\nGET /")),
        [
            "1: GET / time=1970-01-01T00:00:00.000000Z headers=[]",
            "r:6: not the header of a GoReplay message",
            "r:11: not a request of HTTP/1 (invalid token)",
            "r:14: its body is not in the recording: it ends before its stated length",
            "r:20: the recording ends in the middle of this request",
            "24: GET /again time=1970-01-01T00:00:00.000000Z headers=[]",
            "r:29: the recording ends in the middle of this request",
        ]
    );
}

#[test]
fn har_entries_come_in_the_order_of_their_times() {
    let text = r#"{"log": {"version": "1.2", "entries": [
{"startedDateTime":"2026-11-24T03:00:02.5+01:00","time":1.5,"request":{"method":"POST","url":"https://A.example/p?q=1#f","httpVersion":"h2",
 "headers":[{"name":":authority","value":"x"},{"name":"Content-Type","value":"text/plain"},{"name":"content-length","value":"77"}],
 "postData":{"mimeType":"text/plain","text":"h\u00e9"}},
 "response":{"status":200,"headers":[{"name":"content-encoding","value":"br"},{"name":"x","value":"y"}],"content":{"size":2,"text":"b2s=","encoding":"base64"}}},
{"startedDateTime":"2026-11-24T02:00:01Z","request":{"method":"GET","url":"http://b/"},"response":{"status":0}},
{"request":{"method":"POST","url":"http://b/f","postData":{"mimeType":"application/x-www-form-urlencoded; charset=UTF-8","params":[{"name":"a b","value":"c%20d&"},{"name":"e"}]}},
 "response":{"status":200,"headers":[{"name":"Content-Type","value":"text/html; charset=ISO-8859-1"}],"content":{"text":"\u00fc"}}},
{"request":{"method":"POST","url":"http://b/u","postData":{"mimeType":"multipart/form-data","params":[{"name":"f","fileName":"x"}]}}},
{"request":{"url":"http://b/"}},
{"request":{"method":"GET","url":"blob:http://b/"}}
]}}"#;
    let expected = [
        "r:9: its body is not in the recording: `postData.params` of multipart/form-data do not tell its bytes",
        "r:10: not an entry of HAR: the member `method` is missing",
        "r:11: not a path or a URL",
        "6: GET / host=b session=r time=2026-11-24T02:00:01.000000Z headers=[host: b]",
        "7: POST /f host=b session=r headers=[host: b, content-length: 15] body=a+b=c%20d%26&e=",
        "2: POST /p?q=1 host=a.example session=r time=2026-11-24T02:00:02.500000Z headers=[content-type: text/plain, host: A.example, content-length: 3] body=hé answer=200 [x: y] ok 1500",
    ];
    assert_eq!(read(text), expected);
    assert_eq!(read(format!("\u{feff}{text}")), expected);
    let cut = text.find("77").expect("it is there");
    assert_eq!(
        read(&text.as_bytes()[..cut]),
        ["r:2: the recording ends in the middle of this request"]
    );
    assert_eq!(
        read("{\"log\": {}}"),
        ["r:1: a HAR file has `log.entries`, and this has not"]
    );
}

#[test]
fn trailers_of_an_answer_are_read_or_not_known() {
    let of_answer = |text: Vec<u8>| {
        let path = Path::new("recording");
        let source = Source::read(Box::new(Cursor::new(text)), path, None);
        let mut source = source.unwrap_or_else(|error| panic!("{error}"));
        let recorded = source.next().expect("a request");
        let answer = recorded.unwrap_or_else(|error| panic!("{error}")).answer;
        let answer = answer.expect("an answer");
        let trailers = answer.trailers.iter().flat_map(FieldLines::iter);
        let told: Vec<String> = trailers
            .map(|(name, value)| format!("{name}: {}", value.lossy()))
            .collect();
        let hidden = answer.hidden.as_deref().unwrap_or_default().join(" ");
        (told.join(", "), hidden)
    };
    let gor = |answer: &str| {
        let request = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
        let head = "HTTP/1.1 200 OK\r\n";
        of_answer(gor(&[("1 aa 1", request), ("2 aa 2", &format!("{head}{answer}"))]).into_bytes())
    };
    let known = |told: &str| (told.to_owned(), String::new());
    let unknown = || (String::new(), "trailer".to_owned());
    let chunked = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n";
    assert_eq!(gor("Content-Length: 1\r\n\r\na"), known(""));
    assert_eq!(gor(&format!("{chunked}\r\n")), known(""));
    assert_eq!(
        gor(&format!("{chunked}X-Sum: 1\r\ngrpc-status: 0\r\n\r\n")),
        known("x-sum: 1, grpc-status: 0")
    );
    assert_eq!(gor(&format!("{chunked}X-Sum: ")), unknown());
    assert_eq!(gor(&format!("{chunked}X Sum: 1\r\n\r\n")), unknown());
    let ours = |trailers: &str| {
        of_answer(
            format!(
                r#"{{"schema":"parity.exchange/v1","time":"2026-11-24T03:00:00Z","method":"GET","url":"/","response":{{"status":200{trailers}}}}}"#
            )
            .into_bytes(),
        )
    };
    assert_eq!(ours(""), unknown());
    assert_eq!(ours(r#","trailers":[]"#), known(""));
    assert_eq!(ours(r#","trailers":[["x-sum","1"]]"#), known("x-sum: 1"));
}

/// 0003: an answer that was saved without its body was taken for an empty one.
#[test]
fn an_answer_without_its_body_is_none() {
    let har = |method: &str, response: &str| {
        let text = format!(
            r#"{{"log":{{"entries":[{{"request":{{"method":"{method}","url":"http://h/"}},"response":{response}}}]}}}}"#
        );
        read(text)[0].contains(" answer=")
    };
    let length = r#""headers":[{"name":"Content-Length","value":"612"}]"#;
    let none = r#""headers":[{"name":"Content-Length","value":"0"}]"#;
    for (method, response, is_one) in [
        (
            "GET",
            format!(r#"{{"status":200,{length},"content":{{"size":-1}}}}"#),
            false,
        ),
        ("GET", format!(r#"{{"status":200,{length}}}"#), false),
        (
            "GET",
            r#"{"status":200,"content":{"size":-1}}"#.to_owned(),
            false,
        ),
        ("GET", r#"{"status":200}"#.to_owned(), false),
        ("GET", format!(r#"{{"status":200,{none}}}"#), true),
        (
            "GET",
            r#"{"status":200,"content":{"size":0}}"#.to_owned(),
            true,
        ),
        (
            "GET",
            r#"{"status":200,"content":{"size":7000,"text":"{\"a\":1"}}"#.to_owned(),
            false,
        ),
        (
            "GET",
            r#"{"status":200,"content":{"size":7,"text":"{\"a\":1}"}}"#.to_owned(),
            true,
        ),
        ("HEAD", format!(r#"{{"status":200,{length}}}"#), true),
        ("GET", r#"{"status":204}"#.to_owned(), true),
    ] {
        assert_eq!(har(method, &response), is_one, "{method} {response}");
    }
    let ours = |headers: &str| {
        read(format!(
            r#"{{"schema":"parity.exchange/v1","time":"2026-11-24T03:00:00Z","method":"GET","url":"/","response":{{"status":200,"headers":[{headers}]}}}}"#
        ))[0]
            .contains(" answer=")
    };
    assert!(ours(r#"["content-length","0"]"#));
    assert!(!ours(r#"["Content-Length","612"]"#));
}

#[test]
fn ndjson_is_ours_or_of_vegeta() {
    let ours = r#"{"schema":"parity.exchange/v1","time":"2026-11-24T03:00:00.000000Z","session":"s","method":"PUT","url":"/a?b","headers":[["Host","h"],["x","1"],["x","2"]],"body":"t","hidden":["header/y"],"response":{"status":200,"headers":[["a","b"]],"body_base64":"AP8=","elapsed_us":7}}"#;
    let vegeta = r#"{"method":"POST","url":"http://h:1/v","body":"Ynk=","header":{"A":["1","2"]},"unknown":1}"#;
    let newer = ours.replace("exchange/v1", "exchange/v2");
    let other = ours.replace("parity.exchange/v1", "parity.report/v1");
    let both = ours.replace("\"body\":\"t\"", "\"body\":\"t\",\"body_base64\":\"\"");
    let text = format!(
        "\u{feff}{ours}\r\n\n{vegeta}\n{newer}\n{other}\n{both}\n[]\n{{\"method\":1}}\n{vegeta}"
    );
    let of_vegeta = "POST /v host=h:1 headers=[a: 1, a: 2, host: h:1, content-length: 2] body=by";
    assert_eq!(
        read(&*text),
        [
            "1: PUT /a?b host=h session=s time=2026-11-24T03:00:00.000000Z headers=[host: h, x: 1, x: 2, content-length: 1] hidden=header/y body=t answer=200 [a: b] \0\u{fffd} 7",
            &format!("3: {of_vegeta}"),
            "r:4: this is `parity.exchange/v2`, which a later parity wrote; this one reads `parity.exchange/v1`",
            "r:5: its `schema` is not that of recordings",
            "r:6: both `body` and `body_base64`",
            "r:7: not a recorded request",
            "r:8: not a recorded request: a member has another type, at column 11; expected is a string",
            &format!("9: {of_vegeta}"),
        ]
    );
    let cut = read(&text.as_bytes()[..text.len() - 20]);
    assert_eq!(
        cut.last().map(String::as_str),
        Some("r:9: the recording ends in the middle of this request")
    );
}

#[test]
fn access_logs_tell_requests_without_a_body() {
    let nginx = r#"10.0.0.1 - - [24/Nov/2026:04:00:00 +0100] "GET /a?b=%20 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (\x22X\x22\x+1)"
::1 - u [24/Nov/2026:03:00:01 +0000] "POST /p HTTP/1.1" 200 1 "http://r/" "c"
::1 - - [24/Nov/2026:03:00:01 +0000] "\x16\x03\x01" 400 1 "-" "-"
# a comment
garbage
10.0.0.2 - - [24/Nov/2026:03:00:02 +0000] "HEAD / HTTP/2.0" 200 0 "http://r/" "-""#;
    assert_eq!(
        read(nginx),
        [
            "1: GET /a?b=%20 session=10.0.0.1 time=2026-11-24T03:00:00.000000Z headers=[user-agent: Mozilla/5.0 (\"X\"\\x+1)]",
            "r:2: its body is not in the recording: an access log has none, and a POST needs one",
            "r:3: not a request line",
            "r:5: not a line of this log's format",
            "6: HEAD / session=10.0.0.2 time=2026-11-24T03:00:02.000000Z headers=[referer: http://r/]",
        ]
    );
    let balancer = r#"https 2026-11-24T03:00:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2 arn:aws:x "Root=1-5" "www.example.com" "arn" 1 2026-11-24T02:59:59.180000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1"#;
    assert_eq!(
        read(balancer),
        [
            "1: GET /a?b host=www.example.com:443 session=192.168.131.39 time=2026-11-24T02:59:59.180000Z headers=[user-agent: curl/7.46.0, host: www.example.com:443]"
        ]
    );
    let format = "$msec|$request_method ${uri}?$args|$http_x_tenant|$host"
        .parse()
        .expect("a format");
    assert_eq!(
        read_as(
            "1700000000.5|GET /a?b=1|t|h\n1700000000.5|GET /a?|-|h\n",
            Some(Format::AccessLog(Some(format)))
        ),
        [
            "1: GET /a?b=1 host=h time=2023-11-14T22:13:20.500000Z headers=[x-tenant: t, host: h]",
            "2: GET /a host=h time=2023-11-14T22:13:20.500000Z headers=[host: h]",
        ]
    );
    for (format, message) in [
        ("$status", "a log format needs `$request`"),
        ("$request$status", "nothing stands between `$status`"),
    ] {
        let error = format
            .parse::<LogFormat>()
            .expect_err("no format")
            .to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn curl_commands_are_read_as_curl_would() {
    let text = r#"# saved by hand
curl 'https://h.example/a?b=1' \
  -H 'accept: */*' -H 'x-empty;' -H 'user-agent:' \
  --data-raw $'{"a":"it\'s"}' --compressed -sS -o /dev/null

curl -XDELETE h:8/x -u 'a:b'
curl -G http://h/s -d a=1 --data-urlencode 'q=x y'
curl http://h/j --json '{"a":
1}'
curl http://h/f -F 'a=1' -F 'b=@file'
curl http://h/f -F 'a="1 2"'
curl http://h/ --data @/etc/passwd
curl http://h/ --data @../x
curl http://h/ --unknown
curl http://h/ http://i/
curl $URL
wget http://h/
curl 'http://h/"#;
    let found = read(text);
    let expected = [
        "2: POST /a?b=1 host=h.example headers=[accept: */*, x-empty: , accept-encoding: gzip, deflate, br, zstd, content-type: application/x-www-form-urlencoded, host: h.example, content-length: 12] body={\"a\":\"it's\"}",
        "6: DELETE /x host=h:8 headers=[authorization: Basic YTpi, host: h:8]",
        "7: GET /s?a=1&q=x%20y host=h headers=[host: h]",
        "8: POST /j host=h headers=[content-type: application/json, accept: application/json, host: h, content-length: 8] body={\"a\":\n1}",
        "r:10: its body is not in the recording: a part of its form is a file",
        "11: POST /f host=h headers=[content-type: multipart/form-data; boundary=------------------------parity-replayed-form, host: h, content-length: 147] body=--------------------------parity-replayed-form\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1 2\r\n--------------------------parity-replayed-form--\r\n",
        "r:12: its body is not in the recording: `@/etc/passwd` is no file beside the commands",
        "r:13: its body is not in the recording: `@../x` is no file beside the commands",
        "r:14: `--unknown` is an option of curl that is not known here",
        "r:15: a second URL, which would be another request than that for the first",
        "r:16: a shell would replace a part of it",
        "r:17: not a curl command",
        "r:18: the recording ends in the middle of this request",
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len(), "{found:?}");
}

#[test]
fn a_file_beside_curl_commands_is_sent_and_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("body.json"), "{\n}\n").expect("a file");
    std::os::unix::fs::symlink("/etc/hostname", path("link")).expect("a link");
    std::fs::create_dir(path("folder")).expect("a folder");
    std::fs::write(path("c"), "curl http://h/ -d @body.json\ncurl http://h/ --data-binary @./body.json\ncurl http://h/ -d @link\ncurl http://h/ -d @folder\n").expect("a file");
    let source = Source::open(&path("c"), None).expect("a recording");
    let found: Vec<String> = source
        .map(|item| {
            item.map_or_else(
                |SourceError(error)| error.why.to_string(),
                |recorded| {
                    String::from_utf8_lossy(&recorded.request.body.contiguous()).into_owned()
                },
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "{}",
            "{\n}\n",
            "its body is not in the recording: `@link` is no file beside the commands",
            "its body is not in the recording: `@folder` is no file",
        ]
    );
}

#[test]
fn what_is_no_recording_is_refused() {
    for (text, message) in [
        ("", "the recording r is empty"),
        (" \n", "the recording r is empty"),
        ("hello\n", "r is no recording that is known: it is neither"),
        ("<html>", "r is no recording that is known: it is neither"),
        ("\0\0\0", "r is no recording that is known: it is neither"),
    ] {
        let found = read(text);
        assert!(found[0].starts_with(message), "{found:?}");
        assert_eq!(found.len(), 1);
    }
    assert!("HAR".parse::<Format>().is_err());
    let formats = ["ndjson", "har", "goreplay", "access-log", "curl"];
    for name in formats {
        assert_eq!(name.parse::<Format>().expect("a format").name(), name);
    }
    let missing = Source::open(Path::new("/nonexistent"), None)
        .err()
        .expect("no file");
    assert_eq!(
        missing.to_string(),
        "cannot read the recording /nonexistent"
    );
}

#[test]
fn a_large_recording_takes_little_memory() {
    // One piece that is too large stands between two that are not.
    let large = "x".repeat(MAX_RECORD + 1);
    let line = |body: &str| format!("{{\"method\":\"GET\",\"url\":\"/{body}\"}}\n");
    let found = read(format!("{}{}{}", line("a"), line(&large), line("b")));
    assert_eq!(
        found,
        [
            "1: GET /a headers=[]",
            "r:2: larger than 32 MiB; it was left out",
            "3: GET /b headers=[]",
        ]
    );
}
