//! Cookies and tokens of a recording, which no service takes any more: in their place stands what each service gave out itself
//! within the session, or what the operator sets.
//!
//! Both services get the same request otherwise. What was taken of the legacy's answers goes to the legacy, and what was taken of
//! the candidate's to the candidate. The values are kept for their session, bounded, and leave this module only in requests:
//! nothing here is shown, logged or recorded but names and counts.

mod cookies;
mod draft;
mod json;
mod left;
mod pairs;
mod part;
mod sessions;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderName, Method};
use parity_schemas::exchange::{Capture, OwnParts, PerService, Request};
use parity_schemas::route::RouteRule;

pub use self::cookies::{Cookies, CookiesError};
use self::draft::Draft;
pub use self::part::{Part, PartError};
use self::sessions::Sessions;
use super::recorded::Recorded;
use crate::exchange::{Heard, Side};
use crate::headers::is_made_anew;

/// Names of hidden parts that are told apart; the others are counted together.
const HIDDEN_NAMES: usize = 16;

/// One value that stands in the place of a recorded one.
#[derive(Clone)]
pub struct Substitution {
    /// Where it is put.
    pub put: Part,
    /// Where it comes from.
    pub value: ValueFrom,
    /// What stands before and behind it.
    pub around: (String, String),
    /// The requests that it is put into, also where the recording has no such part; empty for all that have it.
    pub to: Vec<RouteRule>,
    /// Whether the legacy gets it.
    pub legacy: bool,
    /// Whether the candidate gets it.
    pub candidate: bool,
}

/// Where a value comes from.
#[derive(Clone)]
pub enum ValueFrom {
    /// From answers: each service gets what it gave out itself.
    Answers {
        /// The requests whose answers have it.
        from: Vec<RouteRule>,
        /// Where it stands in them.
        take: Part,
    },
    /// From the operator, for as long as the replay lasts.
    Operator(String),
}

/// A value, and how JSON wrote it if it was not a text.
#[derive(Clone)]
pub(super) struct Value {
    text: String,
    is_json: bool,
}

impl Value {
    fn of_operator(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_json: false,
        }
    }
}

/// Undoes the content encoding of a body that was captured; `None` if that cannot be done.
pub type Decode = for<'a> fn(&'a Capture, &'a [u8]) -> Option<Cow<'a, [u8]>>;

/// Everything that is put into the requests of a replay.
pub struct Substitutions {
    /// By rule, in their order.
    pub rules: Vec<Substitution>,
    /// What becomes of cookies.
    pub cookies: Cookies,
    /// Header fields of which the settings say in each request what the service gets, if anything: for the legacy and for the
    /// candidate.
    pub set: [Vec<HeaderName>; 2],
    /// For values in bodies.
    pub decode: Decode,
    /// What was done.
    pub done: Arc<Substituted>,
}

impl Substitutions {
    /// None: requests go as they were recorded, but for header fields that the recording hides.
    pub fn none() -> Self {
        Self {
            rules: Vec::new(),
            cookies: Cookies::Off,
            set: <[Vec<HeaderName>; 2]>::default(),
            decode: |_, _| None,
            done: Arc::default(),
        }
    }
}

/// What was put into requests, counted.
#[derive(Default)]
pub struct Substituted {
    rules: Vec<RuleUse>,
    cookies: AtomicU64,
    forgotten: AtomicU64,
    hidden: Mutex<Hidden>,
}

#[derive(Default)]
struct RuleUse {
    requests: AtomicU64,
    answers: AtomicU64,
    taken: AtomicU64,
    put: AtomicU64,
    waiting: AtomicU64,
    refused: AtomicU64,
}

/// What became of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleUsed {
    /// Answers that it looked into.
    pub answers: u64,
    /// Of those, the ones that had a value.
    pub taken: u64,
    /// Requests that it is for.
    pub requests: u64,
    /// Requests to one service into which it put a value.
    pub put: u64,
    /// Those that were sent as recorded, because the service had given out no value yet.
    pub waiting: u64,
    /// Those into which the value could not be put.
    pub refused: u64,
}

/// Parts that the recording hides and that nothing has set.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Requests that had any.
    pub requests: u64,
    /// Of those, the ones that are other requests without it.
    pub incomplete: u64,
    /// Requests by the name of the part.
    pub parts: BTreeMap<Box<str>, u64>,
    /// Parts whose names are not among them.
    pub others: u64,
}

impl Substituted {
    /// For so many rules.
    pub fn of(rules: usize) -> Arc<Self> {
        Arc::new(Self {
            rules: std::iter::repeat_with(RuleUse::default)
                .take(rules)
                .collect(),
            ..Self::default()
        })
    }

