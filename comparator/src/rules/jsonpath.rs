//! JSONPath (RFC 9535) as a way to write the path of a rule.
//!
//! What other tools print (normalized paths, `$['items'][0]['price']`) and what people know by heart
//! (`$.items[*].price`, `$..updated_at`) is translated into the segments of a pattern. Selectors that choose by value or
//! by counting (filters, slices, negative indices, several selectors in one bracket) have no segment: they are refused
//! with what to write instead, never half understood.

use super::Refused;
use super::segment::Segment;
use crate::notation::string;

/// The segments that a path stands for, which begins with `$`.
pub(super) fn segments(path: &str) -> Result<Vec<Segment>, Refused> {
    let mut reader = Reader {
        path,
        rest: path.strip_prefix('$').unwrap_or(path),
    };
    let mut segments = Vec::new();
    while !reader.rest.is_empty() {
        if reader.take("..") {
            segments.push(Segment::Deep);
            segments.push(if reader.take("[") {
                reader.bracket()?
            } else {
                reader.name()?
            });
        } else if reader.take(".") {
            segments.push(reader.name()?);
        } else if reader.take("[") {
            segments.push(reader.bracket()?);
        } else {
            return Err(reader.refused("expected `.` or `[`", None));
        }
    }
    Ok(segments)
}

struct Reader<'a> {
    path: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn refused(&self, what: &str, hint: Option<&str>) -> Refused {
        let before = self.path.len() - self.rest.len();
        let at = self
            .path
            .char_indices()
            .take_while(|(at, _)| *at < before)
            .count();
        let hint = hint.unwrap_or(
            "write a JSON Pointer with `*` and `**`, such as `/items/*/price`, or the like of `$.items[*].price`",
        );
        (
            format!("`{}`: {what} at character {}", self.path, at + 1),
            Some(hint.to_owned()),
        )
    }

    /// Behind a dot: `*` or a name (RFC 9535 `member-name-shorthand`).
    fn name(&mut self) -> Result<Segment, Refused> {
        if self.take("*") {
            return Ok(Segment::Any);
        }
        let plain = |character: char| {
            character == '_' || character.is_ascii_alphanumeric() || !character.is_ascii()
        };
        let end = self
            .rest
            .find(|character| !plain(character))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.refused("expected a name or `*`", None));
        }
        if rest.starts_with('-') {
            return Err(self.refused(
                "a name with `-` stands in brackets",
                Some("write for example `$['x-id']`, or a JSON Pointer: `/x-id`"),
            ));
        }
        self.rest = rest;
        Ok(named(name.to_owned()))
    }

    /// Behind `[`: one selector, and `]`.
    fn bracket(&mut self) -> Result<Segment, Refused> {
        self.space();
        let segment = match self.rest.as_bytes().first() {
            Some(b'*') => {
                self.take("*");
                Segment::Any
            }
            Some(quote @ (b'\'' | b'"')) => named(self.quoted(char::from(*quote))?),
            Some(b'?') => {
                return Err(self.refused(
                    "filters are not supported",
                    Some("name the place with `*`, and say in another rule what is excepted"),
                ));
            }
            Some(b'-') => {
                return Err(self.refused(
                    "indices from the end are not supported",
                    Some("name the index from the start, or every element with `[*]`"),
                ));
            }
            Some(b'0'..=b'9') => {
                let end = self
                    .rest
                    .find(|character: char| !character.is_ascii_digit())
                    .unwrap_or(self.rest.len());
                let (digits, rest) = self.rest.split_at(end);
                if digits.len() > 1 && digits.starts_with('0') {
                    return Err(self.refused("an index has no leading zeros", None));
                }
                let Ok(index) = digits.parse() else {
                    return Err(self.refused("no array has so many elements", None));
                };
                self.rest = rest;
                Segment::Index(index)
            }
            Some(b':') => return Err(self.slice()),
            _ => return Err(self.refused("expected a name in quotes, an index or `*`", None)),
        };
        self.space();
        match self.rest.as_bytes().first() {
            Some(b']') => {
                self.take("]");
                Ok(segment)
            }
            Some(b':') => Err(self.slice()),
            Some(b',') => Err(self.refused(
                "several selectors in one bracket are not supported",
                Some("write one rule for each"),
            )),
            _ => Err(self.refused("expected `]`", None)),
        }
    }

    fn slice(&self) -> Refused {
        self.refused(
            "slices are not supported",
            Some("name one index, or every element with `[*]`"),
        )
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// A name in quotes, with the escapes of RFC 9535 (those of JSON, and the quote itself).
    fn quoted(&mut self, quote: char) -> Result<String, Refused> {
        let begin = self.rest;
        let mut characters = begin.char_indices().skip(1);
        let mut name = String::new();
        while let Some((at, character)) = characters.next() {
            if character == quote {
                self.rest = begin.get(at + 1..).unwrap_or_default();
                return Ok(name);
            }
            if character < ' ' {
                break;
            }
            if character != '\\' {
                name.push(character);
                continue;
            }
            let Some((_, escape)) = characters.next() else {
                break;
            };
            name.push(match escape {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '/' | '\\' => escape,
                _ if escape == quote => escape,
                'u' => {
                    let (code, used) =
                        code_point(begin.get(at..).unwrap_or_default()).ok_or_else(|| {
                            self.refused("`\\u` needs four hexadecimal digits of a character", None)
                        })?;
                    // The backslash and the `u` are taken already.
                    for _ in 2..used {
                        characters.next();
                    }
                    code
                }
                _ => return Err(self.refused("no such escape in a name", None)),
            });
        }
        Err(self.refused("the name has no end", None))
    }
}

