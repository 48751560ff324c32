//! A client's socket: in clear or by TLS, with the bytes that were read to find out what it speaks.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// What the sweep may know of the traffic. Atomic only because an upgraded socket must be `Send`; there is one writer.
#[derive(Default)]
pub(super) struct Traffic {
    reads: AtomicU64,
    writes: AtomicU64,
    blocked: AtomicBool,
}

impl Traffic {
    /// Number of reads that brought bytes.
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Number of writes that took bytes after one that did not.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Whether the client does not take what it is sent.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    fn read(&self) {
        self.reads.store(self.reads() + 1, Ordering::Relaxed);
    }

    fn wrote<T>(&self, polled: &Poll<T>) {
        if polled.is_pending() {
            self.blocked.store(true, Ordering::Relaxed);
        } else if self.is_blocked() {
            self.blocked.store(false, Ordering::Relaxed);
            self.writes.store(self.writes() + 1, Ordering::Relaxed);
        }
    }
}

/// A client's socket.
pub(super) struct ClientIo {
    stream: Stream,
    /// Bytes that have been read already.
    first: Bytes,
    traffic: Arc<Traffic>,
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
        }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>, traffic: &Arc<Traffic>) -> Self {
        Self {
            stream: Stream::Tls(Box::new(stream)),
            first: Bytes::new(),
            traffic: Arc::clone(traffic),
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, io => io.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(&mut self.stream, io => io.poll_shutdown(cx))
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
