//! The nodes of an index, and the errors of a text that cannot be indexed.

/// What a node is. A key is always followed by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NodeKind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
    Key,
}

/// 16 bytes for each value and key, in the order of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Offset of the first byte; for strings and keys, the one after the quote.
    pub(super) start: u32,
    /// Offset after the last byte; for strings and keys, that of the closing quote.
    pub(super) end: u32,
    /// Index of the node after this value and everything in it; for keys, the hash of the content.
    pub(super) next: u32,
    pub(super) kind: NodeKind,
    /// For strings and keys, whether it has escapes; for numbers, whether it is more than a plain integer.
    pub(super) special: bool,
}

/// Why a text could not be indexed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IndexError {
    /// Not JSON.
    #[error("invalid JSON at byte {offset}: {what}")]
    Syntax {
        /// Where the text stops being JSON.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// More nested containers than the limit.
    #[error("nested deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More bytes than an offset can hold.
    #[error("{length} bytes are more than 4 GiB")]
    TooLong {
        /// Bytes of the text.
        length: usize,
    },
}
