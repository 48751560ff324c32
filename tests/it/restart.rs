//! Restarts under load: no connection is refused or cut, and every request is counted.

use std::io::{ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::servers::{Kafka, header, key};
use crate::support::client::{self, Connection};
use crate::support::process::Place;
use crate::support::service::Service;
use crate::support::{Stop, length, wait_for};

const HANDOVER: &[&str] = &["--handover", "handover.sock"];

fn service() -> Service {
    Service::json("{\"a\":1}")
}

/// A client that keeps its connection for as long as it may, and pauses between requests.
fn keep_alive(address: SocketAddr, pause: Duration, stop: &AtomicBool, sent: &AtomicU64) {
    let mut connection = Connection::open(address);
    while !stop.load(Ordering::Relaxed) {
        connection.send("GET", "/items/1", &[], b"");
        let answer = connection.answer("GET").unwrap_or_else(|| {
            panic!(
                "cut with a pause of {pause:?} after {} requests",
                sent.load(Ordering::Relaxed)
            )
        });
        assert_eq!((answer.status, answer.text().as_str()), (200, "{\"a\":1}"));
        sent.fetch_add(1, Ordering::Relaxed);
        if answer.header("connection") == Some("close") {
            connection = Connection::open(address);
        }
        std::thread::park_timeout(pause);
    }
}

/// A client that opens a new connection for each request.
fn connecting(address: SocketAddr, stop: &AtomicBool, sent: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        let answer = client::get(address, "/items/2");
        assert_eq!(answer.status, 200);
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn restarts_under_load_refuse_nothing_and_cut_nothing() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let start = || place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    let mut running = start();
    let address = running.address;
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (stop, sent) = (&stop, &sent);
        let _stop = Stop(stop);
        for pause in [0, 0, 30, 300] {
            scope.spawn(move || keep_alive(address, Duration::from_millis(pause), stop, sent));
        }
        scope.spawn(move || connecting(address, stop, sent));
        for _ in 0..length(5, 50) {
            let before = sent.load(Ordering::Relaxed);
            wait_for("traffic", || {
                (sent.load(Ordering::Relaxed) > before + 50).then_some(())
            });
            let next = start();
            assert_eq!(next.address, address);
            assert!(next.log().contains("took over"), "{}", next.log());
            let (code, log) = std::mem::replace(&mut running, next).ended();
            assert_eq!(code, 0, "{log}");
            assert!(!log.contains("the drain was over before"), "{log}");
        }
    });
    assert_eq!(running.stop().0, 0);
    assert!(!place.path().join("handover.sock").exists());
    let sent = sent.load(Ordering::Relaxed);
    let report = place.report();
    assert_eq!((report.count("received"), report.settled()), (sent, sent));
    assert_eq!(
        report.count("match") + report.not_compared().values().sum::<u64>(),
        sent
    );
}

#[test]
fn a_successor_that_cannot_start_leaves_the_running_one_as_it_was() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let running = place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    std::fs::create_dir(place.path().join("folder")).expect("a folder");
    let (listen, admin) = (running.address.to_string(), running.admin.to_string());
    let again = |more: &[&str]| {
        let mut arguments = vec!["mirror", "--listen", &listen, "--admin", &admin];
        let (legacy, candidate) = (legacy.url(), candidate.url());
        arguments.extend(["--legacy", &legacy, "--candidate", &candidate]);
        arguments.extend(more);
        place.run(&arguments)
    };
    let broken = again(&[HANDOVER, &["--store", "sqlite:folder"]].concat());
    assert_eq!(broken.code, 2, "{}", broken.stderr);
    assert_eq!(running.get("/items/1").status, 200);
    assert_eq!(running.ask("/readyz").status, 200);
    wait_for("the running one to say so", || {
        running.log().contains("serving on").then_some(())
    });

    // Without the socket, the port in use is an error.
    let other = again(&[]);
    assert_eq!(other.code, 2);
    assert!(
        other.stderr.contains("another process has it")
            && other.stderr.contains("--listen (mirror.listen)"),
        "{}",
        other.stderr
    );
    // An address other than the inherited one is bound as usual.
    let next = place.mirror_with(&legacy.url(), &candidate.url(), HANDOVER, |command| {
        command.args(["--instance", "next"])
    });
    assert_eq!(next.get("/items/1").status, 200);
    assert_eq!(running.ended().0, 0);
    assert_eq!(next.stop().0, 0);
}

