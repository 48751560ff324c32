//! Why a group that was counted does not count any more: a rule that came since excuses it, or an entry of the register does.
//!
//! Somebody opens a link from an incident's chat and must see that it was decided, by what, and since when. What the rules say is
//! read from their recorded texts; without them only that they changed is told. No count rests on any of it.

use parity_comparator::rules::excusing;
use parity_schemas::audit::{AuditAction, AuditOutcome};
use parity_schemas::edited::Edited;
use parity_schemas::evidence::GroupEvidence;
use parity_schemas::known::KnownEntry;
use parity_schemas::lists::UncountedGroup;
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::terms::{RuleText, RulesText};
use parity_schemas::time::Timestamp;
use parity_sink::read::{AuditFilter, TermsFilter};
use parity_sink::{Reader, StoreError};

use super::words::shown;

/// Changes of the register that are looked through for the one that brought an entry: years of them.
const MAX_CHANGES: usize = 200;

/// Why a group does not count, and since when, as far as the record has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Uncounted {
    since: Option<Timestamp>,
    by: By,
}

#[derive(Clone, Debug, PartialEq)]
enum By {
    /// Each of these rules excuses all of it.
    Rules(Vec<String>),
    /// These rules came, and may excuse it.
    Perhaps(Vec<String>),
    /// The rules were edited so, and its count began anew.
    Edit(Edited),
    /// An entry of the register excuses it, which was last changed then, if it was.
    Known(Box<KnownEntry>, Option<Timestamp>),
}

/// The rules of one time.
struct Era {
    begin: Timestamp,
    text: RulesText,
}

/// The text of the rules with this hash that were last in force, and when they first were; `None` if they are not in the record.
fn era(reader: &Reader, report: &Report, rules_hash: &str) -> Result<Option<Era>, StoreError> {
    let versions = (&report.legacy_version, &report.candidate_version);
    let found = reader.terms(&TermsFilter {
        migration: report.migration.clone(),
        rules_hash: rules_hash.to_owned(),
        versions: Some((versions.0.clone(), versions.1.clone())),
        ids: Vec::new(),
    })?;
    let begin = found.terms.iter().map(|terms| terms.time).min();
    let text = found.terms.into_iter().next().map(|terms| terms.rules);
    Ok(begin.zip(text).map(|(begin, text)| Era { begin, text }))
}

/// When a mirror first counted under the rules with this hash; `None` if that is not in the record.
pub(super) fn first_in_force(
    reader: &Reader,
    migration: &str,
    rules_hash: &str,
) -> Result<Option<Timestamp>, StoreError> {
    let found = reader.terms(&TermsFilter {
        migration: migration.to_owned(),
        rules_hash: rules_hash.to_owned(),
        ..TermsFilter::default()
    })?;
    Ok(found.terms.iter().map(|terms| terms.time).min())
}

/// What came and went between the rules of two hashes, by name; empty where the record does not have both.
pub(super) fn edited(
    reader: &Reader,
    migration: &str,
    [from, to]: [&str; 2],
) -> Result<Edited, StoreError> {
    let before = reader.rule_text(migration, from)?;
    let after = reader.rule_text(migration, to)?;
    Ok(match (&before, &after) {
        (Some(before), Some(after)) if !before.cut && !after.cut => {
            Edited::between(named(before), named(after))
        }
        _ => Edited::default(),
    })
}

fn named(text: &RulesText) -> impl Iterator<Item = (&str, &RuleText)> {
    let rules = text.rules.iter();
    rules.map(|rule| (rule.id.as_str(), rule))
}

