//! Inspects the other end of a loopback connection.
//!
//! The kernel is asked about this one socket, which costs the same however many there are: a test may ask once for each byte, beside
//! thousands of closed connections of other tests. A kernel that does not answer such questions has a table of all sockets, which is read instead.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// `AF_NETLINK`.
const NETLINK: i32 = 16;
/// `NETLINK_SOCK_DIAG`.
const SOCK_DIAG: i32 = 4;
/// `SOCK_DIAG_BY_FAMILY`, of a question and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `ENOENT`: there is no such socket.
const NO_ENTRY: i32 = 2;
/// Bytes of the head of a netlink message.
const HEAD: usize = 16;
/// Where an answer says the port of the peer.
const PEER: usize = HEAD + 6;
/// Where it says how many bytes were not read.
const UNREAD: usize = HEAD + 56;
/// Where it says the inode.
const INODE: usize = HEAD + 68;

/// The other end.
pub(crate) struct OtherEnd {
    /// Bytes that came and have not been read.
    pub(crate) unread: u64,
    /// Whether its program has taken the connection: it has an inode then.
    pub(crate) is_accepted: bool,
}

/// The other end of a connection over IPv4; `None` if it is gone.
pub(crate) fn other_end(stream: &TcpStream) -> Option<OtherEnd> {
    let ends = [stream.peer_addr().ok()?, stream.local_addr().ok()?];
    let ports = ends.map(|end: SocketAddr| end.port());
    match asked(ports) {
        Ok(found) => found,
        Err(_refused) => listed(ports),
    }
}

/// What the kernel says of the loopback socket with this port, whose peer has that one. An error if it does not answer.
fn asked([own, peer]: [u16; 2]) -> std::io::Result<Option<OtherEnd>> {
    let mut question = Vec::new();
    question.extend(72_u32.to_ne_bytes());
    question.extend(BY_FAMILY.to_ne_bytes());
    // A request, the first of no process.
    question.extend([1, 0]);
    question.extend([0; 8]);
    // IPv4, TCP, nothing besides, in any state.
    question.extend([2, 6, 0, 0]);
    question.extend(u32::MAX.to_ne_bytes());
    question.extend(own.to_be_bytes());
    question.extend(peer.to_be_bytes());
    for _ in 0..2 {
        question.extend(Ipv4Addr::LOCALHOST.octets());
        question.extend([0; 12]);
    }
    // Any interface, and no cookie.
    question.extend([0; 4]);
    question.extend([0xff; 8]);
    let kernel = Socket::new(
        Domain::from(NETLINK),
        Type::RAW,
        Some(Protocol::from(SOCK_DIAG)),
    )?;
    kernel.set_read_timeout(Some(Duration::from_secs(5)))?;
    kernel.send(&question)?;
    let mut answer = [0; 1024];
    let length = (&kernel).read(&mut answer)?;
    let answer = answer.get(..length).unwrap_or_default();
    let number = |at: usize| {
        let bytes = answer.get(at..at + 4).and_then(|four| four.try_into().ok());
        bytes.map(u32::from_ne_bytes)
    };
    let kind = answer.get(4..6) == Some(&BY_FAMILY.to_ne_bytes());
    if answer.get(4..6) == Some(&ERROR.to_ne_bytes()) {
        let code = number(HEAD).map_or(0, u32::cast_signed).saturating_neg();
        return match code {
            NO_ENTRY => Ok(None),
            code => Err(std::io::Error::from_raw_os_error(code)),
        };
    }
    let found = (number(UNREAD), number(INODE));
    let (true, (Some(unread), Some(inode))) = (kind, found) else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    // Where the connection is gone, that is who listens at its port.
    let is_it = answer.get(PEER..PEER + 2) == Some(&peer.to_be_bytes());
    Ok(is_it.then_some(OtherEnd {
        unread: unread.into(),
        is_accepted: inode != 0,
    }))
}

/// The same by the table of all sockets.
fn listed(ports: [u16; 2]) -> Option<OtherEnd> {
    let [there, here] = ports.map(|port| format!("0100007F:{port:04X}"));
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
    let mut sockets = sockets.lines().map(str::split_whitespace);
    let mut fields = sockets.find(|fields| {
        let mut fields = fields.clone().skip(1);
        fields.next() == Some(&*there) && fields.next() == Some(&*here)
    })?;
    let queues = fields.nth(4)?;
    let (_, unread) = queues.split_once(':')?;
    Some(OtherEnd {
        unread: u64::from_str_radix(unread, 16).ok()?,
        is_accepted: fields.nth(4)? != "0",
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn both_ways_say_the_same_of_one_end() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut client = TcpStream::connect(address).expect("it listens");
        client.write_all(b"hello").expect("sent");
        let here = client.local_addr().expect("connected").port();
        let ports = [address.port(), here];
        let both = || {
            let asked = asked(ports).ok().map(|end| end.as_ref().map(told));
            let listed = listed(ports).as_ref().map(told);
            assert!(
                asked.is_none_or(|asked| asked == listed),
                "{asked:?} {listed:?}"
            );
            listed
        };
        assert_eq!(both(), Some((5, false)));
        let (mut server, _) = listener.accept().expect("it is there");
        assert_eq!(both(), Some((5, true)));
        server.read_exact(&mut [0; 5]).expect("sent before");
        assert_eq!(both(), Some((0, true)));
        assert_eq!(other_end(&client).as_ref().map(told), Some((0, true)));
        // A reset leaves nothing of it but who listens there.
        let linger = socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO));
        linger.expect("it can be set");
        drop(client);
        drop(server);
        assert_eq!(both(), None);
    }

    fn told(end: &OtherEnd) -> (u64, bool) {
        (end.unread, end.is_accepted)
    }
}
