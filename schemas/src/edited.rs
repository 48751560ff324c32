//! Which named entries of a list came, went or say something else: rules, or known differences, before and after an edit.
//!
//! A person who looks at a chart asks which rule it was, and a hash does not tell. The text form stands in the record as the
//! detail of a change, which people read and pages read back, so both directions are here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of each kind that are told: a line that a person reads. The rest is counted.
const MAX_NAMES: usize = 10;

/// The edit of a list, by the names of its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Edited {
    /// Entries that are there only behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Entries that are there only before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Entries that say something else behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl Edited {
    /// Of two lists of entries with their names.
    pub fn between<'a, T: PartialEq + 'a>(
        before: impl IntoIterator<Item = (&'a str, T)>,
        after: impl IntoIterator<Item = (&'a str, T)>,
    ) -> Self {
        let before: BTreeMap<&str, T> = before.into_iter().collect();
        let mut edited = Self::default();
        let mut kept = Vec::new();
        for (name, entry) in after {
            match before.get(name) {
                None => edited.added.push(name.to_owned()),
                Some(former) => {
                    if *former != entry {
                        edited.changed.push(name.to_owned());
                    }
                    kept.push(name);
                }
            }
        }
        let gone = before.keys().filter(|name| !kept.contains(*name));
        edited.removed = gone.map(|name| (*name).to_owned()).collect();
        edited
    }

    /// Whether nothing was edited.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// In words, such as `added a, b; removed "c d"`. A name that could be taken for something else is a JSON string.
    pub fn told(&self) -> String {
        let kinds = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
        ];
        let told = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<String> = told
            .map(|(verb, names)| {
                let shown: Vec<String> = names
                    .iter()
                    .take(MAX_NAMES)
                    .map(|name| quoted(name))
                    .collect();
                let more = match names.len().saturating_sub(MAX_NAMES) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("{verb} {}{more}", shown.join(", "))
            })
            .collect();
        told.join("; ")
    }

    /// Reads back what [`Edited::told`] wrote, but for names beyond those that were told. What is not understood is left out.
    pub fn read(text: &str) -> Self {
        let mut edited = Self::default();
        let mut rest = text;
        while let Some((verb, names)) = rest.split_once(' ') {
            let mut found = Vec::new();
            rest = names_of(names, &mut found);
            match verb {
                "added" => edited.added = found,
                "removed" => edited.removed = found,
                "changed" => edited.changed = found,
                _ => return edited,
            }
        }
        edited
    }
}

/// Whether a name stands for itself in a list of names.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_./:".contains(character)
}

fn quoted(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string()
    }
}

/// Takes the names of one kind from the begin of a text, and returns what is behind the next semicolon.
fn names_of<'a>(mut text: &'a str, found: &mut Vec<String>) -> &'a str {
    loop {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let quoted = text.starts_with('"').then(|| values.next()).flatten();
        if let Some(Ok(name)) = quoted {
            found.push(name);
            text = text.get(values.byte_offset()..).unwrap_or_default();
        } else {
            let end = text.find(|character| !is_plain(character));
            let (name, behind) = text.split_at(end.unwrap_or(text.len()));
            if name.is_empty() {
                return "";
            }
            found.push(name.to_owned());
            text = behind;
        }
        match text.strip_prefix(", ") {
            Some(more) => text = more,
            None => return text.split_once("; ").map_or("", |(_, behind)| behind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_and_is_other_is_told_by_name_and_read_back() {
        let before = [("a", 1), ("b", 2), ("c, d", 3)];
        let after = [("b", 3), ("e", 4), ("more 7; \"x\"", 1), ("c, d", 3)];
        let edited = Edited::between(before, after);
        assert_eq!(
            edited.told(),
            "added e, \"more 7; \\\"x\\\"\"; removed a; changed b"
        );
        assert_eq!(Edited::read(&edited.told()), edited);
        assert!(Edited::between(before, before).is_empty());
        assert_eq!(Edited::default().told(), "");
    }

    #[test]
    fn of_many_names_the_first_are_told_and_the_rest_is_counted() {
        let names: Vec<String> = (0..12).map(|number| format!("n{number:02}")).collect();
        let edited = Edited {
            added: names.clone(),
            removed: vec!["z".to_owned()],
            ..Edited::default()
        };
        let told = edited.told();
        assert!(told.ends_with("n09 and 2 more; removed z"), "{told}");
        let read = Edited::read(&told);
        assert_eq!(read.added, &names[..10]);
        assert_eq!(read.removed, ["z"]);
    }

    #[test]
    fn what_nobody_wrote_is_read_as_nothing() {
        for text in [
            "",
            "added",
            "added ",
            "nothing has changed",
            "added \"open",
            "; ; ;",
            "added ,",
        ] {
            assert!(
                Edited::read(text).is_empty(),
                "{text}: {:?}",
                Edited::read(text)
            );
        }
    }
}
