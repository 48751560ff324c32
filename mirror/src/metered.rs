//! The bytes of a connection to a service, on their way past its account.
//!
//! Where there is an account, a read waits for a slice, takes no more than can be parsed in a short time, and fails once
//! the account is overdrawn. It stands below TLS, where the bytes are that the service really sends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::account::Account;

/// Who pays for a connection.
pub(crate) trait Payer: Unpin {
    /// The account, if what the service sends is limited.
    fn account(&self) -> Option<&Account>;
}

/// Connections of which some have an account: those of shadows do, those that a client waits for do not.
pub(crate) type Paid = Option<Rc<Account>>;

impl Payer for Paid {
    fn account(&self) -> Option<&Account> {
        self.as_deref()
    }
}

/// None ever: tunnels.
impl Payer for () {
    fn account(&self) -> Option<&Account> {
        None
    }
}

/// A socket and who pays for it.
pub(crate) struct Metered<S, P> {
    socket: S,
    payer: P,
}

impl<S, P> Metered<S, P> {
    pub(crate) fn new(socket: S, payer: P) -> Self {
        Self { socket, payer }
    }
}

impl<S: AsyncRead + Unpin, P: Payer> AsyncRead for Metered<S, P> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, payer } = self.get_mut();
        let Some(account) = payer.account() else {
            return Pin::new(socket).poll_read(cx, buffer);
        };
        let limit = ready!(account.poll_read(cx))?;
        let before = buffer.filled().len();
        if buffer.remaining() > limit {
            ready!(Pin::new(&mut socket.take(limit as u64)).poll_read(cx, buffer))?;
        } else {
            ready!(Pin::new(socket).poll_read(cx, buffer))?;
        }
        Poll::Ready(account.read(buffer.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin, P: Payer> Metered<S, P> {
    fn wrote(&self, written: io::Result<usize>) -> Poll<io::Result<usize>> {
        if let Some(account) = self.payer.account() {
            account.wrote()?;
        }
        Poll::Ready(written)
    }
}

impl<S: AsyncWrite + Unpin, P: Payer> AsyncWrite for Metered<S, P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes));
        self.wrote(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, slices));
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
