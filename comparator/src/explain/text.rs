//! How two different texts are related: strings, header values, and whole text bodies.

use std::borrow::Cow;

use parity_schemas::verdict::Explanation;
use unicode_normalization::UnicodeNormalization;

use super::duration::Nanoseconds;
use super::{bytes, echo, instants, localized, number, reshaped, unix_times};
use crate::instant::{Instant, Unix};
use crate::notation::number::is_number;

/// Longest texts that are compared for more than truncation; for longer ones it would cost more than it tells.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Shortest common beginning that counts; a shorter one is shared by chance too often.
const MIN_SHARED_BYTES: usize = 4;
/// Shortest integers in texts that are compared as numbers; shorter ones are similar by chance. Unix times have ten
/// digits.
const MIN_INTEGER_BYTES: usize = 10;
/// U+FFFD, which decoders write for what they cannot read.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
/// Separators of lists in texts.
const SEPARATORS: [char; 5] = [',', ';', '&', '\n', ' '];

/// How two different strings are related; also used for header values and whole texts.
pub(crate) fn texts(one: &[u8], two: &[u8]) -> Option<Explanation> {
    if let Some(near) = times(one, two) {
        return Some(near);
    }
    if let (Some(first), Some(second)) = (Nanoseconds::parse(one), Nanoseconds::parse(two))
        && first == second
    {
        return Some(Explanation::SameDuration);
    }
    if is_telling_number(one, two)
        && let Some(near) = number::numbers(one, two)
    {
        return Some(near);
    }
    if one.len().max(two.len()) <= MAX_TEXT_BYTES
        && let Some(near) = alike(one, two)
    {
        return Some(near);
    }
    if echo::is_all(one, two) {
        return Some(Explanation::Echo);
    }
    if is_cut(one, two) {
        return Some(Explanation::Truncated);
    }
    if localized::same_texts(one, two) {
        return Some(Explanation::Localized);
    }
    reshaped::same_documents(one, two).then_some(Explanation::JsonInText)
}

/// Two times, of which one may be a Unix time.
fn times(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let unix = |text: &[u8]| {
        let long = text.len() >= MIN_INTEGER_BYTES;
        long.then(|| Unix::from_number(text)).flatten()
    };
    match (Instant::parse(one), Instant::parse(two)) {
        (None, None) => None,
        (Some(first), Some(second)) => instants(&first, &second),
        (Some(time), None) => unix_times(&time, &unix(two)?),
        (None, Some(time)) => unix_times(&time, &unix(one)?),
    }
}

fn is_telling_number(one: &[u8], two: &[u8]) -> bool {
    let telling = |text: &[u8]| text.len() >= MIN_INTEGER_BYTES || text.contains(&b'.');
    (telling(one) || telling(two)) && is_number(one) && is_number(two)
}

fn alike(one: &[u8], two: &[u8]) -> Option<Explanation> {
    let (Ok(first), Ok(second)) = (std::str::from_utf8(one), std::str::from_utf8(two)) else {
        // A lone surrogate on one side.
        return lost_characters(one, two).then_some(Explanation::Mojibake);
    };
    let uuid = |text: &str| uuid::Uuid::try_parse(text).ok();
    // 32 digits alone may be a digest as well.
    let has_form = |text: &str| text.contains(['-', '{', ':']);
    if let (Some(one), Some(two)) = (uuid(first), uuid(second))
        && one == two
        && (has_form(first) || has_form(second))
    {
        return Some(Explanation::SameUuid);
    }
    if lower(first) == lower(second) {
        return Some(Explanation::CaseOnly);
    }
    if spaced(first) == spaced(second) {
        return Some(Explanation::WhitespaceOnly);
    }
    if first.nfc().eq(second.nfc()) {
        return Some(Explanation::UnicodeNfc);
    }
    if bytes::same_texts(one, two) {
        return Some(Explanation::SameBytes);
    }
    let percent = |text| without_percents(text, false);
    let form = |text| without_percents(text, true);
    if same_without(one, two, percent) {
        return Some(Explanation::PercentEncoding);
    }
    if same_without(one, two, form) {
        return Some(Explanation::FormEncoding);
    }
    if same_without(first, second, without_entities) {
        return Some(Explanation::HtmlEntities);
    }
    if is_misread(first, second) || is_misread(second, first) || lost_characters(one, two) {
        return Some(Explanation::Mojibake);
    }
    is_permuted(first, second).then_some(Explanation::Permutation)
}

fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A text with one space for each white space, and none where it tells nothing apart: at the ends, and beside punctuation.
/// `12 3` and `1 23` are two texts, and so are `1, 5` and `1,5`.
fn spaced(text: &str) -> String {
    const PUNCTUATION: &[char] = &['{', '}', '[', ']', '(', ')', ':', ';', '"', '=', ','];
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let around = [out.chars().next_back(), word.chars().next()];
        let is_loose = around.iter().flatten().any(|at| PUNCTUATION.contains(at))
            && !around.iter().flatten().any(char::is_ascii_digit);
        if !(out.is_empty() || is_loose) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Whether two texts differ only in one layer of escaping.
fn same_without<'a, T: ?Sized + ToOwned + PartialEq>(
    one: &'a T,
    two: &'a T,
    undo: impl Fn(&'a T) -> Cow<'a, T>,
) -> bool {
    let (first, second) = (undo(one), undo(two));
    *first == *second || *first == *two || *one == *second
}

/// Undoes percent encoding (RFC 3986), and in forms also `+` for a space.
fn without_percents(text: &[u8], form: bool) -> Cow<'_, [u8]> {
    if !text
        .iter()
        .any(|byte| *byte == b'%' || form && *byte == b'+')
    {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            (b'+', ..) if form => out.push(b' '),
            _ => out.push(*first),
        }
    }
    Cow::Owned(out)
}

/// Undoes the entities that escaping functions write: the five of XML, `&nbsp;`, and numbers.
fn without_entities(text: &str) -> Cow<'_, str> {
    /// Length of `&#1114111;` without `&` and `;`.
    const MAX_NAME_BYTES: usize = 8;
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let start = after.as_bytes();
        let end = start
            .iter()
            .take(MAX_NAME_BYTES + 1)
            .position(|byte| *byte == b';');
        let split = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)));
        if let Some((name, behind)) = split
            && let Some(character) = entity(name)
        {
            out.push(character);
            rest = behind;
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

/// Whether `misread` is the UTF-8 of `text` read as Latin-1 or as Windows-1252: `Ã©` for `é`.
fn is_misread(misread: &str, text: &str) -> bool {
    /// What Windows-1252 has from 0x80 to 0x9f; the five bytes that it does not define stand for themselves.
    const WINDOWS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    if misread.is_ascii() {
        return false;
    }
    let byte = |character: char| match WINDOWS.iter().position(|known| *known == character) {
        Some(index) => Some(0x80 + index as u8),
        None => u8::try_from(u32::from(character)).ok(),
    };
    misread.chars().map(byte).eq(text.bytes().map(Some))
}

/// Whether two texts differ only in characters that one side replaced by U+FFFD or `?`, because its encoding does not
/// have them or because they are lone surrogates.
fn lost_characters(one: &[u8], two: &[u8]) -> bool {
    replaced_in(one, two) || replaced_in(two, one)
}

fn replaced_in(replaced: &[u8], text: &[u8]) -> bool {
    let (mut one, mut two) = (replaced, text);
    let mut any = false;
    loop {
        let lost =
            two.first().is_some_and(|byte| !byte.is_ascii()) && !two.starts_with(REPLACEMENT);
        let marks = if lost { without_marks(one) } else { one };
        match (one, two) {
            _ if marks.len() < one.len() => {
                let kept = two.iter().position(u8::is_ascii).unwrap_or(two.len());
                (one, two, any) = (marks, &two[kept..], true);
            }
            ([first, rest @ ..], [second, other @ ..]) if first == second => {
                (one, two) = (rest, other);
            }
            ([], []) => return any,
            _ => return false,
        }
    }
}

/// The rest of a text after the marks of lost characters at its start.
fn without_marks(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text
        .strip_prefix(REPLACEMENT)
        .or_else(|| text.strip_prefix(b"?"))
    {
        text = rest;
    }
    text
}

/// Whether two texts are lists of the same elements in another order, by any of the usual separators; for URLs, the
/// parameters of the query.
fn is_permuted(one: &str, two: &str) -> bool {
    let (one, two) = match (one.split_once('?'), two.split_once('?')) {
        (Some((path, query)), Some((other, with))) if path == other => (query, with),
        _ => (one, two),
    };
    SEPARATORS.into_iter().any(|separator| {
        one.contains(separator) && two.contains(separator) && {
            let [mut one, mut two] = [one, two].map(|text| parts(text, separator));
            let same_order = one == two;
            one.sort_unstable();
            two.sort_unstable();
            !same_order && one == two
        }
    })
}

fn parts(text: &str, separator: char) -> Vec<&str> {
    text.split(separator).map(str::trim).collect()
}

/// Whether one text is the beginning of the other, perhaps followed by an ellipsis.
fn is_cut(one: &[u8], two: &[u8]) -> bool {
    let (short, long) = if one.len() < two.len() {
        (one, two)
    } else {
        (two, one)
    };
    let begins = |text: &[u8]| text.len() >= MIN_SHARED_BYTES && long.starts_with(text);
    begins(short)
        || ["...", "…"]
            .into_iter()
            .filter_map(|mark| short.strip_suffix(mark.as_bytes()))
            .any(begins)
}
