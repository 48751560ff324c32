//! JSON text laid out over lines, token by token: numbers and strings keep their spelling, and a text that was cut in
//! the middle is laid out as far as it goes.

/// Spaces for each level.
const INDENT: usize = 2;
/// Containers up to this length stay on one line where there is room.
const MAX_INLINE: usize = 60;

/// A text in lines.
pub(crate) struct Lines {
    pub(crate) lines: Vec<String>,
    /// Number of lines that were left out.
    pub(crate) more: usize,
}

/// Lays out `text` in lines of about `width` characters, of which at most `limit` are kept.
pub(crate) fn lines(text: &str, width: usize, limit: usize) -> Lines {
    let mut out = Writer {
        lines: Vec::new(),
        more: 0,
        limit,
        line: String::new(),
        depth: 0,
    };
    let mut tokens = Tokens(text);
    // All on one line, if it fits.
    let mut ahead = tokens.clone();
    if let Some(open) = ahead.next()
        && let Some(compact) = inline(open, &mut ahead, width)
    {
        out.line = compact;
        tokens = ahead;
    }
    while let Some(token) = tokens.next() {
        match token {
            Token::Open(_) => {
                let used = out.depth * INDENT + out.line.chars().count();
                let room = width.saturating_sub(used).min(MAX_INLINE);
                let mut ahead = tokens.clone();
                if let Some(compact) = inline(token, &mut ahead, room) {
                    out.line.push_str(&compact);
                    tokens = ahead;
                } else {
                    out.line.push_str(token.text());
                    out.end_line();
                    out.depth += 1;
                }
            }
            Token::Close(_) => {
                out.end_line();
                out.depth = out.depth.saturating_sub(1);
                out.line.push_str(token.text());
            }
            Token::Comma(_) => {
                out.line.push(',');
                out.end_line();
            }
            Token::Colon(_) => out.line.push_str(": "),
            Token::Atom(text) => out.line.push_str(text),
        }
    }
    out.end_line();
    Lines {
        lines: out.lines,
        more: out.more,
    }
}

struct Writer {
    lines: Vec<String>,
    more: usize,
    limit: usize,
    line: String,
    depth: usize,
}

impl Writer {
    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        if self.lines.len() < self.limit {
            let margin = self.depth * INDENT;
            self.lines.push(format!("{:margin$}{}", "", self.line));
        } else {
            self.more += 1;
        }
        self.line.clear();
    }
}

/// The container that begins with `open` on one line; `None` if it is longer than `limit` or does not end. On success,
/// `tokens` has advanced past it.
fn inline(open: Token<'_>, tokens: &mut Tokens<'_>, limit: usize) -> Option<String> {
    let mut out = open.text().to_owned();
    let mut depth = usize::from(matches!(open, Token::Open(_)));
    while depth > 0 {
        let token = tokens.next()?;
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            _ => {}
        }
        out.push_str(token.text());
        if matches!(token, Token::Comma(_) | Token::Colon(_)) {
            out.push(' ');
        }
        if out.len() > limit.saturating_mul(4) {
            return None;
        }
    }
    (out.chars().count() <= limit).then_some(out)
}

#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    Open(&'a str),
    Close(&'a str),
    Comma(&'a str),
    Colon(&'a str),
    Atom(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Open(text)
            | Self::Close(text)
            | Self::Comma(text)
            | Self::Colon(text)
            | Self::Atom(text) => text,
        }
    }
}

/// The tokens of a JSON text, which may have been cut.
#[derive(Clone)]
pub(super) struct Tokens<'a>(pub(super) &'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
        let first = rest.chars().next()?;
        let length = match first {
            '{' | '[' | '}' | ']' | ',' | ':' => 1,
            '"' => string_length(rest),
            _ => rest
                .find([',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r'])
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        self.0 = after;
        Some(match first {
            '{' | '[' => Token::Open(token),
            '}' | ']' => Token::Close(token),
            ',' => Token::Comma(token),
            ':' => Token::Colon(token),
            _ => Token::Atom(token),
        })
    }
}

/// Length in bytes of the string that `text` begins with, including both quotes; all of `text` if the string does not end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