/// Passes its sockets and ends, as a mirror does that is killed at that moment.
fn pass_and_end(path: &std::path::Path, sockets: [TcpListener; 2]) -> std::thread::JoinHandle<()> {
    let listener = std::os::unix::net::UnixListener::bind(path).expect("a free path");
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a successor");
        let sockets = [sockets[0].as_fd(), sockets[1].as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&sockets));
        let text = [IoSlice::new(b"parity handover 1\n")];
        sendmsg(&stream, &text, &mut control, SendFlags::empty()).expect("passed");
    })
}

#[test]
fn a_predecessor_that_ends_in_the_middle_leaves_its_successor_serving() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let sockets = [0, 1].map(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a free port"));
    let address = sockets[0].local_addr().expect("bound");
    let passing = pass_and_end(&place.path().join("handover.sock"), sockets);
    let next = place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    passing.join().expect("passed");
    assert_eq!(next.address, address);
    assert_eq!(next.get("/items/1").status, 200);
    // And it can be taken over from, in turn.
    let last = place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    assert_eq!(next.ended().0, 0);
    assert_eq!(last.get("/items/1").status, 200);
    assert_eq!(last.stop().0, 0);
}

#[test]
fn a_socket_left_behind_by_a_killed_mirror_is_no_obstacle() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let killed = place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    killed.kill();
    assert!(place.path().join("handover.sock").exists());
    let next = place.mirror(&legacy.url(), &candidate.url(), HANDOVER);
    assert_eq!(next.get("/items/1").status, 200);
    assert_eq!(next.stop().0, 0);
}

#[test]
fn sockets_of_a_service_manager_are_used() {
    let place = Place::new();
    let (legacy, candidate) = (service(), service());
    let bind = || TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let (proxy, admin) = (bind(), bind());
    let address = |listener: &TcpListener| listener.local_addr().expect("bound");
    let addresses = (address(&proxy), address(&admin));
    // Connected before anybody accepts, as with a manager that starts services when they are asked for.
    let early = TcpStream::connect(addresses.0).expect("it listens");
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &[], |command| {
        let parity = command.get_program().to_owned();
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let directory = place.path().to_owned();
        // The process that is meant must be named, and only a shell knows its own before it becomes it.
        *command = std::process::Command::new("sh");
        command
            .args(["-c", "LISTEN_FDS=2 LISTEN_PID=$$ exec \"$@\"", "sh"])
            .arg(parity)
            .args(arguments)
            .current_dir(directory);
        let passed = [(proxy, 3), (admin, 4)].map(|(socket, child_fd)| FdMapping {
            parent_fd: OwnedFd::from(socket),
            child_fd,
        });
        command
            .fd_mappings(passed.into())
            .expect("no two are the same");
        command
    });
    assert_eq!((mirror.address, mirror.admin), addresses);
    let mut early = Connection::on(early);
    early.send("GET", "/items/1", &[], b"");
    assert_eq!(early.answer("GET").expect("an answer").status, 200);
    assert_eq!(mirror.ask("/healthz").status, 200);
    assert_eq!(mirror.stop().0, 0);
    let refused = TcpStream::connect(addresses.0).expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
#[ignore = "needs Kafka: run tests/run"]
fn a_successor_spools_beside_the_one_that_drains() {
    let kafka = Kafka::shared();
    let topic = kafka.topic(2);
    let url = kafka.url(&topic);
    let place = Place::new();
    let (legacy, candidate) = (service(), Service::json("{\"a\":2}"));
    let more = [HANDOVER, &["--store", &url]].concat();
    let start = || place.mirror(&legacy.url(), &candidate.url(), &more);
    let first = start();
    let address = first.address;
    let mut connection = Connection::open(address);
    let mut ask = || {
        connection.send("GET", "/items/1", &[], b"");
        let answer = connection.answer("GET").expect("an answer");
        assert_eq!(answer.status, 200);
        if answer.header("connection") == Some("close") {
            connection = Connection::open(address);
        }
    };
    (0..50).for_each(|_| ask());
    let second = start();
    assert!(place.path().join("parity.spool/successor/lock").exists());
    (0..50).for_each(|_| ask());
    assert_eq!(first.ended().0, 0);
    // The next one finds the folder free again.
    let third = start();
    (0..50).for_each(|_| ask());
    assert_eq!(second.ended().0, 0);
    assert_eq!(third.stop().0, 0);
    let mismatches: std::collections::BTreeSet<_> = kafka
        .read(&topic)
        .iter()
        .filter(|message| header(message, "parity-type").as_deref() == Some("mismatch"))
        .map(key)
        .collect();
    assert_eq!(mismatches.len(), 150);
}
