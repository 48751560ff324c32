//! A client's socket: in clear or by TLS, with the bytes that were read to find out what it speaks.
//!
//! **Clients that end their side and wait.** A client may close its sending direction behind its request and still
//! read the answer. TCP tells that apart from a client that closed altogether only by what comes back when something
//! is sent: so the end of what a client sends ends nothing while its request is at hand. Clients that vanish are found
//! out by a reset (at once, or within a second where something stands unread before it), by a write that fails, or by
//! keep-alive: a system forgets a closed connection after a minute, and answers the next probe with a reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::linger::Linger;
use super::traffic::Traffic;

/// A client's socket.
pub(super) struct ClientIo {
    stream: Stream,
    /// Bytes that have been read already.
    first: Bytes,
    traffic: Arc<Traffic>,
    /// Set once our side has been closed.
    linger: Option<Linger>,
}

enum Stream {
    Clear(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ClientIo {
    pub(super) fn clear(stream: TcpStream, first: Bytes, traffic: &Arc<Traffic>) -> Self {
        if !first.is_empty() {
            traffic.read();
        }
        Self {
            stream: Stream::Clear(stream),
            first,
            traffic: Arc::clone(traffic),
            linger: None,
        }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>, traffic: &Arc<Traffic>) -> Self {
        Self {
            stream: Stream::Tls(Box::new(stream)),
            first: Bytes::new(),
            traffic: Arc::clone(traffic),
            linger: None,
        }
    }

    /// Looks whether a client whose answer is awaited has broken off. Who waits for an answer does not read, so that
    /// nothing else would tell.
    fn watch(&self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.traffic.is_awaited() || (self.traffic.is_blind() && !self.traffic.takes_look()) {
            return Ok(());
        }
        let stream = match &self.stream {
            Stream::Clear(stream) => stream,
            Stream::Tls(stream) => stream.get_ref().0,
        };
        let mut byte = [0];
        match stream.poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Pending => {
                self.traffic.set_blind(false);
                Ok(())
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(_)) => {
                self.traffic.set_blind(true);
                SockRef::from(stream).take_error()?.map_or(Ok(()), Err)
            }
        }
    }
}

impl Stream {
    fn socket(&mut self) -> &mut TcpStream {
        match self {
            Self::Clear(stream) => stream,
            Self::Tls(stream) => stream.get_mut().0,
        }
    }
}

macro_rules! each {
    ($stream:expr, $io:ident => $call:expr) => {
        match $stream {
            Stream::Clear(io) => {
                let $io = Pin::new(io);
                $call
            }
            Stream::Tls(io) => {
                let $io = Pin::new(io);
                $call
            }
        }
    };
}

impl AsyncRead for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(each!(&mut self.stream, io => io.poll_read(cx, buffer)))?;
        if buffer.filled().len() > before {
            self.traffic.read();
            self.traffic.set_blind(false);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = each!(&mut self.stream, io => io.poll_write(cx, bytes));
        self.traffic.wrote(&polled);
        polled
    }

    /// hyper flushes whenever it has done what it could, also when it has nothing to send: the moment to look at a
    /// client that nobody reads from.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(each!(&mut self.stream, io => io.poll_flush(cx)))?;
        Poll::Ready(self.watch(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(each!(&mut this.stream, io => io.poll_shutdown(cx)))?;
            if this.traffic.is_tunnel() {
                return Poll::Ready(Ok(()));
            }
            this.traffic.set_lingering();
            // A head that was refused ends the connection as well, and what it announced may be on its way.
            let expecting = this.traffic.has_unread() || this.traffic.has_begun();
            this.linger = Some(Linger::new(expecting));
        }
        match &mut this.linger {
            Some(linger) => linger.poll(this.stream.socket(), cx).map(Ok),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = match slices {
            // `send` is a little cheaper than `writev`, and one slice is what a head without a body is.
            [only] => each!(&mut self.stream, io => io.poll_write(cx, only)),
            _ => each!(&mut self.stream, io => io.poll_write_vectored(cx, slices)),
        };
        self.traffic.wrote(&polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Clear(io) => io.is_write_vectored(),
            Stream::Tls(io) => io.is_write_vectored(),
        }
    }
}
