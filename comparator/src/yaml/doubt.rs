//! Detects YAML that can be parsed but that nobody writes.

use std::collections::HashSet;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use crate::limits::MAX_DEPTH;

/// Whether a valid text shows signs of damage: an anchor that no alias uses, an empty key, or a key without a value, if
/// that key is in a flow mapping, in a text with `? ` keys, or has several words that mention one of the `names`. Then
/// it is not certain which key a value belongs to. Also true for a text that is nested too deep to be parsed.
pub(crate) fn is_doubtful(text: &str, names: impl Fn(&str) -> bool) -> bool {
    /// An open mapping.
    struct Mapping {
        flow: bool,
        key_is_due: bool,
        /// Whether the last key is more than a name.
        joined: bool,
    }
    let marked = text.starts_with("? ") || text.contains("\n? ");
    let mut open: Vec<Option<Mapping>> = Vec::new();
    let mut anchors = HashSet::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else {
            return true;
        };
        // The parser reports a null for an empty value.
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
