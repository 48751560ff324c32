//! How grave a difference is, and so what a reader must see first.
//!
//! One order for every output. What can break a client and has no explanation comes before what is similar in a known way,
//! and what is only another spelling of the same value comes last, however frequent it is: a wrong amount in a dozen answers
//! must not stand behind a date format in all of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{Explanation, Kind, Part};
use crate::vocabulary::{UnknownWord, vocabulary};

vocabulary! {
    /// How grave a difference is, the gravest first.
    #[derive(Default)]
    Severity as "severity" {
        /// The services give different status codes, of HTTP or gRPC, or only the candidate fails by what GraphQL has in their
        /// place.
        Status = "status" => "another status code, of HTTP or gRPC, or GraphQL errors that only the candidate has",
        /// Something in the body is lost, or has another value that no explanation makes similar.
        #[default]
        Body = "body" => "another value in the body without an explanation, or something is lost",
        /// The same in an answer by which both services refuse the request or fail: mostly the wording of a message.
        Error = "error" => "the same in answers that are errors on both sides",
        /// The candidate's body has something that the legacy's has not.
        Added = "added" => "something in the body that only the candidate has",
        /// A header or trailer field differs.
        Header = "header" => "another header or trailer field",
        /// The values are similar in a known way, or the same elements are in another order. Something may be lost.
        Near = "near" => "similar: there is an explanation, or only the order differs",
        /// Two spellings of one time or UUID, of one JSON type: a client that reads them as that cannot tell.
        Format = "format" => "only spelt in another way",
    }
}

/// The trailer that has the status of a gRPC call, whose HTTP status is always 200.
const GRPC_STATUS: &str = "grpc-status";

impl Severity {
    /// Of a difference at this pattern, with these status codes of legacy and candidate. The explanation must be one that
    /// nothing speaks against.
    pub fn of(
        part: Part,
        pattern: &str,
        kind: Kind,
        explanation: Option<Explanation>,
        (legacy_status, candidate_status): (u16, u16),
    ) -> Self {
        // What is lost is lost, even if something else happens to have its value.
        let explanation = explanation.filter(|explanation| explanation.can_be_accepted());
        match (explanation, part, kind) {
            // A client that expects a text does not read a number, even if both mean the same.
            (Some(explanation), _, Kind::Value) if explanation.is_spelling() => Self::Format,
            (Some(_), ..) | (None, Part::Body, Kind::Order) => Self::Near,
            (None, Part::Status, _) | (None, Part::Body, Kind::Errors) => Self::Status,
            (None, Part::Trailer, _) if pattern == GRPC_STATUS => Self::Status,
            (None, Part::Header | Part::Trailer, _) => Self::Header,
            (None, Part::Body, Kind::Extra) => Self::Added,
            (None, Part::Body, _) if legacy_status.min(candidate_status) >= 400 => Self::Error,
            (None, Part::Body, _) => Self::Body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_break_a_client_comes_before_what_is_similar() {
        let ordered = [
            (Part::Status, Kind::Value, None, 500),
            (Part::Body, Kind::Value, None, 200),
            (Part::Body, Kind::Value, None, 404),
            (Part::Body, Kind::Extra, None, 404),
            (Part::Header, Kind::Missing, None, 200),
            (Part::Body, Kind::Value, Some(Explanation::Rounded), 200),
            (Part::Body, Kind::Value, Some(Explanation::SameInstant), 200),
        ];
        let told = ordered.map(|(part, kind, explanation, code)| {
            Severity::of(part, "/a", kind, explanation, (code, code))
        });
        assert_eq!(told.as_slice(), Severity::ALL);
        assert!(told.is_sorted());
    }

    /// What is folded at the end of a report is what nobody must look at.
    #[test]
    fn only_what_a_typed_client_cannot_tell_is_mere_spelling() {
        for explanation in Explanation::ALL {
            let of = |kind| Severity::of(Part::Body, "/a", kind, Some(*explanation), (200, 200));
            let expected = match explanation {
                Explanation::SameInstant | Explanation::SameUuid => Severity::Format,
                Explanation::Moved | Explanation::OtherName => Severity::Body,
                _ => Severity::Near,
            };
            assert_eq!(of(Kind::Value), expected, "{explanation}");
            assert_ne!(of(Kind::Type), Severity::Format, "{explanation}");
        }
    }

    #[test]
    fn lost_fields_and_other_types_are_never_mere_spelling() {
        let of = |kind, explanation| Severity::of(Part::Body, "/a", kind, explanation, (200, 200));
        for kind in [Kind::Missing, Kind::Type, Kind::DuplicateKey, Kind::Decode] {
            assert_eq!(of(kind, None), Severity::Body, "{kind}");
        }
        assert_eq!(of(Kind::Order, None), Severity::Near);
        let instant = Some(Explanation::SameInstant);
        assert_eq!(of(Kind::Type, instant), Severity::Near);
        assert_eq!(of(Kind::Missing, Some(Explanation::Moved)), Severity::Body);
        assert_eq!(of(Kind::Extra, Some(Explanation::Moved)), Severity::Added);
        let column = of(Kind::Missing, Some(Explanation::OtherName));
        assert_eq!(column, Severity::Body);
        let failing = Severity::of(Part::Body, "/errors", Kind::Errors, None, (200, 200));
        assert_eq!(failing, Severity::Status);
        let of_trailer = |name| Severity::of(Part::Trailer, name, Kind::Value, None, (200, 200));
        assert_eq!(of_trailer("grpc-status"), Severity::Status);
        assert_eq!(of_trailer("grpc-message"), Severity::Header);
        // Only one service fails: the body is no message of both.
        let failed = Severity::of(Part::Body, "/a", Kind::Value, None, (200, 500));
        assert_eq!(failed, Severity::Body);
    }
}
