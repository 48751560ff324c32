//! Where in a text a rule applies: its lines and columns, and the attributes of a page.
//!
//! A text has no fields, so a rule names a part of it by other keys than `path`. Lines are named by a number or by a regular
//! expression, columns as white space or as their position separates them, and a value in a page by a simple selector and
//! an attribute. More than that is no rule that the person who approves it can read: [`parts`](super::parts) is there for it.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// Memory of a compiled expression for lines: thousands of states, far more than people can read.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Tests of one selector: a start tag is asked for each of them.
const MAX_TESTS: usize = 16;

/// A part of a text.
#[derive(Clone)]
pub(crate) enum Place {
    /// In these lines.
    Lines(Lines, Span),
    /// The values of an attribute in a page.
    Attribute(Selector),
}

/// Some of the lines.
#[derive(Clone)]
pub(crate) enum Lines {
    All,
    /// From 1.
    Number(usize),
    /// Those in which it is found.
    With(Regex),
}

/// What of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Span {
    Whole,
    /// From 1.
    Column(usize),
    /// The first and the last, from 1.
    Characters(usize, usize),
}

/// Start tags, and an attribute of them.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    /// The name of the element in lower case; any without it.
    pub(crate) element: Option<Box<str>>,
    /// Attributes that the tag must have, in lower case, each perhaps with this value.
    pub(crate) tests: Vec<Test>,
    /// Whose value is meant, in lower case.
    pub(crate) attribute: Box<str>,
}

/// The name of an attribute, and perhaps its value.
pub(crate) type Test = (Box<str>, Option<Box<str>>);

/// Why a key cannot be read, and what to write instead.
pub(crate) type Wrong = (String, &'static str);

const HOW_TO_LINE: &str =
    "write a number from 1 such as \"3\", or a regular expression such as '^# generated'";

impl Lines {
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(number) if number > 0 => Ok(Self::Number(number)),
                _ => Err((format!("`{text}` is no number of a line"), HOW_TO_LINE)),
            };
        }
        let regex = RegexBuilder::new(text)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| (format!("`{text}`: {error}"), HOW_TO_LINE))?;
        if regex.is_match("") {
            // A slip such as `(foo)?` or `x*` names all lines.
            return Err((
                format!("`{text}` is found in every line, also in an empty one"),
                "say what the line holds, for example '^# generated'",
            ));
        }
        Ok(Self::With(regex))
    }

    /// Whether they are probably all that hold anything.
    pub(super) fn seem_all(&self) -> bool {
        let unlike = ["a", "Z", "0", " ", "-", "{"];
        unlike.iter().all(|line| self.has(0, line))
    }

    /// Whether a line, without its end, is one of them.
    pub(crate) fn has(&self, number: usize, line: &str) -> bool {
        match self {
            Self::All => true,
            Self::Number(own) => *own == number,
            Self::With(regex) => regex.is_match(line),
        }
    }
}

impl Span {
    pub(super) fn column(text: &str) -> Result<Self, Wrong> {
        number(text).map(Self::Column).ok_or_else(|| {
            (
                format!("`{text}` is not a column"),
                "write the number of one column from 1, as white space separates them: `column = \"5\"`",
            )
        })
    }

    pub(super) fn characters(text: &str) -> Result<Self, Wrong> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (number(first.trim()), number(last.trim())) {
            (Some(first), Some(last)) if first <= last => Ok(Self::Characters(first, last)),
            _ => Err((
                format!("`{text}` is not a range of characters"),
                "write the first and the last, from 1: `characters = \"10-19\"`",
            )),
        }
    }
}

fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = text.parse().ok().filter(|_| is_number)?;
    (number > 0).then_some(number as usize)
}

const HOW_TO_SELECT: &str = "write a name with tests for attributes, such as `input[name=csrf]`, `meta[name=\"csrf-token\"]` or `[data-nonce]`";

impl Selector {
    pub(crate) fn parse(element: &str, attribute: &str) -> Result<Self, Wrong> {
        let wrong = || (format!("`{element}` is not a selector"), HOW_TO_SELECT);
        let end = element.find('[').unwrap_or(element.len());
        let (name, mut rest) = element.split_at(end);
        let mut tests = Vec::new();
        while !rest.is_empty() {
            let inside = rest.strip_prefix('[').ok_or_else(wrong)?;
            let (test, behind) = test(inside).ok_or_else(wrong)?;
            tests.push(test);
            rest = behind;
        }
        let is_any = name.is_empty() || name == "*";
        if !(is_any || is_name(name))
            || (name.is_empty() && tests.is_empty())
            || tests.len() > MAX_TESTS
        {
            return Err(wrong());
        }
        Ok(Self {
            element: (!is_any).then(|| name.to_ascii_lowercase().into()),
            tests,
            attribute: attribute.to_ascii_lowercase().into(),
        })
    }
}

