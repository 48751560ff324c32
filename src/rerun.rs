//! Runs the request of a recorded mismatch again: sends it to both services, compares the answers by the rules in force, and sets
//! them beside the recorded ones.
//!
//! It is the replay of one request, on a thread and connections of its own, and nothing of it is counted or stored. What the
//! record hides of the request is never made up: a request that is another one without it is not sent unless somebody accepts
//! that, and of one that lacked anything which a service would have got, only what differs again is certain. The answers leave through the redaction, as every other answer does; values that the settings put into the request are
//! hidden in them besides.

mod echoed;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use parity_comparator::redact::{KeptRequest, RecordContext, Redactor, kept_request};
use parity_comparator::rerun::{Proof, differences};
use parity_comparator::{AnswerPair, Comparator, Comparison};
use parity_dashboards::server::RunAgain;
use parity_dashboards::view::Allowed;
use parity_mirror::replay::{
    Cookies, Recorded, Substitutions, ValueFrom, is_never_sent, may_change_answer,
    recorded as request_of,
};
use parity_schemas::exchange::Exchange;
use parity_schemas::id::new_id;
use parity_schemas::record::Mismatch;
use parity_schemas::rerun::{
    HiddenFate, HiddenPart, RERUN_SCHEMA, RerunAnswers, RerunDocument, RerunOutcome, RerunState,
    untold,
};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Reason, Verdict};

use crate::asking::{self, Asked, Asking};
use crate::config::MirrorSettings;
use crate::error;

/// What a request may take beyond the time that each service has: to start, to connect, to end.
const GRACE: Duration = Duration::from_secs(2);
/// Shorter values of the settings are no secrets that anybody would find again in an answer.
const MIN_SECRET: usize = 6;
/// What stands in an answer for a value of the settings.
const OF_SETTINGS: &str = "(a value of the settings)";

/// Runs requests again for the admin port, by the settings of the process.
pub(crate) struct Rerunner(Mutex<Arc<MirrorSettings>>);

impl Rerunner {
    pub(crate) fn new(settings: &MirrorSettings) -> Self {
        Self(Mutex::new(Arc::new(settings.clone())))
    }

    /// From now on by these.
    pub(crate) fn set(&self, settings: &MirrorSettings) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(settings.clone());
    }
}

impl RunAgain for Rerunner {
    fn run_again(&self, mismatch: &Mismatch, allowed: Allowed) -> Result<RerunDocument, String> {
        let settings = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tracing::info!(
            id = %mismatch.id,
            unsafe_methods = allowed.unsafe_methods,
            hidden = allowed.hidden,
            left_out = allowed.left_out,
            "a recorded request is run again"
        );
        run(&settings, mismatch, allowed).map_err(|failed| error::line(&failed))
    }
}

/// Runs the request of a mismatch again.
pub(crate) fn run(
    settings: &MirrorSettings,
    mismatch: &Mismatch,
    allowed: Allowed,
) -> Result<RerunDocument> {
    let mut told = Told::begun(mismatch);
    told.0.accepted_left_out = allowed.left_out;
    let Some(KeptRequest { line, missing }) = kept_request(mismatch) else {
        return Ok(told.undecided(untold::NOT_KEPT));
    };
    let hidden = |part: String, why, fate| HiddenPart {
        needed: may_change_answer(&part),
        part,
        why,
        fate,
    };
    let Some(line) = line else {
        let parts = missing.into_iter();
        let parts = parts.map(|(part, why)| hidden(part, why, HiddenFate::NotSent));
        told.0.hidden = parts.collect();
        return Ok(told.undecided(untold::HIDDEN));
    };
    let Ok(recorded) = request_of(line) else {
        return Ok(told.undecided(untold::NOT_SENDABLE));
    };
    let mut settings = settings.clone();
    // Who only reads may have begun before a rule expired.
    drop(settings.expire_rules(Timestamp::now()));
    // A value that this request does not need may be missing: a mirror with the file of a replay has none of its secrets.
    let mut unread = None;
    settings.substitutes.retain(|one| {
        let read = one.read().map_err(|failed| unread.get_or_insert(failed));
        read.is_ok()
    });
    let substitutions = asking::substitutions(&mut settings, Cookies::Off)?;
    let secrets = secrets(&settings, &substitutions);
    let left = substitutions.left_hidden(&recorded);
    let parts = missing.into_iter().map(|(part, why)| {
        let fate = match () {
            () if is_never_sent(&part) => HiddenFate::NoInfluence,
            () if !left.contains(&*part) => HiddenFate::Set,
            () if may_change_answer(&part) && !allowed.hidden => HiddenFate::NotSent,
            () if part.starts_with("header/") => HiddenFate::LeftOut,
            () => HiddenFate::AsHash,
        };
        hidden(part, why, fate)
    });
    told.0.hidden = parts.collect();
    let is_kept_back = |part: &HiddenPart| part.fate == HiddenFate::NotSent;
    if told.0.hidden.iter().any(is_kept_back) {
        if let Some(failed) = unread {
            return Err(failed);
        }
        return Ok(told.undecided(untold::HIDDEN));
    }
    settings.mirror.policy.unsafe_methods = allowed.unsafe_methods;
    told.0.time = Timestamp::now();
    Ok(match ask(&settings, recorded, substitutions)? {
        Asked::NotSendable => told.undecided(untold::NOT_SENDABLE),
        Asked::TooLate => {
            told.0.sent = true;
            told.undecided(untold::TIMEOUT)
        }
        Asked::Not(reason) => told.unanswered(reason),
        Asked::Exchange(exchange) => {
            told.0.sent = true;
            let (mut now, verdict) = record(&settings, &exchange)?;
            hide(&secrets, &mut now);
            told.compared(&now, verdict)
        }
    })
}

