//! Counts the frames of HTTP/2 that a service sends.
//!
//! The library that speaks HTTP/2 handles all frames of what it has read before it asks for more, and tells nobody of
//! those that carry nothing: `PING`, `SETTINGS`, `WINDOW_UPDATE`, `PRIORITY`, unknown ones, empty `DATA`. So they are
//! counted here, on their way to it; only their nine-byte heads are looked at. And no more is read at a time than could
//! be such frames for a short time, besides what is known to belong to a body.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::account::Account;

/// Length, kind, flags, stream (RFC 9113 §4.1).
const HEAD: usize = 9;
pub(crate) const DATA: u8 = 0;
/// Most that is read besides the rest of a body's frame: what the library would take first, 900 frames of no content.
const READ: usize = 8 * 1024;
/// The same while frames come that are small.
const DENSE_READ: usize = 1024;
/// Mean bytes of a frame below which they are.
const DENSE: usize = 32;

/// A connection whose frames are counted, if it has an account.
pub(crate) struct Frames<S> {
    io: S,
    account: Option<Rc<Account>>,
    scan: Scan,
    dense: bool,
}

impl<S> Frames<S> {
    pub(crate) fn new(io: S, account: Option<Rc<Account>>) -> Self {
        Self {
            io,
            account,
            scan: Scan::default(),
            dense: false,
        }
    }
}

/// Where in a frame the bytes so far end.
#[derive(Default)]
pub(crate) struct Scan {
    /// The head of the frame as far as it has come.
    head: [u8; HEAD],
    come: usize,
    /// Bytes of the frame that are yet to come.
    rest: usize,
    /// Whether they belong to a body.
    data: bool,
}

impl Scan {
    /// Of a connection that begins with so many bytes that are no frames.
    pub(crate) fn behind(preface: usize) -> Self {
        Self {
            rest: preface,
            ..Self::default()
        }
    }

    /// How many frames begin in `bytes`, and how many bytes of bodies there are.
    fn count(&mut self, bytes: &[u8]) -> (usize, usize) {
        let mut frames = 0;
        let data = self.pass(bytes, |_, _, _| frames += 1);
        (frames, data)
    }

    /// Calls `begins` with kind, flags and length of each frame that begins in `bytes`; returns how many bytes of bodies
    /// there are.
    pub(crate) fn pass(
        &mut self,
        mut bytes: &[u8],
        mut begins: impl FnMut(u8, u8, usize),
    ) -> usize {
        let mut data = 0;
        while !bytes.is_empty() {
            if self.rest > 0 {
                let part = self.rest.min(bytes.len());
                self.rest -= part;
                data += if self.data { part } else { 0 };
                bytes = &bytes[part..];
                continue;
            }
            let part = (HEAD - self.come).min(bytes.len());
            self.head[self.come..self.come + part].copy_from_slice(&bytes[..part]);
            self.come += part;
            bytes = &bytes[part..];
            if self.come == HEAD {
                let [high, middle, low, kind, flags, ..] = self.head;
                self.come = 0;
                self.rest = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.data = kind == DATA;
                begins(kind, flags, self.rest);
            }
        }
        data
    }

    /// Bytes that are known to be a body's.
    fn rest_of_body(&self) -> usize {
        if self.data { self.rest } else { 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(account) = &this.account else {
            return Pin::new(&mut this.io).poll_read(cx, buffer);
        };
        let limit = this.scan.rest_of_body() + if this.dense { DENSE_READ } else { READ };
        let before = buffer.filled().len();
        if buffer.remaining() > limit {
            ready!(Pin::new(&mut (&mut this.io).take(limit as u64)).poll_read(cx, buffer))?;
        } else {
            ready!(Pin::new(&mut this.io).poll_read(cx, buffer))?;
        }
        let arrived = &buffer.filled()[before..];
        let (frames, data) = this.scan.count(arrived);
        this.dense = frames * DENSE > arrived.len();
        account.frames(frames, data);
        Poll::Ready(account.check())
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    ends_like_its_io!();

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).expect("a frame").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, 0, 0, 0, 0, 1]);
        frame.resize(HEAD + payload, 0);
        frame
    }

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let bytes = [
            frame(4, 0),
            frame(1, 300),
            frame(DATA, 70_000),
            frame(6, 8),
            frame(DATA, 0),
            frame(DATA, 5),
        ]
        .concat();
        for size in [1, 2, 8, 9, 10, 1000, bytes.len()] {
            let mut scan = Scan::default();
            let counted = bytes
                .chunks(size)
                .map(|part| scan.count(part))
                .fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
            assert_eq!(counted, (6, 70_005), "cut every {size} bytes");
            assert_eq!((scan.come, scan.rest), (0, 0));
        }
    }
}
