//! Rules: what the operator has decided not to call a difference.
//!
//! [`Rules::compile`] turns the plain text of the configuration into [`Rules`] and reports every error at once, each
//! with the key that is wrong. A rule that has expired is an error there, and no longer applies to an exchange at or
//! after its date, whatever the clock says: the exchange carries its own time. A mirror takes the rules that hold
//! ([`Rules::holding_at`]) and others when one of them expires, so that evidence of both is never mixed. [`PROFILES`] are rules that come with the
//! program.

mod compile;
mod jsonpath;
pub(crate) mod pattern;
mod profile;
mod segment;
pub(crate) mod trie;

use std::sync::Arc;

use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::notation::number::Decimal;
pub use compile::{ACTIONS, TYPES};
use pattern::Pattern;
pub use profile::{PROFILES, Profile};
use trie::{Reach, Trie};

/// One `[[rule]]` as it stands in the configuration. Nothing is checked yet but the names of the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Under which hits are counted; unique.
    pub id: String,
    /// `METHOD /template`; every route without it.
    #[serde(default)]
    pub route: Option<String>,
    /// Which part of the answer.
    #[serde(default = "body")]
    pub part: Part,
    /// Body: JSON Pointer with `*` and `**`. Header and trailer: a name. Status: empty.
    #[serde(default)]
    pub path: String,
    /// `ignore`, `accept`, `unordered`, `key`, `tolerance`, `as` or `mask`.
    pub action: String,
    /// `accept`: the explanations of the differences that count as equal.
    #[serde(default)]
    pub explanations: Vec<String>,
    /// `accept`: only where the finding would be of this kind, such as `extra`.
    #[serde(default, rename = "kind")]
    pub finding: Option<String>,
    /// `key`: the field that tells elements apart.
    #[serde(default)]
    pub field: Option<String>,
    /// `tolerance`: largest allowed difference, a decimal.
    #[serde(default)]
    pub absolute: Option<String>,
    /// `tolerance`: largest allowed difference as a share of the larger number, a decimal.
    #[serde(default)]
    pub relative: Option<String>,
    /// `as`: `timestamp`, `uuid` or `number`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Why it is right to have it.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who answers for it.
    #[serde(default)]
    pub owner: Option<String>,
    /// A date or a time from which on it no longer applies.
    #[serde(default)]
    pub expires: Option<String>,
}

impl RuleConfig {
    /// A rule for bodies on every route, with nothing said but these.
    pub fn new(id: &str, path: &str, action: &str) -> Self {
        Self {
            id: id.to_owned(),
            route: None,
            part: body(),
            path: path.to_owned(),
            action: action.to_owned(),
            explanations: Vec::new(),
            finding: None,
            field: None,
            absolute: None,
            relative: None,
            kind: None,
            reason: None,
            owner: None,
            expires: None,
        }
    }
}

const fn body() -> Part {
    Part::Body
}

/// What is wrong with one rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// Position of the rule in what was compiled.
    pub rule: usize,
    /// The key whose value is wrong or missing.
    pub key: &'static str,
    /// What is wrong, with the value.
    pub message: String,
    /// What to do, when that is known.
    pub hint: Option<String>,
}

/// What a rule does where it applies.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Anything counts as equal, presence included.
    Ignore,
    /// What is near in one of these ways counts as equal, as far as the finding would be of this kind.
    Accept(Explanations, Option<Kind>),
    /// An array is a multiset; a header is a set of list elements.
    Unordered,
    /// The elements of an array are told apart by this field; their order does not count.
    Key(Box<str>),
    /// Numbers at most this far apart are equal.
    Absolute(Decimal),
    /// Numbers at most this share of the larger one apart are equal.
    Relative(Decimal),
    /// Two times with the same instant are equal.
    Timestamp,
    /// Two UUIDs are equal whatever their case.
    Uuid,
    /// A number and a string that holds a number are compared as numbers.
    Number,
    /// Values are recorded as keyed hashes only.
    Mask,
}

/// A set of explanations.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Explanations(u32);

