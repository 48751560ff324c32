//! A service as a program, for what is started by a command: it is this very program of tests, under another name.

use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::service::{Answer, Request};

/// Which service this is. Without it, this is no service.
const KIND: &str = "PARITY_TEST_SERVICE";

/// A shell command that serves on the port that PORT names, until it is ended. Kinds:
/// `equal` and `other`, which differ under `/odd`; `moving`, whose answers differ each time; `failing`, which answers 500; `mortal`,
/// which ends with 9 at a request for `/die`; `silent`, which accepts and never answers.
pub(crate) fn command(kind: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    format!(
        "{KIND}={kind} exec '{}' --exact support::served::serves --nocapture",
        program.display()
    )
}

/// An executable file that does this.
pub(crate) fn executable(folder: &Path, name: &str, command: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder");
    std::fs::write(&file, format!("#!/bin/sh\n{command}\n")).expect("a file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("its own");
}

/// No test unless it was started by [`command`]: then it serves for ever.
#[test]
fn serves() {
    let Ok(kind) = std::env::var(KIND) else {
        return;
    };
    let port = std::env::var("PORT").expect("PORT names the port");
    let port: u16 = port.parse().expect("PORT is a number");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free");
    for stream in listener.incoming() {
        let (mut stream, kind) = (stream.expect("a client"), kind.clone());
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
            while let Some(request) = Request::read(&mut reader) {
                if let Some(answer) = answer(&kind, &request)
                    && answer.write(&mut stream, request.method == "HEAD").is_err()
                {
                    return;
                }
            }
        });
    }
}

#[expect(clippy::exit, reason = "a service that dies")]
fn answer(kind: &str, request: &Request) -> Option<Answer> {
    let is_odd = kind == "other" && request.target.starts_with("/odd");
    let text = match kind {
        "failing" => return Some(Answer::new(500, "no")),
        "silent" => return None,
        "mortal" if request.target == "/die" => std::process::exit(9),
        "moving" => format!("{:?}", std::time::Instant::now()),
        _ if is_odd => "other".to_owned(),
        _ => "same".to_owned(),
    };
    let target = &request.target;
    let posted = String::from_utf8_lossy(&request.body);
    let body = serde_json::json!({"target": target, "text": text, "posted": posted});
    Some(Answer::json(body.to_string()))
}
