//! An HTTP/1 connection to a service that writes a target with the client's exact bytes: see [`crate::spelling`].

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::spelling::Spelling;
use crate::upstream::connect::UpstreamIo;

/// The bytes that are replaced in what is written next: for each, how many bytes are written before it. In ascending
/// order.
pub(super) type Overlay = Rc<RefCell<Vec<(usize, u8)>>>;

/// Takes the client's exact bytes of the target out of `request`, whose head is written next, and puts them into the
/// overlay.
pub(super) fn spell<B>(overlay: &Overlay, request: &mut Request<B>) {
    let Some(spelling) = request.extensions_mut().remove::<Spelling>() else {
        return;
    };
    let before = request.method().as_str().len() + 1;
    let target = request.uri().path_and_query();
    let length = target.map_or(0, |target| target.as_str().len());
    let places = spelling.places(length);
    *overlay.borrow_mut() = places.map(|(at, byte)| (before + at, byte)).collect();
}

/// A connection that applies its overlay to the bytes that are written.
pub(super) struct Spelled {
    io: UpstreamIo,
    overlay: Overlay,
}

impl Spelled {
    pub(super) fn new(io: UpstreamIo, overlay: &Overlay) -> Self {
        Self {
            io,
            overlay: Rc::clone(overlay),
        }
    }

    /// Writes some of `bytes`, with the overlay applied.
    fn write_spelled(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut overlay = self.overlay.borrow_mut();
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
        self.overlay.borrow().is_empty()
    }
}

impl AsyncRead for Spelled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Spelled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_plain() {
            Pin::new(&mut self.io).poll_write(cx, bytes)
        } else {
            self.write_spelled(cx, bytes)
        }
    }

    forward_to_inner_io!();

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_plain() {
            return Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        }
        // hyper writes the head before the body, so it is in the first slice that is not empty.
        let first = slices.iter().find(|slice| !slice.is_empty());
        self.write_spelled(cx, first.map_or(&[], |first| first))
    }
}
