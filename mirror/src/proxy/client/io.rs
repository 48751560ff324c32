//! A client's socket, with or without TLS, including the bytes that were read to detect the HTTP version.
//!
//! **Half-closed clients.** A client may close its sending side after its request and still read the answer. On TCP
//! this looks like a fully closed connection until something is sent. So an end of stream ends nothing at once while a
//! request is in progress; [`half_closed`](super::half_closed) bounds the time. A client that disconnects with a reset is
//! detected at once, or within a second if unread data is before it.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::proxy::client::control_frames::ControlFrames;
use crate::proxy::client::head_finder::{HeadFinder, MAX_LINE};
use crate::proxy::client::linger::Linger;
use crate::proxy::socket_state::SocketState;
use crate::spelling::Spelling;

/// A client's socket.
pub(crate) struct ClientIo {
    stream: Stream,
    /// Bytes that were already read.
    first: BytesMut,
    /// For HTTP/1.
    heads: Option<HeadFinder>,
    /// For HTTP/2.
    frames: Option<Box<ControlFrames>>,
    socket_state: Arc<SocketState>,
    /// Set once our side has been closed.
    linger: Option<Linger>,
}

enum Stream {
    Clear(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
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

impl ClientIo {
    pub(crate) fn clear(
        stream: TcpStream,
        first: BytesMut,
        socket_state: &Arc<SocketState>,
    ) -> Self {
        if !first.is_empty() {
            socket_state.read();
        }
        Self {
            stream: Stream::Clear(stream),
            first,
            heads: None,
            frames: None,
            socket_state: Arc::clone(socket_state),
            linger: None,
        }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, socket_state: &Arc<SocketState>) -> Self {
        Self {
            stream: Stream::Tls(Box::new(stream)),
            first: BytesMut::new(),
            heads: None,
            frames: None,
            socket_state: Arc::clone(socket_state),
            linger: None,
        }
    }

    /// Inspects the bytes: counts frames on HTTP/2, replaces bytes that a target must not contain on HTTP/1.
    pub(crate) fn speaking(mut self, http2: bool) -> Self {
        if http2 {
            self.frames = Some(Box::new(ControlFrames::new()));
        } else {
            self.heads = Some(HeadFinder::new());
        }
        self
    }

    /// Records a write, and counts the frames in it.
    fn wrote<'a>(
        &mut self,
        polled: &Poll<io::Result<usize>>,
        slices: impl IntoIterator<Item = &'a [u8]>,
    ) {
        self.socket_state.wrote(polled);
        let (Some(frames), Poll::Ready(Ok(written))) = (&mut self.frames, polled) else {
            return;
        };
        let mut left = *written;
        for slice in slices {
            let part = slice.len().min(left);
            frames.sent(&slice[..part]);
            left -= part;
        }
    }

    /// Returns bytes that were already read, or reads more.
    fn poll_more(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        self.socket_state.reads_into(buffer.capacity());
        ready!(each!(&mut self.stream, io => io.poll_read(cx, buffer)))?;
        if buffer.filled().len() > before {
            self.socket_state.read();
            self.socket_state.set_blind(false);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads until the first line of a head is complete, it is too long, or the client has closed its side.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !has_line(&self.first) && self.first.len() < MAX_LINE {
            let mut space = [0; 2 * 1024];
            let mut more = ReadBuf::new(&mut space);
            ready!(each!(&mut self.stream, io => io.poll_read(cx, &mut more)))?;
            if more.filled().is_empty() {
                break;
            }
            self.socket_state.read();
            self.first.extend_from_slice(more.filled());
        }
        Poll::Ready(Ok(()))
    }

    /// A read by hyper on HTTP/1.
    fn poll_heads(
        &mut self,
        mut heads: HeadFinder,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> (HeadFinder, Poll<io::Result<()>>) {
        let (announced, within) = (
            self.socket_state.takes_announced(),
            self.socket_state.is_within_body(),
        );
        heads.asked(announced, within);
        let before = buffer.filled().len();
        if !heads.begins() || self.first.is_empty() {
            let polled = self.poll_more(cx, buffer);
            if !matches!(polled, Poll::Ready(Ok(()))) {
                return (heads, polled);
            }
            let (_, come) = buffer.filled_mut().split_at_mut(before);
            if come.is_empty() || !heads.begins() || has_line(come) {
                if let Some(spelling) = heads.pass(come) {
                    self.socket_state.put_spelling(spelling);
                }
                return (heads, polled);
            }
            self.first.extend_from_slice(come);
            buffer.set_filled(before);
        }
        let polled = self.poll_line(cx);
        if !matches!(polled, Poll::Ready(Ok(()))) {
            return (heads, polled);
        }
        // The whole line is handled now, although hyper may read it in several parts.
        if let Some(spelling) = first_line(&mut self.first).and_then(Spelling::take) {
            self.socket_state.put_spelling(spelling);
        }
        let length = self.first.len().min(buffer.remaining());
        let mut come = self.first.split_to(length);
        let _replaced_already = heads.pass(&mut come);
        buffer.put_slice(&come);
        (heads, Poll::Ready(Ok(())))
    }

    /// Checks whether a client that waits for its answer has disconnected. hyper does not read in this state, so it
    /// would not notice.
    fn watch(&self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.socket_state.is_awaited()
            || (self.socket_state.is_blind() && !self.socket_state.takes_look())
        {
            return Ok(());
        }
        let stream = match &self.stream {
            Stream::Clear(stream) => stream,
            Stream::Tls(stream) => stream.get_ref().0,
        };
        let mut byte = [0];
        let mut peeked = ReadBuf::new(&mut byte);
        match stream.poll_peek(cx, &mut peeked) {
            Poll::Pending => {
                self.socket_state.set_blind(false);
                Ok(())
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(length)) => {
                self.socket_state.set_blind(true);
                if length == 0 || has_ended(stream, cx) {
                    self.socket_state.set_half_closed();
                }
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

/// Whether the client has closed its side behind data that is not read yet (by TLS there is always some, its farewell).
fn has_ended(stream: &TcpStream, cx: &mut Context<'_>) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    matches!(ready.poll(cx), Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

/// Whether the first non-empty line is complete.
fn has_line(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !is_end_of_line(*byte));
    start.is_some_and(|start| memchr::memchr(b'\n', &bytes[start..]).is_some())
}

fn is_end_of_line(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// The first non-empty line, without its line end.
fn first_line(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let start = bytes.iter().position(|byte| !is_end_of_line(*byte))?;
    let bytes = bytes.get_mut(start..)?;
    let length = memchr::memchr(b'\n', bytes)?;
    bytes.get_mut(..length)
}

impl AsyncRead for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(heads) = self.heads.filter(|_| !self.socket_state.is_tunnel()) else {
            let before = buffer.filled().len();
            ready!(self.poll_more(cx, buffer))?;
            let counted = match &mut self.frames {
                Some(frames) => frames.received(&buffer.filled()[before..]),
                None => Ok(()),
            };
            return Poll::Ready(counted.map_err(io::Error::other));
        };
        let (heads, polled) = self.poll_heads(heads, cx, buffer);
        self.heads = Some(heads);
        polled
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = each!(&mut self.stream, io => io.poll_write(cx, bytes));
        self.wrote(&polled, [bytes]);
        polled
    }

    /// hyper flushes whenever it can do nothing more, even with nothing to send. So this is where a client that is not
    /// read from is checked.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(each!(&mut self.stream, io => io.poll_flush(cx)))?;
        Poll::Ready(self.watch(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(each!(&mut this.stream, io => io.poll_shutdown(cx)))?;
            // HTTP/2 needs no lingering close, and a client that floods must not be read further.
            if this.socket_state.is_tunnel() || this.heads.is_none() {
                return Poll::Ready(Ok(()));
            }
            this.socket_state.set_lingering();
            // A refused head ends the connection as well, and its body may still be arriving.
            let expecting = this.socket_state.has_unread() || this.socket_state.has_begun();
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
            // `send` is a little cheaper than `writev`, and a head without a body is one slice.
            [only] => each!(&mut self.stream, io => io.poll_write(cx, only)),
            _ => each!(&mut self.stream, io => io.poll_write_vectored(cx, slices)),
        };
        self.wrote(&polled, slices.iter().map(|slice| &**slice));
        polled
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Clear(io) => io.is_write_vectored(),
            Stream::Tls(io) => io.is_write_vectored(),
        }
    }
}
