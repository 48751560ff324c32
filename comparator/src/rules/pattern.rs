//! Path patterns of rules: JSON Pointers with `*` for one segment and `**` for any number of them.
//!
//! JSONPath (RFC 9535) is accepted as another way to write one, as far as it says no more than that: normalized paths
//! such as `$['items'][0]`, names, indices, `[*]` and `..`. Filters, slices and negative indices are refused, and regular
//! expressions do not exist: a rule must be readable by the person who approves it.

use super::segment::Segment;
use super::{Refused, jsonpath};
use crate::notation::pointer::push_escaped;
use crate::notation::string;

/// A compiled pattern; no segments for the whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Box<[Segment]>);

/// Longest pattern: no document is followed deeper than its depth limit.
const MAX_SEGMENTS: usize = 256;

impl Pattern {
    /// Reads the path of a rule for the body. The error says what is wrong and what to write instead.
    pub(crate) fn body(path: &str) -> Result<Self, Refused> {
        if path.is_empty() {
            return Ok(Self(Box::default()));
        }
        let mut segments = if path.starts_with('$') {
            jsonpath::segments(path)?
        } else if let Some(rest) = path.strip_prefix('/') {
            let segment = |text: &str| match text {
                "*" => Ok(Segment::Any),
                "**" => Ok(Segment::Deep),
                _ => literal(text),
            };
            rest.split('/')
                .map(segment)
                .collect::<Result<Vec<_>, _>>()?
        } else {
            return Err((
                format!("`{path}` is not a path: it must begin with `/`"),
                Some(suggest_pointer(path)),
            ));
        };
        // `/**/**/x` means what `/**/x` means and would only cost more.
        segments.dedup_by(|one, two| *one == Segment::Deep && *two == Segment::Deep);
        if segments.len() > MAX_SEGMENTS {
            return Err((
                format!("the path has more than {MAX_SEGMENTS} segments"),
                None,
            ));
        }
        Ok(Self(segments.into()))
    }

    /// Reads the name of a header, `set-cookie/NAME` for one cookie, `*` for any.
    pub(crate) fn header(path: &str) -> Result<Self, Refused> {
        if let Some(name) = path.strip_prefix('/') {
            return Err((
                format!("`{path}` is not a header name"),
                Some(format!(
                    "write `{}`, without the slash",
                    name.to_ascii_lowercase()
                )),
            ));
        }
        let (name, cookie) = path
            .split_once('/')
            .map_or((path, None), |(name, cookie)| (name, Some(cookie)));
        let lower = name.to_ascii_lowercase();
        if lower != "*" && http::HeaderName::from_bytes(lower.as_bytes()).is_err() {
            return Err((
                format!("`{name}` is not a header name"),
                Some("write the name alone, for example `x-request-id`".to_owned()),
            ));
        }
        let mut segments = vec![header_segment(&lower)];
        if let Some(cookie) = cookie {
            if lower != "set-cookie" || cookie.is_empty() {
                return Err((
                    format!("`{path}`: only cookies have a second segment, `set-cookie/NAME`"),
                    None,
                ));
            }
            if let Some((name, attribute)) = attribute(cookie) {
                return Err((
                    format!("`{path}`: there is no path to the attribute {attribute} of a cookie"),
                    Some(format!(
                        "write `set-cookie/{name}`, which is the cookie with its attributes"
                    )),
                ));
            }
            segments.push(header_segment(cookie));
        }
        Ok(Self(segments.into()))
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The key that it ends with and the pattern of what holds it; `None` if it ends with a wildcard, an index, or is empty.
    pub(crate) fn named_key(&self) -> Option<(&str, Self)> {
        let (last, holder) = self.0.split_last()?;
        match last {
            Segment::Literal { text, .. } => Some((text, Self(holder.into()))),
            Segment::Index(_) | Segment::Any | Segment::Deep => None,
        }
    }

    /// The last name in it: what it ends with, or what holds that, if it ends with a wildcard or an index.
    pub(crate) fn last_name(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| match segment {
            // What XML calls like this has no name of its own.
            Segment::Literal { text, .. } if !text.starts_with('#') => Some(&**text),
            _ => None,
        })
    }

    /// The pattern of another key in what holds this one.
    pub(crate) fn beside(&self, key: &str) -> Self {
        let holder = self.0.split_last().map_or(&[][..], |(_, holder)| holder);
        Self(holder.iter().cloned().chain([key_segment(key)]).collect())
    }

    /// Whether the pattern is met by the whole body.
    pub(crate) fn covers_root(&self) -> bool {
        self.0.iter().all(|segment| *segment == Segment::Deep)
    }

    /// Whether it names keys by `*`, so that findings are told with it.
    pub(super) fn names_any(&self) -> bool {
        self.0.contains(&Segment::Any)
    }

    /// Whether it may name one position in an array.
    pub(super) fn names_a_position(&self) -> bool {
        let is_one = |segment: &Segment| {
            matches!(
                segment,
                Segment::Index(_) | Segment::Literal { index: Some(_), .. }
            )
        };
        self.0.iter().any(is_one)
    }

