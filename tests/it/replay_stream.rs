//! A recording that is larger than the memory: it is streamed, whatever its format, and packed or not.

use std::io::{BufWriter, Write};
use std::process::{ChildStdin, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::process::Place;
use crate::support::service::Service;

/// Mebibytes of each recording; a variable asks for more: `PARITY_TEST_STREAM_MIB=4096`.
const MEBIBYTES: usize = 200;
/// Most memory that the program may take, in KiB. What is held back for answers and for the order of times is 64 MiB.
const MOST: u64 = 170 << 10;
/// The body of each request that is not taken.
const BODY: usize = 256 << 10;

/// Requests for another host until there are so many bytes, and one for this.
fn gor(out: &mut dyn Write, bytes: usize) -> std::io::Result<()> {
    let body = "x".repeat(BODY);
    let mut put = |number: usize, line: &str, host: &str, body: &str| {
        let length = body.len();
        write!(
            out,
            "1 {number:024x} 1700000000000000000 -1\n{line} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}\n🐵🙈🙉\n"
        )
    };
    for number in 0..bytes / BODY {
        put(number, "POST /large", "other", &body)?;
    }
    put(usize::MAX, "GET /last", "this", "")
}

/// The same as HAR.
fn har(out: &mut dyn Write, bytes: usize) -> std::io::Result<()> {
    let body = "x".repeat(BODY);
    write!(out, "{{\"log\":{{\"entries\":[")?;
    for number in 0..bytes / BODY {
        write!(
            out,
            "{{\"startedDateTime\":\"2026-11-24T03:{:02}:{:02}.000Z\",\"request\":{{\"method\":\"POST\",\"url\":\"http://other/large\",\"headers\":[],\"postData\":{{\"mimeType\":\"text/plain\",\"text\":\"{body}\"}}}}}},",
            number / 60 % 60,
            number % 60
        )?;
    }
    write!(
        out,
        "{{\"request\":{{\"method\":\"GET\",\"url\":\"http://this/last\",\"headers\":[]}}}}]}}}}"
    )
}

/// The same as targets of vegeta.
fn ndjson(out: &mut dyn Write, bytes: usize) -> std::io::Result<()> {
    let body = "eHh4".repeat(BODY / 4);
    for _ in 0..bytes / BODY {
        writeln!(
            out,
            "{{\"method\":\"POST\",\"url\":\"http://other/large\",\"body\":\"{body}\"}}"
        )?;
    }
    writeln!(out, "{{\"method\":\"GET\",\"url\":\"http://this/last\"}}")
}

/// A recording without any line end or separator is one record that is too large.
fn endless(out: &mut dyn Write, bytes: usize) -> std::io::Result<()> {
    writeln!(out, "{{\"method\":\"GET\",\"url\":\"http://this/last\"}}")?;
    let piece = "x".repeat(BODY);
    for _ in 0..bytes / BODY {
        out.write_all(piece.as_bytes())?;
    }
    Ok(())
}

type Writes = fn(&mut dyn Write, usize) -> std::io::Result<()>;

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the memory is what a person asks for with a longer recording"
)]
fn a_recording_larger_than_the_memory_is_streamed() {
    let asked = std::env::var("PARITY_TEST_STREAM_MIB").ok();
    let mebibytes = asked.map_or(MEBIBYTES, |text| text.parse().expect("a number"));
    let [legacy, candidate] = [0, 1].map(|_| Service::json("{}"));
    let cases: [(&str, Writes, bool); 4] = [
        ("gor.gz", gor, true),
        ("har", har, false),
        ("ndjson", ndjson, false),
        ("endless", endless, false),
    ];
    for (name, write, packed) in cases {
        let place = Place::new();
        let (from, to) = (legacy.url(), candidate.url());
        let arguments = [
            "replay",
            "-",
            "--host",
            "this",
            "--legacy",
            &from,
            "--candidate",
            &to,
        ];
        let mut child = place
            .command(&arguments)
            .args(["--output", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("parity can be started");
        let input = child.stdin.take().expect("piped");
        let bytes = mebibytes << 20;
        let input = written(input, packed, |out| write(out, bytes));
        // All but what is in the pipe has been read.
        let peak = peak(child.id());
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {told}");
        assert!(told.contains("1 request replayed"), "{name}: {told}");
        println!(
            "{name}: {mebibytes} MiB, at most {} MiB resident",
            peak >> 10
        );
        assert!(peak < MOST, "{name}: {} MiB", peak >> 10);
    }
}

/// Writes all of it, and returns what must be dropped for the end.
fn written(
    input: ChildStdin,
    packed: bool,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> ChildStdin {
    let done = "parity reads all of it";
    if packed {
        let mut gzip = GzEncoder::new(BufWriter::new(input), Compression::fast());
        write(&mut gzip).expect(done);
        let buffer = gzip.finish().expect(done);
        buffer.into_inner().expect(done)
    } else {
        let mut buffer = BufWriter::with_capacity(BODY, input);
        write(&mut buffer).expect(done);
        buffer.into_inner().expect(done)
    }
}

/// The most memory that a process had so far, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}
