//! Decodes and encodes the entities of XML and HTML.

/// The text with its entities decoded. Unknown ones stay as they are.
pub(in crate::redact) fn unescaped(text: &str) -> String {
    /// Longest name of a known entity.
    const MAX_BYTES: usize = 10;
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        rest = behind;
        let name = behind
            .char_indices()
            .take(MAX_BYTES)
            .find(|(_, character)| !(character.is_ascii_alphanumeric() || *character == '#'))
            .map_or(behind.len().min(MAX_BYTES), |(at, _)| at);
        let entity = behind.get(..name).unwrap_or_default();
        if let Some(character) = entity_of(entity) {
            out.push(character);
            let after = behind.get(name..).unwrap_or_default();
            rest = after.strip_prefix(';').unwrap_or(after);
        } else {
            out.push('&');
        }
    }
    out.push_str(rest);
    out
}

fn entity_of(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    let known = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", '\u{a0}'),
        ("equals", '='),
        ("colon", ':'),
        ("lowbar", '_'),
        ("shy", '\u{ad}'),
        ("period", '.'),
        ("num", '#'),
    ];
    known
        .iter()
        .find_map(|(known, character)| (*known == name).then_some(*character))
}

pub(in crate::redact) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
