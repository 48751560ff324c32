//! What services print: bounded, kept when something fails, and never a command to whoever reads a log.

use super::Job;
use crate::support::served::command;

#[test]
fn a_service_that_prints_much_is_read_and_its_log_is_bounded() {
    let job = Job::new();
    let equal = command("equal");
    let loud = format!("yes 'a line of a log' | head -c 100000000; echo the end; {equal}");
    let arguments = ["--legacy-command", &loud, "--candidate-command", &equal];
    let ended = job.run(&[&arguments[..], &["--logs", "out/logs", "--", "true"]].concat());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let folder = job.place.path().join("out/logs");
    let sizes = std::fs::read_dir(&folder).expect("a folder");
    let sizes = sizes.map(|entry| entry.expect("readable").metadata().expect("a file").len());
    let size: u64 = sizes.sum();
    assert!((8_000_000..20_000_000).contains(&size), "{size}");
    let log = std::fs::read_to_string(folder.join("legacy.log")).expect("a log");
    assert!(log.contains("\nthe end\n"), "its end is there");
}

#[test]
fn hostile_text_of_a_service_is_no_command() {
    let job = Job::new();
    let equal = command("equal");
    let hostile = r"printf '::error file=a::b\n\033]0;owned\007\r::set-env name=x::y\n\302\233 \377\n'; exit 1";
    let arguments = ["--legacy-command", &equal, "--candidate-command", hostile];
    let ended = job.run(&[&arguments[..], &["--", "true"]].concat());
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let said = &ended.stderr;
    assert!(said.contains("  | ::error file=a::b\n"), "{said}");
    for control in ['\u{1b}', '\u{7}', '\r', '\u{9b}'] {
        assert!(!said.contains(control), "{said:?}");
    }
    assert!(said.lines().all(|line| !line.starts_with("::")), "{said}");
    // The file has it as it was printed.
    let kept = &job.kept()[0];
    let log = std::fs::read(format!("{kept}/candidate.log")).expect("kept");
    assert!(log.contains(&0x1b));
}

#[test]
fn a_full_disk_takes_nothing_from_the_job() {
    let job = Job::new();
    let equal = command("equal");
    let loud = format!("yes 'a line of a log' | head -c 3000000; {equal}");
    let arguments = ["--legacy-command", &loud, "--candidate-command", &equal];
    let mut command = job.command(&[&arguments[..], &["--", "true"]].concat());
    // No file beyond 2 MiB.
    let output = job.place.under("ulimit -f 2048", &mut command);
    let ended = super::ended(&output.output().expect("it runs"), &job);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let why = "the log of the legacy lacks its end";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

#[test]
fn with_a_folder_for_the_logs_nothing_is_left_elsewhere() {
    let job = Job::new();
    let (equal, other) = (command("equal"), command("other"));
    super::recording(&job.place, "items", 50);
    let services = ["--legacy-command", &equal, "--candidate-command", &other];
    let replay = ["--replay", "requests.ndjson"];
    let run = |more: &[&str]| job.run(&[&services[..], &replay, more].concat());
    let undecided = run(&["--logs", "logs"]);
    assert_ne!(undecided.code, 0, "{}", undecided.stderr);
    assert_eq!(job.kept(), [""; 0], "{}", undecided.stderr);
    let logs = std::fs::read_dir(job.place.path().join("logs")).expect("a folder");
    assert_eq!(logs.count(), 2);
    // Without one they stay, with the record and nothing else.
    let kept = run(&[]);
    let folders = job.kept();
    let [folder] = folders.as_slice() else {
        panic!("{folders:?}: {}", kept.stderr);
    };
    let files = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<String> = files
        .map(|file| {
            file.expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|file| !file.starts_with("parity.db-"))
        .collect();
    files.sort();
    assert_eq!(files, ["candidate.log", "legacy.log", "parity.db"]);
    let told = format!("kept: {folder}/");
    assert!(kept.stderr.contains(&told), "{}", kept.stderr);
}

#[test]
fn a_commit_that_is_no_version_is_told_by_the_name_of_its_variable() {
    let job = Job::new();
    let services = [
        "--legacy",
        "http://127.0.0.1:1",
        "--candidate",
        "http://127.0.0.1:2",
    ];
    let run = |name: &str, value: &[u8], more: &[&str]| {
        let arguments = [
            &services[..],
            more,
            &["--ready-timeout", "100ms", "--", "true"],
        ]
        .concat();
        let value = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(value);
        let mut command = job.command(&arguments);
        let output = command.env(name, value).output().expect("parity runs");
        super::ended(&output, &job).stderr
    };
    let long = [b'a'; 300];
    for (name, value, why) in [
        ("GITHUB_SHA", &b"abc\ndef"[..], "has a control character"),
        ("CI_COMMIT_SHA", b"abc\n", "has a control character"),
        ("GITHUB_SHA", b"\xff", "is not UTF-8"),
        ("CI_COMMIT_SHA", &long, "has 300 bytes"),
    ] {
        let said = run(name, value, &[]);
        assert!(said.contains(name) && said.contains(why), "{said}");
        assert!(!said.contains("mirror."), "{said}");
        // It is not asked where the version is given.
        let said = run(name, value, &["--candidate-version", "1"]);
        assert!(!said.contains(name) && said.contains("not ready"), "{said}");
    }
}
