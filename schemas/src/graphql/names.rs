//! Names of members and parameters that tell a document, and what some servers take for one of them. Servers disagree about names more than
//! about anything else in a request, and a name that only some of them read may name a mutation.

/// Names by which a document or a part of it is told.
pub(super) const NAMES: [&str; 10] = [
    "query",
    "operationName",
    "documentId",
    "extensions",
    "id",
    "doc_id",
    "docId",
    "queryId",
    "query_id",
    "hash",
];

/// Whether some servers take a name for one of these and others do not: in other case, with blanks, dots or other signs in it, with a
/// bracket around or behind it (`query[]`, `[query]`), or with what some cut, fold to a plain letter, decode once more, or take for the
/// end of a pair. A member of something else (`variables[query]`) is none.
pub(super) fn is_read_by_some(name: &str, names: &[&str]) -> bool {
    if names.contains(&name) {
        return false;
    }
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && !b"%&;=".contains(&byte);
    if !name.bytes().all(is_plain) {
        return true;
    }
    let is_sign = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-');
    let first = name.split(is_sign).find(|part| !part.is_empty());
    [Some(name), first]
        .into_iter()
        .flatten()
        .any(|name| names.iter().any(|known| letters(known).eq(letters(name))))
}

/// What is left of a name without its signs, in lower case.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase())
}