/// Sends it and waits for what becomes of it.
fn ask(
    settings: &MirrorSettings,
    recorded: Recorded,
    substitutions: Substitutions,
) -> Result<Asked> {
    let asking = Asking::start(settings.mirror.clone(), false, substitutions)?;
    let until = Instant::now() + settings.mirror.policy.limits.candidate_deadline + GRACE;
    let asked = asking.ask(recorded, until);
    asking.finish();
    asked
}

/// A document that is written step by step, and the record that it is about.
struct Told<'a>(RerunDocument, &'a Mismatch);

impl<'a> Told<'a> {
    fn begun(mismatch: &'a Mismatch) -> Self {
        let document = RerunDocument {
            schema: RERUN_SCHEMA.to_owned(),
            mismatch: mismatch.id,
            time: Timestamp::now(),
            route: mismatch.route.clone(),
            method: mismatch.method.clone(),
            target: mismatch.target(),
            outcome: RerunOutcome::Undecided,
            reason: None,
            sent: false,
            hidden: Vec::new(),
            accepted_left_out: false,
            then: answers(mismatch),
            now: None,
            differences: differences(mismatch, None, Proof::Nothing),
        };
        Self(document, mismatch)
    }

    fn undecided(mut self, reason: &str) -> RerunDocument {
        self.0.reason = Some(reason.to_owned());
        self.0
    }

    /// There are not both answers. A candidate that fails counts against it, as in the gate.
    fn unanswered(mut self, reason: Reason) -> RerunDocument {
        self.0.sent = !matches!(
            reason,
            Reason::UnsafeMethod
                | Reason::Upgrade
                | Reason::RequestTooLarge
                | Reason::InFlightCap
                | Reason::ByteBudget
        );
        if reason.is_candidate_failure() {
            self.0.outcome = RerunOutcome::Differs;
        }
        self.undecided(reason.as_str())
    }

    fn compared(mut self, now: &Mismatch, verdict: Verdict) -> RerunDocument {
        let (then, document) = (self.1, &mut self.0);
        // An answer of another kind has nothing of what differed: a login instead of the data, or an error. What answered with an
        // error then and is well now can be compared.
        let class = |status: u16| status / 100;
        let is_well = then.legacy_status >= 400 && class(now.legacy_status) == 2;
        let proves = is_well || class(then.legacy_status) == class(now.legacy_status);
        let is_whole = document.accepted_left_out || document.left_out().next().is_none();
        let proof = match (proves, is_whole) {
            (true, true) => Proof::Gone,
            (true, false) => Proof::Unseen,
            (false, _) => Proof::Nothing,
        };
        document.differences = differences(then, Some(now), proof);
        // What a rule excuses now was seen again, whatever was left out.
        let all_seen = !then.findings_cut
            && document
                .differences
                .iter()
                .all(|one| one.state == RerunState::Excused);
        document.now = Some(answers(now));
        (document.outcome, document.reason) = match verdict {
            Verdict::Mismatch => (RerunOutcome::Differs, None),
            Verdict::Match if proves && (is_whole || all_seen) => (RerunOutcome::Equal, None),
            Verdict::Match if proves => {
                (RerunOutcome::Undecided, Some(untold::LEFT_OUT.to_owned()))
            }
            Verdict::Match => (
                RerunOutcome::Undecided,
                Some(untold::LEGACY_REFUSES.to_owned()),
            ),
            Verdict::NotCompared(reason) => {
                let fails = reason.is_candidate_failure();
                let outcome = if fails {
                    RerunOutcome::Differs
                } else {
                    RerunOutcome::Undecided
                };
                (outcome, Some(reason.as_str().to_owned()))
            }
        };
        self.0
    }
}