impl std::fmt::Debug for Explanations {
    /// In words: this text is part of the hash of the rules, which the position of a word must not change.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words: Vec<&str> = Explanation::ALL
            .iter()
            .filter(|explanation| self.contains(**explanation))
            .map(|explanation| explanation.as_str())
            .collect();
        words.sort_unstable();
        f.debug_list().entries(words).finish()
    }
}

impl Action {
    /// Whether it accepts a finding of this kind that is explained like this.
    pub(crate) fn accepts(&self, kind: Kind, near: Explanation) -> bool {
        match self {
            Self::Accept(set, only) => set.contains(near) && only.is_none_or(|only| only == kind),
            _ => false,
        }
    }
}

impl Explanations {
    fn insert(&mut self, explanation: Explanation) {
        self.0 |= 1 << explanation as u32;
    }

    pub(crate) fn contains(self, explanation: Explanation) -> bool {
        self.0 >> explanation as u32 & 1 == 1
    }

    /// Whether any of them says that one side has nothing.
    pub(crate) fn of_absence(self) -> bool {
        use Explanation::{EmptyVsMissing, NullVsMissing, Renamed};
        [EmptyVsMissing, NullVsMissing, Renamed]
            .into_iter()
            .any(|explanation| self.contains(explanation))
    }
}

/// One compiled rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: Box<str>,
    pub(crate) route: Option<Box<str>>,
    pub(crate) part: Part,
    pub(crate) pattern: Pattern,
    pub(crate) action: Action,
    pub(crate) expires: Option<Timestamp>,
}

/// All rules, checked.
#[derive(Clone, Debug)]
pub struct Rules {
    all: Vec<Rule>,
    hash: String,
    /// Of the rules for bodies.
    trie: Trie,
}

impl Default for Rules {
    /// No rules: the defaults of what counts as equal.
    fn default() -> Self {
        Self::from_checked(Vec::new())
    }
}

impl Rules {
    /// Checks all rules; `now` decides which have expired. The errors are in the order of the rules.
    pub fn compile(rules: &[RuleConfig], now: Timestamp) -> Result<Self, Vec<RuleError>> {
        compile::compile(rules, now).map(Self::from_checked)
    }

    fn from_checked(rules: Vec<Rule>) -> Self {
        let hash = compile::hash(&rules);
        let bodies = rules
            .iter()
            .zip(0..)
            .filter(|(rule, _)| rule.part == Part::Body);
        let trie = Trie::new(bodies.map(|(rule, index)| (index, &rule.pattern)));
        Self {
            all: rules,
            hash,
            trie,
        }
    }

    /// 32 hex digits that change whenever two answers could be judged differently: by another rule, another order of
    /// the rules, or another version of what is equal by default. Names, reasons and masks are not part of it.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The ids; the position is what `rule_hits` of a comparison refer to.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|rule| &*rule.id)
    }

    /// The rules that apply at a time, as if there were no others and none of these would ever end: for whoever takes
    /// the next ones when [`Rules::next_expiry`] comes. The hash is then that of what really holds.
    #[must_use]
    pub fn holding_at(&self, now: Timestamp) -> Self {
        let holds = |rule: &&Rule| rule.expires.is_none_or(|expires| now < expires);
        let rules = self.all.iter().filter(holds).cloned();
        Self::from_checked(
            rules
                .map(|rule| Rule {
                    expires: None,
                    ..rule
                })
                .collect(),
        )
    }

    /// When the next of them expires.
    pub fn next_expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let expiries = self.all.iter().filter_map(|rule| rule.expires);
        expiries.filter(|expires| *expires > now).min()
    }

    pub(crate) fn get(&self, rule: u16) -> &Rule {
        &self.all[usize::from(rule)]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn trie(&self) -> &Trie {
        &self.trie
    }

    /// The rules that apply to a route (`None` when there is none) at a time.
    pub(crate) fn scope(&self, route: Option<&str>, time: Timestamp) -> Scope {
        let mut scope = Scope::default();
        for (index, rule) in self.all.iter().enumerate() {
            if rule.route.is_some() && rule.route.as_deref() != route {
                continue;
            }
            if let Some(expires) = rule.expires {
                if expires <= time {
                    scope.valid_from = scope.valid_from.max(expires);
                    continue;
                }
                scope.valid_until = scope.valid_until.min(expires);
            }
            let list = match (&rule.action, rule.part) {
                (Action::Mask, _) => &mut scope.masks,
                (_, Part::Status) => &mut scope.status,
                (_, Part::Header) => &mut scope.header,
                (_, Part::Trailer) => &mut scope.trailer,
                (_, Part::Body) => &mut scope.body,
            };
            list.push(index as u16);
        }
        for index in scope.body.iter().copied() {
            let action = &self.get(index).action;
            scope.deciding.insert(index, &self.trie);
            if matches!(action, Action::Ignore) && self.get(index).pattern.covers_root() {
                scope.ignores_body.get_or_insert(index);
            }
            if let Action::Accept(explanations, _) = action {
                scope.renames |= explanations.contains(Explanation::Renamed);
                scope.absences |= explanations.of_absence();
            }
        }
        for index in scope.masks.iter().copied() {
            if self.get(index).part == Part::Body {
                scope.masking.insert(index, &self.trie);
            }
        }
        scope
    }
}