impl Uncounted {
    /// Of a group that a report of earlier rules has, and what is counted now has not. `None` if both are of the same rules, or of
    /// other ones that do not excuse it while it `is_counted` under those that were last in force with its version.
    pub(crate) fn by_rules(
        reader: &Reader,
        (now, was): (&Report, &Report),
        group: &GroupReport,
        is_counted: bool,
    ) -> Result<Option<Self>, StoreError> {
        if now.rules_hash == was.rules_hash {
            return Ok(None);
        }
        let Some(evidence) = evidence(was, group) else {
            return Ok(None);
        };
        let Some(present) = era(reader, now, &now.rules_hash)? else {
            return Ok((!is_counted).then(|| Self {
                since: None,
                by: By::Edit(Edited::default()),
            }));
        };
        let found = excusing(&present.text, &evidence).unwrap_or_default();
        // Other rules may have come after the one that excuses it.
        let mut eras = vec![present];
        for hash in between(now, was) {
            eras.extend(era(reader, now, hash)?);
        }
        eras.sort_by_key(|era| era.begin);
        let first = |rules: &[String]| {
            let has = |era: &&Era| era.text.rules.iter().any(|rule| rules.contains(&rule.id));
            let begin = eras.iter().find(has).map(|era| era.begin);
            begin.filter(|begin| *begin >= group.first_seen)
        };
        if !found.surely.is_empty() {
            return Ok(Some(Self {
                since: first(&found.surely),
                by: By::Rules(found.surely),
            }));
        }
        if is_counted {
            return Ok(None);
        }
        let edit = edited(reader, &now.migration, [&was.rules_hash, &now.rules_hash])?;
        let mut perhaps = found.perhaps;
        perhaps.retain(|rule| edit.added.contains(rule) || edit.changed.contains(rule));
        Ok(Some(if perhaps.is_empty() {
            let begin = eras.first().map(|era| era.begin);
            Self {
                since: begin.filter(|begin| *begin >= group.first_seen),
                by: By::Edit(edit),
            }
        } else {
            Self {
                since: first(&perhaps),
                by: By::Perhaps(perhaps),
            }
        }))
    }

    /// Of a group that an entry of the register excuses; `None` if none does.
    pub(crate) fn by_register(
        reader: &Reader,
        report: &Report,
        group: &GroupReport,
    ) -> Result<Option<Self>, StoreError> {
        let excuses = |known: &&parity_schemas::known::KnownUse| {
            let mut groups = known.groups.iter().filter(|one| known.excuses(one));
            groups.any(|one| one.route == group.route && one.group.fingerprint == group.fingerprint)
        };
        let Some(found) = report.known.iter().find(excuses) else {
            return Ok(None);
        };
        let changes = reader.changes(
            &AuditFilter {
                migration: Some(report.migration.clone()),
                action: Some(AuditAction::KnownChanged),
                ..AuditFilter::default()
            },
            MAX_CHANGES,
        )?;
        let mut changed = None;
        let mut since = None;
        // The newest first: what was changed before it came was another entry of this name.
        for change in &changes {
            let edited = Edited::read(&change.detail);
            if change.outcome != AuditOutcome::Done {
                continue;
            }
            if edited.added.contains(&found.entry.id) {
                since = Some(change.time);
                break;
            }
            if edited.changed.contains(&found.entry.id) {
                changed = changed.or(Some(change.time));
            }
        }
        Ok(Some(Self {
            since,
            by: By::Known(Box::new(found.entry.clone()), changed),
        }))
    }

    /// Whether its counts are of earlier rules, and it is in no list any more.
    pub(crate) const fn is_of_earlier_rules(&self) -> bool {
        !matches!(self.by, By::Known(..))
    }

    /// As the API has it; `moment` writes a time.
    pub(crate) fn document(&self, moment: impl Fn(Timestamp) -> String) -> UncountedGroup {
        let mut document = UncountedGroup {
            told: self.told(moment),
            since: self.since,
            ..UncountedGroup::default()
        };
        match &self.by {
            By::Rules(rules) => document.rules.clone_from(rules),
            By::Perhaps(rules) => document.perhaps.clone_from(rules),
            By::Edit(_) => {}
            By::Known(entry, _) => document.known = Some(entry.id.clone()),
        }
        document
    }

