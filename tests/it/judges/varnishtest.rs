//! varnishtest: our own scripts in vtc/, each with a client and a server that say byte for byte what HTTP/1 allows,
//! and the mirror between them.
//!
//! `HAProxy` and Varnish are tested with the same program. Every script gets a mirror of its own with one worker, so
//! that it knows on which connection to the server a request arrives. `${mirror}` is where the mirror listens,
//! `${legacy}` where the script's server must.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use super::tool;
use crate::servers::free_port;
use crate::support::process::Place;
use crate::support::root;
use crate::support::service::nobody;

/// How long a script may take; nothing in them takes a second.
const PATIENCE_S: u64 = 30;

fn scripts() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("tests/it/judges/vtc")).expect("readable");
    let mut scripts: Vec<_> = folder
        .map(|entry| entry.expect("readable").path())
        .collect();
    scripts.sort();
    scripts
}

/// What the program says if the script fails.
fn run(script: &Path) -> Result<(), String> {
    let place = Place::new();
    let legacy = format!("127.0.0.1:{}", free_port());
    let mirror = place.mirror(&format!("http://{legacy}"), &nobody(), &["--workers", "1"]);
    let output = Command::new(tool("varnishtest"))
        .args(["-t", &PATIENCE_S.to_string()])
        .args(["-D", &format!("mirror={}", mirror.address)])
        .args(["-D", &format!("legacy={legacy}")])
        .arg(script)
        // It makes its folder there.
        .env("TMPDIR", place.path())
        .stdin(Stdio::null())
        .output()
        .expect("varnishtest can be run");
    let (code, log) = mirror.stop();
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(format!("{}\n{log}", String::from_utf8_lossy(&said)));
    }
    if code != 0 || log.contains("panicked") {
        return Err(format!("the mirror ended with {code}: {log}"));
    }
    Ok(())
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn every_script_gets_what_http_1_promises() {
    let scripts = scripts();
    assert!(scripts.len() >= 12, "only {} scripts", scripts.len());
    let failures: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = scripts
            .iter()
            .map(|script| scope.spawn(move || (script, run(script))))
            .collect();
        let ended = running.into_iter().map(|one| one.join().expect("no panic"));
        ended
            .filter_map(|(script, result)| Some((script, result.err()?)))
            .collect()
    });
    let said: Vec<_> = failures
        .iter()
        .map(|(script, words)| format!("{}:\n{words}", script.display()))
        .collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}
