//! What somebody asks of the record: which evidence, and what a decision on it demands.
//!
//! Each [`Part`] of a question is declared once, with its name, its meaning and its reader. The flags of `parity gate` and
//! `parity report` are made from that, and so are the parameters of the API and the page. So neither has a condition that the
//! other lacks, and both say the same of a wrong value. What only a command can be asked is listed with the reason
//! ([`ONLY_FLAGS`]).

mod parts;
pub mod values;

use std::sync::Arc;

use parity_schemas::evidence::Thresholds;
use parity_schemas::known::KnownEntry;
use parity_sink::Selection;

pub use parts::PARTS;

/// The parameter that names the migration. For the commands it is a setting.
pub const MIGRATION: &str = "migration";

/// Flags of `parity gate` that are no parameters, and why not.
pub const ONLY_FLAGS: [(&str, &str); 8] = [
    ("config", "it is read when the process starts"),
    ("store", "the process that answers reads its own"),
    (
        "openapi",
        "no request makes the process that answers read a file; name routes with require_route",
    ),
    ("wait", "a request is answered at once; ask again"),
    (
        "dry-run",
        "GET stores nothing, and POST is the way to have a decision stored",
    ),
    ("output", "the API answers with JSON, and / with a page"),
    (
        "report",
        "no request makes the process that answers write a file",
    ),
    ("annotations", "they are for the log of a CI job"),
];

/// What somebody asks of the record.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Which evidence.
    pub selection: Selection,
    /// What a decision demands.
    pub thresholds: Thresholds,
    /// Instances that will not come back. They are only waited for as long as a watermark takes: if one arrives, that process is
    /// alive after all.
    pub gone: Vec<String>,
    /// Instances that must have written to the store.
    pub expected: Vec<String>,
    /// The register of known differences. No parameter gives it: whoever answers has it from its configuration.
    pub known: Arc<[KnownEntry]>,
}

impl Question {
    /// Which evidence is read: also what was counted last, if that may show that a known difference grows.
    pub fn selected(&self) -> Selection {
        let may_grow = self.known.iter().any(|entry| entry.rate.is_some());
        Selection {
            with_recent: may_grow,
            ..self.selection.clone()
        }
    }
}

/// How a part is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// At most once, with a value.
    Once,
    /// Any number of times, each with a value.
    Repeated,
    /// A flag has no value, a parameter `true` or `false`.
    Switch,
}

/// A part of a question.
pub struct Part {
    /// Its words, parted by dashes, as the flag has them.
    pub name: &'static str,
    /// What its value is, in capitals; empty for a switch.
    pub value: &'static str,
    /// What it means.
    pub about: &'static str,
    /// How it is given.
    pub form: Form,
    /// Whether a report depends on it; otherwise only a decision does.
    pub of_report: bool,
    default: Option<fn(&Thresholds) -> String>,
    read: fn(&mut Question, &str) -> Result<(), String>,
}

impl Part {
    /// Its name as a parameter.
    pub fn parameter(&self) -> String {
        self.name.replace('-', "_")
    }

    /// What holds without it, as somebody would write it; `None` if nothing does.
    pub fn default(&self) -> Option<String> {
        self.default.map(|of| of(&Thresholds::default()))
    }

    /// Reads a value into a question. What is wrong with it is an error, in words that name the value and not the part.
    pub fn read(&self, question: &mut Question, text: &str) -> Result<(), String> {
        (self.read)(question, text)
    }

    /// Whether a value can be read.
    pub fn check(&self, text: &str) -> Result<(), String> {
        self.read(&mut Question::default(), text)
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::evidence::{Bound, LatencyLimit};
    use parity_schemas::noise::NoiseUse;
    use parity_schemas::verdict::Reason;

    use super::*;

    fn part(name: &str) -> &'static Part {
        PARTS.iter().find(|part| part.name == name).expect(name)
    }

    fn asked(given: &[(&str, &str)]) -> Question {
        let mut question = Question::default();
        for (name, text) in given {
            part(name).read(&mut question, text).expect(name);
        }
        question
    }

