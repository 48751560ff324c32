//! What a recorded mismatch differed in, beside what the same request differs in now.
//!
//! Both are records, made by one door, so places and kinds can be compared as they stand. Two findings are one difference if they
//! are at the same generalized place and of the same kind: which element of a list it is, and with which values, changes with
//! the data. What is not listed on one of the two sides because a limit cut the list is never called gone or new.

use std::collections::BTreeMap;

use parity_schemas::record::{Mismatch, RecordedFinding};
use parity_schemas::rerun::{RerunDifference, RerunState, SeenDifference};
use parity_schemas::verdict::{Kind, Part, Tolerated, Why};

/// What it proves that something does not differ now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// That it is gone.
    Gone,
    /// That what was sent does not show it: parts of the request were left out.
    Unseen,
    /// Nothing: the answers are of another kind.
    Nothing,
}

/// What makes two findings one difference.
type Key<'a> = (Part, &'a str, Kind);

/// The differences of one record, in its order.
struct Seen<'a> {
    keys: Vec<Key<'a>>,
    found: BTreeMap<Key<'a>, SeenDifference>,
}

impl<'a> Seen<'a> {
    fn of(findings: &'a [RecordedFinding]) -> Self {
        let mut seen = Self {
            keys: Vec::new(),
            found: BTreeMap::new(),
        };
        for finding in findings {
            let key = (finding.part, &*finding.pattern, finding.kind);
            let found = seen.found.entry(key).or_insert_with(|| {
                seen.keys.push(key);
                SeenDifference {
                    count: 0,
                    example: finding.clone(),
                }
            });
            found.count += 1;
        }
        seen
    }
}

/// What became of each difference: first what differs now. `now` is `None` where there are no two answers; `proof` says what it
/// proves that something does not differ now.
pub fn differences(then: &Mismatch, now: Option<&Mismatch>, proof: Proof) -> Vec<RerunDifference> {
    let before = Seen::of(&then.findings);
    let after = Seen::of(now.map_or(&[], |now| &now.findings));
    let is_complete = now.is_some_and(|now| !now.findings_cut);
    let tolerated = now.map_or(&[][..], |now| &now.tolerated);
    let mut all = Vec::with_capacity(before.keys.len());
    for key in &before.keys {
        let (part, pattern, kind) = *key;
        let still = after.found.get(key).cloned();
        let why = tolerated.iter().find(|one| excuses(one, part, pattern));
        let why = why.filter(|_| still.is_none());
        // Below what differs now nothing was compared.
        let mut above = after.keys.iter();
        let is_below = above.any(|(of, differs, _)| *of == part && is_above(differs, pattern));
        // The status is compared first, so it is always listed.
        let is_told = is_complete || (now.is_some() && part == Part::Status);
        let state = match (&still, why) {
            (Some(_), _) => RerunState::Still,
            (None, Some(_)) => RerunState::Excused,
            (None, None) if is_told && !is_below => match proof {
                Proof::Gone => RerunState::Gone,
                Proof::Unseen => RerunState::Unseen,
                Proof::Nothing => RerunState::Unknown,
            },
            (None, None) => RerunState::Unknown,
        };
        all.push(RerunDifference {
            state,
            part,
            pattern: pattern.to_owned(),
            kind,
            then: before.found.get(key).cloned(),
            now: still,
            excused_by: why.map(|why| why.why.clone()),
        });
    }
    for key in &after.keys {
        if before.found.contains_key(key) {
            continue;
        }
        let (part, pattern, kind) = *key;
        let was_listed = !then.findings_cut || part == Part::Status;
        all.push(RerunDifference {
            state: if was_listed {
                RerunState::New
            } else {
                RerunState::Unlisted
            },
            part,
            pattern: pattern.to_owned(),
            kind,
            then: None,
            now: after.found.get(key).cloned(),
            excused_by: None,
        });
    }
    all.sort_by_key(|difference| difference.state);
    all
}