/// The segment that names a key, and no index.
fn named(key: String) -> Segment {
    Segment::Literal {
        hash: string::hash(key.as_bytes()),
        index: None,
        text: key.into(),
    }
}

/// The character of one `\uXXXX`, or of a surrogate pair, and how many bytes that is.
fn code_point(text: &str) -> Option<(char, usize)> {
    let unit = |from: usize| -> Option<u32> {
        let digits = text.get(from..)?.strip_prefix("\\u")?.get(..4)?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| hex)
    };
    let high = unit(0)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Some((char::from_u32(high)?, 6));
    }
    let low = unit(6).filter(|low| (0xdc00..0xe000).contains(low))?;
    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(code)?, 12))
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Pattern;

    #[test]
    fn a_jsonpath_is_the_pointer_that_it_stands_for() {
        for (path, pointer) in [
            ("$", ""),
            ("$.items[*].price", "/items/*/price"),
            ("$['items'][0]['price']", "/items/~[0]/price"),
            ("$[\"a\"][ 'b' ]", "/a/b"),
            ("$..updated_at", "/**/updated_at"),
            ("$.a..*", "/a/**/*"),
            ("$..[0]", "/**/~[0]"),
            ("$.a.*.b", "/a/*/b"),
            ("$['a/b']['~']", "/a~1b/~0"),
            (r"$['it\'s']['\u00e9']['\ud83d\ude00']", "/it's/é/😀"),
            ("$.ünï", "/ünï"),
            ("$['']", "/"),
            ("$['*']", "/~*"),
        ] {
            let pattern = Pattern::body(path).unwrap_or_else(|error| panic!("{path}: {error:?}"));
            assert_eq!(pattern.canonical(), pointer, "{path}");
        }
        // A key that is a star is no wildcard, although it prints like one.
        assert_ne!(Pattern::body("$['*']"), Pattern::body("$[*]"));
    }

    #[test]
    fn what_has_no_pointer_is_refused_by_name_and_place() {
        for (path, message) in [
            (
                "$[99999999999]",
                "`$[99999999999]`: no array has so many elements at character 3",
            ),
            (
                "$['é'][?@.a]",
                "`$['é'][?@.a]`: filters are not supported at character 8",
            ),
            (
                "$[?@.a]",
                "`$[?@.a]`: filters are not supported at character 3",
            ),
            (
                "$.a[-1]",
                "`$.a[-1]`: indices from the end are not supported at character 5",
            ),
            (
                "$[1:3]",
                "`$[1:3]`: slices are not supported at character 4",
            ),
            ("$[:3]", "`$[:3]`: slices are not supported at character 3"),
            (
                "$['a','b']",
                "`$['a','b']`: several selectors in one bracket are not supported at character 6",
            ),
            ("$.", "`$.`: expected a name or `*` at character 3"),
            ("$.1", "`$.1`: expected a name or `*` at character 3"),
            (
                "$.x-id",
                "`$.x-id`: a name with `-` stands in brackets at character 3",
            ),
            ("$a", "`$a`: expected `.` or `[` at character 2"),
            (
                "$[01]",
                "`$[01]`: an index has no leading zeros at character 3",
            ),
            ("$['a", "`$['a`: the name has no end at character 3"),
            ("$['a'", "`$['a'`: expected `]` at character 6"),
            (
                r"$['\ud800']",
                r"`$['\ud800']`: `\u` needs four hexadecimal digits of a character at character 3",
            ),
            (
                r"$['\x']",
                r"`$['\x']`: no such escape in a name at character 3",
            ),
            (
                "$[]",
                "`$[]`: expected a name in quotes, an index or `*` at character 3",
            ),
        ] {
            let (refused, hint) = Pattern::body(path).expect_err(path);
            assert_eq!(refused, message);
            assert!(hint.is_some());
        }
    }
}
