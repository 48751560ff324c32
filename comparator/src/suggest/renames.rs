//! What the candidate has under another name: which name, and the rules that say so.
//!
//! A group has one name only, so the other one is read from stored answers: beside what is missing there stands what only the
//! candidate has, with the same explanation, and with the same name but for its style or with the same value. All stored answers
//! must leave one and the same name. A `rename` rule compares the two, so even a wrong name excuses no value that differs.

use std::collections::{BTreeMap, BTreeSet};

use parity_schemas::record::{Mismatch, RecordedFinding};
use parity_schemas::side::CUT_MARK;
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{Explanation, Kind, Part};
use parity_schemas::visible::visible;

use super::nature::is_rename;
use super::{Draft, Work, is_same_place};
use crate::json::plain;
use crate::notation::pointer::push_escaped;
use crate::rules::{RuleConfig, Rules};

/// The new name may stand in fewer mismatches than the old one by one in this many: a list of findings that is full ends
/// between the two.
const MISSED_ONE_IN: u64 = 20;

/// Under which name the candidate has what the legacy has at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// No stored answer says it.
    #[default]
    Unknown,
    /// All of those that say it say this.
    One(String),
    /// Not the same in all, or it may be any of several.
    Several,
}

impl Naming {
    /// Of groups that are one difference, by stored mismatches that have them.
    pub fn read(stored: &[Mismatch], fingerprints: &[String]) -> Self {
        let mut left: Option<BTreeSet<String>> = None;
        for mismatch in stored {
            let is_of = |finding: &&RecordedFinding| {
                finding.kind == Kind::Missing && fingerprints.contains(&finding.fingerprint)
            };
            for missing in mismatch.findings.iter().filter(is_of) {
                let extra = mismatch.findings.iter();
                let names: BTreeSet<String> = extra
                    .filter(|extra| is_counterpart(missing, extra))
                    .filter_map(|extra| name(extra.part, &extra.path))
                    .collect();
                // The list ended before it.
                if names.is_empty() && mismatch.findings_cut {
                    continue;
                }
                left = Some(match left {
                    Some(left) => left.intersection(&names).cloned().collect(),
                    None => names,
                });
            }
        }
        match left.map(|left| left.into_iter().collect::<Vec<_>>()) {
            None => Self::Unknown,
            Some(names) => match <[String; 1]>::try_from(names) {
                Ok([name]) => Self::One(name),
                Err(_) => Self::Several,
            },
        }
    }
}

/// Whether what only the candidate has may be what it lacks.
fn is_counterpart(missing: &RecordedFinding, extra: &RecordedFinding) -> bool {
    let same_place = extra.kind == Kind::Extra
        && extra.part == missing.part
        && extra.explanation == missing.explanation
        && holder(&extra.path) == holder(&missing.path);
    same_place
        && match missing.explanation {
            Some(Explanation::Renamed) => {
                let [one, other] =
                    [missing, extra].map(|finding| name(finding.part, &finding.path));
                one.zip(other)
                    .is_some_and(|(one, other)| plain(&one) == plain(&other))
            }
            _ => missing.legacy.is_some() && missing.legacy == extra.candidate,
        }
}

fn holder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(holder, _)| holder)
}

/// The last name of a path, if it is shown as it is.
fn name(part: Part, path: &str) -> Option<String> {
    let name = match part {
        Part::Body => path
            .rsplit_once('/')?
            .1
            .replace("~1", "/")
            .replace("~0", "~"),
        _ => path.to_owned(),
    };
    let is_shown = !name.is_empty()
        && !name.contains(['*', CUT_MARK, '\u{fffd}'])
        && visible(&name) == name.as_str();
    is_shown.then_some(name)
}

/// The pattern of another name at the same place.
fn beside(part: Part, pattern: &str, name: &str) -> String {
    if part != Part::Body {
        return name.to_owned();
    }
    let mut path = format!("{}/", holder(pattern));
    push_escaped(&mut path, name);
    path
}

/// What was found of them.
pub(super) struct Renames {
    /// Rules that hold at several places first, then one for each place, with the groups of both names.
    pub(super) drafts: Vec<(Draft, Vec<usize>)>,
    /// What gets no rule, and why.
    pub(super) refused: BTreeMap<usize, &'static str>,
}

/// A group of the old name with that of the new one.
struct Pair {
    old: usize,
    new: usize,
    from: String,
    to: String,
}

