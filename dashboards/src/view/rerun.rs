//! A recorded request that was run again: what it differed in, beside what it differs in now.

use parity_schemas::audit::AuditOutcome;
use parity_schemas::record::RecordedMessage;
use parity_schemas::rerun::{
    HiddenFate, HiddenPart, HiddenWhy, RerunAnswers, RerunDifference, RerunDocument, RerunOutcome,
    RerunState, SeenDifference, untold,
};
use parity_schemas::verdict::{Reason, Why};
use parity_schemas::visible::visible;

use super::difference::{Difference, Place};
use super::words::{elapsed, grouped, shown};
use super::{Room, Row, Tone};

/// What somebody has said yes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Methods that may change something.
    pub unsafe_methods: bool,
    /// A request without what the record hides of it.
    pub hidden: bool,
    /// That what was sent stands for the whole request, whatever was left out of it.
    pub left_out: bool,
}

/// What the line of a rerun says: whether both services were asked, what was left out, and what came of it.
pub fn audited(document: &RerunDocument) -> (AuditOutcome, String) {
    let outcome = if document.sent {
        AuditOutcome::Done
    } else {
        AuditOutcome::Refused
    };
    let reason = document.reason.as_deref();
    let reason = reason.map(|reason| format!(" ({reason})"));
    let left_out: Vec<&str> = document.left_out().map(|part| &*part.part).collect();
    let left_out = match (document.sent, left_out.as_slice()) {
        (false, _) | (_, []) => String::new(),
        (true, parts) => {
            let accepted = if document.accepted_left_out {
                ", accepted"
            } else {
                ""
            };
            format!("; left out{accepted}: {}", parts.join(", "))
        }
    };
    let detail = format!(
        "{}: {}{}{left_out}",
        document.route,
        document.outcome,
        reason.unwrap_or_default()
    );
    (outcome, detail)
}

/// What was run again, to be shown.
#[derive(Clone, Copy)]
pub(crate) struct RerunView<'a> {
    /// The result.
    pub(crate) document: &'a RerunDocument,
}

/// What became of a difference.
pub(crate) struct Change<'a> {
    difference: &'a RerunDifference,
}

/// The two values of a difference, as they were seen once.
pub(crate) struct Seen {
    /// When: `then` or `now`, and how often if more than once.
    pub(crate) when: String,
    /// The lines that show how they differ.
    pub(crate) rows: Vec<Row>,
    /// In what way they are similar.
    pub(crate) near: Option<String>,
}

impl<'a> RerunView<'a> {
    /// Which request it is.
    pub(crate) fn request(self) -> String {
        visible(&format!(
            "{} {}",
            self.document.method, self.document.target
        ))
    }

    /// Then and now, in a line each.
    pub(crate) fn looks(self) -> Vec<String> {
        let line = |when: &str, answers: &RerunAnswers| {
            format!(
                "{when} {}: legacy {} in {}, candidate {} in {} · versions {} / {} · rules {}",
                answers.time,
                answers.legacy_status,
                elapsed(answers.legacy_us),
                answers.candidate_status,
                elapsed(answers.candidate_us),
                super::words::version(&answers.identity.legacy_version),
                super::words::version(&answers.identity.candidate_version),
                shown(&answers.identity.rules_hash)
            )
        };
        let then = line("then", &self.document.then);
        let now = match &self.document.now {
            Some(now) => line("now ", now),
            None if self.document.sent => {
                format!("now  {}: not both answers", self.document.time)
            }
            None => "now: not sent".to_owned(),
        };
        vec![then, now]
    }

    /// How good it is.
    pub(crate) fn tone(self) -> Tone {
        match self.document.outcome {
            RerunOutcome::Equal => Tone::Good,
            RerunOutcome::Differs => Tone::Bad,
            RerunOutcome::Undecided => Tone::Open,
        }
    }