/// The elements of a JSON array as texts; the last one is left out where the text is cut.
pub(crate) fn elements(array: &str) -> Vec<&str> {
    let mut tokens = Tokens(array);
    let mut elements = Vec::new();
    if !matches!(tokens.next(), Some(Token::Open("["))) {
        return elements;
    }
    let mut rest = tokens.0;
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        let ends = match token {
            Token::Open(_) => {
                depth += 1;
                false
            }
            Token::Close(_) if depth == 0 => true,
            Token::Close(_) => {
                depth -= 1;
                false
            }
            Token::Comma(_) => depth == 0,
            _ => false,
        };
        if ends {
            let length = rest.len() - tokens.0.len() - token.text().len();
            let (element, _) = rest.split_at(length);
            if !element.trim().is_empty() {
                elements.push(element.trim());
            }
            rest = tokens.0;
        }
    }
    elements
}

/// The value of a member of an object, if it is a scalar.
pub(crate) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut tokens = Tokens(object);
    let mut depth = 0_usize;
    while let Some(token) = tokens.next() {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth -= 1,
            Token::Atom(key) if depth == 1 && key.strip_prefix('"')?.strip_suffix('"')? == name => {
                if let (Some(Token::Colon(_)), Some(Token::Atom(value))) =
                    (tokens.next(), tokens.next())
                {
                    return Some(value);
                }
                return None;
            }
            Token::Atom(_) if depth == 1 => skip_value(&mut tokens)?,
            _ => {}
        }
    }
    None
}

/// Skips the colon after a key, and the value.
fn skip_value(tokens: &mut Tokens<'_>) -> Option<()> {
    let mut depth = 0_usize;
    tokens.next()?;
    loop {
        match tokens.next()? {
            Token::Open(_) => depth += 1,
            Token::Close(_) => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expected: &[&str]) {
        let laid_out = lines(text, width, usize::MAX);
        assert_eq!(laid_out.lines, expected, "{text}");
        assert_eq!(laid_out.more, 0);
    }

    #[test]
    fn small_values_stay_on_a_line_and_large_ones_do_not() {
        check(
            "{ \"a\" :1.50,\n\"b\":[ ]}",
            80,
            &["{\"a\": 1.50, \"b\": []}"],
        );
        check(
            r#"{"a":[1,2],"b":{"c":"x,]\"","d":[]}}"#,
            20,
            &[
                "{",
                "  \"a\": [1, 2],",
                "  \"b\": {",
                "    \"c\": \"x,]\\\"\",",
                "    \"d\": []",
                "  }",
                "}",
            ],
        );
    }

    #[test]
    fn a_text_that_was_cut_is_laid_out_as_far_as_it_goes() {
        check("[{\"a\":\"xy…", 80, &["[", "  {", "    \"a\": \"xy…"]);
        check("[1,2…", 80, &["[", "  1,", "  2…"]);
        check("}", 80, &["}"]);
        check("", 80, &[]);
    }

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let laid_out = lines("[1,2,3,4,5,6,7,8,9]", 10, 3);
        assert_eq!(laid_out.lines, ["[", "  1,", "  2,"]);
        assert_eq!(laid_out.more, 8);
    }

    #[test]
    fn elements_and_members_are_found_by_structure() {
        assert_eq!(
            elements(r#"[ {"id":[1,2]} , "a,b",[] ]"#),
            [r#"{"id":[1,2]}"#, "\"a,b\"", "[]"]
        );
        assert_eq!(elements("[1,2,34…"), ["1", "2"]);
        assert_eq!(elements("[]"), Vec::<&str>::new());
        assert_eq!(elements("1"), Vec::<&str>::new());
        for (object, expected) in [
            (r#"{"x":{"id":1},"y":["id",2],"id":3}"#, Some("3")),
            (r#"{"id":{"a":1}}"#, None),
            (r#"{"x":"id","y":1}"#, None),
            (r#"["id",1]"#, None),
            ("1", None),
        ] {
            assert_eq!(member(object, "id"), expected, "{object}");
        }
    }
}
