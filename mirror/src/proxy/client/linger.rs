//! Closes a connection on which the client may still be sending (lingering close).
//!
//! If a socket is closed with unread bytes in it, or more arrive, the system sends a reset; and a reset makes the
//! client's system discard data that the client has not read yet, our answer included. So only our sending side is
//! closed first, and incoming bytes are read and discarded until the client closes too or a limit is reached.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// How long a client may keep sending: nginx has the same `lingering_time`.
const TIME: Duration = Duration::from_secs(30);
/// How long a client may send nothing before the connection is closed: about two round trips of a bad network, with a
/// retransmission.
const QUIET: Duration = Duration::from_secs(2);
/// How much is discarded: more than most uploads, and a fraction of a second of work.
const BYTES: u64 = 256 * 1024 * 1024;
/// Size of one read, and reads in a row before other connections run.
const READ: usize = 16 * 1024;
const READS: usize = 8;

/// Reads and discards what the client still sends.
pub(super) struct Linger {
    /// Whether the client is known to be sending.
    expecting: bool,
    bytes: u64,
    end: Instant,
    quiet: Pin<Box<Sleep>>,
}

impl Linger {
    pub(super) fn new(expecting: bool) -> Self {
        let now = Instant::now();
        Self {
            expecting,
            bytes: 0,
            end: now + TIME,
            quiet: Box::pin(tokio::time::sleep_until(now + QUIET)),
        }
    }

    /// Ready once the socket can be closed without harm, or a limit is reached.
    pub(super) fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [std::mem::MaybeUninit::uninit(); READ];
        for _ in 0..READS {
            let mut buffer = ReadBuf::uninit(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(read) => {
                    if !self.goes_on(&read, buffer.filled().len()) {
                        return Poll::Ready(());
                    }
                }
                Poll::Pending if self.expecting => return self.quiet.as_mut().poll(cx),
                Poll::Pending => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn goes_on(&mut self, read: &io::Result<()>, length: usize) -> bool {
        let now = Instant::now();
        self.expecting = true;
        self.bytes += length as u64;
        self.quiet.as_mut().reset((now + QUIET).min(self.end));
        read.is_ok() && length > 0 && self.bytes < BYTES && now < self.end
    }
}