/// The rules for one route and a span of time, by part, in the order of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) status: Vec<u16>,
    pub(crate) header: Vec<u16>,
    pub(crate) trailer: Vec<u16>,
    pub(crate) body: Vec<u16>,
    pub(crate) masks: Vec<u16>,
    /// The rules of `body`.
    pub(crate) deciding: Reach,
    /// Those of `masks` that are for bodies.
    pub(crate) masking: Reach,
    /// The first one that ignores the whole body.
    pub(crate) ignores_body: Option<u16>,
    /// One of them accepts a field under another name.
    pub(crate) renames: bool,
    /// One of them accepts that one side lacks a member.
    pub(crate) absences: bool,
    valid_from: Timestamp,
    valid_until: Timestamp,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            status: Vec::new(),
            header: Vec::new(),
            trailer: Vec::new(),
            body: Vec::new(),
            masks: Vec::new(),
            deciding: Reach::default(),
            masking: Reach::default(),
            ignores_body: None,
            renames: false,
            absences: false,
            valid_from: Timestamp::from_micros(i64::MIN),
            valid_until: Timestamp::from_micros(i64::MAX),
        }
    }
}

impl Scope {
    /// The first rule for the whole body that accepts how two of them are near.
    pub(crate) fn accepting(
        &self,
        rules: &Rules,
        near: impl FnOnce() -> Option<Explanation>,
    ) -> Option<u16> {
        let accepted = |index: u16| match rules.get(index) {
            rule if !rule.pattern.covers_root() => None,
            rule => match rule.action {
                Action::Accept(set, None | Some(Kind::Value)) => Some((index, set)),
                _ => None,
            },
        };
        let mut accepting = self.body.iter().copied().filter_map(accepted).peekable();
        accepting.peek()?;
        let near = near()?;
        accepting
            .find(|(_, set)| set.contains(near))
            .map(|(index, _)| index)
    }

    /// Whether no rule begins or ceases to apply between the time it was made for and `time`.
    fn holds_at(&self, time: Timestamp) -> bool {
        self.valid_from <= time && time < self.valid_until
    }
}

/// Scopes kept ready by route. Each comparing thread has its own.
#[derive(Default)]
pub(crate) struct ScopeCache {
    scopes: hashbrown::HashMap<Box<str>, Arc<Scope>, foldhash::fast::RandomState>,
}

/// Routes with a scope kept ready; more than a service has. Beyond it all are made anew, so random paths cannot fill
/// the memory.
const MAX_CACHED_ROUTES: usize = 4_096;

impl ScopeCache {
    pub(crate) fn get(&mut self, rules: &Rules, route: &str, time: Timestamp) -> Arc<Scope> {
        if let Some(scope) = self.scopes.get(route)
            && scope.holds_at(time)
        {
            return Arc::clone(scope);
        }
        let scope = Arc::new(rules.scope(Some(route), time));
        if self.scopes.len() >= MAX_CACHED_ROUTES {
            self.scopes.clear();
        }
        self.scopes.insert(route.into(), Arc::clone(&scope));
        scope
    }
}
