//! The rules under which something was counted, read from their recorded texts. A text that has another hash than it is
//! recorded under is refused: nothing may be decided by it.

use std::collections::BTreeSet;

use parity_schemas::evidence::carried::RulesCounted;

use crate::rules::{Rules, text};

/// The rules under which something was counted.
pub(super) struct Known {
    pub(super) rules: Rules,
    /// For each rule what it may have been called. The hash does not cover names, so there may be several.
    pub(super) names: Vec<BTreeSet<String>>,
}

/// The texts of a hash, if one is there and really has that hash.
pub(super) fn read(counted: &RulesCounted) -> Result<Known, String> {
    let hash = &counted.hash;
    let Some(first) = counted.texts.first() else {
        return Err(format!("the text of the rules {hash} is not in the record"));
    };
    let rules = text::read(first).map_err(|why| format!("of the rules {hash}: {why}"))?;
    let mut names = vec![BTreeSet::new(); rules.len()];
    for text in &counted.texts {
        let same = text::read(text).is_ok_and(|read| read.hash() == hash.as_str());
        if !same || text.rules.len() != names.len() {
            return Err(format!(
                "a recorded text of the rules {hash} has another hash"
            ));
        }
        for (names, rule) in names.iter_mut().zip(&text.rules) {
            names.insert(rule.id.clone());
        }
    }
    Ok(Known { rules, names })
}
