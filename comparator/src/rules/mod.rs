//! Rules: what the user has decided not to call a difference.
//!
//! [`config`] reads rules as they are written. [`Rules::compile`] checks what they say and makes [`Rules`] of them, or
//! reports every error at once, each with its key. A rule that has expired is an error there. In a comparison a rule no
//! longer applies to an exchange at or after its date, whatever the clock says: the exchange carries its own time. A
//! mirror takes the rules that apply now ([`Rules::holding_at`]), and takes others when one of them expires, so that
//! evidence of both is never mixed. [`PROFILES`] are rules that come with the program.

mod action;
mod broad;
mod compile;
pub mod config;
mod edit;
mod hash;
mod jsonpath;
pub(crate) mod parts;
pub(crate) mod pattern;
mod place;
mod profile;
mod reach;
mod renames;
mod scope;
mod segment;
mod text;
pub(crate) mod trie;

use std::sync::Arc;

use std::borrow::Cow;

use parity_schemas::route::means;
use parity_schemas::terms::RuleText;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::Part;

pub use action::factor_of;
pub(crate) use action::{Action, InText, Rename, is_rough};
pub use compile::{NoDate, first_moment};
pub use config::RuleConfig;
pub use edit::{Excusing, REDECIDE, excusing, excusing_each};
use pattern::Pattern;
pub(crate) use place::{Place, Selector, Span};
pub use profile::{PROFILES, Profile};
pub(crate) use renames::{Renames, RenamesAt};
pub(crate) use scope::{Scope, ScopeCache};
pub use text::{Rehashed, rehash};
use trie::Trie;

/// What is wrong with one rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// Position of the rule in what was read or compiled.
    pub rule: usize,
    /// The key that is unknown or missing, or whose value is wrong.
    pub key: Cow<'static, str>,
    /// What is wrong, with the value.
    pub message: String,
    /// What to do, when that is known.
    pub hint: Option<String>,
}

/// Why one text is refused, and what to write instead, when that is known.
type Refused = (String, Option<String>);

/// One compiled rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) id: Box<str>,
    pub(crate) route: Option<Box<str>>,
    pub(crate) part: Part,
    pub(crate) pattern: Pattern,
    pub(crate) action: Action,
    pub(crate) expires: Option<Timestamp>,
    /// As it was written, for people.
    pub(crate) text: RuleText,
}

impl Rule {
    /// Whether it is for parts of a whole body that is a text.
    pub(crate) fn is_in_text(&self) -> bool {
        match &self.action {
            Action::InText(_) => true,
            Action::Parts(_) => self.part == Part::Body && self.pattern.covers_root(),
            _ => false,
        }
    }

    /// Where the walk through a body meets it.
    fn met_at(&self) -> &Pattern {
        match &self.action {
            Action::Rename(rename) => &rename.holder,
            _ => &self.pattern,
        }
    }
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
        let hash = hash::hash(&rules, hash::COMPARATOR_VERSION);
        let bodies = rules
            .iter()
            .zip(0..)
            .filter(|(rule, _)| rule.part == Part::Body);
        let trie = Trie::new(bodies.map(|(rule, index)| (index, rule.met_at())));
        Self {
            all: rules,
            hash,
            trie,
        }
    }

    /// With a `mask` rule for each of these JSON Pointers, behind all others, so that each keeps its number. The error has the
    /// pointer and what is wrong with it.
    pub(crate) fn also_hiding(
        self: Arc<Self>,
        pointers: &[String],
    ) -> Result<Arc<Self>, (String, String)> {
        if pointers.is_empty() {
            return Ok(self);
        }
        let mut all = self.all.clone();
        for pointer in pointers {
            let mask = RuleConfig::new("hidden-place", pointer, "mask");
            let compiled = compile::compile(&[mask], Timestamp::default());
            all.extend(compiled.map_err(|errors| {
                let why = errors.into_iter().next().map(|error| error.message);
                (pointer.clone(), why.unwrap_or_default())
            })?);
        }
        Ok(Arc::new(Self::from_checked(all)))
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

    /// The ids of those that apply to one route only: never to two files, which have none.
    pub fn ids_of_one_route(&self) -> impl Iterator<Item = &str> {
        let of_one = self.all.iter().filter(|rule| rule.route.is_some());
        of_one.map(|rule| &*rule.id)
    }

    /// The routes that rules are for.
    pub fn routes(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter_map(|rule| rule.route.as_deref())
    }

    /// The rules that apply at a time, as if there were no others and none of them ever expired: for a mirror, which
    /// takes the next ones at [`Rules::next_expiry`]. The hash is then that of the rules that really apply.
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

    /// The rules that apply on a route, as if they were for all: for files, which have no route.
    #[must_use]
    pub fn on_route(&self, route: &str) -> Self {
        let applies = |rule: &&Rule| rule.route.as_deref().is_none_or(|only| means(only, route));
        let rules = self.all.iter().filter(applies).cloned();
        Self::from_checked(
            rules
                .map(|rule| Rule {
                    route: None,
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

    /// Whether a rule masks this header on any route. Also one that has expired: what it hid may be stored beside what comes.
    pub(crate) fn masks_header(&self, header: &str) -> bool {
        self.all.iter().any(|rule| {
            rule.part == Part::Header
                && matches!(rule.action, Action::Mask)
                && rule.pattern.covers_header(header)
        })
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
}
