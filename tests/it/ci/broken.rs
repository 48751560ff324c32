//! What keeps a job from deciding: services that are not there or not what they seem, commands that cannot be started, tests that
//! hang. Each ends with 2 and says why.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::{ENOUGH, Job, recording};
use crate::support::served::command;
use crate::support::service::Service;
use crate::support::wait_for;

/// The end of a job with this legacy and candidate.
fn run(job: &Job, services: [&str; 2], more: &[&str]) -> (i32, String) {
    let [legacy, candidate] = services;
    let mut arguments = vec!["--legacy-command", legacy, "--candidate-command", candidate];
    arguments.extend(more);
    if !more.contains(&"--") && !more.contains(&"--replay") {
        arguments.extend(["--", "true"]);
    }
    let ended = job.run(&arguments);
    assert!(
        ended.code == 0 || ended.code == 3 || ended.stdout.is_empty(),
        "no decision: {}",
        ended.stdout
    );
    (ended.code, ended.stderr)
}

#[test]
fn a_service_that_is_not_ready_is_told_with_why() {
    let job = Job::new();
    let equal = command("equal");
    let (failing, silent) = (command("failing"), command("silent"));
    let deaf = "echo came up; echo to stderr >&2; sleep 1000";
    // Another port than the one that it was given.
    let other = format!("PORT=$((PORT+7)); export PORT; {equal}");
    for (candidate, why) in [
        (deaf, "nobody listens on 127.0.0.1:"),
        (&*failing, "it answers GET /up with 500"),
        (&*other, "; its command listens on port "),
        ("exit 7", "the candidate ended with exit code 7"),
        ("kill -KILL $$", "the candidate was ended by signal 9"),
        ("true", "its command must stay in the foreground"),
        ("no-such-program", "the candidate ended with exit code 127"),
    ] {
        let more = ["--ready-timeout", "1s", "--ready-path", "/up"];
        let (code, said) = run(&job, [&equal, candidate], &more);
        assert_eq!(code, 2, "{candidate}: {said}");
        assert!(said.contains(why), "{candidate}: {said}");
    }
    let (_, said) = run(&job, [&equal, deaf], &["--ready-timeout", "1s"]);
    for told in ["  | came up\n", "  | to stderr\n", "kept: "] {
        assert!(said.contains(told), "{told}: {said}");
    }
    // It accepts, and says nothing: told when its time is over, not when a request is.
    let (code, said) = run(&job, [&equal, &silent], &["--ready-timeout", "1s"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("was not ready within 1s"), "{said}");
}

#[test]
fn a_service_that_starts_slowly_is_waited_for() {
    let job = Job::new();
    let equal = command("equal");
    let slow = format!("sleep 1; {equal}");
    let (code, said) = run(&job, [&slow, &equal], &[]);
    assert_eq!(code, 3, "{said}");
}

#[test]
fn who_listened_before_is_not_taken_for_the_service() {
    let job = Job::new();
    let stale = Service::json("{}");
    let url = stale.url();
    let equal = command("equal");
    let (code, said) = run(&job, [&equal, &equal], &["--candidate", &url]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("somebody listens on http://127.0.0.1:"),
        "{said}"
    );
    assert_eq!(stale.seen(), 0);
    // A port of choice that is free is taken.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let url = format!("http://127.0.0.1:{port}");
    let on_it = format!("PORT={port}; export PORT; {equal}");
    let (code, said) = run(&job, [&equal, &on_it], &["--candidate", &url]);
    assert_eq!(code, 3, "{said}");
    // The place of the port is filled in, in the command and in the address.
    let on_it = format!("PORT={{port}}; export PORT; {equal}");
    let more = ["--candidate", "http://localhost:{port}"];
    let (code, said) = run(&job, [&equal, &on_it], &more);
    assert_eq!(code, 3, "{said}");
}

#[test]
fn who_takes_the_port_meanwhile_is_not_taken_for_the_service_either() {
    let job = Job::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    let url = format!("http://{address}");
    let started = job.place.path().join("started");
    let equal = command("equal");
    let elsewhere = format!("PORT=$((PORT+7)); export PORT; touch started; {equal}");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for("the start", || started.exists().then_some(()));
            let taken = TcpListener::bind(&address).expect("it is free");
            while let Ok((mut stream, _)) = taken.accept() {
                let mut asked = [0; 1_024];
                let Ok(read) = stream.read(&mut asked) else {
                    continue;
                };
                if asked[..read].starts_with(b"END") {
                    return;
                }
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                drop(stream.write_all(answer));
            }
        });
        let (code, said) = run(&job, [&equal, &elsewhere], &["--candidate", &url]);
        let mut end = TcpStream::connect(&address).expect("it listens");
        end.write_all(b"END").expect("written");
        assert_eq!(code, 2, "{said}");
        let why = "is answered by somebody else; its command listens on port ";
        assert!(said.contains(why), "{said}");
    });
}

#[test]
fn a_legacy_that_listens_on_the_candidates_port_is_not_compared_with_itself() {
    let job = Job::new();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let equal = command("equal");
    let both = format!("(PORT={port}; export PORT; {equal}) & {equal}");
    let url = format!("http://127.0.0.1:{port}");
    for candidate in ["sleep 1000", &equal] {
        let (code, said) = run(&job, [&both, candidate], &["--candidate", &url]);
        assert_eq!(code, 2, "{said}");
        let why = format!("the candidate: {url} is answered by ");
        assert!(
            said.contains(&why) || said.contains("is answered by the command of the legacy"),
            "{said}"
        );
    }
}

