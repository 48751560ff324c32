//! As which steps a service may read a path.
//!
//! Routers forgive, frameworks decode, and stores compare by a collation. What some server does is taken to be done: escapes in several
//! layers, `%uXXXX` and overlong UTF-8; `+` as a blank; compatibility forms of Unicode (`／ｌｏｇｏｕｔ`), accents and letters that look alike,
//! best-fit mappings of code pages, invisible and invalid characters left out, or each character cut to its low byte; capitals;
//! parameters behind `;`, streams of NTFS behind `:$` and sessions of ASP.NET (`/(S(1))/`); dots and blanks at the end of a step; empty and dot
//! steps; another slash. What a path leads to besides that is in [`documents`]: formats, scripts and default documents.
//!
//! Where servers disagree a path has several readings: an escaped separator parts steps or is a character of one; a dot step
//! climbs, climbs only where it is written as such, or is a name; a path goes on or ends at an escaped NUL, `?` or `#`, or at the first
//! `;`; two slashes at its beginning are one, or a host follows them. Who is careful asks about all of them. A path that only somebody's
//! rewriting maps to another one (an alias, a redirect, a prefix) is no spelling of it.

mod documents;
mod escapes;

use std::borrow::Cow;
use std::iter;

use smallvec::SmallVec;

use self::escapes::unescaped;
use super::Segment;
use crate::secret;
use crate::visible::is_hidden;

/// Layers of percent encoding that are undone: a proxy and a service may each undo one.
const MAX_ENCODINGS: usize = 3;

/// Longest path that is read, unless it is plain: each reading costs as much as it is long, and no usual path is longer. Of a longer one
/// nobody knows what it is.
const MAX_BYTES: usize = 2_048;

/// Where some services take a path to end.
const ENDS: [char; 3] = ['\0', '?', '#'];

/// What parts steps, as some service reads it.
const SEPARATORS: [char; 2] = ['/', '\\'];

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
    letters: Letters,
    end: End,
    parting: Parting,
    dots: Dots,
}

/// What a character is that ASCII does not have.
#[derive(Clone, Copy, PartialEq)]
enum Letters {
    /// The plain one that it looks like, if there is one.
    Alike,
    /// That of its low byte, as where text is written as Latin-1 without a check.
    LowByte,
}

/// Where a path ends before its end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Never,
    /// At an escaped NUL, `?` or `#`.
    Sign,
    /// At the first `;`, too: all that follows is one parameter.
    Parameter,
}

/// What parts the steps of a path.
#[derive(Clone, Copy, PartialEq)]
enum Parting {
    /// Each separator, an escaped one too. Empty steps are none.
    Decoded,
    /// Only a slash that is written as such: what is empty without its parameters or blanks is a step.
    Written,
}

/// What a dot step is.
#[derive(Clone, Copy, PartialEq)]
enum Dots {
    /// It leads nowhere, or climbs.
    Climb,
    /// That, if it is written as such; an escaped one is a name.
    WrittenClimb,
    /// A name.
    Names,
}

/// The reading in which most spellings of a path are one.
const USUAL: Reading = Reading {
    letters: Letters::Alike,
    end: End::Never,
    parting: Parting::Decoded,
    dots: Dots::Climb,
};

/// The steps of a path in one reading.
#[derive(Default)]
struct Steps {
    names: Vec<String>,
    /// Whether it climbs out of the root: into what a proxy put before it, for example.
    leads_out: bool,
}