/// What stands in brackets, and what follows the closing one.
fn test(text: &str) -> Option<(Test, &str)> {
    let end = text.find(['=', ']'])?;
    let (name, rest) = text.split_at(end);
    let name = Some(name.trim()).filter(|name| is_name(name))?;
    let name: Box<str> = name.to_ascii_lowercase().into();
    if let Some(behind) = rest.strip_prefix(']') {
        return Some(((name, None), behind));
    }
    let rest = rest.strip_prefix('=')?.trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''));
    let (value, behind) = if let Some(quote) = quote {
        let (value, behind) = rest.get(1..)?.split_once(quote)?;
        (value, behind.trim_start().strip_prefix(']')?)
    } else {
        let (value, behind) = rest.split_once(']')?;
        let value = value.trim();
        (!value.is_empty() && !value.contains(['"', '\'', '['])).then_some((value, behind))?
    };
    Some(((name, Some(value.into())), behind))
}

/// Whether a text can be the name of an element or an attribute.
pub(super) fn is_name(text: &str) -> bool {
    let is_sign =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'@');
    !text.is_empty() && text.bytes().all(is_sign)
}

/// What decides: this text is part of the hash of the rules.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines(lines, span) => {
                match lines {
                    Lines::All => f.write_str("lines ")?,
                    Lines::Number(number) => write!(f, "line {number} ")?,
                    Lines::With(regex) => write!(f, "lines with {:?} ", regex.as_str())?,
                }
                span.fmt(f)
            }
            Self::Attribute(selector) => selector.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_number_or_an_expression_that_not_every_line_has() {
        for (text, debug) in [
            ("3", Some("line 3")),
            ("[3]", Some("lines with \"[3]\"")),
            ("^# generated", Some("lines with \"^# generated\"")),
            ("0", None),
            ("99999999999999999999999", None),
            ("", None),
            ("x*", None),
            ("^", None),
            ("(", None),
            (r"(\w{100}){100}x", None),
        ] {
            let lines = Lines::parse(text).ok();
            let shown = lines.map(|lines| format!("{:?}", Place::Lines(lines, Span::Whole)));
            let expected = debug.map(|debug| format!("{debug} Whole"));
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn columns_and_characters_count_from_one() {
        for (text, column, characters) in [
            ("1", true, true),
            ("0", false, false),
            ("-1", false, false),
            ("+1", false, false),
            ("2-5", false, true),
            ("5-2", false, false),
            ("5-", false, false),
            ("", false, false),
            ("two", false, false),
            ("99999999999", false, false),
        ] {
            assert_eq!(Span::column(text).is_ok(), column, "{text}");
            assert_eq!(Span::characters(text).is_ok(), characters, "{text}");
        }
    }

    #[test]
    fn selectors_are_a_name_and_tests_for_attributes() {
        for (text, expected) in [
            (
                "input[name=csrf]",
                Some("Some(\"input\") [(\"name\", Some(\"csrf\"))]"),
            ),
            (
                "INPUT[ Name = 'a b' ]",
                Some("Some(\"input\") [(\"name\", Some(\"a b\"))]"),
            ),
            (
                "meta[name=\"x]y\"][content]",
                Some("Some(\"meta\") [(\"name\", Some(\"x]y\")), (\"content\", None)]"),
            ),
            ("[data-x]", Some("None [(\"data-x\", None)]")),
            ("*", Some("None []")),
            ("script", Some("Some(\"script\") []")),
            ("", None),
            ("div p", None),
            ("div > p", None),
            ("#id", None),
            (".class", None),
            ("input[name", None),
            ("input[name=", None),
            ("input[name=\"a]", None),
            ("input[=a]", None),
            ("input[]", None),
            ("input[a]b", None),
            ("input[a^=b]", None),
        ] {
            let selector = Selector::parse(text, "value").ok();
            let shown = selector.map(|found| format!("{:?} {:?}", found.element, found.tests));
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }
}
