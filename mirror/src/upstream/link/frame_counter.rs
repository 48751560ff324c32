//! Counts the frames of HTTP/2 that a service sends.
//!
//! The HTTP/2 library processes all frames that it has read before it returns, and does not report frames without
//! payload: `PING`, `SETTINGS`, `WINDOW_UPDATE`, `PRIORITY`, unknown ones, empty `DATA`. So frames are counted here,
//! before the library gets them. Each read is limited, except for bytes known to be body data, so that such frames take
//! only a short time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::frames::FrameScanner;
use crate::upstream::account::Account;

/// Limit of one read, in addition to the rest of a `DATA` frame: up to 900 empty frames.
const READ: usize = 8 * 1024;
/// The same limit while the frames that arrive are small.
const DENSE_READ: usize = 1024;
/// Frames count as small if they have fewer bytes than this on average.
const DENSE: usize = 32;

/// A connection whose frames are counted, if it has an account.
pub(crate) struct FrameCounter<S> {
    io: S,
    account: Option<Rc<Account>>,
    scan: FrameScanner,
    dense: bool,
}

impl<S> FrameCounter<S> {
    pub(crate) fn new(io: S, account: Option<Rc<Account>>) -> Self {
        Self {
            io,
            account,
            scan: FrameScanner::default(),
            dense: false,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameCounter<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameCounter<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    forward_to_inner_io!();

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }
}
