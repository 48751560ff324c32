//! GraphQL documents: operations, variables and literals (October 2021 edition, §2).
//!
//! Hidden are the values of arguments and input fields with secret names, and the defaults of such variables. A
//! variable itself is only a name and stays; its value is secret if the variable is passed under a secret name. Strings
//! and comments are redacted like any text. A document that has other tokens, or does not close what it opens, is
//! refused.

mod places;

use std::collections::HashSet;

use super::Redactor;
use places::TokenPlaces;

/// Most nested brackets.
const MAX_OPEN: usize = 256;

/// A token of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Blank(&'a str),
    Comment(&'a str),
    Name(&'a str),
    Variable(&'a str),
    Number(&'a str),
    String(&'a str),
    Punctuator(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Blank(text)
            | Self::Comment(text)
            | Self::Name(text)
            | Self::Variable(text)
            | Self::Number(text)
            | Self::String(text)
            | Self::Punctuator(text) => text,
        }
    }
}

/// Redacts a document that is nested in `depth` other texts; `None` if it is not valid.
pub(super) fn redacted(redactor: &Redactor, text: &str, depth: usize) -> Option<String> {
    let tokens = tokens(text)?;
    // Without a selection the document is incomplete, and the part that uses its variables is missing.
    if !tokens.contains(&Token::Punctuator("{")) {
        return None;
    }
    let places = TokenPlaces::of(&tokens)?;
    let variables = secret_variables_in(redactor, &tokens, &places)?;
    let is_secret = |token: &Token<'_>| match token {
        Token::Variable(name) => redactor.secret_names.contains(name) || variables.contains(name),
        other => redactor.secret_names.contains(other.text()),
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::String(literal) if !places.is_value(&tokens, at - 1) => {
                push_literal(&mut out, &redactor.hash(literal.as_bytes()));
            }
            Token::String(literal) => {
                let clean = redactor.string_at(content(literal), depth + 1);
                if clean == content(literal) {
                    out.push_str(literal);
                } else {
                    push_literal(&mut out, &clean);
                }
            }
            // More than words: a stray `#` may have turned code into this comment.
            Token::Comment(comment) if comment.contains(['"', '{', '=']) => {
                out.push_str("# ");
                out.push_str(&redactor.hash(comment.as_bytes()));
            }
            Token::Comment(comment) => out.push_str(&redactor.text(comment, depth)),
            Token::Number(number) => out.push_str(&redactor.text(number, depth)),
            Token::Name(name) | Token::Variable(name) => {
                out.push_str(name);
                let value = significant(&tokens, at)
                    .filter(|colon| tokens.get(*colon) == Some(&Token::Punctuator(":")))
                    .filter(|_| is_secret(token));
                if let Some(colon) = value {
                    let end = hide(redactor, &tokens, at, colon, &mut out);
                    at = end;
                }
            }
            other => out.push_str(other.text()),
        }
    }
    Some(out)
}

/// The variables that an operation passes under secret names, without `$`; `None` if the text is not valid.
pub(super) fn secret_variables(redactor: &Redactor, text: &str) -> Option<HashSet<String>> {
    let tokens = tokens(text)?;
    if !tokens.contains(&Token::Punctuator("{")) {
        return None;
    }
    let places = TokenPlaces::of(&tokens)?;
    let variables = secret_variables_in(redactor, &tokens, &places)?;
    let name = |variable: &str| variable.trim_start_matches('$').to_owned();
    Some(variables.into_iter().map(name).collect())
}

/// The variables that are passed under secret names, and those that may have been before a character was lost; `None`
/// if an operation uses undeclared variables.
fn secret_variables_in<'t>(
    redactor: &Redactor,
    tokens: &[Token<'t>],
    places: &TokenPlaces,
) -> Option<HashSet<&'t str>> {
    let unused = places.unused(tokens)?;
    let mut variables = HashSet::new();
    let mut hidden_to = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Variable(name) if at < hidden_to => {
                variables.insert(*name);
            }
            // A secret is never a bare word, so this was a variable that lost its `$`.
            Token::Name(_) | Token::Number(_) if at < hidden_to && is_word(tokens, at) => {
                variables.extend(unused.iter().copied());
            }
            Token::Name(name) if at >= hidden_to => {
                let value = significant(tokens, at + 1)
                    .filter(|colon| tokens.get(*colon) == Some(&Token::Punctuator(":")))
                    .filter(|_| redactor.secret_names.contains(name))
                    .and_then(|colon| significant(tokens, colon + 1));
                if let Some(begin) = value {
                    hidden_to = value_end(tokens, begin);
                }
            }
            _ => {}
        }
    }
    Some(variables)
}

