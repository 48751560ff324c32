//! As which steps a service may read a path.
//!
//! Routers forgive, frameworks decode, and stores compare by a collation. What some server does is taken to be done: escapes in several
//! layers, `%uXXXX` and overlong UTF-8; `+` as a blank; compatibility forms of Unicode (`／ｌｏｇｏｕｔ`), accents and letters that look alike,
//! best-fit mappings of code pages, invisible and invalid characters left out, or each character cut to its low byte; capitals;
//! parameters behind `;`; dots and blanks at the end of a step; empty and dot steps; another slash; and what stands behind the dot of the
//! last step, which many frameworks take for the format that is wanted (`/logout.json`).
//!
//! Where servers disagree a path has several readings: an escaped separator parts steps or is a character of one; a dot step
//! climbs or is a name; a path goes on or ends at an escaped NUL, `?` or `#`. Who is careful asks about all of them. A path that only
//! somebody's rewriting maps to another one (an alias, a redirect) is no spelling of it.

use std::borrow::Cow;
use std::iter;

use super::Segment;
use crate::secret;
use crate::visible::is_hidden;

/// Layers of percent encoding that are undone: a proxy and a service may each undo one.
const MAX_ENCODINGS: usize = 3;

/// Where some services take a path to end.
const ENDS: [char; 3] = ['\0', '?', '#'];

/// Signs that code pages map to one of the signs with a meaning here, or to the hyphen of a name.
const LIKE: &[(char, char)] = &[
    ('\u{2044}', '/'),
    ('\u{2215}', '/'),
    ('\u{2216}', '\\'),
    ('\u{29f5}', '\\'),
    ('\u{a5}', '\\'),
    ('\u{20a9}', '\\'),
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2012}', '-'),
    ('\u{2013}', '-'),
    ('\u{2014}', '-'),
    ('\u{2212}', '-'),
];

/// In which way a path is read.
#[derive(Clone, Copy)]
struct Reading {
    /// What a character is that ASCII does not have.
    letters: Letters,
    /// Whether it ends at an escaped NUL, `?` or `#`.
    ends: bool,
    /// What parts its steps.
    parting: Parting,
}

#[derive(Clone, Copy, PartialEq)]
enum Letters {
    /// The plain one that it looks like, if there is one.
    Alike,
    /// That of its low byte, as where text is written as Latin-1 without a check.
    LowByte,
}

#[derive(Clone, Copy, PartialEq)]
enum Parting {
    /// Each separator, an escaped one too. Empty steps are none, and dot steps climb.
    Decoded,
    /// Only a slash that is written as such: what is empty without its parameters or blanks is a step. Dot steps climb.
    Written,
    /// As that, and dot steps are names.
    Names,
}

/// The reading in which most spellings of a path are one.
const USUAL: Reading = Reading {
    letters: Letters::Alike,
    ends: false,
    parting: Parting::Decoded,
};

/// The steps of a path in the usual reading: decoded, in lower case, without parameters, dots and blanks at the end, and without
/// those that lead nowhere.
pub(super) fn folded(path: &str) -> Vec<String> {
    USUAL.steps(path)
}

