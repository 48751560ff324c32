//! `parity top` in a real terminal, against real mirrors.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Service};
use crate::support::{wait_for, wait_or_tell};

/// Text that a terminal obeys, as a service may answer it.
const HOSTILE: &str = "{\"\\u001b]0;owned\\u0007\\u001b[2J\":1,\"price\":100}";
const WRONG: &str = "{\"\\u001b]0;owned\\u0007\\u001b[2J\":2,\"price\":101}";

/// A program in a terminal of its own, by `script`, with what that shows.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<(vt100::Parser, Vec<u8>)>>,
    reading: std::thread::JoinHandle<()>,
    pid: std::path::PathBuf,
}

impl Terminal {
    /// Runs `parity top` with these arguments; behind it the terminal says how it ended, and in which mode it is.
    fn top(
        place: &Place,
        (rows, columns): (u16, u16),
        arguments: &str,
        environment: &[(&str, &str)],
    ) -> Self {
        let pid = place.path().join("top.pid");
        let run = format!(
            "stty rows {rows} cols {columns}; sh -c 'echo $$ > {}; exec {} top {arguments}'; \
             echo \"code=$?\"; stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo)' | tr '\\n' ' '; echo end",
            pid.display(),
            env!("CARGO_BIN_EXE_parity")
        );
        let mut child = Command::new("script")
            .args(["-qefc", &run, "/dev/null"])
            .current_dir(place.path())
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script can be started");
        let shown = Arc::new(Mutex::new((
            vt100::Parser::new(rows, columns, 0),
            Vec::new(),
        )));
        let mut output = child.stdout.take().expect("piped");
        let to = Arc::clone(&shown);
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let mut shown = to.lock().expect("no panic while held");
                shown.0.process(&buffer[..length]);
                shown.1.extend_from_slice(&buffer[..length]);
            }
        });
        Self {
            keys: child.stdin.take().expect("piped"),
            child,
            shown,
            reading,
            pid,
        }
    }

    fn text(&self) -> String {
        self.shown
            .lock()
            .expect("no panic while held")
            .0
            .screen()
            .contents()
    }

    fn sees(&self, wanted: &str) {
        let look = || self.text().contains(wanted).then_some(());
        wait_or_tell(look, || format!("`{wanted}` on\n{}", self.text()));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it reads keys");
        self.keys.flush().expect("it reads keys");
    }

    fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(&self.pid).expect("it has begun");
        let sent = Command::new("kill")
            .args([&format!("-{name}"), pid.trim()])
            .status();
        assert!(sent.expect("kill can be run").success());
    }

    /// Waits for the end: the program ended with 0, and the terminal is as it was. All that was written to it.
    fn ended(self) -> String {
        self.sees("end");
        let text = self.text();
        let shown = self.shown.lock().expect("no panic while held");
        assert!(text.contains("code=0"), "{text}");
        assert!(
            text.contains("icanon echo") && !text.contains("-icanon"),
            "{text}"
        );
        assert!(!shown.0.screen().alternate_screen(), "{text}");
        assert!(!shown.0.screen().hide_cursor(), "{text}");
        let written = String::from_utf8_lossy(&shown.1).into_owned();
        drop(shown);
        let Self {
            mut child,
            keys,
            reading,
            ..
        } = self;
        drop(keys);
        wait_for("the end of script", || {
            child.try_wait().expect("it can be asked")
        });
        reading.join().expect("it is read");
        written
    }
}

/// A mirror in front of two services that differ, with what it found.
fn mirror<'a>(place: &'a Place, [legacy, candidate]: &[Service; 2]) -> Mirror<'a> {
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    for number in 0..20 {
        mirror.get(&format!("/prices/{number}"));
    }
    mirror.settled(20);
    mirror
}

fn services() -> [Service; 2] {
    [HOSTILE, WRONG].map(Service::json)
}

#[test]
fn a_terminal_shows_the_planted_cause_and_is_as_it_was_after_q() {
    let place = Place::new();
    let services = services();
    let mirror = mirror(&place, &services);
    let arguments = format!("--admin {} --interval 200ms", mirror.admin);
    let mut top = Terminal::top(&place, (34, 120), &arguments, &[]);
    top.sees("body /price value on GET /prices/{id}");
    for wanted in [
        "1 CLIENTS",
        "legacy answers",
        "FAIL 20 of 20",
        "20 ×",
        "requests/s",
    ] {
        top.sees(wanted);
    }
    // What is selected opens, by whatever name it has.
    top.press("G\r");
    top.sees("example ");
    top.press("\x1b");
    top.sees("5 DIFFERENCES");
    top.press("?");
    top.sees("the next pane");
    top.press("x");
    top.press("p");
    top.sees("PAUSED");
    top.press("q");
    let written = top.ended();
    assert!(!written.contains("\u{1b}]0;"), "a title was set");
    assert!(written.contains("\u{1b}[3"), "there are colours");
}

#[test]
fn a_mirror_that_dies_is_told_and_a_signal_ends_it() {
    let place = Place::new();
    let services = services();
    let mirror = mirror(&place, &services);
    let arguments = format!("--admin http://{} --interval 200ms", mirror.admin);
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let top = Terminal::top(&place, (20, 100), &arguments, &[("NO_COLOR", "1")]);
        top.sees("FAIL 20 of 20");
        top.signal(signal);
        let written = top.ended();
        assert!(
            !written.contains("\u{1b}[31") && !written.contains("38;5;"),
            "without colours"
        );
    }
    let mut top = Terminal::top(&place, (20, 100), &arguments, &[]);
    top.sees("FAIL 20 of 20");
    mirror.kill();
    top.sees("NO CONNECTION");
    top.sees("what is here is of");
    top.sees("Connection refused");
    top.press("\x03");
    top.ended();
}

