//! The mismatches that a report shows as examples, for a document that cannot ask for them later.

use std::collections::HashSet;

use parity_schemas::record::Mismatch;
use parity_sink::{Reader, StoreError};
use uuid::Uuid;

use super::{Decided, Differing, Entry, Group, ReportView};

/// Most mismatches: about what a person looks at, and each is one question to the store.
const MOST: usize = 50;
/// Most bytes of all together, as JSON: with the markup it is a few times as much.
const MOST_BYTES: usize = 4 << 20;

/// The stored examples of what a report lists, in its order: of those that retention has left, the first ones.
pub fn examples(reader: &Reader, decided: &Decided) -> Result<Vec<Mismatch>, StoreError> {
    let view = ReportView::from(decided);
    let differing = view.differing();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut bytes = 0;
    let ids = ids(&differing).filter(|id| !id.is_nil() && seen.insert(*id));
    for id in ids.take(MOST) {
        let Some(mismatch) = reader.mismatch(id)? else {
            continue;
        };
        let length = serde_json::to_string(&mismatch).map_or(usize::MAX, |text| text.len());
        // One that is too large leaves room for those behind it.
        if length <= MOST_BYTES - bytes {
            bytes += length;
            found.push(mismatch);
        }
    }
    Ok(found)
}

fn ids<'a>(differing: &'a Differing<'a>) -> impl Iterator<Item = Uuid> + 'a {
    // Of each cause first the most frequent group: the others differ in the same way.
    let entries = || differing.entries.iter().chain(&differing.spelt);
    let first = entries().map(|entry| match entry {
        Entry::Cause(cause) => cause.members.first().map(|member| member.group.example_id),
        Entry::Group(group) => Some(group.report.example_id),
    });
    let members = entries().flat_map(|entry| match entry {
        Entry::Cause(cause) => cause.members.as_slice(),
        Entry::Group(_) => &[],
    });
    let transient = differing.transient.iter();
    first
        .flatten()
        .chain(members.map(|member| member.group.example_id))
        .chain(transient.map(|group: &Group<'_>| group.report.example_id))
}
