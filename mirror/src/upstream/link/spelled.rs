//! What hyper writes to a service by HTTP/1, on its way to the socket.
//!
//! A target is written with the client's exact bytes: see [`crate::spelling`]. What is written is counted. And a service
//! that closes while it is being sent a body may have answered before: a failed write would make hyper give up with the
//! answer unread, so it only stops the sending, and what can still be read decides how the request ends.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::spelling::Spelling;
use crate::upstream::connect::UpstreamIo;

/// What a connection and the socket beneath it tell each other.
#[derive(Default)]
pub(super) struct Outgoing {
    /// The bytes that are replaced in what is written next: for each, how many bytes are written before it. In ascending
    /// order.
    overlay: RefCell<Vec<(usize, u8)>>,
    /// Bytes of the current request so far, head included.
    written: Cell<usize>,
}

impl Outgoing {
    /// Bytes of the current request so far, head included.
    pub(super) fn written(&self) -> usize {
        self.written.get()
    }
}

/// Begins a request, whose head is written next: takes the client's exact bytes of the target out of it and puts them
/// into the overlay.
pub(super) fn spell<B>(outgoing: &Outgoing, request: &mut Request<B>) {
    outgoing.written.set(0);
    let Some(spelling) = request.extensions_mut().remove::<Spelling>() else {
        return;
    };
    let before = request.method().as_str().len() + 1;
    let target = request.uri().path_and_query();
    let length = target.map_or(0, |target| target.as_str().len());
    let places = spelling.places(length);
    *outgoing.overlay.borrow_mut() = places.map(|(at, byte)| (before + at, byte)).collect();
}

/// A connection that applies its overlay to the bytes that are written.
pub(super) struct Spelled {
    io: UpstreamIo,
    outgoing: Rc<Outgoing>,
    /// Why nothing can be written any more.
    unwritable: Option<io::ErrorKind>,
}

impl Spelled {
    pub(super) fn new(io: UpstreamIo, outgoing: &Rc<Outgoing>) -> Self {
        Self {
            io,
            outgoing: Rc::clone(outgoing),
            unwritable: None,
        }
    }

    /// Keeps a failure for as long as the service may have said something before it, and counts what was written.
    fn attempt(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut Self, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.unwritable.is_some() {
            return Poll::Pending;
        }
        let attempted = write(self, cx);
        match &attempted {
            Poll::Ready(Ok(length)) => {
                let written = &self.outgoing.written;
                written.set(written.get().saturating_add(*length));
            }
            Poll::Ready(Err(error)) if is_hung_up(error) => {
                self.unwritable = Some(error.kind());
                // hyper reads first whenever it is polled.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(Err(_)) | Poll::Pending => {}
        }
        attempted
    }

    /// Writes some of `bytes`, with the overlay applied.
    fn write_spelled(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut overlay = self.outgoing.overlay.borrow_mut();
        let mut spelled = bytes.to_vec();
        for (at, byte) in &*overlay {
            if let Some(place) = spelled.get_mut(*at) {
                *place = *byte;
            }
        }
        let written = Pin::new(&mut self.io).poll_write(cx, &spelled);
        if let Poll::Ready(Ok(length)) = written {
            overlay.retain_mut(|(at, _)| {
                let left = at.checked_sub(length);
                *at = left.unwrap_or_default();
                left.is_some()
            });
        }
        written
    }

    fn is_plain(&self) -> bool {
        self.outgoing.overlay.borrow().is_empty()
    }
}

impl AsyncRead for Spelled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buffer);
        match self.unwritable {
            // The failed write took the reset, which would look like a regular end. A broken pipe came behind a regular one.
            Some(io::ErrorKind::ConnectionReset)
                if matches!(polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before =>
            {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            _ => polled,
        }
    }
}

impl AsyncWrite for Spelled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.attempt(cx, |this, cx| {
            if this.is_plain() {
                Pin::new(&mut this.io).poll_write(cx, bytes)
            } else {
                this.write_spelled(cx, bytes)
            }
        })
    }

    forward_to_inner_io!();

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.attempt(cx, |this, cx| {
            if this.is_plain() {
                return Pin::new(&mut this.io).poll_write_vectored(cx, slices);
            }
            // hyper writes the head before the body, so it is in the first slice that is not empty.
            let first = slices.iter().find(|slice| !slice.is_empty());
            this.write_spelled(cx, first.map_or(&[], |first| first))
        })
    }
}

/// Whether a write failed because the service has closed the connection: then a read always ends, with what the service
/// said before, or with the end.
fn is_hung_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
