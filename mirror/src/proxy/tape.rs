//! Copies a live request, and the legacy's answer if wanted, for a recording.
//!
//! It is shared by what reads the request's body and what reads the answer, and gives the copy away when both have let it go.
//! So nobody waits for it, and every way in which a request can end leaves a line in the recording. What is not whole is never
//! recorded as if it were: a body that was cut or is too large is left out, and so is such an answer.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use parity_schemas::exchange::{Body, ByteHold, Capture, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::recording::LeftOut;
use parity_schemas::time::Timestamp;

use crate::exchange::{CountedRoute, LiveRequest, Recorder, RequestHead};

/// The copy of one request under way.
pub(crate) struct Tape {
    recorder: Rc<dyn Recorder>,
    /// Largest body that is kept.
    limit: usize,
    route: CountedRoute,
    time: Timestamp,
    /// `None` once there was no room for it.
    copy: RefCell<Option<Copy>>,
}

struct Copy {
    request: Request,
    is_whole: bool,
    left_out: Option<LeftOut>,
    answer: Option<Capture>,
    /// Whether the answer is complete.
    is_answered: bool,
    hold: ByteHold,
}

impl Tape {
    /// Begins with the head. `None` if there is no room, which the recorder is told.
    pub(crate) fn begin(
        recorder: &Rc<dyn Recorder>,
        route: &CountedRoute,
        head: &RequestHead,
        (time, has_body, limit): (Timestamp, bool, usize),
    ) -> Option<Rc<Self>> {
        let mut hold = recorder.budget().hold();
        let request = head.kept(Body::default());
        if !hold.grow(size_of::<LiveRequest>() + request.head_held()) {
            recorder.has_no_room();
            return None;
        }
        Some(Rc::new(Self {
            recorder: Rc::clone(recorder),
            limit,
            route: route.clone(),
            time,
            copy: RefCell::new(Some(Copy {
                request,
                is_whole: !has_body,
                left_out: None,
                answer: None,
                is_answered: false,
                hold,
            })),
        }))
    }

    /// A part of the request's body.
    pub(crate) fn data(&self, chunk: &Bytes) {
        let mut slot = self.copy.borrow_mut();
        let Some(copy) = &mut *slot else {
            return;
        };
        if copy.left_out.is_some() {
            return;
        }
        if copy.request.body.len() + chunk.len() > self.limit {
            copy.leave_out(LeftOut::TooLarge);
        } else if !copy.hold.keep(&mut copy.request.body, chunk) {
            drop(slot);
            self.give_up();
        }
    }

    /// The request's body is complete.
    pub(crate) fn complete(&self) {
        if let Some(copy) = &mut *self.copy.borrow_mut() {
            copy.is_whole = true;
        }
    }

    /// The head of the legacy's answer. Returns whether its body is wanted, too.
    pub(crate) fn answer(
        &self,
        status: u16,
        headers: &HeaderMap,
        head_elapsed: Duration,
        (is_stream, announced): (bool, u64),
    ) -> bool {
        if !self.recorder.takes_answers() || is_stream || announced > self.limit as u64 {
            return false;
        }
        let mut slot = self.copy.borrow_mut();
        let Some(copy) = &mut *slot else {
            return false;
        };
        let headers = FieldLines::from(headers);
        if !copy.hold.grow(headers.held()) {
            drop(slot);
            self.give_up();
            return false;
        }
        copy.answer = Some(Capture {
            status,
            headers,
            body: Body::default(),
            trailers: None,
            hidden: None,
            head_elapsed,
            elapsed: Duration::ZERO,
        });
        true
    }

    /// A part of the answer's body. Returns whether more is wanted.
    pub(crate) fn answer_data(&self, chunk: &Bytes) -> bool {
        let mut slot = self.copy.borrow_mut();
        let Some(copy) = &mut *slot else {
            return false;
        };
        let Some(answer) = &mut copy.answer else {
            return false;
        };
        if answer.body.len() + chunk.len() > self.limit {
            copy.forget_answer();
            return false;
        }
        if !copy.hold.keep(&mut answer.body, chunk) {
            drop(slot);
            self.give_up();
            return false;
        }
        true
    }

    /// The trailers of the answer, from which hop-by-hop fields have been removed.
    pub(crate) fn answer_trailers(&self, trailers: &HeaderMap) {
        let mut slot = self.copy.borrow_mut();
        let Some(copy) = &mut *slot else {
            return;
        };
        let Some(answer) = &mut copy.answer else {
            return;
        };
        let trailers = FieldLines::from(trailers);
        if copy.hold.grow(trailers.held()) {
            answer.trailers = Some(trailers);
        } else {
            drop(slot);
            self.give_up();
        }
    }

    /// The answer is complete.
    pub(crate) fn answer_complete(&self, elapsed: Duration) {
        if let Some(copy) = &mut *self.copy.borrow_mut()
            && let Some(answer) = &mut copy.answer
        {
            answer.elapsed = elapsed;
            copy.is_answered = true;
        }
    }

    /// There is no room for it: nothing of it is recorded.
    fn give_up(&self) {
        if self.copy.take().is_some() {
            self.recorder.has_no_room();
        }
    }
}

impl Copy {
    fn leave_out(&mut self, why: LeftOut) {
        let body = std::mem::take(&mut self.request.body);
        self.hold.shrink(body.len());
        self.left_out = Some(why);
    }

    fn forget_answer(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.hold.shrink(answer.body.len());
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let Some(mut copy) = self.copy.take() else {
            return;
        };
        if !copy.is_whole && copy.left_out.is_none() {
            copy.leave_out(LeftOut::CutOff);
        }
        if !copy.is_answered {
            copy.forget_answer();
        }
        self.recorder.take(LiveRequest {
            time: self.time,
            route: self.route.get().clone(),
            request: copy.request,
            left_out: copy.left_out,
            answer: copy.answer,
            hold: copy.hold,
        });
    }
}

/// How long the head of an answer took.
pub(crate) fn until_head(sent: Instant, head_at: Instant) -> Duration {
    head_at.saturating_duration_since(sent)
}