    /// What became of each rule, in their order.
    pub fn rules(&self) -> Vec<RuleUsed> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let used = |rule: &RuleUse| RuleUsed {
            answers: count(&rule.answers),
            taken: count(&rule.taken),
            requests: count(&rule.requests),
            put: count(&rule.put),
            waiting: count(&rule.waiting),
            refused: count(&rule.refused),
        };
        self.rules.iter().map(used).collect()
    }

    /// Requests that went to a service with cookies that it had set.
    pub fn cookies(&self) -> u64 {
        self.cookies.load(Ordering::Relaxed)
    }

    /// Sessions whose values were forgotten, because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Requests that were sent without what the recording hides.
    pub fn hidden(&self) -> Hidden {
        let hidden = self.hidden.lock();
        hidden.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The substitutions of a running replay, with what was taken so far.
pub(crate) struct Substituting {
    rules: Vec<Substitution>,
    cookies: Cookies,
    set: [Vec<HeaderName>; 2],
    decode: Decode,
    done: Arc<Substituted>,
    sides: &'static [Side],
    sessions: RefCell<Sessions>,
}

impl Substituting {
    /// With recorded answers, there is only a candidate.
    pub(crate) fn new(all: Substitutions, recorded_answers: bool) -> Rc<Self> {
        let Substitutions {
            rules,
            cookies,
            set,
            decode,
            done,
        } = all;
        let sides: &[Side] = if recorded_answers {
            &[Side::Candidate]
        } else {
            &Side::ALL
        };
        Rc::new(Self {
            rules,
            cookies,
            set,
            decode,
            done,
            sides,
            sessions: RefCell::default(),
        })
    }

    /// What each service gets of a request in its own form; `None` if both get it as it was recorded.
    pub(crate) fn own(&self, recorded: &Recorded) -> Option<Arc<PerService>> {
        let request = &recorded.request;
        let session = recorded.session.as_deref();
        let sessions = self.sessions.borrow();
        let mut own = PerService::default();
        let mut left = BTreeSet::new();
        let mut applies: Vec<bool> = Vec::with_capacity(self.rules.len());
        for (rule, used) in self.rules.iter().zip(&self.done.rules) {
            let wanted = rule.wants(request);
            if wanted {
                add(&used.requests);
            }
            applies.push(wanted);
        }
        for side in self.sides {
            let mut shown = shown_by_settings(&self.set, *side);
            let mut draft = Draft::of(request);
            let known = session.and_then(|session| sessions.of(session, *side));
            if let Some(known) = known
                && self.cookies != Cookies::Off
                && let Some(line) = known
                    .jar
                    .line(&request.headers, request.path(), self.cookies)
                && draft.set_header(&http::header::COOKIE, &line).is_some()
            {
                add(&self.done.cookies);
                shown.extend(cookies::shown(&line));
            }
            for (index, rule) in self.rules.iter().enumerate() {
                if !applies.get(index).copied().unwrap_or_default() || !rule.is_for(*side) {
                    continue;
                }
                let Some(used) = self.done.rules.get(index) else {
                    continue;
                };
                let value = match &rule.value {
                    ValueFrom::Operator(text) => Some(Value::of_operator(text)),
                    ValueFrom::Answers { .. } => known.and_then(|known| known.value(index)),
                };
                let Some(value) = value else {
                    add(&used.waiting);
                    continue;
                };
                if draft.put(&rule.put, &rule.written(value), !rule.to.is_empty()) {
                    add(&used.put);
                    shown.push(rule.put.hidden_name());
                } else {
                    add(&used.refused);
                }
            }
            let names = recorded.hidden.iter().map(|name| &**name);
            left.extend(names.filter(|name| !covers(&shown, name)));
            draft.drop_hidden(&recorded.hidden);
            *of_side(&mut own, *side) = draft.own();
        }
        self.count_hidden(&left);
        let changes = !(own.legacy.is_empty() && own.candidate.is_empty());
        changes.then(|| Arc::new(own))
    }

    /// Who learns what the services answer to a request; nobody if nothing could be taken of it.
    pub(crate) fn heard(self: &Rc<Self>, recorded: &Recorded) -> Option<Heard> {
        let session = recorded.session.clone()?;
        let (method, path) = (&recorded.request.method, recorded.request.path());
        let rules: Vec<usize> = self.rules_from(method, path).collect();
        if self.cookies == Cookies::Off && rules.is_empty() {
            return None;
        }
        let (this, path) = (Rc::clone(self), Box::<str>::from(path));
        Some(Box::new(move |side, capture| {
            if this.sides.contains(&side) {
                this.hear(&session, &path, &rules, side, capture);
            }
        }))
    }

    fn hear(&self, session: &str, path: &str, rules: &[usize], side: Side, answer: &Capture) {
        let mut sessions = self.sessions.borrow_mut();
        if self.cookies != Cookies::Off && answer.headers.contains(&http::header::SET_COOKIE) {
            sessions.change(session, side, |known| known.jar.take(&answer.headers, path));
        }
        for index in rules {
            let (Some(rule), Some(used)) = (self.rules.get(*index), self.done.rules.get(*index))
            else {
                continue;
            };
            let ValueFrom::Answers { take, .. } = &rule.value else {
                continue;
            };
            if !rule.is_for(side) {
                continue;
            }
            add(&used.answers);
            if let Some(value) = take.found(answer, self.decode) {
                add(&used.taken);
                sessions.change(session, side, |known| known.set(*index, value));
            }
        }
        let forgotten = sessions.forget_oldest();
        self.done.forgotten.fetch_add(forgotten, Ordering::Relaxed);
    }

    fn rules_from<'a>(&'a self, method: &'a Method, path: &'a str) -> impl Iterator<Item = usize> {
        let rules = self.rules.iter().enumerate();
        let of_it = move |rule: &&Substitution| match &rule.value {
            ValueFrom::Answers { from, .. } => from.iter().any(|from| from.matches(method, path)),
            ValueFrom::Operator(_) => false,
        };
        rules
            .filter(move |(_, rule)| of_it(rule))
            .map(|(index, _)| index)
    }

    /// Counts what a service gets without what the recording hides.
    fn count_hidden(&self, left: &BTreeSet<&str>) {
        if left.is_empty() {
            return;
        }
        let mut hidden = self
            .done
            .hidden
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        hidden.requests += 1;
        if left.iter().any(|name| is_needed(name)) {
            hidden.incomplete += 1;
        }
        for name in left {
            if let Some(count) = hidden.parts.get_mut(*name) {
                *count += 1;
            } else if hidden.parts.len() < HIDDEN_NAMES {
                hidden.parts.insert((*name).into(), 1);
            } else {
                hidden.others += 1;
            }
        }
    }
}

