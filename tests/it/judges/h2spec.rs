//! h2spec: checks that our HTTP/2 towards clients follows RFC 7540 and HPACK, in clear and with TLS.
//!
//! It opens about 150 connections and breaks a rule on each. Some of its cases depend on timing and on which of two frames
//! arrives first; so a case counts as failed only if it fails every time.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::tool;
use crate::support::length;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service, nobody};

/// How often a case may be tried before it counts as failed.
const TRIES: usize = 4;

/// Cases that must fail in clear, with the reason. By TLS, where the handshake has said that HTTP/2 is spoken, nothing
/// may.
const EXPLAINED_IN_CLEAR: [(&str, &str); 1] = [(
    "http2/3.5/2",
    "an invalid preface: on a port that speaks HTTP/1.1, too, it is a bad request of that, which is answered 400 \
     before the connection is closed, and h2spec takes those bytes for half a frame",
)];

/// One run of some cases; what it printed, and the cases that failed.
fn run(mirror: &Mirror<'_>, place: &Path, secure: bool, cases: &[&str]) -> (String, Vec<String>) {
    let report = place.join("h2spec.xml");
    let mut command = Command::new(tool("h2spec"));
    command
        .args(cases)
        .args(["-h", "127.0.0.1", "-p", &mirror.address.port().to_string()])
        .args(["--strict", "-o", &length(1, 3).to_string()])
        .arg("-j")
        .arg(&report)
        .stdin(Stdio::null());
    if secure {
        command.args(["-t", "-k"]);
    }
    // It exits with 1 when a case fails, which the report says more exactly.
    let Output { stdout, stderr, .. } = command.output().expect("h2spec can be run");
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
    let report = std::fs::read_to_string(&report)
        .unwrap_or_else(|error| panic!("h2spec wrote no report ({error}):\n{said}"));
    (said, failed(&report))
}

/// `package/number` of every failed case in a report in `JUnit`'s format, which names a case only by its words.
fn failed(report: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for suite in report.split("<testsuite ").skip(1) {
        for (index, case) in suite.split("<testcase ").skip(1).enumerate() {
            if case.contains("<failure") || case.contains("<error") {
                let package = attribute(case, "package");
                failed.push(format!("{package}/{}", index + 1));
            }
        }
    }
    failed
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element
        .split(&format!("{name}=\""))
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_else(|| panic!("no {name} in {element}"))
}

fn summary(said: &str) -> &str {
    said.lines()
        .rev()
        .find(|line| line.contains(" passed, "))
        .unwrap_or_else(|| panic!("no summary in:\n{said}"))
}

fn judge(secure: bool) {
    // A body, so that there is flow control to get wrong.
    let legacy = Service::start(|_| Answer::new(200, "x".repeat(1024)));
    let place = Place::new();
    let mut more = Vec::new();
    if secure {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])
            .expect("a certificate can be made");
        place.write("certificate.pem", own.cert.pem());
        place.write("key.pem", own.signing_key.serialize_pem());
        more.extend(["--tls-certificate-file", "certificate.pem"]);
        more.extend(["--tls-key-file", "key.pem"]);
    }
    let mirror = place.mirror(&legacy.url(), &nobody(), &more);
    let (said, failures) = run(&mirror, place.path(), secure, &[]);
    let mut failures: BTreeSet<_> = failures.into_iter().collect();
    let line = format!("h2spec (TLS: {secure}): {}", summary(&said));
    let first = failures.clone();
    for _ in 1..TRIES {
        failures.retain(|case| !run(&mirror, place.path(), secure, &[case]).1.is_empty());
    }
    if !secure {
        for (case, reason) in EXPLAINED_IN_CLEAR {
            assert!(
                failures.remove(case),
                "{case} is explained, but passes: {reason}"
            );
        }
    }
    assert!(
        failures.is_empty(),
        "{line}\nfails every time: {failures:?} (once: {first:?})\n{said}"
    );
    assert!(legacy.seen() > 0, "h2spec never got past the mirror");
    eprint_summary(&line);
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
}

#[expect(
    clippy::print_stderr,
    reason = "the summary of a suite that is not ours"
)]
fn eprint_summary(line: &str) {
    eprintln!("{line}");
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn http2_with_prior_knowledge_conforms() {
    judge(false);
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn http2_by_tls_conforms() {
    judge(true);
}