/// Whether `is_met` says so of the path in any reading; the usual one comes first. It gets the steps: decoded, in lower case, without
/// parameters, dots and blanks at their end, and without those that lead nowhere; or `None` for a path that leads out of the root, or is
/// too long, so that nobody knows where it ends. A path of lower-case letters and digits is read without an allocation.
pub(super) fn any_reading(path: &str, mut is_met: impl FnMut(Option<&[&str]>) -> bool) -> bool {
    if is_plain(path) {
        let names: Names<'_> = path.split('/').filter(|step| !step.is_empty()).collect();
        if is_met(Some(&names)) {
            return true;
        }
        if !is_led_by_host(path) {
            return documents::without_default(&names).is_some_and(|names| is_met(Some(names)));
        }
    }
    if path.len() > MAX_BYTES {
        return is_met(None);
    }
    readings(path).any(|steps| {
        if steps.leads_out {
            return is_met(None);
        }
        let names: Names<'_> = steps.names.iter().map(String::as_str).collect();
        documents::variants(&names).any(|names| is_met(Some(&names)))
    })
}

/// Steps of a path; few have more.
type Names<'a> = SmallVec<[&'a str; 12]>;

/// Whether all readings are the same but for empty steps, a host and default documents.
fn is_plain(path: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'/');
    path.bytes().all(is_plain)
}

/// Whether who reads a target as a reference takes the first step for a host.
fn is_led_by_host(path: &str) -> bool {
    let mut letters = path.chars();
    (0..2).all(|_| {
        letters
            .next()
            .is_some_and(|letter| SEPARATORS.contains(&letter))
    })
}

/// The steps of a path in the usual reading.
pub(super) fn folded(path: &str) -> Vec<String> {
    USUAL.steps(path).names
}

/// The segments of a route as [`any_reading`] has the steps of a path.
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

/// The segments of a folded route that ends in a default document, without it: the directory is another name of it.
pub(super) fn of_directory(segments: &[Segment]) -> Option<&[Segment]> {
    let (Segment::Literal(last), before) = segments.split_last()? else {
        return None;
    };
    (last.contains('.') && documents::is_default(last)).then_some(before)
}

/// The steps of a path in all readings that may differ, the usual one first; those behind a host come last.
fn readings(path: &str) -> impl Iterator<Item = Steps> {
    // A proxy may undo the escape of the second slash before somebody reads a reference.
    let may_be_led = path
        .strip_prefix(SEPARATORS)
        .is_some_and(|rest| rest.starts_with('%') || rest.starts_with(SEPARATORS));
    let led = may_be_led.then(|| {
        if is_led_by_host(path) {
            return path.to_owned();
        }
        USUAL.unlayered(path).0
    });
    let behind_host = led.filter(|led| is_led_by_host(led)).map(|led| {
        let path = led.trim_start_matches(SEPARATORS);
        let at = path.find(SEPARATORS);
        let path = at.and_then(|at| path.get(at..)).unwrap_or("/");
        readings_of(path).collect::<Vec<_>>()
    });
    readings_of(path).chain(behind_host.into_iter().flatten())
}

fn readings_of(path: &str) -> impl Iterator<Item = Steps> {
    use Letters::{Alike, LowByte};
    let is_escaped = !path.is_ascii() || path.contains('%');
    let is_parted = is_escaped || path.contains(['\\', ';', '+', '(']) || path.contains("/.");
    let is_wide = is_escaped && unescaped(path).chars().any(|letter| letter > '\u{ff}');
    let letters = iter::once(Alike).chain(is_wide.then_some(LowByte));
    letters.flat_map(move |letters| {
        let usual = Reading { letters, ..USUAL };
        let plain = usual.unlayered(path).0;
        let ends = [
            Some(End::Never),
            plain.contains(ENDS).then_some(End::Sign),
            plain.contains(';').then_some(End::Parameter),
        ];
        let partings = [
            Some(Parting::Decoded),
            is_parted.then_some(Parting::Written),
        ];
        // Only a path with a dot step has one; where it is hidden behind blanks and escapes, any dot may be one.
        let is_dotted = path.contains("/.") || (is_escaped && plain.contains('.'));
        let dots = [
            Some(Dots::Climb),
            is_dotted.then_some(Dots::Names),
            path.contains("/.").then_some(Dots::WrittenClimb),
        ];
        let ends = ends.into_iter().flatten();
        ends.flat_map(move |end| {
            let partings = partings.into_iter().flatten();
            partings.flat_map(move |parting| {
                let dots = dots.into_iter().flatten();
                dots.map(move |dots| {
                    let reading = Reading {
                        letters,
                        end,
                        parting,
                        dots,
                    };
                    reading.steps(path)
                })
            })
        })
    })
}

