//! Comparing texts with hashes in them: what holds whatever the hashes hide.
//!
//! Two equal hashes hide equal values, and two others hide others: both sides of an exchange are hashed with one key. (Cards are
//! the exception: their hash is of the digits, however these are parted.) So each hash is replaced by a value, the same
//! wherever it stands, and the answers are compared again; then by values of other forms.
//!
//! - They are **equal** if they are with every form.
//! - They **differ** if they do with every form although the rules leave out what is hidden. That they leave it out is seen from
//!   one answer beside itself with other hidden values. Where several expressions decide, or alternatives in one, a value of
//!   another form could be found by another one: then nothing is said.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use http::Method;
use parity_schemas::exchange::{Body, ByteHold, Exchange, Origin, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::record::{Mismatch, RecordedFinding, Sample};
use parity_schemas::route::Route;
use parity_schemas::tally::Identity;
use parity_schemas::trial::Untold;
use uuid::Uuid;

use super::stand_ins::{Form, SECRETS, WORDS, are_whole, filled, hashes, without_hashes};
use super::{Retrial, Told, captured, is_json, left};
use crate::redact::RecordContext;

/// Forms that a hidden word must be able to have. If hardly any fits, it is not known what was hidden there, and why.
const MIN_FORMS: usize = 4;
/// Most different hashes in two answers: a page full of them is not worth the time that each form takes.
const MAX_HASHES: usize = 1_000;

/// Which values stand in for the hashes of two answers.
struct StandIns<'a> {
    answers: &'a Sample,
    hashes: Vec<&'a str>,
    /// Whether the answers are JSON, in the strings of which the values stand.
    in_json: bool,
}

impl<'a> StandIns<'a> {
    fn of(answers: &'a Sample) -> Self {
        let bodies = [&answers.legacy.body, &answers.candidate.body];
        let found: BTreeSet<&str> = bodies
            .iter()
            .flat_map(|body| {
                let spans = hashes(body).into_iter();
                spans.filter_map(|span| body.get(span))
            })
            .collect();
        Self {
            answers,
            hashes: found.into_iter().collect(),
            in_json: bodies.iter().any(|body| is_json(body)),
        }
    }

    /// Values of a form, the first of which has this number.
    fn values(&self, form: Form, first: usize, is_candidate: bool) -> HashMap<&'a str, String> {
        let value = |(index, hash): (usize, &&'a str)| {
            let value = form(first + index, is_candidate);
            let value = if self.in_json { escaped(&value) } else { value };
            (*hash, value)
        };
        self.hashes.iter().enumerate().map(value).collect()
    }

    /// The two answers with values of a form.
    fn both(&self, form: Form) -> Sample {
        let mut sample = self.answers.clone();
        sample.legacy.body = filled(&sample.legacy.body, &self.values(form, 0, false));
        sample.candidate.body = filled(&sample.candidate.body, &self.values(form, 0, true));
        sample
    }

    /// The answer of the legacy beside itself, with other values in place of the hashes that only one of the two answers has.
    fn beside_itself(&self, form: Form) -> Sample {
        let mut sample = self.answers.clone();
        let own = &self.answers.legacy.body;
        let mut others = self.values(form, self.hashes.len(), true);
        for (hash, value) in self.values(form, 0, true) {
            if self.answers.candidate.body.contains(hash) && own.contains(hash) {
                others.insert(hash, value);
            }
        }
        sample.candidate = sample.legacy.clone();
        sample.legacy.body = filled(own, &self.values(form, 0, false));
        sample.candidate.body = filled(own, &others);
        sample
    }
}

/// A text as it stands in a string of JSON. Of what must be escaped, the forms only have these.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

