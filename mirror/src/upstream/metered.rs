//! Charges the bytes of a connection to a service to its account.
//!
//! With an account, a read waits for a slice, reads no more than can be parsed in a short time, and fails once the
//! account is overdrawn. It is below TLS, where all bytes that the service sends are counted.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

use crate::upstream::account::Account;

/// Whether a connection has an account.
pub(crate) trait Payer: Unpin {
    /// The account, if the connection has one.
    fn account(&self) -> Option<&Account>;
}

/// For connections of shadows, which have an account, and of clients, which have none.
pub(crate) type Paid = Option<Rc<Account>>;

impl Payer for Paid {
    fn account(&self) -> Option<&Account> {
        self.as_deref()
    }
}

/// For tunnels, which never have an account.
impl Payer for () {
    fn account(&self) -> Option<&Account> {
        None
    }
}

/// A socket whose bytes are charged to an account, if there is one.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;
    use crate::turns::{self, Turns};
    use crate::upstream::account::Flood;

    /// Reads an endless source, as hyper does; returns how many bytes each poll of the task took.
    fn polls(limited: bool, begin: impl FnOnce(&Account)) -> Vec<usize> {
        let turns = Rc::<Turns>::default();
        let account = Account::open(&turns);
        begin(&account);
        let payer = limited.then(|| Rc::clone(&account));
        let mut socket = Metered::new(tokio::io::repeat(b'x'), payer);
        let taken = Cell::new(0);
        let mut task = pin!(async {
            let mut buffer = vec![0; 128 * 1024];
            while taken.get() < 64 << 20 {
                match socket.read(&mut buffer).await {
                    Ok(read) => taken.set(taken.get() + read),
                    Err(error) => return Some(error),
                }
            }
            None
        });
        let mut task = pin!(turns::sliced(&turns, task.as_mut()));
        let mut polls = Vec::new();
        loop {
            let before = taken.get();
            let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            polls.push(taken.get() - before);
            if let Poll::Ready(error) = polled {
                let flood = |error: &io::Error| {
                    error
                        .get_ref()
                        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Flood>)
                };
                assert_eq!(error.as_ref().is_some_and(flood), limited);
                assert_eq!(account.is_flooded(), limited);
                return polls;
            }
        }
    }

    #[test]
    fn a_poll_takes_little_of_a_head_without_end_and_all_polls_not_much() {
        let polls = polls(true, |account| account.begin(0));
        assert!(polls.len() > 1, "{polls:?}");
        assert!(polls.iter().all(|bytes| *bytes <= 64 * 1024), "{polls:?}");
        let taken: usize = polls.iter().sum();
        assert!((64 * 1024..=128 * 1024).contains(&taken), "{polls:?}");
    }

    #[test]
    fn a_poll_takes_little_of_chunks_that_hold_nothing() {
        let polls = polls(true, |account| {
            account.begin(0);
            account.answered(false);
        });
        assert!(polls.iter().all(|bytes| *bytes <= 64 * 1024), "{polls:?}");
    }

    /// Reads a body of known length in pieces of this size; returns how many bytes could be read.
    fn read_in_pieces(piece: usize) -> usize {
        const BODY: usize = 1 << 20;
        let turns = Rc::<Turns>::default();
        let account = Account::open(&turns);
        account.begin(0);
        account.answered(true);
        let mut socket = Metered::new(tokio::io::repeat(b'x'), Some(Rc::clone(&account)));
        let read = Cell::new(0);
        let mut task = pin!(async {
            let mut buffer = vec![0; piece];
            while read.get() < BODY
                && let Ok(bytes) = socket.read(&mut buffer).await
            {
                read.set(read.get() + bytes);
                account.chunk(bytes);
            }
        });
        let mut task = pin!(turns::sliced(&turns, task.as_mut()));
        let context = &mut Context::from_waker(Waker::noop());
        while task.as_mut().poll(context).is_pending() {}
        read.get()
    }

    #[test]
    fn a_read_for_each_byte_is_given_up_early_and_one_for_each_line_is_not() {
        assert!(read_in_pieces(1) < 1024, "{}", read_in_pieces(1));
        assert_eq!(read_in_pieces(64), 1 << 20);
    }

    #[test]
    fn a_connection_that_a_client_waits_for_is_not_limited() {
        assert_eq!(polls(false, |_| {}).len(), 1);
    }

    #[test]
    fn what_turns_out_to_be_payload_is_read_in_large_pieces() {
        let turns = Rc::<Turns>::default();
        let account = Account::open(&turns);
        account.begin(0);
        account.answered(true);
        let mut socket = Metered::new(tokio::io::repeat(b'x'), Some(Rc::clone(&account)));
        let mut task = pin!(async {
            let mut buffer = vec![0; 128 * 1024];
            for _ in 0..100 {
                let read = socket.read(&mut buffer).await.expect("no flood");
                assert_eq!(read, buffer.len());
                account.chunk(read);
            }
        });
        let mut task = pin!(turns::sliced(&turns, task.as_mut()));
        let mut polls = 0;
        while task
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
        {
            polls += 1;
        }
        // 13 MB, at about half a megabyte in a slice.
        assert!((20..40).contains(&polls), "{polls}");
    }
}
