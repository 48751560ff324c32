//! YAML that can be read, but that nobody writes.

use std::collections::HashSet;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use crate::limits::MAX_DEPTH;

/// Whether a text that can be read has what people do not write, and damage leaves: an anchor to which nothing refers, a
/// key without a name, a name without a value among those that brackets hold together, or one of several words that speaks
/// of one of the `names`. What names a value is then in doubt. So it is in a text that is nested deeper than any is
/// followed.
pub(crate) fn is_doubtful(text: &str, names: impl Fn(&str) -> bool) -> bool {
    /// A mapping that is open.
    struct Mapping {
        flow: bool,
        key_is_due: bool,
        /// The key before is more than a name.
        joined: bool,
    }
    let marked = text.starts_with("? ") || text.contains("\n? ");
    let mut open: Vec<Option<Mapping>> = Vec::new();
    let mut anchors = HashSet::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else {
            return true;
        };
        // The parser puts a null where nothing is written.
        let nothing = matches!(&event, Event::Scalar(_, ScalarStyle::Plain, 0, None))
            && span.start.index() == span.end.index();
        if let Event::Alias(id) = event {
            anchors.remove(&id);
        }
        if let Event::Scalar(_, _, id, _)
        | Event::SequenceStart(_, id, _)
        | Event::MappingStart(_, id, _) = event
            && id > 0
        {
            anchors.insert(id);
        }
        if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            open.pop();
        } else if matches!(
            event,
            Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::MappingStart(..)
        ) && let Some(Some(mapping)) = open.last_mut()
        {
            if nothing && (mapping.flow || mapping.key_is_due || mapping.joined || marked) {
                return true;
            }
            mapping.joined = match &event {
                Event::Scalar(key, ..) if mapping.key_is_due => {
                    key.contains(char::is_whitespace) && names(key)
                }
                _ => false,
            };
            mapping.key_is_due = !mapping.key_is_due;
        }
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if open.len() >= MAX_DEPTH => {
                return true;
            }
            Event::MappingStart(style, ..) => open.push(Some(Mapping {
                flow: matches!(style, StructureStyle::Flow),
                key_is_due: true,
                joined: false,
            })),
            Event::SequenceStart(..) => open.push(None),
            _ => {}
        }
    }
    !anchors.is_empty()
}