impl Work<'_> {
    /// Pairs what is missing with what has its place.
    pub(super) fn renames(&self, open: &[usize]) -> Renames {
        let mut refused = BTreeMap::new();
        let mut pairs: Vec<Pair> = Vec::new();
        let renamed = open
            .iter()
            .copied()
            .filter(|index| is_rename(&self.seen[*index].group));
        for index in renamed.clone() {
            if self.seen[index].group.kind != Kind::Missing {
                continue;
            }
            match self.pair(index, open) {
                Ok(pair) => pairs.push(pair),
                Err(why) => {
                    refused.insert(index, why);
                }
            }
        }
        let mut taken = BTreeMap::new();
        for pair in &pairs {
            *taken.entry(pair.new).or_insert(0) += 1;
        }
        pairs.retain(|pair| {
            let is_only = taken[&pair.new] == 1;
            if !is_only {
                refused.insert(pair.old, "several fields of the legacy would have its name");
            }
            is_only
        });
        let paired: BTreeSet<usize> = pairs.iter().map(|pair| pair.new).collect();
        for index in renamed {
            if self.seen[index].group.kind == Kind::Extra && !paired.contains(&index) {
                refused.insert(
                    index,
                    "no rule can say which name of the legacy it stands for",
                );
            }
        }
        Renames {
            drafts: self.renaming(&pairs),
            refused,
        }
    }

    /// Whether something is missing or new where a covered group has another name, for another reason.
    pub(super) fn is_beside_a_rename(&self, index: usize, covered: &BTreeSet<usize>) -> bool {
        let group = &self.seen[index].group;
        let mut covered_groups = covered.iter().map(|other| &self.seen[*other].group);
        matches!(group.kind, Kind::Missing | Kind::Extra)
            && !covered.contains(&index)
            && covered_groups.any(|other| is_same_place(group, other))
    }

    fn pair(&self, index: usize, open: &[usize]) -> Result<Pair, &'static str> {
        let of = &self.seen[index];
        let group = &of.group;
        let to = match &of.name {
            Naming::One(to) => to,
            Naming::Unknown => {
                return Err("no stored answer tells under which name the candidate has it");
            }
            Naming::Several => {
                return Err(
                    "the stored answers do not tell one name under which the candidate has it",
                );
            }
        };
        let pattern = beside(group.part, &group.pattern, to);
        let is_it = |other: &&usize| {
            let other = &self.seen[**other].group;
            other.kind == Kind::Extra
                && other.part == group.part
                && other.pattern == pattern
                && other.explanation == group.explanation
                && other.route == group.route
                && (other.legacy_status, other.candidate_status)
                    == (group.legacy_status, group.candidate_status)
        };
        let new = *open
            .iter()
            .find(is_it)
            .ok_or("what has its place in the candidate is no difference that a rule may excuse")?;
        let missed = group.count.abs_diff(self.seen[new].group.count);
        if missed * MISSED_ONE_IN > group.count {
            return Err("the candidate has it under this name in a part of the answers only");
        }
        let from = name(group.part, &group.pattern).filter(|_| {
            let shown = [(index, &group.pattern), (new, &pattern)];
            shown
                .into_iter()
                .all(|(index, path)| self.is_named(index, path))
        });
        Ok(Pair {
            old: index,
            new,
            from: from.ok_or("its place cannot be written as it is shown")?,
            to: to.clone(),
        })
    }

    /// Whether a rule with this path is for all of a group.
    fn is_named(&self, index: usize, path: &str) -> bool {
        let part = self.seen[index].group.part;
        let rule = RuleConfig {
            part: Some(part.to_string()),
            ..RuleConfig::new("named", path, "ignore")
        };
        let rules = Rules::compile(&[rule], Timestamp::default());
        rules.is_ok_and(|rules| rules.surely_excuse(&self.counted[index]))
    }

    /// A rule for any place where names that are alike are changed at several, then one for each place.
    fn renaming(&self, pairs: &[Pair]) -> Vec<(Draft, Vec<usize>)> {
        let mut general: BTreeMap<(&str, &str), Vec<&Pair>> = BTreeMap::new();
        let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut exact: BTreeMap<Draft, Vec<usize>> = BTreeMap::new();
        for pair in pairs {
            let group = &self.seen[pair.old].group;
            let draft = Draft {
                to: Some(pair.to.clone()),
                ..Draft::at(group)
            };
            exact.entry(draft).or_default().extend([pair.old, pair.new]);
            if group.part == Part::Body && group.explanation == Some(Explanation::Renamed) {
                names.entry(&pair.from).or_default().insert(&pair.to);
                general
                    .entry((&pair.from, &pair.to))
                    .or_default()
                    .push(pair);
            }
        }
        let mut drafts = Vec::new();
        for ((from, to), pairs) in general {
            let places: BTreeSet<&str> = pairs
                .iter()
                .map(|pair| self.seen[pair.old].group.pattern.as_str())
                .collect();
            if places.len() < 2 || names[from].len() > 1 {
                continue;
            }
            let mut path = String::from("/**/");
            push_escaped(&mut path, from);
            let draft = Draft {
                part: Part::Body,
                path,
                kind: Kind::Missing,
                explanation: Some(Explanation::Renamed),
                to: Some(to.to_owned()),
            };
            let members = pairs.iter().flat_map(|pair| [pair.old, pair.new]);
            drafts.push((draft, members.collect()));
        }
        drafts.extend(exact);
        drafts
    }
}
