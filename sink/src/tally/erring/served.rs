//! Server errors that clients got from the service that served them: the legacy, and in a rollout also the candidate. Of each its own
//! answers are counted, so that a candidate that serves one in a hundred is not hidden by the legacy.

use parity_schemas::clients::ClientOutcome;
use parity_schemas::lately::{ClientErrors, WaitedFor};
use parity_schemas::time::Timestamp;

use super::{Counted, Span};

/// Whole answers that clients got from one service between two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Answers {
    service: WaitedFor,
    pub(super) whole: u64,
    pub(super) errors: u64,
    pub(super) span: Span,
}

impl Answers {
    /// None of this service yet.
    pub(in super::super) fn of(service: WaitedFor) -> Self {
        Self {
            service,
            ..Self::default()
        }
    }

    /// Which service a client has its whole answer from; `None` if it has none.
    pub(in super::super) fn service(outcome: ClientOutcome) -> Option<WaitedFor> {
        match (outcome.is_answered(), outcome.is_by_candidate()) {
            (true, true) => Some(WaitedFor::Candidate),
            (true, false) => Some(WaitedFor::Legacy),
            (false, _) => None,
        }
    }

    /// Adds answers that ended now.
    pub(in super::super) fn add(&mut self, outcome: ClientOutcome, count: u64, now: Timestamp) {
        self.whole = self.whole.saturating_add(count);
        if outcome.is_error() {
            self.errors = self.errors.saturating_add(count);
            self.span = super::joined(self.span, Some((now, now)));
        }
    }
}

impl Counted for Answers {
    type Told = ClientErrors;

    fn all(&self) -> u64 {
        self.whole
    }

    fn bad(&self) -> u64 {
        self.errors
    }

    fn merge(&mut self, other: &Self) {
        self.whole = self.whole.saturating_add(other.whole);
        self.errors = self.errors.saturating_add(other.errors);
        self.span = super::joined(self.span, other.span);
    }

    fn told(&self, version: &str, ended: Option<Timestamp>) -> ClientErrors {
        let (from, to) = self.span.unwrap_or_default();
        ClientErrors {
            service: self.service,
            version: version.to_owned(),
            from,
            to,
            ended,
            answers: self.whole,
            errors: self.errors,
        }
    }

    fn size(told: &ClientErrors) -> u64 {
        told.errors
    }
}

#[cfg(test)]
mod tests {
    use super::super::Surely;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000 + second * 1_000_000)
    }

    /// What is told of the looks of a rollout: when, how many the legacy answered, how many of these with an error, and the same of
    /// the candidate.
    fn told(looks: &[(i64, [u64; 2], [u64; 2])]) -> Vec<ClientErrors> {
        use ClientOutcome::{CandidateServerError, CandidateSuccess, ServerError, Success};
        let mut erring: [Surely<Answers>; 2] = Default::default();
        for (second, legacy, candidate) in looks {
            let mut looked = WaitedFor::ALL.map(Answers::of);
            for (outcome, count) in [
                (Success, legacy[0] - legacy[1]),
                (ServerError, legacy[1]),
                (CandidateSuccess, candidate[0] - candidate[1]),
                (CandidateServerError, candidate[1]),
            ] {
                let service = Answers::service(outcome).expect("answered");
                if count > 0 {
                    looked[service.index()].add(outcome, count, at(*second));
                }
            }
            for (erring, look) in erring.iter_mut().zip(&looked) {
                erring.look(look, "7", at(*second));
                erring.rest(at(*second));
            }
        }
        erring.iter().flat_map(Surely::told).collect()
    }

    /// Behind a fall back the candidate answers nobody, and would be told to answer with errors for ever.
    #[test]
    fn it_is_over_when_the_service_serves_nobody_any_more() {
        let mut looks: Vec<_> = (0..10).map(|second| (second, [99, 0], [9, 9])).collect();
        looks.extend((10..70).map(|second| (second, [99, 0], [0, 0])));
        let ended = |looks: &[_]| told(looks).iter().map(|one| one.ended).collect::<Vec<_>>();
        assert_eq!(ended(&looks), [None]);
        looks.push((71, [99, 0], [0, 0]));
        assert_eq!(ended(&looks), [Some(at(9))]);
        // It serves again, and well.
        looks.push((72, [99, 0], [50, 0]));
        assert_eq!(ended(&looks), [Some(at(9))]);
    }

    #[test]
    fn it_says_which_service_answered_so_and_neither_hides_the_other() {
        let well = |second| (second, [99, 0], [1, 0]);
        let mut looks: Vec<_> = (0..60).map(well).collect();
        looks.extend((60..70).map(|second| (second, [99, 0], [1, 1])));
        let [one] = &told(&looks)[..] else {
            panic!("one stretch: {:?}", told(&looks));
        };
        assert_eq!(
            (one.service, one.version.as_str()),
            (WaitedFor::Candidate, "7")
        );
        assert_eq!((one.answers, one.errors), (10, 10));
        assert_eq!((one.from, one.to, one.ended), (at(60), at(69), None));
        looks.extend((70..73).map(|second| (second, [99, 90], [1, 0])));
        looks.extend((73..140).map(well));
        let told = told(&looks);
        let services: Vec<_> = told.iter().map(|one| (one.service, one.errors)).collect();
        let expected = [(WaitedFor::Legacy, 270), (WaitedFor::Candidate, 10)];
        assert_eq!(services, expected);
        assert!(told.iter().all(|one| one.ended.is_some()), "{told:?}");
    }

    #[test]
    fn a_steady_low_rate_is_none_and_neither_is_what_is_no_whole_answer() {
        let low: Vec<_> = (0..4_000).map(|second| (second, [50, 1], [0, 0])).collect();
        assert!(told(&low).is_empty(), "{:?}", told(&low));
        for outcome in [
            ClientOutcome::LegacyUnreachable,
            ClientOutcome::ClientAborted,
            ClientOutcome::Refused,
            ClientOutcome::Tapped,
            ClientOutcome::Replayed,
        ] {
            assert_eq!(Answers::service(outcome), None, "{outcome}");
        }
    }
}