    /// What came of it, in a sentence behind the outcome.
    pub(crate) fn conclusion(self) -> String {
        let mut parts: Vec<String> = self.why().into_iter().collect();
        let counts = RerunState::ALL.iter().filter_map(|state| {
            let all = self.document.differences.iter();
            let count = all.filter(|one| one.state == *state).count() as u64;
            (count > 0).then(|| format!("{} {state}", grouped(count)))
        });
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            parts.push(counts.join(", "));
        }
        parts.join("; ")
    }

    /// Why nothing can be told, or why the candidate has no answer.
    fn why(self) -> Option<String> {
        let reason = self.document.reason.as_deref()?;
        let (then, now) = (&self.document.then, &self.document.now);
        Some(match reason {
            untold::NOT_KEPT => {
                "the request is not in the record: that of the first few of each group is, for as long as bodies are kept".to_owned()
            }
            untold::HIDDEN => "not sent: the record does not have all that the request needs".to_owned(),
            untold::NOT_SENDABLE => "HTTP cannot send the request as it is recorded".to_owned(),
            untold::LEGACY_REFUSES => format!(
                "both agree, but the legacy answers {} now and answered {} then, so that says nothing of what differed",
                now.as_ref().map_or(0, |now| now.legacy_status),
                then.legacy_status
            ),
            untold::LEFT_OUT => format!("not shown again, but {}", self.left_out()),
            untold::TIMEOUT => "the answers did not come in time".to_owned(),
            word => match word.parse::<Reason>() {
                Ok(reason) => format!("{reason}, {}", reason.meaning()),
                Err(_) => visible(word),
            },
        })
    }

    /// What was left out, by name.
    fn left_out(self) -> String {
        let names: Vec<String> = self
            .document
            .left_out()
            .map(|part| shown(&part.part))
            .collect();
        let names = names.join(", ");
        match self.document.left_out().count() {
            1 => format!(
                "one part of the request was left out, on which the fault may depend: {names}"
            ),
            count => format!(
                "{} parts of the request were left out, on which the fault may depend: {names}",
                grouped(count as u64)
            ),
        }
    }

    /// Whether all that leaves it open is what was left out.
    pub(crate) fn is_open(self) -> bool {
        self.document.reason.as_deref() == Some(untold::LEFT_OUT)
    }

    /// Whether it was kept back because its method may change something.
    pub(crate) fn is_unsafe(self) -> bool {
        self.document.reason.as_deref() == Some(Reason::UnsafeMethod.as_str())
    }

    /// Whether it was kept back for what the record hides of it, and can be sent all the same.
    pub(crate) fn is_kept_back(self) -> bool {
        // Nothing stands for a method, or for a body that is not there.
        let can_go = |part: &HiddenPart| part.why == HiddenWhy::Redacted && part.part != "method";
        self.document.reason.as_deref() == Some(untold::HIDDEN)
            && self.document.hidden.iter().all(can_go)
    }

    /// What the record hides or lacks of the request, in a line each; what is seldom needed in one.
    pub(crate) fn hidden(self) -> Vec<String> {
        let all = || self.document.hidden.iter();
        let is_usual = |part: &&HiddenPart| !part.needed && part.fate == HiddenFate::LeftOut;
        let mut lines: Vec<String> = all()
            .filter(|part| !is_usual(part))
            .map(|part| {
                let is_another =
                    part.needed && matches!(part.fate, HiddenFate::LeftOut | HiddenFate::AsHash);
                let needed = if is_another {
                    ", so this was another request"
                } else {
                    ""
                };
                let (why, fate) = (part.why.meaning(), part.fate.meaning());
                format!("{}: {why}; {fate}{needed}", shown(&part.part))
            })
            .collect();
        // Almost every request has some of these.
        let usual: Vec<String> = all()
            .filter(is_usual)
            .map(|part| shown(&part.part))
            .collect();
        if !usual.is_empty() {
            lines.push(format!(
                "{}: {}; a fault may depend on it",
                usual.join(", "),
                HiddenFate::LeftOut.meaning()
            ));
        }
        lines
    }

    /// What can be done about what is hidden, if anything is missing.
    pub(crate) fn remedy(self) -> Option<&'static str> {
        let is_missing = |part: &HiddenPart| {
            let is_not_there = !matches!(part.fate, HiddenFate::Set | HiddenFate::NoInfluence);
            is_not_there && (part.needed || self.is_open())
        };
        let mut hidden = self.document.hidden.iter();
        hidden.any(is_missing).then_some(
            "A [[substitute]], set_headers, host or a file of headers (credentials_file) gives such a part a value, of both services; \
             redact.keep_query and redact.keep_headers keep it in clear from now on. The page of the group says whether one client is \
             special.",
        )
    }

    /// What became of each difference.
    pub(crate) fn changes(self) -> impl Iterator<Item = Change<'a>> {
        let differences = self.document.differences.iter();
        differences.map(|difference| Change { difference })
    }

    /// The answers of now, if there are any; each with a title.
    pub(crate) fn messages(self) -> Vec<(&'static str, &'a RecordedMessage)> {
        let now = self.document.now.as_ref();
        let now = now.and_then(|now| Some((now.legacy.as_ref()?, now.candidate.as_ref()?)));
        now.map_or_else(Vec::new, |(legacy, candidate)| {
            vec![("Legacy now", legacy), ("Candidate now", candidate)]
        })
    }
}

