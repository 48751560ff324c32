//! Which routes are nobody's: paths that scanners and mistyped links ask for, and that the service does not have.
//!
//! One request to such a path is a route of its own, and one difference in an error page would be a route on which all
//! differ. So a route that was asked for a few times, and on which nobody ever got anything but a client error (4xx), decides
//! nothing by itself: it neither fails nor must it be proven, and it takes no share of the chance to be wrong from those that
//! are served. Nothing of it is left out: its requests are among all requests, which must pass, and the decision says how
//! many such routes there are and whether any of them differs. Who asks for such a route by name has it judged like any
//! other.

use crate::clients::ClientOutcome;
use crate::tally::Counts;

/// Requests from which on a route counts whatever it answers: a service that refuses so often has been asked on purpose, and
/// whether the candidate refuses, too, is a question of its own.
const FEW: u64 = 20;

/// Whether a route was asked for a few times, and never got more than a client error.
pub fn is_unserved(counts: &Counts) -> bool {
    let refused = |outcome| {
        matches!(
            outcome,
            ClientOutcome::ClientError | ClientOutcome::CandidateClientError
        )
    };
    // A copy from a tap says nothing of its client; what the legacy answered to it, it does say.
    let unknown = |outcome| outcome == ClientOutcome::Tapped;
    let answers = &counts.legacy_answers;
    counts.received < FEW
        && counts.compared() <= counts.received
        && answers
            .keys()
            .chain(counts.clients.keys())
            .any(|outcome| refused(*outcome))
        && answers.keys().all(|outcome| refused(*outcome))
        && counts
            .clients
            .keys()
            .all(|outcome| refused(*outcome) || unknown(*outcome))
}
