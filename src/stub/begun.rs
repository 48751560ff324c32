//! What has begun on a connection and may be a call: counted if it never comes whole, whatever ends it.
//!
//! A head that never ends, a preface of HTTP/2, a connection that is cut: the server says of none of them that it was a call, so the bytes are
//! noticed on their way in. What begins when new calls count no more is none.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::pairing::Book;

/// Nothing came since the last call.
const NOTHING: u8 = 0;
/// Something came that may be a call.
const SOMETHING: u8 = 1;
/// What comes is of a call that is known, or counts no more.
const KNOWN: u8 = 2;
/// HTTP/2 begins so, which is not spoken here.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";

/// The book; nothing waits while it is held, and a panic leaves nothing in it that matters here.
fn locked(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What has begun on one connection. Counts what is left of it when the connection ends.
pub(super) struct Begun {
    book: Arc<Mutex<Book>>,
    state: Arc<AtomicU8>,
}

impl Begun {
    pub(super) fn new(book: &Arc<Mutex<Book>>) -> Self {
        Self {
            book: Arc::clone(book),
            state: Arc::default(),
        }
    }

    /// A head has come; what follows is its body.
    pub(super) fn read(&self) -> Reading {
        let before = self.state.swap(KNOWN, Ordering::Relaxed);
        let mut book = locked(&self.book);
        if book.is_closing() && before == SOMETHING {
            // It began while calls counted, and nobody waited for its end.
            book.judge.lose("broken_off");
        }
        let counts = !book.is_closing();
        drop(book);
        Reading {
            counts,
            book: Arc::clone(&self.book),
            state: Arc::clone(&self.state),
        }
    }

    /// These bytes were read and not taken up. Behind a whole call they came with it, and may be the next one.
    pub(super) fn left(&self, bytes: &[u8]) {
        let is_something = !bytes.trim_ascii().is_empty();
        if is_something && self.state.load(Ordering::Relaxed) == NOTHING {
            locked(&self.book).judge.lose("broken_off");
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.state.load(Ordering::Relaxed) == SOMETHING {
            locked(&self.book).judge.lose("broken_off");
        }
    }
}

/// A call of which the head is known. One that is dropped before it is whole is counted as broken off.
pub(super) struct Reading {
    book: Arc<Mutex<Book>>,
    state: Arc<AtomicU8>,
    counts: bool,
}

impl Reading {
    /// It is whole: what comes next is another one.
    pub(super) fn whole(mut self) {
        self.counts = false;
        self.state.store(NOTHING, Ordering::Relaxed);
    }

    /// It is refused, and counted by whoever does that. Of the rest nothing is read.
    pub(super) fn counted(mut self) {
        self.counts = false;
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if self.counts {
            locked(&self.book).judge.lose("broken_off");
        }
    }
}

/// A connection whose bytes are noticed.
pub(super) struct Noticing {
    stream: TcpStream,
    book: Arc<Mutex<Book>>,
    state: Arc<AtomicU8>,
}

impl Noticing {
    pub(super) fn new(stream: TcpStream, begun: &Begun) -> Self {
        Self {
            stream,
            book: Arc::clone(&begun.book),
            state: Arc::clone(&begun.state),
        }
    }

    /// Something came while nothing was under way.
    fn notice(&self, bytes: &[u8]) {
        let mut book = locked(&self.book);
        let state = if book.is_closing() {
            KNOWN
        } else if bytes.starts_with(HTTP2) {
            book.judge.lose("http2");
            KNOWN
        } else {
            SOMETHING
        };
        self.state.store(state, Ordering::Relaxed);
    }
}

impl AsyncRead for Noticing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        let bytes = into.filled().get(before..).unwrap_or_default();
        if !bytes.is_empty() && self.state.load(Ordering::Relaxed) == NOTHING {
            self.notice(bytes);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Noticing {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