/// The segments of a route as [`folded`] has those of a path.
pub(super) fn folded_rule(segments: &[Segment]) -> Vec<Segment> {
    let mut out = Vec::new();
    for segment in segments {
        match segment {
            Segment::Literal(text) => {
                let steps = folded(text).into_iter();
                out.extend(steps.map(|text| Segment::Literal(text.into())));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// The steps of a path in all readings that may differ, the usual one first.
pub(super) fn readings(path: &str) -> impl Iterator<Item = Vec<String>> {
    use Letters::{Alike, LowByte};
    use Parting::{Decoded, Names, Written};
    let is_escaped = !path.is_ascii() || path.contains('%');
    let is_parted = is_escaped || path.contains(['\\', ';', '+']) || path.contains("/.");
    let is_wide = is_escaped && unescaped(path).chars().any(|letter| letter > '\u{ff}');
    let letters = iter::once(Alike).chain(is_wide.then_some(LowByte));
    let ways = letters.flat_map(move |letters| {
        let ends = iter::once(false).chain(is_escaped.then_some(true));
        ends.flat_map(move |ends| {
            let others = if is_parted {
                [Some(Written), Some(Names)]
            } else {
                [None, None]
            };
            let parting = iter::once(Decoded).chain(others.into_iter().flatten());
            parting.map(move |parting| Reading {
                letters,
                ends,
                parting,
            })
        })
    });
    ways.flat_map(move |way| {
        let steps = way.steps(path);
        let unformatted = without_format(&steps);
        iter::once(steps).chain(unformatted)
    })
}

impl Reading {
    fn steps(self, path: &str) -> Vec<String> {
        let mut steps = Vec::new();
        if self.parting == Parting::Decoded {
            for step in self.decoded(path).0.split(['/', '\\']) {
                self.push(&mut steps, step);
            }
            return steps;
        }
        for written in path.split('/').filter(|written| !written.is_empty()) {
            let (step, is_end) = self.decoded(written);
            // What ends at its beginning is no step.
            if !(is_end && step.is_empty()) {
                self.push(&mut steps, &step);
            }
            if is_end {
                break;
            }
        }
        steps
    }

    /// Adds a decoded step without its parameters and the blanks around it, in lower case, without dots and blanks at the end.
    fn push(self, steps: &mut Vec<String>, step: &str) {
        let bare = step.split(';').next().unwrap_or_default().trim();
        match bare {
            "." if self.parting != Parting::Names => {}
            ".." if self.parting != Parting::Names => {
                steps.pop();
            }
            bare => {
                let step = bare.trim_end_matches(['.', ' ']).to_lowercase();
                if !step.is_empty() || self.parting != Parting::Decoded {
                    steps.push(step);
                }
            }
        }
    }

    /// A path or a part of one without its layers of percent encoding, and whether it ended before its end.
    fn decoded(self, text: &str) -> (String, bool) {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'%' | b'+');
        if text.bytes().all(is_plain) {
            return (text.to_owned(), false);
        }
        let mut plain = text.to_owned();
        let mut is_end = false;
        let mut shorten = |plain: &mut String| {
            if let Some(at) = plain.find(ENDS).filter(|_| self.ends) {
                plain.truncate(at);
                is_end = true;
            }
        };
        for layer in 0..=MAX_ENCODINGS {
            if layer > 0 {
                if !plain.contains('%') {
                    break;
                }
                let inner = unescaped(&plain);
                // Signs that escape nothing are the same in each further layer, and may be as many as a path is long.
                if inner == plain {
                    break;
                }
                plain = inner;
                shorten(&mut plain);
            }
            if !plain.is_ascii() {
                // An escape may be written in compatibility forms, and have them.
                plain = self.letters.plain(&plain);
                shorten(&mut plain);
            }
        }
        plain.retain(|letter| !is_hidden(letter) && letter != char::REPLACEMENT_CHARACTER);
        (plain.replace('+', " "), is_end)
    }
}

impl Letters {
    fn plain(self, text: &str) -> String {
        match self {
            Self::Alike => {
                let like = |letter: char| {
                    let found = LIKE.iter().find(|(other, _)| *other == letter);
                    found.map_or(letter, |(_, plain)| *plain)
                };
                secret::folded(text).chars().map(like).collect()
            }
            Self::LowByte => {
                let low = |letter: char| {
                    let [low, ..] = u32::from(letter).to_le_bytes();
                    char::from(low)
                };
                text.chars().map(low).collect()
            }
        }
    }
}

/// The steps without what stands behind the last dot of the last one; `None` without such a dot.
fn without_format(steps: &[String]) -> Option<Vec<String>> {
    let (last, before) = steps.split_last()?;
    let (name, _format) = last.rsplit_once('.')?;
    let name = name.trim_end_matches(['.', ' ']);
    if name.is_empty() {
        return None;
    }
    let steps = before.iter().cloned();
    Some(steps.chain(iter::once(name.to_owned())).collect())
}

/// Without one layer of escapes: `%6C`, and `%u006C` as some servers take it. Bytes that are overlong UTF-8 are the character that they
/// mean, others that are no UTF-8 are replacement characters.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
        } else if let Some((byte, behind)) = hex(behind, 2) {
            bytes.extend(u8::try_from(byte).ok());
            rest = behind;
        } else if let Some((letter, behind)) = unicode_escape(behind) {
            bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            rest = behind;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8_lossy(&shortest(&bytes)).into_owned()
}

fn unicode_escape(text: &[u8]) -> Option<(char, &[u8])> {
    let behind = text
        .strip_prefix(b"u")
        .or_else(|| text.strip_prefix(b"U"))?;
    let (code, behind) = hex(behind, 4)?;
    Some((char::from_u32(code)?, behind))
}

/// A number of as many hexadecimal digits, and what is behind it.
fn hex(text: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let (number, behind) = text.split_at_checked(digits)?;
    let add = |sum: u32, digit: &u8| Some(sum * 16 + char::from(*digit).to_digit(16)?);
    Some((number.iter().try_fold(0, add)?, behind))
}

/// ASCII that is written in more bytes than it has is written in one.
fn shortest(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes
        .iter()
        .any(|byte| matches!(byte, 0xc0 | 0xc1 | 0xe0 | 0xf0))
    {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let (byte, behind) = match rest {
            [] => return Cow::Owned(out),
            [first @ (0xc0 | 0xc1), last @ 0x80..=0xbf, behind @ ..]
            | [0xe0, first @ (0x80 | 0x81), last @ 0x80..=0xbf, behind @ ..]
            | [
                0xf0,
                0x80,
                first @ (0x80 | 0x81),
                last @ 0x80..=0xbf,
                behind @ ..,
            ] => (((first & 1) << 6) | (last & 0x3f), behind),
            [first, behind @ ..] => (*first, behind),
        };
        out.push(byte);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    fn reads_as(path: &str, wanted: &[&str]) -> bool {
        readings(path).any(|steps| steps == wanted)
    }

    #[test]
    fn what_a_server_may_read_as_a_path_is_a_reading_of_it() {
        for path in [
            "/logout",
            "/logout+",
            "/logout%2B",
            "/+logout+/+",
            "/logout%20+.",
            "/logout%C2%A0",
            "/logout%E3%80%80",
            "/logout%0a",
            "/log%09out",
            "/logout%00",
            "/\u{ff4c}ogout",
            "/%EF%BD%8C%EF%BD%8F%EF%BD%87%EF%BD%8F%EF%BD%95%EF%BD%94",
            "/%25EF%25BD%258Cogout",
            "\u{ff0f}logout",
            "/x\u{ff0f}..\u{ff0f}logout",
            "/x/\u{2025}/logout",
            "/\u{ff05}6cogout",
            "/\u{ff05}256cogout",
            "/logout\u{ff1b}a",
            "/logout\u{ff1f}a",
            "/logout%EF%BC%83a",
            "/logout\u{200b}",
            "/lo\u{ad}gout",
            "/l\u{f3}gout",
            "/lo\u{301}gout",
            "/logout%FF",
            "/\u{142}ogout",
            "/\u{24db}ogout",
            "/l\u{43e}gout",
            "/%u006cogout",
            "/%U004Cogout",
            "/%uFF4cogout",
            "/%C1%ACogout",
            "/%E0%81%ACogout",
            "/%F0%80%81%ACogout",
            "/x/..%C0%AFlogout",
            "/x%E2%88%95..%e2%88%95logout",
            "/x\u{a5}..\u{a5}logout",
            "/\u{16c}ogout",
            "/logout.json",
            "/LogOut.Html+",
            "//logout;v=1.2",
        ] {
            assert!(reads_as(path, &["logout"]), "{path}");
        }
        for path in [
            "/",
            "/+",
            "/log",
            "/logout/now",
            "/log+out",
            "/log-out",
            "/.logout",
            "/logout.json/x",
            "/%+6cogout",
            "/%u+06cogout",
            "/%u006",
            "/%C2%ACogout",
            "/\u{65e5}\u{672c}",
            "/\u{43c}\u{438}\u{440}",
            "/%",
            "/%E0%A5%90",
        ] {
            assert!(!reads_as(path, &["logout"]), "{path}");
        }
    }

    #[test]
    fn a_step_that_may_be_nothing_is_a_step_or_none() {
        for path in ["/a/+/b", "/a/%FF/b", "/a/%20/b", "/a/\u{200b}/b", "/a/;x/b"] {
            assert!(reads_as(path, &["a", "b"]), "{path}");
            assert!(reads_as(path, &["a", "", "b"]), "{path}");
        }
    }

    #[test]
    fn a_path_of_lower_case_letters_has_one_reading_and_most_others_few() {
        for (path, most) in [("/a/b", 1), ("/A//b", 1), ("/a.js", 2), ("/%41", 6)] {
            assert_eq!(readings(path).count(), most, "{path}");
        }
    }

    fn wide(letter: char) -> char {
        let code = u32::from(letter) + 0xfee0;
        char::from_u32(code).unwrap_or(letter)
    }

    proptest! {
        /// However letters are written, in any mixture, and whatever is put where servers do not look.
        #[test]
        fn every_mixture_of_spellings_is_one_path(
            ways in prop::collection::vec(0_u8..8, 12),
            tail in "(\\+|%20|\\.|;|%2B|%09|%C2%A0|%E2%80%8B){0,6}/{0,2}",
        ) {
            let mut path = String::new();
            for (letter, way) in "/admin/close".chars().zip(ways) {
                let written = match way {
                    0 => format!("%{:02x}", u32::from(letter)),
                    1 => format!("%25{:02X}", u32::from(letter)),
                    2 => format!("%u{:04x}", u32::from(letter)),
                    3 => wide(letter).to_string(),
                    4 => utf8_percent_encode(&wide(letter).to_string(), NON_ALPHANUMERIC).to_string(),
                    5 => letter.to_uppercase().to_string(),
                    6 => format!("{letter}%E2%80%8B"),
                    _ => letter.to_string(),
                };
                path.push_str(&written);
            }
            path.push_str(&tail);
            prop_assert!(reads_as(&path, &["admin", "close"]), "{}", path);
        }

        #[test]
        fn no_path_panics(path in ".{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let escaped: Vec<String> = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
            let escaped = escaped.concat();
            for path in [path, escaped, String::from_utf8_lossy(&bytes).into_owned()] {
                prop_assert!(readings(&path).count() >= 1);
                prop_assert!(shortest(path.as_bytes()) == path.as_bytes());
            }
        }
    }
}
