//! Fields of two forms that rules say are one under two names.
//!
//! The name of a field stands twice in what is compared: in its disposition, and as the key of its body. The key is paired by
//! the rule like any other. The disposition is compared as if it had the legacy's name; all else in it counts.
//!
//! A field is one of the whole form. So the two names are paired only where each stands alone there, as those of members of
//! an object: once on its side, and not at all on the other.

use http::header::CONTENT_DISPOSITION;
use parity_schemas::verdict::{Finding, Side};

use super::disposition::with_name;
use super::{Part, as_sent};
use crate::collect::value;
use crate::limits::{Limits, MAX_DEPTH};
use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};
use crate::part_keys::HEADERS;

/// Lets the dispositions of the candidate's fields that have another name be compared by the legacy's. `renames` has the
/// rules for the field of a part, with the old and the new names.
pub(crate) fn pair<'r>(
    legacy: &[Part<'_>],
    candidate: &mut [Part<'_>],
    renames: impl Fn(u32) -> Vec<[&'r str; 2]>,
) {
    let times = |parts: &[Part<'_>], name: &str| {
        let names = parts.iter().flat_map(|part| &part.names);
        names.filter(|other| *other == name).count()
    };
    for (index, part) in (0..).zip(legacy) {
        let [own] = part.names.as_slice() else {
            continue;
        };
        for [from, to] in renames(index) {
            let stand_alone = from == own
                && [times(legacy, from), times(candidate, to)] == [1, 1]
                && [times(legacy, to), times(candidate, from)] == [0, 0];
            if stand_alone
                && let Some(other) = candidate.iter_mut().find(|other| other.names == [to])
            {
                other.call(from);
            }
        }
    }
}

impl Part<'_> {
    /// Lets its disposition be compared by another name.
    fn call(&mut self, name: &str) {
        let (dispositions, mut fields) = self.fields.partition(|name| name == CONTENT_DISPOSITION);
        let mut dispositions = dispositions.iter();
        if let (Some((_, only)), None) = (dispositions.next(), dispositions.next())
            && let Some(renamed) = with_name(only.as_bytes(), name)
        {
            fields.push(CONTENT_DISPOSITION, &renamed);
            self.compared_as = Some(fields);
        }
    }
}

/// Lets findings show what the candidate sent, where that was compared by another name.
pub(crate) fn restore(
    candidate: &[Part<'_>],
    findings: &mut [Finding],
    limits: &Limits,
    mut is_json: impl FnMut(&[u8]) -> bool,
) {
    if candidate.iter().all(|part| part.compared_as.is_none()) {
        return;
    }
    let sent = as_sent(candidate, &mut is_json);
    let mut index = Index::default();
    if index.read(&sent, Layout::Document, MAX_DEPTH).is_err() {
        return;
    }
    for finding in findings {
        let path = finding.candidate_path.as_ref().unwrap_or(&finding.path);
        let holds_a_disposition = path.split('/').nth(2).is_none_or(|key| key == HEADERS);
        if holds_a_disposition
            && matches!(finding.candidate, Side::Value(_))
            && let Some(value_sent) = found(index.tree(&sent), path)
        {
            finding.candidate = value(value_sent, limits.value_bytes);
        }
    }
}

/// What a path leads to, which has no escapes.
fn found<'t>(tree: Tree<'t>, path: &str) -> Option<&'t [u8]> {
    let mut node = ROOT;
    for step in path.split('/').skip(1) {
        node = match tree.kind(node) {
            NodeKind::Array => tree.elements(node).nth(step.parse().ok()?)?,
            NodeKind::Object => {
                let mut keys = tree.keys(node);
                keys.find(|key| tree.content(*key) == step.as_bytes())? + 1
            }
            _ => return None,
        };
    }
    Some(tree.raw(node))
}