/// Whether a token is a bare word used as a value.
fn is_word(tokens: &[Token<'_>], at: usize) -> bool {
    let named = significant(tokens, at + 1).and_then(|next| tokens.get(next));
    match tokens.get(at) {
        Some(Token::Name("true" | "false" | "null")) => false,
        Some(Token::Name(_)) => named != Some(&Token::Punctuator(":")),
        Some(Token::Number(number)) => number.contains(|sign: char| sign.is_ascii_alphabetic()),
        _ => false,
    }
}

/// Hides the value after the colon at `colon`, and returns where it ends.
fn hide(
    redactor: &Redactor,
    tokens: &[Token<'_>],
    from: usize,
    colon: usize,
    out: &mut String,
) -> usize {
    let text = |range: std::ops::Range<usize>| -> String {
        let tokens = tokens.get(range).unwrap_or_default();
        tokens.iter().map(|token| token.text()).collect()
    };
    let Some(begin) = significant(tokens, colon + 1) else {
        return from;
    };
    let mut end = value_end(tokens, begin);
    let mut hidden = begin;
    // A declared variable has its type here, and perhaps a default.
    while tokens.get(end) == Some(&Token::Punctuator("!")) {
        end += 1;
    }
    if let Some(sign) = significant(tokens, end)
        && tokens.get(sign) == Some(&Token::Punctuator("="))
    {
        hidden = significant(tokens, sign + 1).unwrap_or(tokens.len());
        end = value_end(tokens, hidden);
    }
    out.push_str(&text(from..hidden));
    let value = text(hidden..end);
    match tokens.get(hidden) {
        Some(Token::Variable(_)) => out.push_str(&value),
        _ => push_literal(out, &redactor.hash(value.as_bytes())),
    }
    end
}

/// The next token that is neither white space nor a comment.
fn significant(tokens: &[Token<'_>], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| !matches!(tokens[*at], Token::Blank(_) | Token::Comment(_)))
}

/// The end of the value that begins at `at`.
fn value_end(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Punctuator("{" | "[" | "(") => depth += 1,
            Token::Punctuator("}" | "]" | ")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

fn content(literal: &str) -> &str {
    let quotes = if literal.starts_with("\"\"\"") { 3 } else { 1 };
    literal
        .get(quotes..literal.len().saturating_sub(quotes))
        .unwrap_or_default()
}

fn push_literal(out: &mut String, text: &str) {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    crate::notation::string::quote(text, &mut quoted);
    out.push_str(&String::from_utf8_lossy(&quoted));
}

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |test: &dyn Fn(char) -> bool| {
            let rest = rest.get(first.len_utf8()..).unwrap_or_default();
            first.len_utf8() + rest.find(|next| !test(next)).unwrap_or(rest.len())
        };
        let named = |next: char| next.is_alphanumeric() || next == '_';
        let (token, length): (fn(_) -> _, usize) = match first {
            _ if first.is_whitespace() || matches!(first, ',' | '\u{feff}') => (
                Token::Blank,
                run(&|next| next.is_whitespace() || next == ','),
            ),
            '#' => (Token::Comment, run(&|next| !matches!(next, '\n' | '\r'))),
            '$' => (Token::Variable, run(&named)),
            '"' => (Token::String, literal(rest)?),
            '-' | '0'..='9' => (
                Token::Number,
                run(&|next| next.is_ascii_alphanumeric() || matches!(next, '.' | '+' | '-')),
            ),
            '.' if rest.starts_with("...") => (Token::Punctuator, 3),
            '!' | '&' | '(' | ')' | ':' | '=' | '@' | '[' | ']' | '{' | '|' | '}' => {
                match first {
                    '(' => open.push(')'),
                    '[' => open.push(']'),
                    '{' => open.push('}'),
                    ')' | ']' | '}' if open.pop() != Some(first) => return None,
                    _ => {}
                }
                if open.len() > MAX_OPEN {
                    return None;
                }
                (Token::Punctuator, 1)
            }
            _ if named(first) => (Token::Name, run(&named)),
            _ => return None,
        };
        let (text, after) = rest.split_at_checked(length)?;
        tokens.push(token(text));
        rest = after;
    }
    open.is_empty().then_some(tokens)
}

/// Length of the string at the start; `None` if it does not end.
fn literal(text: &str) -> Option<usize> {
    if let Some(inner) = text.strip_prefix("\"\"\"") {
        let mut from = 0;
        loop {
            let at = from + inner.get(from..)?.find("\"\"\"")?;
            if !inner.get(..at)?.ends_with('\\') {
                return Some(at + 6);
            }
            from = at + 3;
        }
    }
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::RedactConfig;
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let key = b"0123456789abcdef";
        let redactor = Redactor::new(&RedactConfig::default(), key, Arc::default()).expect("right");
        redacted(&redactor, text, 0)
    }

    #[test]
    fn literals_after_secret_names_are_hidden_and_the_rest_stays() {
        let text = "mutation M($password: String! = \"hunter2\", $n: Int = 3) {\n  login(user: \"ada\", \
                    password: \"hunter2\", pin: 12345, token: {a: [\"hunter2\"]}, secret: \"\"\"\nhunter2\"\"\", \
                    apiKey: $password) { token id(n: 7) }\n}";
        let clean = shown(text).expect("GraphQL");
        assert!(
            !clean.contains("hunter2") && !clean.contains("12345"),
            "{clean}"
        );
        for kept in [
            "mutation M($password: String! = \"hmac:",
            "$n: Int = 3) {\n  login(user: \"ada\", password: \"hmac:",
            "apiKey: $password) { token id(n: 7) }\n}",
        ] {
            assert!(clean.contains(kept), "{clean}");
        }
        for text in [
            "query { a",
            "query { a ) }",
            "{ a(b: \"x) }",
            "query { a; }",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