    /// Whether a rule on this header pattern applies to `path`; a rule on `set-cookie` applies to each cookie.
    pub(crate) fn covers_header(&self, path: &str) -> bool {
        let mut parts = path.splitn(2, '/');
        self.0.iter().all(|segment| match (segment, parts.next()) {
            (Segment::Literal { text, .. }, Some(part)) => **text == *part,
            (Segment::Any | Segment::Deep, Some(_)) => true,
            (Segment::Index(_), _) | (_, None) => false,
        })
    }

    /// Whether it is the header `set-cookie`, of a rule for a header.
    pub(super) fn is_of_set_cookie(&self) -> bool {
        matches!(&*self.0, [Segment::Literal { text, .. }] if is_of_cookies(text))
    }

    /// The pattern in one spelling, for the hash of the rules.
    pub(crate) fn canonical(&self) -> String {
        let mut text = String::new();
        for segment in &self.0 {
            text.push('/');
            match segment {
                Segment::Literal { text: key, .. } => {
                    // A key that is itself a star is no wildcard.
                    if matches!(&**key, "*" | "**") {
                        text.push('~');
                    }
                    push_escaped(&mut text, key);
                }
                // As no key is written.
                Segment::Index(index) => {
                    text.push_str("~[");
                    text.push_str(&index.to_string());
                    text.push(']');
                }
                Segment::Any => text.push('*'),
                Segment::Deep => text.push_str("**"),
            }
        }
        text
    }
}

/// The header that sets cookies.
pub(super) const COOKIES: &str = "set-cookie";

/// Whether a path of a header names cookies: all of them, or one.
pub(super) fn is_of_cookies(path: &str) -> bool {
    let name = path.split('/').next().unwrap_or(path);
    name.eq_ignore_ascii_case(COOKIES)
}

/// The name and the attribute, if what should be a cookie's name is a path to an attribute. Another name with a slash is
/// not refused: no cookie should have one, but some do.
fn attribute(cookie: &str) -> Option<(&str, &str)> {
    const ATTRIBUTES: [&str; 9] = [
        "expires",
        "max-age",
        "domain",
        "path",
        "secure",
        "httponly",
        "samesite",
        "partitioned",
        "value",
    ];
    let (name, attribute) = cookie.rsplit_once('/')?;
    let mut known = ATTRIBUTES.iter();
    let is_known = known.any(|known| attribute.eq_ignore_ascii_case(known));
    is_known.then_some((name, attribute))
}

fn header_segment(text: &str) -> Segment {
    match text {
        "*" => Segment::Any,
        _ => Segment::Literal {
            text: text.into(),
            hash: 0,
            index: None,
        },
    }
}

fn literal(text: &str) -> Result<Segment, Refused> {
    let mut key = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        key.push(match character {
            '~' => match characters.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => {
                    return Err((
                        format!("`{text}`: `~` must be followed by 0 or 1"),
                        Some("write `~0` for `~` and `~1` for `/` in a key".to_owned()),
                    ));
                }
            },
            other => other,
        });
    }
    Ok(key_segment(&key))
}

fn key_segment(key: &str) -> Segment {
    Segment::Literal {
        hash: string::hash(key.as_bytes()),
        // RFC 6901: no leading zeros, so `01` is a key only.
        index: key
            .parse()
            .ok()
            .filter(|index: &u32| index.to_string() == key),
        text: key.into(),
    }
}

/// What the author of `items[*].price` or `items.price` meant.
fn suggest_pointer(path: &str) -> String {
    let path = path.replace("..", ".**.");
    let mut pointer = String::new();
    for part in path.split(['.', '[', ']', '/']) {
        let part = part.trim_matches(['\'', '"']);
        if !part.is_empty() {
            pointer.push('/');
            pointer.push_str(part);
        }
    }
    format!("write `{pointer}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_no_pointer_gets_the_pointer_suggested() {
        for (path, hint) in [
            ("items[*].price", "write `/items/*/price`"),
            ("items.price", "write `/items/price`"),
            ("items..ts", "write `/items/**/ts`"),
            ("items", "write `/items`"),
        ] {
            let (_, suggestion) = Pattern::body(path).expect_err("no slash");
            assert_eq!(suggestion.as_deref(), Some(hint), "{path}");
        }
        assert!(Pattern::body("/a~2").is_err());
        assert_eq!(
            Pattern::body("/a~1b/~0").expect("escapes").canonical(),
            "/a~1b/~0"
        );
    }

    #[test]
    fn a_header_rule_covers_its_cookies() {
        let cookies = Pattern::header("Set-Cookie").expect("a name");
        assert!(cookies.covers_header("set-cookie/sid"));
        let one = Pattern::header("set-cookie/sid").expect("a cookie");
        assert!(one.covers_header("set-cookie/sid") && !one.covers_header("set-cookie/lang"));
        assert!(Pattern::header("/x").is_err() && Pattern::header("a b").is_err());
        assert!(Pattern::header("x-a/b").is_err());
    }
}
