//! The parts of a question, in the order of the help.

use parity_schemas::evidence::Bound;
use parity_schemas::value::{duration, parsed, share, switch, whole};

use super::values::{confidence, noise_use, not_compared, route, since};
use super::{Form, Part};

/// Limits of latencies: each is a test of its own on every required route.
const MAX_LATENCY_LIMITS: usize = 16;

/// Every part, each named once.
pub const PARTS: &[Part] = &[
    Part {
        name: "candidate-version",
        value: "TEXT",
        about: "Only evidence of this candidate version [default: the latest recorded]",
        form: Form::Once,
        of_report: true,
        default: None,
        read: |question, text| {
            question.selection.candidate_version = Some(text.to_owned());
            Ok(())
        },
    },
    Part {
        name: "since",
        value: "TIME|AGE",
        about: "Only intervals that began at or after this: a time (2026-01-31T09:30:00Z) or an age (15m, 2h, 7d)",
        form: Form::Once,
        of_report: true,
        default: None,
        read: |question, text| {
            question.selection.since = Some(since(text)?);
            Ok(())
        },
    },
    Part {
        name: "leave-out",
        value: "FROM..TO=REASON",
        about: "Leave out what began in this span of time, such as a planned restart: \
                2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=REASON; may be repeated. It is told how much that was",
        form: Form::Repeated,
        of_report: true,
        default: None,
        read: |question, text| {
            question.selection.left_out.push(parsed(text)?);
            Ok(())
        },
    },
    Part {
        name: "strict-rules",
        value: "",
        about: "Count nothing that was received under other rules. Without it, what a change of rules does not touch is counted on",
        form: Form::Switch,
        of_report: true,
        default: None,
        read: |question, text| {
            question.selection.strict_rules = switch(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-mismatch-rate",
        value: "SHARE",
        about: "Highest allowed share of differing requests",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_mismatch_rate.to_string()),
        read: |question, text| {
            question.thresholds.max_mismatch_rate = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "confidence",
        value: "SHARE",
        about: "Confidence that each bound must have",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.confidence.to_string()),
        read: |question, text| {
            question.thresholds.confidence = confidence(text)?;
            Ok(())
        },
    },
    Part {
        name: "one-look",
        value: "",
        about: "Use exact bounds, which need fewer requests but are right only for a gate that is asked once; otherwise the \
                bounds hold however often it is asked",
        form: Form::Switch,
        of_report: false,
        default: None,
        read: |question, text| {
            if switch(text)? {
                question.thresholds.bound = Bound::OneLook;
            }
            Ok(())
        },
    },
    Part {
        name: "min-requests",
        value: "N",
        about: "With fewer compared requests than this the decision is undecided",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.min_requests.to_string()),
        read: |question, text| {
            question.thresholds.min_requests = whole(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-dropped",
        value: "SHARE",
        about: "Highest allowed share of requests whose comparison parity itself dropped",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_dropped.to_string()),
        read: |question, text| {
            question.thresholds.max_dropped = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-uncomparable",
        value: "SHARE",
        about: "Highest allowed share of pairs that cannot be compared because the client went away, the legacy failed, or the \
                answer of the legacy or of both is a stream, too large or of an unknown encoding: in all, and of each required \
                route",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_uncomparable.to_string()),
        read: |question, text| {
            question.thresholds.max_uncomparable = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-errors",
        value: "SHARE",
        about: "Highest allowed share of server errors (5xx) among the legacy's answers, on all routes that were compared, and \
                on each required route",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_errors.to_string()),
        read: |question, text| {
            question.thresholds.max_errors = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "require-route",
        value: "ROUTE",
        about: "A route that must be proven on its own, such as \"GET /users/{id}\"; may be repeated",
        form: Form::Repeated,
        of_report: false,
        default: None,
        read: |question, text| {
            question.thresholds.required_routes.push(route(text)?);
            Ok(())
        },
    },
    Part {
        name: "require-all-routes",
        value: "",
        about: "Every route that was received must be proven on its own, except paths that nobody serves",
        form: Form::Switch,
        of_report: false,
        default: None,
        read: |question, text| {
            question.thresholds.require_all_routes = switch(text)?;
            Ok(())
        },
    },
    Part {
        name: "min-duration",
        value: "DURATION",
        about: "Evidence of a shorter time than this is undecided (30m, 12h, 7d)",
        form: Form::Once,
        of_report: false,
        default: None,
        read: |question, text| {
            let millis = duration(text)?.as_millis();
            question.thresholds.min_duration_ms = u64::try_from(millis).unwrap_or(u64::MAX);
            Ok(())
        },
    },
    Part {
        name: "max-not-compared",
        value: "REASON=SHARE",
        about: "Highest allowed share of received requests that were not compared for this reason, such as stream=0.01: in all, \
                and of each required route; may be repeated",
        form: Form::Repeated,
        of_report: false,
        default: None,
        read: |question, text| {
            let (reason, share) = not_compared(text)?;
            question.thresholds.max_not_compared.insert(reason, share);
            Ok(())
        },
    },
    Part {
        name: "max-candidate-errors",
        value: "SHARE",
        about: "Highest allowed share of requests at which the candidate fails and the legacy does not (no answer, or one that \
                cannot be compared; 5xx where the legacy has another status): of all requests, and of each required route",
        form: Form::Once,
        of_report: false,
        default: None,
        read: |question, text| {
            question.thresholds.max_candidate_errors = Some(share(text)?);
            Ok(())
        },
    },
    Part {
        name: "max-latency",
        value: "QUANTILE=FACTORx",
        about: "How slow the candidate may be, by a quantile of the time to the first byte, against the same quantile of the \
                legacy: p99=1.5x, or p99=1.5x+5ms; for all requests and on each required route; may be repeated",
        form: Form::Repeated,
        of_report: false,
        default: None,
        read: |question, text| {
            if question.thresholds.max_latency.len() >= MAX_LATENCY_LIMITS {
                return Err(format!("there are at most {MAX_LATENCY_LIMITS} limits"));
            }
            question.thresholds.max_latency.push(parsed(text)?);
            question.selection.with_latency = true;
            Ok(())
        },
    },
    Part {
        name: "min-distinct",
        value: "N",
        about: "A pass that rests on fewer distinct targets (method, path and query) than this is undecided",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.min_distinct.to_string()),
        read: |question, text| {
            question.thresholds.min_distinct = whole(text)?;
            Ok(())
        },
    },
    Part {
        name: "min-fields",
        value: "SHARE",
        about: "A pass is undecided as long as rules leave less than this share of the fields of a compared route to compare exactly, such \
                as 0.5, or it is not known",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.min_fields.to_string()),
        read: |question, text| {
            question.thresholds.min_fields = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "noise",
        value: "HOW",
        about: "What to do with mismatches that are proven to be noise: use (they do not count), report (they are listed and \
                count) or off",
        form: Form::Once,
        of_report: true,
        default: Some(|thresholds| thresholds.noise.to_string()),
        read: |question, text| {
            question.thresholds.noise = noise_use(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-transient",
        value: "SHARE",
        about: "Highest allowed share of transient mismatches among the compared requests: in all, and on each required route",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_transient.to_string()),
        read: |question, text| {
            question.thresholds.max_transient = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "max-hidden",
        value: "SHARE",
        about: "Highest share of the compared requests that may hide a difference in what is taken for noise: in all, and on \
                each route",
        form: Form::Once,
        of_report: false,
        default: Some(|thresholds| thresholds.max_hidden.to_string()),
        read: |question, text| {
            question.thresholds.max_hidden = share(text)?;
            Ok(())
        },
    },
    Part {
        name: "nothing-new",
        value: "",
        about: "Every difference that counts must be known ([[known]] of the configuration): one that is confirmed and new, growing \
                or back again is a fail, however rare, and one that no recheck confirmed is undecided",
        form: Form::Switch,
        of_report: false,
        default: None,
        read: |question, text| {
            question.thresholds.nothing_new = switch(text)?;
            Ok(())
        },
    },
    Part {
        name: "gone",
        value: "INSTANCE",
        about: "An instance that will not come back: its missing counts are not waited for; may be repeated",
        form: Form::Repeated,
        of_report: false,
        default: None,
        read: |question, text| {
            question.gone.push(text.to_owned());
            Ok(())
        },
    },
    Part {
        name: "expect-instance",
        value: "INSTANCE",
        about: "An instance that must have written to the store; may be repeated",
        form: Form::Repeated,
        of_report: false,
        default: None,
        read: |question, text| {
            question.expected.push(text.to_owned());
            Ok(())
        },
    },
];