    #[test]
    fn each_part_is_read_into_its_place() {
        let question = asked(&[
            ("candidate-version", "2"),
            ("since", "2026-01-01T00:00:00Z"),
            ("leave-out", "2026-01-02T00:00:00Z..2026-01-03T00:00:00Z=x"),
            ("strict-rules", "true"),
            ("max-mismatch-rate", "0.01"),
            ("confidence", "0.99"),
            ("one-look", "true"),
            ("min-requests", "11"),
            ("max-dropped", "0.02"),
            ("max-uncomparable", "0.03"),
            ("max-errors", "0.04"),
            ("require-route", "GET /a"),
            ("require-route", "GET /users/{id}"),
            ("require-all-routes", "on"),
            ("min-duration", "2h"),
            ("max-not-compared", "stream=0.05"),
            ("max-not-compared", "queue_full=0.06"),
            ("max-candidate-errors", "0.07"),
            ("max-latency", "p99=1.5x"),
            ("max-latency", "p50=1x+5ms"),
            ("min-distinct", "12"),
            ("min-fields", "0.5"),
            ("noise", "report"),
            ("max-transient", "0.08"),
            ("max-hidden", "0.09"),
            ("nothing-new", "true"),
            ("gone", "one"),
            ("expect-instance", "two"),
        ]);
        let selection = &question.selection;
        assert_eq!(selection.candidate_version.as_deref(), Some("2"));
        assert!(selection.since.is_some() && selection.strict_rules);
        assert_eq!(selection.left_out.len(), 1);
        assert!(selection.with_latency, "the limits need the times");
        let latency = |text: &str| text.parse::<LatencyLimit>().expect(text);
        assert_eq!(
            question.thresholds,
            Thresholds {
                max_mismatch_rate: 0.01,
                confidence: 0.99,
                bound: Bound::OneLook,
                min_requests: 11,
                max_dropped: 0.02,
                max_uncomparable: 0.03,
                max_errors: 0.04,
                required_routes: vec!["GET /a".to_owned(), "GET /users/{id}".to_owned()],
                require_all_routes: true,
                operations: Vec::new(),
                min_duration_ms: 7_200_000,
                max_not_compared: [(Reason::Stream, 0.05), (Reason::QueueFull, 0.06)].into(),
                max_candidate_errors: Some(0.07),
                max_latency: vec![latency("p99=1.5x"), latency("p50=1x+5ms")],
                min_distinct: 12,
                min_fields: 0.5,
                noise: NoiseUse::Report,
                max_transient: 0.08,
                max_hidden: 0.09,
                nothing_new: true,
            }
        );
        assert_eq!(question.gone, ["one"]);
        assert_eq!(question.expected, ["two"]);
    }

    #[test]
    fn what_holds_without_a_part_is_what_its_default_says() {
        for part in PARTS {
            let Some(default) = part.default() else {
                continue;
            };
            let mut question = Question::default();
            part.read(&mut question, &default).expect(part.name);
            assert_eq!(
                question.thresholds,
                Thresholds::default(),
                "{}: {default}",
                part.name
            );
        }
        assert_eq!(part("noise").default().as_deref(), Some("use"));
        assert_eq!(
            part("max-mismatch-rate").default().as_deref(),
            Some("0.001")
        );
    }

    #[test]
    fn a_switch_that_is_off_changes_nothing() {
        for part in PARTS.iter().filter(|part| part.form == Form::Switch) {
            let mut question = Question::default();
            part.read(&mut question, "false").expect(part.name);
            assert_eq!(question.thresholds, Thresholds::default(), "{}", part.name);
            assert_eq!(question.selection, Selection::default(), "{}", part.name);
            assert!(part.check("perhaps").is_err(), "{}", part.name);
        }
    }

    #[test]
    fn a_wrong_value_is_told_with_what_was_given() {
        for (name, text) in [
            ("since", "yesterday"),
            ("leave-out", "yesterday=x"),
            ("max-mismatch-rate", "1%"),
            ("confidence", "1"),
            ("confidence", "0.4"),
            ("min-requests", "-1"),
            ("max-dropped", "2"),
            ("max-uncomparable", "-1"),
            ("max-errors", "nan"),
            ("require-route", "garbage"),
            ("require-route", "GET items"),
            ("require-route", "* /items"),
            ("min-duration", "soon"),
            ("max-not-compared", "stream"),
            ("max-not-compared", "streem=0.1"),
            ("max-not-compared", "stream=2"),
            ("max-candidate-errors", "x"),
            ("max-latency", "p99"),
            ("min-distinct", "1.5"),
            ("min-fields", "50 of 100"),
            ("noise", "no"),
            ("max-transient", "2"),
            ("max-hidden", "2"),
        ] {
            let wrong = part(name).check(text).expect_err(text);
            let given = text.rsplit('=').next().unwrap_or(text);
            assert!(
                wrong.contains('`') && wrong.contains(given),
                "{name}={text}: {wrong}"
            );
        }
    }
}
