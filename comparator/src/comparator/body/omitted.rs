//! Bodies of which at least one was not kept: which differences are proven without it, and which side is to blame for
//! what is unknown.
//!
//! A body differs from an empty one, bytes of another length are other bytes, and several gRPC messages are not one.
//! Everything else may be equal: a text of many lines may be the same JSON as one of a single line.

use http::header::CONTENT_LENGTH;
use parity_schemas::exchange::{Body, Omitted};
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::{Kind, Part, Reason, Side};

use super::super::{AnswerPair, give_up};
use super::{finding, reason_by_blame};
use crate::collect::{Collector, Flow};
use crate::decode::{self, DecodeError};
use crate::grpc;
use crate::media::{BodyKind, Declared};
use crate::rules::Scope;

/// What is known of the length of a decoded body.
#[derive(Clone, Copy)]
enum Length {
    Exactly(u64),
    AtLeast(u64),
    Unknown,
}

/// What is known of one side.
struct KnownBody {
    length: Length,
    /// Why it cannot be compared, if it cannot.
    reason: Option<Reason>,
}

/// Compares two bodies of which at least one was not kept; `None` is a body that HTTP does not allow.
pub(super) fn compare(
    pair: &AnswerPair<'_>,
    bodies: [Option<&Body>; 2],
    encodings: [&[String]; 2],
    scope: &Scope,
    out: &mut Collector<'_>,
) -> Flow {
    if let Some(rule) = scope.ignores_body {
        out.excused(rule, Part::Body, String::new);
        return Flow::Continue(());
    }
    let answers = [pair.legacy, pair.candidate];
    let limit = out.limits.decoded_bytes;
    let sides = [0, 1]
        .map(|side| KnownBody::of(bodies[side], &answers[side].headers, encodings[side], limit));
    let grpc = grpc::are_both(pair.legacy, pair.candidate);
    if grpc {
        let several = bodies.map(|body| body.and_then(Body::omission) == Some(Omitted::Stream));
        let whole = bodies.map(|body| body.is_none_or(|body| body.omission().is_none()));
        if (several[0] && whole[1]) || (whole[0] && several[1]) {
            let shown = several.map(|several| {
                let words = if several {
                    "several messages"
                } else {
                    "one message at most"
                };
                Side::Described(words.into())
            });
            let [legacy, candidate] = shown;
            return out.finding(|_| finding(Kind::Value, legacy, candidate, None));
        }
    }
    let [one, two] = [sides[0].length, sides[1].length];
    let kind = match (one.is_empty(), two.is_empty()) {
        (Some(true), Some(false)) => Some(Kind::Extra),
        (Some(false), Some(true)) => Some(Kind::Missing),
        _ => None,
    };
    if let Some(kind) = kind {
        let shown = |length: Length| match length.is_empty() {
            Some(false) => length.shown(),
            _ => Side::Absent,
        };
        return out.finding(|_| finding(kind, shown(one), shown(two), None));
    }
    let are_bytes = || {
        let kinds = answers.map(|answer| Declared::of(&answer.headers).kind);
        !grpc && kinds == [Some(BodyKind::Bytes); 2]
    };
    if one.differs(two) && are_bytes() {
        return out.finding(|_| finding(Kind::Value, one.shown(), two.shown(), None));
    }
    let reasons = sides.map(|side| side.reason);
    give_up(reason_by_blame(reasons).unwrap_or(Reason::ResponseTooLarge))
}

impl KnownBody {
    fn of(body: Option<&Body>, headers: &FieldLines, encodings: &[String], limit: usize) -> Self {
        let plain = |length| {
            if encodings.is_empty() {
                length
            } else {
                Length::Unknown
            }
        };
        let side = |length, reason| Self { length, reason };
        let Some(body) = body else {
            return side(Length::Exactly(0), None);
        };
        match body.omission() {
            Some(Omitted::Stream) => side(Length::Unknown, Some(Reason::Stream)),
            Some(Omitted::TooLarge { at_least }) => {
                let length = stated(headers).map_or(Length::AtLeast(at_least), Length::Exactly);
                side(plain(length), Some(Reason::ResponseTooLarge))
            }
            Some(Omitted::NoRoom { at_least }) => {
                let length = stated(headers).map_or(Length::AtLeast(at_least), Length::Exactly);
                side(plain(length), Some(Reason::NoRoom))
            }
            Some(Omitted::LetGo { bytes: 0 }) => side(Length::Exactly(0), None),
            Some(Omitted::LetGo { bytes }) => side(plain(Length::Exactly(bytes)), None),
            None => match decode::decode(&body.contiguous(), encodings, limit) {
                Ok(text) => side(Length::Exactly(text.len() as u64), None),
                Err(error @ DecodeError::TooLarge) => {
                    side(Length::AtLeast(limit as u64), Some(error.reason()))
                }
                Err(error) => side(Length::Unknown, Some(error.reason())),
            },
        }
    }
}

/// The length that the header states.
fn stated(headers: &FieldLines) -> Option<u64> {
    headers.get(&CONTENT_LENGTH)?.as_str()?.parse().ok()
}

impl Length {
    /// Whether the body is empty; `None` if not known.
    fn is_empty(self) -> Option<bool> {
        match self {
            Self::Exactly(length) => Some(length == 0),
            Self::AtLeast(length) => (length > 0).then_some(false),
            Self::Unknown => None,
        }
    }

    /// Whether the lengths prove that the bodies differ.
    fn differs(self, other: Self) -> bool {
        match (self, other) {
            (Self::Exactly(one), Self::Exactly(two)) => one != two,
            (Self::Exactly(exact), Self::AtLeast(least))
            | (Self::AtLeast(least), Self::Exactly(exact)) => exact < least,
            _ => false,
        }
    }

    fn shown(self) -> Side {
        match self {
            Self::Exactly(length) => Side::Described(format!("{length} bytes").into()),
            Self::AtLeast(length) => Side::Described(format!("at least {length} bytes").into()),
            Self::Unknown => Side::Absent,
        }
    }
}
