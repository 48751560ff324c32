//! Finds the values of attributes in a page.
//!
//! It reads tags as browsers do (the tokenizer of the HTML standard, as far as attributes need it), so that no damage makes
//! it fail: what does not end is no tag. What stands in comments, scripts and the like is no tag either. Every byte is read
//! a fixed number of times, whatever the page holds. Nothing is unescaped: a rule names attributes as they are written.

use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;

use crate::rules::Selector;

/// Elements whose content is text up to their end tag.
const RAW: [&str; 8] = [
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
];
/// Attributes of one tag that are looked at: no page has more, and each is compared with each test.
const MAX_ATTRIBUTES: usize = 256;

/// Where the values are that a selector names, in their order. Values that are empty are left out, so that a token that is
/// gone is not taken for another one.
pub(super) fn values(page: &str, selector: &Selector) -> Vec<Range<usize>> {
    let bytes = page.as_bytes();
    let comment = Finder::new("-->");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = memchr(b'<', bytes.get(at..).unwrap_or_default()) {
        let open = at + offset;
        let rest = &bytes[open + 1..];
        at = open + 1;
        match rest.first() {
            Some(b'!') if rest.starts_with(b"!--") => {
                // `<!-->` is a whole comment.
                match comment.find(&rest[1..]) {
                    Some(end) => at = open + 2 + end + 3,
                    None => return found,
                }
            }
            Some(b'!' | b'?' | b'/') => match memchr(b'>', rest) {
                Some(end) => at = open + 1 + end + 1,
                None => return found,
            },
            Some(first) if first.is_ascii_alphabetic() => {
                let Some(tag) = Tag::read(bytes, open + 1) else {
                    return found;
                };
                let name = page.get(tag.name.clone()).unwrap_or_default();
                found.extend(tag.value_of(page, name, selector));
                at = tag.end;
                if name.eq_ignore_ascii_case("plaintext") {
                    return found;
                }
                if RAW.iter().any(|raw| name.eq_ignore_ascii_case(raw)) {
                    match end_of_raw(bytes, at, name.as_bytes()) {
                        Some(end) => at = end,
                        None => return found,
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Where the end tag of a raw element begins.
fn end_of_raw(bytes: &[u8], from: usize, name: &[u8]) -> Option<usize> {
    let mut at = from;
    loop {
        let open = at + memchr(b'<', bytes.get(at..)?)?;
        let behind = bytes.get(open + 1..)?.strip_prefix(b"/");
        let ends = behind.is_some_and(|rest| {
            let own = rest.get(..name.len());
            let next = rest.get(name.len());
            own.is_some_and(|own| own.eq_ignore_ascii_case(name))
                && next.is_some_and(|next| is_space(*next) || matches!(next, b'/' | b'>'))
        });
        if ends {
            return Some(open);
        }
        at = open + 1;
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// A start tag.
struct Tag {
    name: Range<usize>,
    /// Names and values.
    attributes: Vec<[Range<usize>; 2]>,
    /// Behind its `>`.
    end: usize,
}

impl Tag {
    /// The tag whose name begins at `start`; `None` if the page ends in it.
    fn read(bytes: &[u8], start: usize) -> Option<Self> {
        let until = |from: usize, ends: &dyn Fn(u8) -> bool| -> usize {
            let rest = bytes.get(from..).unwrap_or_default();
            from + rest
                .iter()
                .position(|byte| ends(*byte))
                .unwrap_or(rest.len())
        };
        let mut at = until(start, &|byte| is_space(byte) || matches!(byte, b'/' | b'>'));
        let mut tag = Self {
            name: start..at,
            attributes: Vec::new(),
            end: 0,
        };
        loop {
            at = until(at, &|byte| !is_space(byte) && byte != b'/');
            if *bytes.get(at)? == b'>' {
                tag.end = at + 1;
                return Some(tag);
            }
            // A name may begin with `=`.
            let end = until(at + 1, &|byte| {
                is_space(byte) || matches!(byte, b'/' | b'>' | b'=')
            });
            let name = at..end;
            let sign = until(end, &|byte| !is_space(byte));
            let mut value = end..end;
            at = end;
            if bytes.get(sign) == Some(&b'=') {
                let begin = until(sign + 1, &|byte| !is_space(byte));
                match *bytes.get(begin)? {
                    quote @ (b'"' | b'\'') => {
                        let length = memchr(quote, bytes.get(begin + 1..)?)?;
                        value = begin + 1..begin + 1 + length;
                        at = value.end + 1;
                    }
                    b'>' => at = begin,
                    _ => {
                        value = begin..until(begin, &|byte| is_space(byte) || byte == b'>');
                        at = value.end;
                    }
                }
            }
            if tag.attributes.len() < MAX_ATTRIBUTES {
                tag.attributes.push([name, value]);
            }
        }
    }

    /// The value that a selector names in this tag. Of an attribute that is there twice, the first one counts.
    fn value_of(&self, page: &str, name: &str, selector: &Selector) -> Option<Range<usize>> {
        let element = selector.element.as_deref();
        if element.is_some_and(|element| !name.eq_ignore_ascii_case(element)) {
            return None;
        }
        let text = |span: &Range<usize>| page.get(span.clone()).unwrap_or_default();
        let value = |wanted: &str| {
            let mut all = self.attributes.iter();
            let named = all.find(|[name, _]| text(name).eq_ignore_ascii_case(wanted));
            named.map(|[_, value]| value.clone())
        };
        let holds = |(name, wanted): &(Box<str>, Option<Box<str>>)| {
            value(name).is_some_and(|own| {
                wanted
                    .as_deref()
                    .is_none_or(|text| page.get(own) == Some(text))
            })
        };
        if !selector.tests.iter().all(holds) {
            return None;
        }
        value(&selector.attribute).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(page: &'a str, element: &str, attribute: &str) -> Vec<&'a str> {
        let selector = Selector::parse(element, attribute).expect("a selector");
        let values = values(page, &selector);
        values
            .into_iter()
            .filter_map(|value| page.get(value))
            .collect()
    }

    #[test]
    fn values_are_found_as_browsers_read_tags() {
        for (page, expected) in [
            (r#"<input type=hidden name="csrf" value="a1">"#, &["a1"][..]),
            ("<INPUT NAME='csrf'\n VALUE = 'a1' />", &["a1"]),
            ("<input value=a1/ name=csrf>", &["a1/"]),
            (r#"<input name="csrf"value="a1">"#, &["a1"]),
            (r#"<input name="csrf" value="x > y">"#, &["x > y"]),
            (r#"<input name="csrf" value="">"#, &[]),
            (r#"<input name="csrf" value>"#, &[]),
            (r#"<input name="csrf" value=>"#, &[]),
            (r#"<input name="csrf" data-value="b">"#, &[]),
            (r#"<input name="other" value="a1">"#, &[]),
            (r#"<input name="other" name="csrf" value="a1">"#, &[]),
            (r#"<input name="csrf" value="1" value="2">"#, &["1"]),
            (r#"<inputs name="csrf" value="a1">"#, &[]),
            (r#"</input name="csrf" value="a1">"#, &[]),
            (r#"<!-- <input name="csrf" value="a1"> -->"#, &[]),
            (r#"<!--><input name="csrf" value="a1">"#, &["a1"]),
            (r#"<!doctype html><input name="csrf" value="a1">"#, &["a1"]),
            (r#"<script>"<input name='csrf' value='a1'>"</script>"#, &[]),
            (
                r#"<script></scripts></SCRIPT ><input name="csrf" value="a1">"#,
                &["a1"],
            ),
            (r#"<title><input name="csrf" value="a1"></title>"#, &[]),
            (r#"<style><input name="csrf" value="a1">"#, &[]),
            (r#"1 < 2 <3 <input name="csrf" value="a1">"#, &["a1"]),
            (
                r#"<p title="<input name='csrf' value='no'>"><input name=csrf value=a1>"#,
                &["a1"],
            ),
            // What does not end is no tag.
            (r#"<input name="csrf" value="a1"#, &[]),
            (r#"<input name="csrf" value="a1" "#, &[]),
            (r#"<p class="a><input name="csrf" value="a1">"#, &[]),
            ("<", &[]),
            ("<input", &[]),
            ("<!--", &[]),
            ("</", &[]),
            (
                "<input name=csrf value=1>\u{e9}<input name=csrf value=\u{e9}>",
                &["1", "\u{e9}"],
            ),
        ] {
            assert_eq!(found(page, "input[name=csrf]", "value"), expected, "{page}");
        }
        let page = r#"<meta name="csrf-token" content="t"><div data-nonce=n1><a data-nonce=n2>"#;
        assert_eq!(found(page, "meta[name=csrf-token]", "content"), ["t"]);
        assert_eq!(found(page, "[data-nonce]", "data-nonce"), ["n1", "n2"]);
        assert_eq!(found(page, "*", "DATA-NONCE"), ["n1", "n2"]);
    }

    #[test]
    fn damage_costs_no_more_than_reading_the_page() {
        for piece in [
            "<",
            "<a ",
            "<a b='",
            "<!--",
            "<script>",
            "</",
            "<a =",
            "<a b=\"c\" ",
            "<script></scrip",
        ] {
            let page = piece.repeat(1_000_000 / piece.len());
            assert!(found(&page, "a[b=x]", "c").is_empty(), "{piece}");
        }
    }
}