impl Reading {
    fn steps(self, path: &str) -> Steps {
        let mut steps = Steps::default();
        let path = match self.dots {
            Dots::WrittenClimb => Cow::Owned(climbed(path, &mut steps)),
            Dots::Climb | Dots::Names => Cow::Borrowed(path),
        };
        if self.parting == Parting::Decoded {
            for step in self.decoded(&path).0.split(SEPARATORS) {
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
    fn push(self, steps: &mut Steps, step: &str) {
        let bare = step.split(';').next().unwrap_or_default();
        let bare = without_stream(bare).trim();
        match bare {
            "." if self.dots == Dots::Climb => {}
            ".." if self.dots == Dots::Climb => steps.leads_out |= steps.names.pop().is_none(),
            bare => {
                let is_written = self.parting == Parting::Written;
                if is_session(bare) && !is_written {
                    return;
                }
                // A dot step that is a name has nothing else.
                let is_dots = matches!(bare, "." | "..");
                let step = if is_dots {
                    bare.to_owned()
                } else {
                    bare.trim_end_matches(['.', ' ']).to_lowercase()
                };
                if !step.is_empty() || is_written {
                    steps.names.push(step);
                }
            }
        }
    }

    /// A path or a part of one without its layers of percent encoding and what is not seen, and whether it ended before its end.
    fn decoded(self, text: &str) -> (String, bool) {
        let (mut plain, is_end) = self.unlayered(text);
        plain.retain(|letter| !is_hidden(letter) && letter != char::REPLACEMENT_CHARACTER);
        (plain.replace('+', " "), is_end)
    }

    /// Without its layers of percent encoding.
    fn unlayered(self, text: &str) -> (String, bool) {
        let mut plain = text.to_owned();
        let mut is_end = false;
        let mut shorten = |plain: &mut String| {
            let at = match self.end {
                End::Never => None,
                End::Sign => plain.find(ENDS),
                End::Parameter => plain.find(|letter| letter == ';' || ENDS.contains(&letter)),
            };
            if let Some(at) = at {
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
            }
            shorten(&mut plain);
            if !plain.is_ascii() {
                // An escape may be written in compatibility forms, and have them.
                plain = self.letters.plain(&plain);
                shorten(&mut plain);
            }
        }
        (plain, is_end)
    }
}

/// The path without the dot steps that are written as such, as who normalizes before decoding reads it.
fn climbed(path: &str, steps: &mut Steps) -> String {
    let mut names: Vec<&str> = Vec::new();
    for step in path.split('/').filter(|step| !step.is_empty()) {
        match step {
            "." => {}
            ".." => steps.leads_out |= names.pop().is_none(),
            step => names.push(step),
        }
    }
    names.join("/")
}

/// A step without the stream of an NTFS file that it names: `logout::$DATA`, `admin:$i30:$INDEX_ALLOCATION`.
fn without_stream(step: &str) -> &str {
    let name = step.split_once(":$").map(|(name, _)| name);
    name.map_or(step, |name| name.trim_end_matches(':'))
}

/// Whether a step holds the session of an ASP.NET client without cookies, which the server takes out of the path: `(S(…))`, also
/// `(A(…)F(…))`.
fn is_session(step: &str) -> bool {
    let inner = step
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| {
        let mut letters = inner.chars();
        letters
            .next()
            .is_some_and(|letter| letter.is_ascii_alphabetic())
            && letters.next() == Some('(')
    })
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

#[cfg(test)]
mod tests;
