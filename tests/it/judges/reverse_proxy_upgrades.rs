//! The cases of Go's tests of its reverse proxy that are about upgrades: data passes in both directions, and when one peer
//! ends, the other one sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc;

use super::origin::{Next, Origin};
use super::reverse_proxy::before;
use crate::support::PATIENCE;

const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nX-Header: X-Value\r\n\r\n";

/// A legacy that switches and then does as it is told with the socket.
fn switching(act: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Origin {
    Origin::start(move |heard, stream| {
        assert_eq!(heard.all("upgrade"), ["websocket"], "{heard:?}");
        assert_eq!(heard.all("connection"), ["upgrade"], "{heard:?}");
        let switched = stream.write_all(SWITCHED.as_bytes());
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        if switched.is_ok() {
            act(stream);
        }
        Next::Close
    })
}

/// A client that has switched, and the fields of the answer.
fn switch(address: SocketAddr) -> (TcpStream, Vec<String>) {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    let request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("written");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
    let mut lines = head.trim_end().lines().map(str::to_owned);
    let status = lines.next().expect("a status line");
    assert_eq!(status, "http/1.1 101 switching protocols");
    (stream, lines.collect())
}

/// Go: `WebSocket`.
#[test]
fn both_peers_speak_on() {
    let origin = switching(|stream| {
        let mut line = String::new();
        let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
        reader.read_line(&mut line).expect("a line");
        writeln!(stream, "legacy got {:?}", line.trim_end()).expect("written");
    });
    before(&origin, |address| {
        let (mut client, mut fields) = switch(address);
        fields.sort();
        assert_eq!(
            fields,
            [
                "connection: upgrade",
                "upgrade: websocket",
                "x-header: x-value"
            ]
        );
        client.write_all(b"Hello\n").expect("written");
        let mut said = String::new();
        client.read_to_string(&mut said).expect("closed at the end");
        assert_eq!(said, "legacy got \"Hello\"\n");
    });
}

/// Go: `WebSocketCancellation`, `UpgradeNoCloseWrite`, `HijackCopyError`: here a context is cancelled by the client's
/// end.
#[test]
fn the_end_of_the_client_is_the_end_for_a_legacy_that_speaks_and_for_one_that_listens() {
    for speaks in [true, false] {
        let origin = switching(move |stream| {
            if speaks {
                while stream.write_all(b"on and on\n").is_ok() {}
            } else {
                while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
            }
        });
        before(&origin, |address| {
            let (mut client, _) = switch(address);
            if speaks {
                client.read_exact(&mut [0; 10]).expect("a line");
            }
            drop(client);
            // Every connection of the legacy comes to its end.
            origin.record();
        });
    }
}

/// Go: `WebSocketHalfTCP`, all four of its cases.
#[test]
fn the_end_of_one_direction_is_not_the_end_of_the_other() {
    // "client close write": what the legacy says after it has read the end still arrives.
    let origin = switching(|stream| {
        let mut said = String::new();
        stream
            .read_to_string(&mut said)
            .expect("closed for writing");
        write!(stream, "after {said}").expect("written");
    });
    before(&origin, |address| {
        let (mut client, _) = switch(address);
        client.write_all(b"client sends").expect("written");
        client.shutdown(Shutdown::Write).expect("open until here");
        let mut said = String::new();
        client.read_to_string(&mut said).expect("closed at the end");
        assert_eq!(said, "after client sends");
    });

    // "server close write": the client reads the end, and what it says afterwards still arrives.
    let (tell, told) = mpsc::channel();
    let origin = switching(move |stream| {
        stream.shutdown(Shutdown::Write).expect("open until here");
        let mut said = String::new();
        let read = stream.read_to_string(&mut said).map(|_| said);
        tell.send(read).expect("the test waits");
    });
    before(&origin, |address| {
        let (mut client, _) = switch(address);
        let mut nothing = Vec::new();
        client
            .read_to_end(&mut nothing)
            .expect("closed for writing");
        assert_eq!(nothing, b"");
        client.write_all(b"client sends").expect("written");
        drop(client);
        let said = told.recv_timeout(PATIENCE).expect("told");
        assert_eq!(said.expect("closed at the end"), "client sends");
    });

    // "client close read", "server close read": a peer that reads no more may still speak.
    let (tell, told) = mpsc::channel();
    let origin = switching(move |stream| {
        stream.shutdown(Shutdown::Read).expect("open until here");
        stream.write_all(b"server sends").expect("written");
        tell.send(()).expect("the test waits");
    });
    before(&origin, |address| {
        let (mut client, _) = switch(address);
        let mut said = [0; 12];
        client.read_exact(&mut said).expect("what the legacy says");
        assert_eq!(&said, b"server sends");
        told.recv_timeout(PATIENCE).expect("told");
    });
    let (tell, told) = mpsc::channel();
    let origin = switching(move |stream| {
        let mut said = [0; 12];
        let read = stream.read_exact(&mut said).map(|()| said);
        tell.send(read).expect("the test waits");
    });
    before(&origin, |address| {
        let (mut client, _) = switch(address);
        client.shutdown(Shutdown::Read).expect("open until here");
        client.write_all(b"client sends").expect("written");
        let said = told.recv_timeout(PATIENCE).expect("told");
        assert_eq!(&said.expect("what the client says"), b"client sends");
    });
}

/// Not in Go's list, and what its `HijackCopyError` comes from: an upgrade that is declined leaves plain HTTP.
#[test]
fn an_upgrade_that_is_declined_is_an_answer_like_any_other() {
    let origin = Origin::saying(
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nno",
    );
    before(&origin, |address| {
        let mut client = crate::support::client::Connection::open(address);
        for _ in 0..2 {
            client.send(
                "GET",
                "/",
                &[("connection", "upgrade"), ("upgrade", "y")],
                b"",
            );
            let answer = client.answer("GET").expect("an answer");
            assert_eq!((answer.status, answer.text().as_str()), (426, "no"));
        }
    });
}
