//! What a pattern consists of, however it is written.

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// This key, or this index.
    Literal {
        /// Without the pointer's escapes.
        text: Box<str>,
        /// Of the text, as keys are hashed.
        hash: u32,
        /// The text as an array index, when it is one.
        index: Option<u32>,
    },
    /// This index, and no key. Only JSONPath can say so.
    Index(u32),
    /// `*`: any one key or index.
    Any,
    /// `**`: any number of keys and indices, none included.
    Deep,
}