#[test]
fn a_service_that_dies_in_the_middle_ends_the_job() {
    let job = Job::new();
    let (equal, mortal) = (command("equal"), command("mortal"));
    let drive = "curl --silent \"$PARITY_URL/a\" \"$PARITY_URL/die\"; sleep 1000";
    let (code, said) = run(&job, [&equal, &mortal], &["--", "sh", "-c", drive]);
    assert_eq!(code, 2, "{said}");
    let why = "the candidate ended with exit code 9; it is needed to the end of the job";
    assert!(said.contains(why), "{said}");
    // At the very end of the tests, too: what came before is not judged.
    let drive = "curl --silent \"$PARITY_URL/die\"; exit 0";
    let (code, said) = run(&job, [&mortal, &equal], &["--", "sh", "-c", drive]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("the legacy ended with exit code 9"), "{said}");
    let lines = ["/a", "/die"].map(|url| format!("{{\"method\":\"GET\",\"url\":\"{url}\"}}\n"));
    let many = format!("{}{}", lines[0].repeat(ENOUGH), lines[1]);
    job.place.write("requests.ndjson", many);
    let (code, said) = run(&job, [&equal, &mortal], &["--replay", "requests.ndjson"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn tests_that_cannot_be_started_or_hang_end_the_job() {
    let job = Job::new();
    let equal = command("equal");
    let services = [&*equal, &*equal];
    let (code, said) = run(&job, services, &["--", "./no-such-tests", "--all"]);
    assert_eq!(code, 2, "{said}");
    let why = "the test command could not be started: ./no-such-tests: No such file";
    assert!(said.contains(why), "{said}");
    job.place.write("no-program", "true");
    std::fs::create_dir(job.place.path().join("folder")).expect("a folder");
    for (program, why) in [
        ("no-such-tests", "No such file"),
        ("", "No such file"),
        ("./no-program", "Permission denied"),
        ("./folder", "Permission denied"),
        ("/dev/null/x", "Not a directory"),
    ] {
        let (code, said) = run(&job, ["touch started", "touch started"], &["--", program]);
        assert_eq!(code, 2, "{said}");
        let told = format!("the test command could not be started: {program}: ");
        let lines: Vec<&str> = said.lines().collect();
        // It is all that is said, and nothing was started before.
        assert!(
            matches!(lines.as_slice(), [one] if one.contains(&told) && one.contains(why)),
            "{program}: {said}"
        );
        assert!(!job.place.path().join("started").exists(), "{said}");
    }
    // What can only be seen by starting it is told without the line that it runs.
    job.place.write("broken", "#!/no/such/interpreter\n");
    let broken = job.place.path().join("broken");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&broken, mode).expect("it is ours");
    let (code, said) = run(&job, services, &["--", "./broken"]);
    assert_eq!(code, 2, "{said}");
    let why = "the test command could not be started: ./broken: ";
    assert!(said.contains(why) && !said.contains("running"), "{said}");
    let hang = ["--timeout", "300ms", "--", "sleep", "1000"];
    let (code, said) = run(&job, services, &hang);
    assert_eq!(code, 2, "{said}");
    let why = "the test command was not done within 300ms (--timeout)";
    assert!(said.contains(why), "{said}");
    recording(&job.place, "items", 10_000);
    let slow = [
        "--timeout",
        "300ms",
        "--rate",
        "20",
        "--replay",
        "requests.ndjson",
    ];
    let (code, said) = run(&job, services, &slow);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("the replay was not done within 300ms"),
        "{said}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_started() {
    let job = Job::new();
    recording(&job.place, "items", 3);
    let touch = "touch started; sleep 1000";
    for (more, why) in [
        (
            &["--replay", "missing.ndjson"][..],
            "cannot read the recording missing.ndjson",
        ),
        (
            &["--replay", "requests.ndjson", "--", "true"],
            "cannot be used with",
        ),
        (&[], "required"),
        (
            &["--rate", "3", "--", "true"],
            "--rate has no effect without --replay",
        ),
        (
            &["--replay", "requests.ndjson", "--listen", "127.0.0.1:1"],
            "--listen has no effect with --replay",
        ),
        (
            &["--ready-path", "up", "--", "true"],
            "is not the path of a request",
        ),
        (
            &["--url-variable", "A=B", "--", "true"],
            "is not the name of a variable",
        ),
        (&["--openapi", "missing.yaml", "--", "true"], "missing.yaml"),
        (&["--config", "missing.toml", "--", "true"], "missing.toml"),
    ] {
        let mut arguments = vec!["--legacy-command", touch, "--candidate-command", touch];
        arguments.extend(more);
        let ended = job.run(&arguments);
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{more:?}: {}", ended.stderr);
        assert!(!job.place.path().join("started").exists(), "{more:?}");
        assert_eq!(job.kept(), [""; 0], "{more:?}");
    }
    let ended = job.run(&["--candidate-command", touch, "--", "true"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("no legacy is given"),
        "{}",
        ended.stderr
    );
    let ended = job.run(&[
        "--legacy",
        "http://127.0.0.1:{port}",
        "--candidate-command",
        touch,
        "--",
        "true",
    ]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .stderr
            .contains("only a service that --legacy-command starts"),
        "{}",
        ended.stderr
    );
}