/// Whether one place of a body has the other.
fn is_above(one: &str, other: &str) -> bool {
    let rest = other.strip_prefix(one);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Whether what is tolerated is what differed at a place: there, or by a rule for all around it.
fn excuses(tolerated: &Tolerated, part: Part, pattern: &str) -> bool {
    if tolerated.part != part {
        return false;
    }
    let is_rule = match &tolerated.why {
        Why::NotCompared(_) | Why::NotComparedBy(_) => return false,
        Why::Rule(_) => true,
        _ => false,
    };
    if part != Part::Body {
        return tolerated.path == pattern;
    }
    let (mut at, mut of) = (tolerated.path.split('/'), pattern.split('/'));
    loop {
        match (at.next(), of.next()) {
            (Some(at), Some(of)) if at == of || of == "*" => {}
            (None, None) => return true,
            (None, Some(_)) => return is_rule,
            (Some(_), _) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_schemas::verdict::EqualByDefault;

    use super::*;

    fn record(findings: &[(Part, &str, Kind)]) -> Mismatch {
        let finding = |(part, path, kind): &(Part, &str, Kind)| RecordedFinding {
            fingerprint: String::new(),
            part: *part,
            path: (*path).to_owned(),
            candidate_path: None,
            pattern: path
                .split('/')
                .map(|step| step.parse::<u32>().map_or(step, |_| "*"))
                .collect::<Vec<_>>()
                .join("/"),
            kind: *kind,
            legacy: None,
            candidate: None,
            explanation: None,
            text_diff: None,
        };
        Mismatch {
            findings: findings.iter().map(finding).collect(),
            ..Mismatch::default()
        }
    }

    fn tolerated(path: &str, why: Why) -> Tolerated {
        Tolerated {
            part: Part::Body,
            path: path.to_owned(),
            why,
        }
    }

    /// `state pattern then now` of each.
    fn told(then: &Mismatch, now: Option<&Mismatch>, proof: Proof) -> Vec<String> {
        let count = |seen: &Option<SeenDifference>| seen.as_ref().map_or(0, |seen| seen.count);
        let all = differences(then, now, proof);
        let line = |one: &RerunDifference| {
            let (then, now) = (count(&one.then), count(&one.now));
            format!("{} {} {then} {now}", one.state, one.pattern)
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn each_difference_is_gone_still_there_or_new() {
        let body = |path| (Part::Body, path, Kind::Value);
        let then = record(&[
            (Part::Status, "", Kind::Value),
            body("/a/0/x"),
            body("/a/7/x"),
            body("/b"),
        ]);
        let now = record(&[body("/a/3/x"), (Part::Body, "/b", Kind::Type), body("/c")]);
        let expected = [
            "new /b 0 1",
            "new /c 0 1",
            "still /a/*/x 2 1",
            "gone  1 0",
            "gone /b 1 0",
        ];
        assert_eq!(told(&then, Some(&now), Proof::Gone), expected);
        // Nothing proves that it is gone.
        let expected = ["unknown  1 0", "unknown /a/*/x 2 0", "unknown /b 1 0"];
        assert_eq!(told(&then, None, Proof::Gone), expected);
        let equal = record(&[]);
        assert_eq!(told(&then, Some(&equal), Proof::Nothing), expected);
        // What is there is certain; what is not may need what was left out.
        let expected = [
            "new /b 0 1",
            "new /c 0 1",
            "still /a/*/x 2 1",
            "unseen  1 0",
            "unseen /b 1 0",
        ];
        assert_eq!(told(&then, Some(&now), Proof::Unseen), expected);
    }

    #[test]
    fn what_a_limit_cut_is_neither_gone_nor_new() {
        let then = record(&[
            (Part::Status, "", Kind::Value),
            (Part::Body, "/a", Kind::Value),
        ]);
        let now = record(&[(Part::Body, "/b", Kind::Value)]);
        let cut = |record: &Mismatch| Mismatch {
            findings_cut: true,
            ..record.clone()
        };
        let expected = ["new /b 0 1", "unknown /a 1 0", "gone  1 0"];
        assert_eq!(told(&then, Some(&cut(&now)), Proof::Gone), expected);
        let expected = ["unlisted /b 0 1", "gone  1 0", "gone /a 1 0"];
        assert_eq!(told(&cut(&then), Some(&now), Proof::Gone), expected);
    }

    #[test]
    fn what_a_rule_excuses_now_is_not_gone() {
        let body = |path| (Part::Body, path, Kind::Value);
        let then = record(&[body("/a/0/x"), body("/b/c"), body("/d"), body("/e")]);
        let now = Mismatch {
            tolerated: vec![
                tolerated("/a/4/x", Why::Rule("times".to_owned())),
                tolerated("/b", Why::Rule("all of b".to_owned())),
                tolerated("/d", Why::Default(EqualByDefault::EqualDecimal)),
                // Neither of these says anything of a place within the body.
                tolerated("", Why::Default(EqualByDefault::FinalNewline)),
                tolerated("/e/f", Why::Rule("of f alone".to_owned())),
            ],
            ..record(&[])
        };
        let expected = [
            "excused /a/*/x 1 0",
            "excused /b/c 1 0",
            "excused /d 1 0",
            "gone /e 1 0",
        ];
        assert_eq!(told(&then, Some(&now), Proof::Gone), expected);
    }
}