#[test]
fn a_tiny_terminal_shows_what_fits() {
    let place = Place::new();
    let services = services();
    let mirror = mirror(&place, &services);
    let arguments = format!("--admin {} --interval 200ms", mirror.admin);
    let mut top = Terminal::top(&place, (5, 20), &arguments, &[]);
    top.sees("5 DIFFERENCES");
    top.sees("20 ×");
    top.press("2");
    top.sees("FAIL");
    top.press("q");
    // So small a terminal has no room for all that is said behind it.
    top.sees("end");
}

#[test]
fn without_a_screen_it_is_printed_once() {
    let place = Place::new();
    let services = services();
    let mirror = mirror(&place, &services);
    let admin = mirror.admin.to_string();
    for arguments in [
        &["top", "--admin", &admin][..],
        &["top", "--admin", &admin, "--once"],
    ] {
        let ended = place.run(arguments);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        for wanted in [
            // Each part says of which moment it is.
            "CLIENTS (asked ",
            "PARITY (record read ",
            "requests/s",
            "FAIL 20 of 20",
            "body /price value on GET /prices/{id}",
        ] {
            assert!(
                ended.stdout.contains(wanted),
                "`{wanted}` is not in {}",
                ended.stdout
            );
        }
        assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
    }
    let dumb = Terminal::top(
        &place,
        (60, 120),
        &format!("--admin {admin}"),
        &[("TERM", "dumb")],
    );
    dumb.sees("FAIL 20 of 20");
    dumb.sees("code=0");
    // A reader has no mirror, and tells of the same record.
    let ui = place.ui();
    let ended = place.run(&["top", "--admin", &ui.admin.to_string(), "--since", "1h"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stdout.contains("FAIL 20 of 20"), "{}", ended.stdout);
    let wrong = place.run(&[
        "top",
        "--admin",
        &ui.admin.to_string(),
        "--since",
        "yesterday",
    ]);
    assert!(
        wrong.stdout.contains("is neither a time"),
        "{}{}",
        wrong.stdout,
        wrong.stderr
    );
}

#[test]
fn what_cannot_be_reached_or_is_no_admin_port_is_an_error_and_no_token_is_told() {
    let place = Place::new();
    let nobody = place.run(&["top", "--once", "--admin", "127.0.0.1:1"]);
    assert_eq!(nobody.code, 2, "{}", nobody.stdout);
    assert!(
        nobody.stderr.contains("does not answer"),
        "{}",
        nobody.stderr
    );
    // A stranger that answers 404 to everything, and one that answers everything, also with escapes.
    place.write("secret", "0123456789abcdef0123456789abcdef\n");
    // Or that only says the words of parity, without its status or beside others.
    for (status, body) in [
        (404, "no \u{1b}[2J"),
        (200, "{\"a\":\"\\u001b[2J\"}"),
        (200, "{\"error\":\"a token\",\"code\":\"token_needed\"}"),
        (404, "{\"error\":\"a token\",\"code\":\"token_needed\"}"),
        (401, "{\"error\":\"log in\",\"code\":\"login\"}"),
    ] {
        let (seen, asked) = std::sync::mpsc::channel();
        let stranger = Service::start(move |request| {
            let token = request.header("authorization").is_some();
            let _ended = seen.send((request.method.clone(), request.target.clone(), token));
            Answer::new(status, body)
        });
        let other = place.run(&[
            "top",
            "--once",
            "--admin",
            &stranger.url(),
            "--token-file",
            "secret",
        ]);
        assert_eq!(other.code, 2, "{}", other.stdout);
        assert!(!other.stderr.contains('\u{1b}'), "{}", other.stderr);
        for words in [
            &stranger.url(),
            "no admin port",
            &status.to_string(),
            "--admin",
        ] {
            assert!(other.stderr.contains(words), "{words}: {}", other.stderr);
        }
        let asked: Vec<_> = asked.try_iter().collect();
        let proof = ("GET".to_owned(), "/api/v1/openapi.json".to_owned(), false);
        // Once for two hosts, which a mirror's other port would refuse, and once properly.
        let proofs = [proof.clone(), proof];
        assert_eq!(asked, proofs, "nothing else is asked, and no token shown");
    }
    let address = place.run(&["top", "--admin", "http://u:secret@127.0.0.1:1"]);
    assert_eq!(address.code, 2);
    assert!(
        !address.stderr.contains("secret") || address.stderr.contains("'http://u:secret"),
        "{}",
        address.stderr
    );
    place.write("token", "0123456789abcdef0123456789abcdef\n");
    let services = [Service::json("{}"), Service::json("{}")];
    let guarded = place.mirror(
        &services[0].url(),
        &services[1].url(),
        &["--admin-token-file", "token"],
    );
    let admin = guarded.admin.to_string();
    let refused = place.run(&["top", "--once", "--admin", &admin]);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("needs a token"),
        "{}",
        refused.stderr
    );
    // A wrong one is told to be wrong, and where to look.
    place.write("other", "fedcba9876543210fedcba9876543210\n");
    let wrong = place.run(&["top", "--once", "--admin", &admin, "--token-file", "other"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stdout);
    assert!(
        wrong.stderr.contains("the token is wrong")
            && wrong.stderr.contains("--admin-token-file")
            && wrong.stderr.contains("--token-file")
            && !wrong.stderr.contains("0123456789abcdef"),
        "{}",
        wrong.stderr
    );
    let let_in = place.run(&["top", "--once", "--admin", &admin, "--token-file", "token"]);
    assert_eq!(let_in.code, 0, "{}", let_in.stderr);
    assert!(
        let_in.stdout.contains("nothing recorded") || let_in.stdout.contains("CLIENTS"),
        "{}",
        let_in.stdout
    );
}