/// What may be shown of two answers, in the form of a record; also where nothing differs.
fn record(settings: &MirrorSettings, exchange: &Exchange) -> Result<(Mismatch, Verdict)> {
    let limits = parity_comparator::Limits {
        decoded_bytes: settings.mirror.policy.limits.body,
        ..parity_comparator::Limits::default()
    };
    let mut comparator = Comparator::new(Arc::clone(&settings.rules), limits);
    let mut comparison = comparator.compare(exchange);
    if comparison.verdict == Verdict::Match {
        // What counts as equal is gathered only for whoever asks for it.
        comparison.tolerated = explained(&mut comparator, exchange).tolerated;
    }
    let rules = Arc::clone(&settings.rules);
    let redactor = Redactor::new(&settings.redact, &settings.redaction_key, rules);
    let redactor = redactor.context("the redaction settings")?;
    let context = RecordContext {
        id: new_id(),
        identity: &settings.identity,
        instance: &settings.instance,
    };
    let (_, mut record) = redactor.mismatch(exchange, &comparison, &context, |_| true);
    // What was not compared may differ.
    record.findings_cut |= matches!(comparison.verdict, Verdict::NotCompared(_));
    Ok((record, comparison.verdict))
}

fn explained(comparator: &mut Comparator, exchange: &Exchange) -> Comparison {
    comparator.explain_answers(AnswerPair {
        route: exchange.route.label(),
        method: &exchange.request.method,
        request: Some(&exchange.request.headers),
        time: exchange.time,
        legacy: &exchange.legacy,
        candidate: &exchange.candidate,
        asked_together: true,
    })
}

fn answers(record: &Mismatch) -> RerunAnswers {
    let sample = record.sample.as_ref();
    RerunAnswers {
        time: record.time,
        identity: record.identity.clone(),
        legacy_status: record.legacy_status,
        candidate_status: record.candidate_status,
        legacy_us: record.legacy_us,
        candidate_us: record.candidate_us,
        findings_cut: record.findings_cut,
        legacy: sample.map(|sample| sample.legacy.clone()),
        candidate: sample.map(|sample| sample.candidate.clone()),
    }
}

/// The values that the settings put into the request: a service may say them in its answer, under whatever name.
fn secrets(settings: &MirrorSettings, substitutions: &Substitutions) -> Vec<String> {
    let rules = substitutions.rules.iter();
    let put = rules.filter_map(|rule| match &rule.value {
        ValueFrom::Operator(text) => Some(text.clone()),
        ValueFrom::Answers { .. } => None,
    });
    let policy = &settings.mirror.policy;
    let fields = [&policy.legacy.set, &policy.candidate.set];
    let fields = fields.into_iter().flatten();
    let fields = fields.filter_map(|(_, value)| Some(value.to_str().ok()?.to_owned()));
    let mut secrets: Vec<String> = put.chain(fields).collect();
    // Of `Bearer x`, the service may say `x` alone.
    let words: Vec<String> = secrets
        .iter()
        .filter_map(|secret| Some(secret.rsplit_once(' ')?.1.to_owned()))
        .collect();
    secrets.extend(words);
    secrets.retain(|secret| secret.len() >= MIN_SECRET);
    // A part of another one comes after it.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// Hides these values in what is shown of the answers.
fn hide(secrets: &[String], record: &mut Mismatch) {
    let hide = |text: &mut String| {
        for secret in secrets {
            *text = echoed::hidden(text, secret, OF_SETTINGS);
        }
    };
    for finding in &mut record.findings {
        hide(&mut finding.path);
        hide(&mut finding.pattern);
        let values = [
            &mut finding.candidate_path,
            &mut finding.legacy,
            &mut finding.candidate,
            &mut finding.text_diff,
        ];
        values.into_iter().flatten().for_each(hide);
    }
    for message in record
        .sample
        .iter_mut()
        .flat_map(|sample| [&mut sample.legacy, &mut sample.candidate])
    {
        hide(&mut message.body);
        message
            .headers
            .iter_mut()
            .for_each(|(_, value)| hide(value));
    }
}
