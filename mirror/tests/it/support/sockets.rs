//! Inspects the other end of a loopback connection.

use std::net::TcpStream;

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
    let [there, here] = ends.map(|end| format!("0100007F:{:04X}", end.port()));
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