impl<'a> Change<'a> {
    /// What became of it.
    pub(crate) fn state(&self) -> RerunState {
        self.difference.state
    }

    /// How good that is.
    pub(crate) fn tone(&self) -> Tone {
        match self.difference.state {
            RerunState::New | RerunState::Unlisted | RerunState::Still => Tone::Bad,
            RerunState::Unknown | RerunState::Unseen => Tone::Open,
            RerunState::Excused | RerunState::Gone => Tone::Good,
        }
    }

    /// Where.
    pub(crate) fn place(&self) -> Place<'a> {
        Place {
            part: self.difference.part,
            path: &self.difference.pattern,
        }
    }

    /// How.
    pub(crate) fn how(&self) -> &'static str {
        self.difference.kind.meaning()
    }

    /// Why it counts as equal now.
    pub(crate) fn excused(&self) -> Option<String> {
        Some(match self.difference.excused_by.as_ref()? {
            Why::Default(default) => default.meaning().to_owned(),
            Why::Rule(id) => format!("by rule {}", shown(id)),
            why => shown(&why.to_string()),
        })
    }

    /// Its values then and now.
    pub(crate) fn seen(&self, room: Room) -> Vec<Seen> {
        let RerunDifference { then, now, .. } = self.difference;
        if let (Some(then), Some(now)) = (then, now)
            && is_alike(then, now)
        {
            return vec![draw("then and now", now, room)];
        }
        let times = [("then", then), ("now", now)];
        let seen = times.into_iter();
        seen.filter_map(|(when, seen)| Some(draw(when, seen.as_ref()?, room)))
            .collect()
    }
}

/// Whether the same was seen twice: one drawing shows both.
fn is_alike(then: &SeenDifference, now: &SeenDifference) -> bool {
    let values = |seen: &SeenDifference| {
        let example = &seen.example;
        (
            seen.count,
            example.path.clone(),
            example.legacy.clone(),
            example.candidate.clone(),
            example.text_diff.clone(),
        )
    };
    values(then) == values(now)
}

fn draw(when: &str, seen: &SeenDifference, room: Room) -> Seen {
    let difference = Difference::from(&seen.example);
    let when = match seen.count {
        1 => when.to_owned(),
        count => format!("{when}, one of {}", grouped(count)),
    };
    Seen {
        when,
        rows: difference
            .draw(room)
            .map(|drawing| drawing.rows)
            .unwrap_or_default(),
        near: difference.near(),
    }
}