impl Retrial {
    /// What two answers with hashes say, whatever these hide.
    pub(super) fn whatever_is_hidden(
        &mut self,
        mismatch: &Mismatch,
        sample: &Sample,
        findings: &[&RecordedFinding],
    ) -> Told {
        let unknown = Told::CannotTell(Untold::Hashed);
        let stand_ins = StandIns::of(sample);
        let bodies = [&sample.legacy.body, &sample.candidate.body];
        if stand_ins.hashes.len() > MAX_HASHES || !bodies.iter().all(|body| are_whole(body)) {
            return unknown;
        }
        let mut forms = self.fitting(&WORDS, mismatch, &stand_ins, findings);
        if forms.len() < MIN_FORMS {
            // It was not hidden for what stands before it.
            forms = self.fitting(&SECRETS, mismatch, &stand_ins, findings);
        }
        let told: Vec<Told> = forms.iter().map(|(_, told)| *told).collect();
        if told.is_empty() {
            unknown
        } else if told.iter().all(|told| *told == Told::Equal) {
            Told::Equal
        } else if told.iter().all(|told| *told == Told::Differs)
            && self.expressions_are_plain()
            && forms.iter().all(|(form, _)| {
                self.leaves_out(mismatch, &stand_ins.beside_itself(*form), findings)
            })
        {
            Told::Differs
        } else {
            unknown
        }
    }

    /// The forms that hidden values may have, with what follows for each: redaction would have hidden just them, and the former
    /// rules find the difference.
    fn fitting(
        &mut self,
        forms: &[Form],
        mismatch: &Mismatch,
        stand_ins: &StandIns<'_>,
        findings: &[&RecordedFinding],
    ) -> Vec<(Form, Told)> {
        let mut fitting = Vec::new();
        for form in forms {
            let answers = stand_ins.both(*form);
            if !self.is_recorded_as(mismatch, &answers, stand_ins.answers) {
                continue;
            }
            match self.compared_again(mismatch, &answers, findings) {
                Told::CannotTell(Untold::NotFoundAgain) => {}
                told => fitting.push((*form, told)),
            }
        }
        fitting
    }

    /// Whether redaction makes the recorded answers of these, but for the hashes.
    fn is_recorded_as(&mut self, mismatch: &Mismatch, answers: &Sample, recorded: &Sample) -> bool {
        let Some([before, _]) = self.compared(mismatch, answers) else {
            return false;
        };
        let Some((redactor, exchange)) = self.redactor.as_ref().zip(exchange(mismatch, answers))
        else {
            return false;
        };
        let context = RecordContext {
            id: Uuid::nil(),
            identity: &Identity::default(),
            instance: "",
        };
        let (_, again) = redactor.mismatch(&exchange, &before, &context, |_| true);
        again.sample.is_some_and(|again| {
            [
                (&again.legacy, &recorded.legacy),
                (&again.candidate, &recorded.candidate),
            ]
            .iter()
            .all(|(one, two)| {
                !one.body_cut && without_hashes(&one.body) == without_hashes(&two.body)
            })
        })
    }

    /// Whether nothing of the findings is left of two answers that differ only in what is hidden.
    fn leaves_out(
        &mut self,
        mismatch: &Mismatch,
        answers: &Sample,
        findings: &[&RecordedFinding],
    ) -> bool {
        let compared = self.compared(mismatch, answers);
        compared.is_some_and(|both| left(&both, findings) == Told::Equal)
    }

    /// Whether at most one rule looks for an expression, and that one has no alternatives.
    fn expressions_are_plain(&self) -> bool {
        let is_number = |line: &&String| line.bytes().all(|byte| byte.is_ascii_digit());
        let expressions: Vec<String> = self
            .after
            .texts()
            .flat_map(|rule| {
                let line = rule.line.clone().filter(|line| !is_number(&line));
                rule.pattern.clone().into_iter().chain(line)
            })
            .collect();
        expressions.len() <= 1 && !expressions.iter().any(|text| text.contains('|'))
    }
}

/// An exchange with these answers.
fn exchange(mismatch: &Mismatch, answers: &Sample) -> Option<Exchange> {
    let ([legacy, candidate], _) = captured(mismatch, answers)?;
    Some(Exchange {
        time: mismatch.time,
        route: Arc::new(Route::new(mismatch.route.as_str())),
        request: Request {
            method: Method::from_bytes(mismatch.method.as_bytes()).ok()?,
            target: "/".into(),
            headers: FieldLines::default(),
            body: Body::default(),
            origin: Origin::default(),
        },
        legacy,
        candidate,
        hold: ByteHold::default(),
    })
}