    /// In a sentence, visible; `moment` writes a time.
    pub(crate) fn told(&self, moment: impl Fn(Timestamp) -> String) -> String {
        let since = self.since.map(|since| format!(" since {}", moment(since)));
        let since = since.unwrap_or_default();
        match &self.by {
            By::Rules(rules) => format!(
                "Excused{since} by {}: it does not count against the candidate any more.",
                rules_named(rules)
            ),
            By::Perhaps(rules) => format!(
                "Not counted any more{since}: {} came, and may excuse it. It was not seen again under the present rules.",
                rules_named(rules)
            ),
            By::Edit(edit) => {
                let edit = if edit.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", shown(&edit.told()))
                };
                format!(
                    "Not counted any more{since}: the rules changed{edit}, its route is counted anew, and it was not seen again."
                )
            }
            By::Known(entry, changed) => {
                let changed = changed.map(|at| format!(", changed {}", moment(at)));
                let until = entry
                    .expires
                    .map(|expires| format!(", until {}", moment(expires)));
                format!(
                    "Excused{since} by the known difference {}{}{}: it does not count against the candidate. {}: {}",
                    shown(&entry.id),
                    changed.unwrap_or_default(),
                    until.unwrap_or_default(),
                    shown(&entry.owner),
                    shown(&entry.reason)
                )
            }
        }
    }
}

fn rules_named(rules: &[String]) -> String {
    let names: Vec<String> = rules.iter().map(|rule| shown(rule)).collect();
    let what = if names.len() == 1 {
        "the rule"
    } else {
        "the rules"
    };
    format!("{what} {}", names.join(", "))
}

/// What was counted of a group, as the rules are asked of it.
fn evidence(report: &Report, group: &GroupReport) -> Option<GroupEvidence> {
    let mut members = report.groups.iter().flat_map(GroupReport::members);
    let found = members.find(|member| {
        member.group.route == group.route && member.fingerprint == group.fingerprint
    })?;
    Some(found.counted())
}

/// The hashes of the rules that came behind those of a report, but for the present ones.
fn between<'a>(now: &'a Report, was: &'a Report) -> impl Iterator<Item = &'a str> {
    let begin = was.window.map(|window| window.from);
    let carried = now.carried.iter();
    let carried = carried.map(|rules| (rules.from, rules.rules_hash.as_str()));
    let others = now.other_rules.iter();
    let others = others.map(|rules| (rules.from, rules.rules_hash.as_str()));
    let all = carried.chain(others);
    let is_between = move |(from, hash): &(Timestamp, &str)| {
        *hash != was.rules_hash && *hash != now.rules_hash && Some(*from) >= begin
    };
    all.filter(is_between).map(|(_, hash)| hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(by: By, since: Option<i64>) -> String {
        let since = since.map(Timestamp::from_micros);
        Uncounted { since, by }.told(|time| time.as_micros().to_string())
    }

    #[test]
    fn it_is_said_by_what_and_since_when_and_no_more_than_is_known() {
        let rules = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            told(By::Rules(rules(&["total\u{202e}"])), Some(7)),
            "Excused since 7 by the rule total\\u{202e}: it does not count against the candidate any more."
        );
        let several = told(By::Rules(rules(&["a", "b"])), None);
        assert!(
            several.starts_with("Excused by the rules a, b: "),
            "{several}"
        );
        let perhaps = told(By::Perhaps(rules(&["near"])), Some(7));
        assert!(
            perhaps.starts_with(
                "Not counted any more since 7: the rule near came, and may excuse it."
            ),
            "{perhaps}"
        );
        let unknown = told(By::Edit(Edited::default()), None);
        assert!(
            unknown.starts_with("Not counted any more: the rules changed, its route"),
            "{unknown}"
        );
        let edit = Edited {
            removed: rules(&["old"]),
            ..Edited::default()
        };
        let edited = told(By::Edit(edit), None);
        assert!(
            edited.contains("the rules changed (removed old), "),
            "{edited}"
        );
        let entry = KnownEntry {
            id: "slow".to_owned(),
            owner: "payments".to_owned(),
            reason: "agreed".to_owned(),
            expires: Some(Timestamp::from_micros(9)),
            ..KnownEntry::default()
        };
        assert_eq!(
            told(
                By::Known(Box::new(entry), Some(Timestamp::from_micros(8))),
                Some(7)
            ),
            "Excused since 7 by the known difference slow, changed 8, until 9: it does not count against the candidate. payments: agreed"
        );
    }
}
