//! `parity check`: the requests of a file, asked once of one service, and its answers compared with those of the file.
//!
//! It is the replay of a recording with its answers, one request after the other, without a store: whoever deploys waits for it.
//! What the file hides is not known, so of such a place only its presence is checked, and it is named. An answer whose whole body is
//! hidden is no answer as expected.

mod reading;
mod shown;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use parity_comparator::Comparator;
use parity_comparator::redact::{RecordContext, Redactor};
use parity_dashboards::terminal;
use parity_mirror::replay::{Cookies, Recorded, Substituted, Substitution, is_needed};
use parity_schemas::check::{CHECK_SCHEMA, CheckDocument, CheckOutcome, CheckedRequest};
use parity_schemas::exchange::Exchange;
use parity_schemas::id::new_id;
use parity_schemas::recording::UNKNOWN_TRAILERS;
use parity_schemas::verdict::{Reason, Verdict};
use parity_schemas::visible::visible;

use self::reading::{Next, Reading};
use crate::asking::{self, Asked, Asking};
use crate::cli::{CheckArgs, OutputFormat};
use crate::config::settings::{limits, mirror, recheck};
use crate::config::{Layers, MirrorSettings};
use crate::error;

/// Requests that are shown one by one: more are not read.
const SHOWN: usize = 100;
/// Unreadable parts that are told one by one; the others are counted.
const TOLD: u64 = 20;
/// The session of requests that the file gives none.
const ONE_SESSION: &str = "check";

