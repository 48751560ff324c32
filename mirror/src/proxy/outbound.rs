//! The bodies of requests that are sent to a service.
//!
//! The client's body is streamed to the service that serves frame by frame and never buffered. An [`Intake`] copies it
//! for the shadow and the comparison. A body starts no task: the intake signals that the body is complete.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parity_schemas::verdict::Reason;

use crate::exchange::{Ask, Copied, Intake};
use crate::headers;
use crate::proxy::tape::Tape;
use crate::proxy::upload::{BodyError, Upload};

/// Body of a request to a service.
#[derive(Default)]
pub(crate) enum Outbound {
    /// There is none.
    #[default]
    Empty,
    /// The client's, streamed.
    Live(Tee),
    /// The copy of a complete body.
    Copy(Box<Copied>),
}

impl Outbound {
    /// The ask that waits for this body, of which nothing was read.
    pub(crate) fn into_shadow(self) -> Option<Ask> {
        match self {
            Self::Live(mut tee) => tee.copy.as_mut()?.take_ask(),
            Self::Empty | Self::Copy(_) => None,
        }
    }
}

impl From<Copied> for Outbound {
    fn from(copied: Copied) -> Self {
        Self::Copy(Box::new(copied))
    }
}

impl HttpBody for Outbound {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Live(tee) => tee.poll(cx),
            Self::Copy(copied) => Poll::Ready(copied.next().map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Live(tee) => tee.upload.is_end_stream(),
            Self::Copy(copied) => copied.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Live(tee) => tee.upload.size_hint(),
            Self::Copy(copied) => copied.size_hint(),
        }
    }
}

/// The client's body, copied while it is forwarded.
pub(crate) struct Tee {
    upload: Rc<Upload>,
    copy: Option<Intake>,
    tape: Option<Rc<Tape>>,
}

impl Tee {
    /// With `copy`, an ask waits for the body to be complete; with `tape`, it is recorded.
    pub(crate) fn new(upload: Rc<Upload>, copy: Option<Intake>, tape: Option<Rc<Tape>>) -> Self {
        Self { upload, copy, tape }
    }

    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut polled = ready!(self.upload.poll_frame(cx));
        match &mut polled {
            Some(Ok(frame)) => {
                if let Some(chunk) = frame.data_ref() {
                    if let Some(copy) = &mut self.copy {
                        copy.data(chunk);
                    }
                    if let Some(tape) = &self.tape {
                        tape.data(chunk);
                    }
                    if self.upload.is_end_stream() {
                        self.complete();
                    }
                } else if let Some(trailers) = frame.trailers_mut() {
                    headers::strip_trailers(trailers);
                    if let Some(copy) = &mut self.copy {
                        copy.trailers(trailers);
                    }
                    self.complete();
                }
            }
            Some(Err(_)) => {
                if let Some(copy) = &mut self.copy {
                    copy.fail(Reason::ClientAborted);
                }
            }
            None => self.complete(),
        }
        Poll::Ready(polled)
    }

    fn complete(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.complete();
        }
        if let Some(tape) = self.tape.take() {
            tape.complete();
        }
    }
}
