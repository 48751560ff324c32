//! Names of fields without their style.

use unicode_normalization::UnicodeNormalization;

use crate::notation::index::Tree;

/// The key without its style: `userName`, `user_name` and `User-Name` are the same name, and so is a name in NFC and in
/// NFD. `None` for a key with a lone surrogate, which has no styles.
pub(super) fn plain_name(tree: Tree<'_>, key: u32) -> Option<String> {
    let mut scratch = Vec::new();
    let name = std::str::from_utf8(tree.unescaped(key, &mut scratch)).ok()?;
    Some(plain(name))
}

/// A name without its style.
pub(crate) fn plain(name: &str) -> String {
    name.nfc()
        .filter(|character| !matches!(character, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}