/// Runs it.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let begun = Instant::now();
    let until = begun + args.timeout;
    let mut settings = settings(args)?;
    // Cookies go as the file has them: what a service sets is for the sessions of clients.
    let substitutions = asking::substitutions(&mut settings, Cookies::Off)?;
    let reading = Reading::start(&args.requests, args.format.clone())?;
    let mut checking = Checking::new(args, &settings)?;
    checking.substitutes.clone_from(&substitutions.rules);
    checking.substituted = Arc::clone(&substitutions.done);
    let asking = Asking::start(settings.mirror.clone(), true, substitutions)?;
    loop {
        let left_out = match reading.next(until)? {
            Next::End => break,
            Next::TooLate => "not_read",
            Next::Part(Ok(_)) if Instant::now() >= until => "timeout",
            Next::Part(Err(_)) if Instant::now() >= until => "not_read",
            Next::Part(Ok(recorded)) => {
                checking.ask(*recorded, &asking, until)?;
                continue;
            }
            Next::Part(Err(unreadable)) => {
                checking.found.unreadable += 1;
                if checking.found.unreadable <= TOLD {
                    terminal::note(&visible(&unreadable.to_string()));
                }
                continue;
            }
        };
        // Those behind it are not read.
        checking.found.not_asked.insert(left_out.to_owned(), 1);
        break;
    }
    asking.finish();
    checking.tell_substitutes();
    let accepted = if args.accept_hidden {
        checking.unseen
    } else {
        0
    };
    let mut found = checking.found;
    found.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if found.asked == 0 {
        bail!(
            "nothing could be asked: {}",
            visible(
                &shown::left_out(&found).unwrap_or_else(|| "the file has no request".to_owned())
            )
        );
    }
    // Of what could not be asked nothing is known.
    let not_asked = ["timeout", "not_read", "hidden", "not_sendable"];
    let not_asked = not_asked
        .iter()
        .any(|why| found.not_asked.contains_key(*why));
    let has_left = found.unreadable > 0 || found.not_compared > accepted;
    found.outcome = match () {
        () if found.differing > 0 => CheckOutcome::Fail,
        () if has_left || not_asked => CheckOutcome::Undecided,
        () => CheckOutcome::Pass,
    };
    match args.output {
        OutputFormat::Text => terminal::print(&shown::text(&found))?,
        OutputFormat::Json => terminal::print_json(&found)?,
    }
    Ok(match found.outcome {
        CheckOutcome::Pass => ExitCode::SUCCESS,
        CheckOutcome::Fail => ExitCode::from(error::NO),
        CheckOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// What is compared by, and what was found.
struct Checking<'a> {
    settings: &'a MirrorSettings,
    comparator: Comparator,
    redactor: Redactor,
    found: CheckDocument,
    has_answered: bool,
    /// Requests of whose answers the file hides the whole body, and that differ in nothing else.
    unseen: u64,
    substitutes: Vec<Substitution>,
    substituted: Arc<Substituted>,
}

impl<'a> Checking<'a> {
    fn new(args: &CheckArgs, settings: &'a MirrorSettings) -> Result<Self> {
        let rules = || Arc::clone(&settings.rules);
        let redactor = Redactor::new(&settings.redact, &settings.redaction_key, rules());
        let limits = parity_comparator::Limits {
            decoded_bytes: settings.mirror.policy.limits.body,
            ..parity_comparator::Limits::default()
        };
        Ok(Self {
            settings,
            comparator: Comparator::new(rules(), limits),
            redactor: redactor.context("the redaction settings")?,
            found: CheckDocument {
                schema: CHECK_SCHEMA.to_owned(),
                target: args.target.clone(),
                outcome: CheckOutcome::Undecided,
                asked: 0,
                as_expected: 0,
                differing: 0,
                not_compared: 0,
                not_asked: BTreeMap::new(),
                unreadable: 0,
                needed: BTreeMap::new(),
                hidden: BTreeMap::new(),
                elapsed_ms: 0,
                requests: Vec::new(),
            },
            has_answered: false,
            unseen: 0,
            substitutes: Vec::new(),
            substituted: Arc::default(),
        })
    }

    /// Whether a request cannot be asked without a part that is hidden. A hidden field is not sent: without a credential it is
    /// another request, unless the settings have one; without another field it is the same. What a `[[substitute]]` puts there may
    /// not be known yet, which is seen when it is asked.
    fn needs(&self, recorded: &Recorded, part: &str) -> bool {
        let set = &self.settings.mirror.policy.candidate.set;
        let is_set = |part: &str| {
            let field = part.strip_prefix("header/");
            field.is_some_and(|field| set.iter().any(|(name, _)| name == field))
        };
        let mut substitutes = self.substitutes.iter();
        is_needed(part)
            && !is_set(part)
            && !substitutes.any(|substitute| substitute.sets(&recorded.request, part))
    }

    fn leave_out(&mut self, why: &str) {
        *self.found.not_asked.entry(why.to_owned()).or_default() += 1;
    }

    fn leave_out_hidden(&mut self, parts: &[Box<str>]) {
        self.leave_out("hidden");
        for part in parts {
            count(&mut self.found.needed, part);
        }
    }

    /// Warns of substitutions that nothing came of.
    fn tell_substitutes(&self) {
        let rules = self.settings.substitutes.iter().zip(&self.substitutes);
        for ((rule, substitute), used) in rules.zip(self.substituted.rules()) {
            if used.put > 0 || !substitute.candidate {
                continue;
            }
            let why = match used.requests {
                0 => {
                    "no request that was asked has this part; `to` names requests that get it in any case"
                }
                _ if used.refused > 0 => "the value cannot be put there",
                _ => "no answer before had the value",
            };
            terminal::note(&visible(&format!(
                "warning: {} never applied: {why}",
                rule.name
            )));
        }
    }

    /// Asks one request and compares. An error if nobody answers before anything was answered.
    fn ask(&mut self, mut recorded: Recorded, asking: &Asking, until: Instant) -> Result<()> {
        let Some(expected) = recorded.answer.as_ref().map(|answer| answer.status) else {
            self.leave_out("no_answer");
            return Ok(());
        };
        let hidden = recorded.hidden.iter();
        let needed: Vec<Box<str>> = hidden.filter(|part| is_needed(part)).cloned().collect();
        let lacking = needed.iter().filter(|part| self.needs(&recorded, part));
        let lacking: Vec<Box<str>> = lacking.cloned().collect();
        if !lacking.is_empty() {
            self.leave_out_hidden(&lacking);
            return Ok(());
        }
        // What one answer gives out is for all that is asked after it.
        recorded.session.get_or_insert_with(|| ONE_SESSION.into());
        let place = recorded.place.to_string();
        let request = &recorded.request;
        let (method, url) = self.redactor.asked(request);
        let checked = CheckedRequest {
            place,
            method,
            url,
            outcome: String::new(),
            reason: None,
            expected_status: expected,
            status: None,
            findings: Vec::new(),
            findings_cut: false,
        };
        let before = self.substituted.hidden().incomplete;
        let asked = asking.ask(recorded, until)?;
        // Whatever came of it, it was another request.
        let is_incomplete = self.substituted.hidden().incomplete > before;
        match asked {
            Asked::Exchange(_) if is_incomplete => {
                self.has_answered = true;
                self.leave_out_hidden(&needed);
            }
            Asked::Not(reason) if is_incomplete && reason != Reason::UnsafeMethod => {
                self.leave_out_hidden(&needed);
            }
            Asked::Exchange(exchange) => {
                self.has_answered = true;
                self.found.asked += 1;
                self.compare(&exchange, checked);
            }
            Asked::Not(Reason::UnsafeMethod) => self.leave_out("unsafe_method"),
            Asked::NotSendable => self.leave_out("not_sendable"),
            Asked::TooLate => self.leave_out("timeout"),
            Asked::Not(reason) => {
                if reason.is_candidate_failure() && !self.has_answered && self.found.asked == 0 {
                    bail!(
                        "{} does not answer ({}); is it up, and is that its address?",
                        self.settings.mirror.policy.candidate.url,
                        reason.as_str()
                    );
                }
                self.found.asked += 1;
                self.unanswered(reason, checked);
            }
        }
        Ok(())
    }

    fn unanswered(&mut self, reason: Reason, checked: CheckedRequest) {
        let outcome = if reason.is_candidate_failure() {
            self.found.differing += 1;
            "no_answer"
        } else {
            self.found.not_compared += 1;
            "not_compared"
        };
        self.list(CheckedRequest {
            outcome: outcome.to_owned(),
            reason: Some(reason.as_str().to_owned()),
            ..checked
        });
    }

    fn compare(&mut self, exchange: &Exchange, checked: CheckedRequest) {
        let comparison = self.comparator.compare(exchange);
        for part in comparison.hidden.iter().flat_map(|hidden| hidden.iter()) {
            if part == UNKNOWN_TRAILERS && exchange.candidate.trailers.is_none() {
                // Nothing that came was left out.
                continue;
            }
            count(&mut self.found.hidden, part);
        }
        let checked = CheckedRequest {
            status: Some(exchange.candidate.status),
            ..checked
        };
        match comparison.verdict {
            Verdict::Match => self.found.as_expected += 1,
            Verdict::NotCompared(reason) => {
                self.unseen += u64::from(reason == Reason::LegacyHidden);
                self.unanswered(reason, checked);
            }
            Verdict::Mismatch => {
                self.found.differing += 1;
                let context = RecordContext {
                    id: new_id(),
                    identity: &self.settings.identity,
                    instance: &self.settings.instance,
                };
                let (_, record) = self
                    .redactor
                    .mismatch(exchange, &comparison, &context, |_| false);
                self.list(CheckedRequest {
                    outcome: "differs".to_owned(),
                    findings: record.findings,
                    findings_cut: record.findings_cut,
                    ..checked
                });
            }
        }
    }

    fn list(&mut self, checked: CheckedRequest) {
        if self.found.requests.len() < SHOWN {
            self.found.requests.push(checked);
        }
    }
}

/// Counts a part by its name, unless there are too many names.
fn count(parts: &mut BTreeMap<String, u64>, part: &str) {
    if parts.len() < SHOWN || parts.contains_key(part) {
        *parts.entry(part.to_owned()).or_default() += 1;
    }
}

/// The settings of a replay with recorded answers, whose candidate is the service.
fn settings(args: &CheckArgs) -> Result<MirrorSettings> {
    let mut flags = args.flags.settings();
    let deadline = format!("{}ms", args.deadline.as_millis().max(1));
    flags.extend([
        mirror::CANDIDATE.is(&args.target),
        mirror::LEGACY.is("http://recorded.invalid"),
        mirror::ADMIN.is("127.0.0.1:0"),
        mirror::SHADOW.is("on"),
        mirror::SAMPLE.is("1"),
        recheck::RATE.is("0"),
        limits::CANDIDATE_DEADLINE.is(&deadline),
    ]);
    let mut settings = Layers::load_here(args.file.config.as_deref(), &flags).mirror()?;
    settings.mirror.policy.unsafe_methods = args.allow_unsafe;
    Ok(settings)
}