/// The names of the parts that the settings decide in each request to a service.
fn shown_by_settings([legacy, candidate]: &[Vec<HeaderName>; 2], side: Side) -> Vec<String> {
    let set = match side {
        Side::Legacy => legacy,
        Side::Candidate => candidate,
    };
    set.iter().map(|name| format!("header/{name}")).collect()
}

/// Whether one of these parts is the hidden one, or has it.
fn covers(shown: &[String], name: &str) -> bool {
    shown.iter().any(|shown| {
        let beginning = name.get(..shown.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(shown))
            && matches!(name.as_bytes().get(shown.len()), None | Some(b'/'))
    })
}

/// Header fields that say who asks.
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
];

/// Whether a request is another one without what a recording hides of it. Without most header fields it is the same.
pub fn is_needed(part: &str) -> bool {
    let Some(field) = part.strip_prefix("header/") else {
        return true;
    };
    let field = field.split('/').next().unwrap_or_default();
    CREDENTIALS
        .iter()
        .any(|name| field.eq_ignore_ascii_case(name))
}

/// Further fields by which a service may answer otherwise; so it may by every one that begins with `if-`.
const CONDITIONS: [&str; 3] = ["range", "content-type", "expect"];

/// Whether a request without what a recording hides of it may get another answer, so that the answer proves nothing of the recorded
/// one.
pub fn may_change_answer(part: &str) -> bool {
    let field = part.strip_prefix("header/").unwrap_or_default();
    let field = field.split('/').next().unwrap_or_default();
    let field = field.to_ascii_lowercase();
    is_needed(part) || field.starts_with("if-") || CONDITIONS.contains(&&*field)
}

/// Whether no service gets this part from a client, so that no answer depends on it.
pub fn is_never_sent(part: &str) -> bool {
    part.strip_prefix("header/").is_some_and(is_made_anew)
}

fn of_side(own: &mut PerService, side: Side) -> &mut OwnParts {
    match side {
        Side::Legacy => &mut own.legacy,
        Side::Candidate => &mut own.candidate,
    }
}

impl Substitution {
    /// Whether it puts something into the place of what a recording hides in a request to the candidate.
    pub fn sets(&self, request: &Request, part: &str) -> bool {
        self.is_for(Side::Candidate)
            && self.wants(request)
            && covers(&[self.put.hidden_name()], part)
    }

    fn is_for(&self, side: Side) -> bool {
        match side {
            Side::Legacy => self.legacy,
            Side::Candidate => self.candidate,
        }
    }

    /// Whether a request gets it.
    fn wants(&self, request: &Request) -> bool {
        if self.to.is_empty() {
            return Draft::of(request).has(&self.put);
        }
        let path = request.path();
        self.to.iter().any(|to| to.matches(&request.method, path))
    }

    /// The value with what stands around it.
    fn written(&self, value: Value) -> Value {
        let (before, behind) = &self.around;
        if before.is_empty() && behind.is_empty() {
            return value;
        }
        Value {
            text: format!("{before}{}{behind}", value.text),
            is_json: false,
        }
    }
}

#[cfg(test)]
mod tests;
