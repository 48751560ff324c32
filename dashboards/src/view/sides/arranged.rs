//! A JSON text with the members of its objects in the order of another one.
//!
//! No comparison minds the order of members, and services that are written in two languages seldom have the same. Laid out as they
//! came, most lines of two equal objects differ, and the one that matters is lost among them. Only whole members move: each keeps
//! its spelling, and elements of arrays stay where they are. A text that was cut, or is no JSON, is left as it came.

use std::collections::{HashMap, VecDeque};

use super::pretty::{Token, Tokens};

/// Levels that are followed: a reader is lost before, and it bounds the recursion.
const MAX_DEPTH: usize = 64;

enum Value<'a> {
    Atom(&'a str),
    Object(Vec<(&'a str, Value<'a>)>),
    Array(Vec<Value<'a>>),
}

/// `text` with its members in the order that they have in `like`; `None` if none of them moves, or if one of the texts cannot be
/// read to its end.
pub(crate) fn arranged(text: &str, like: &str) -> Option<String> {
    let mut value = read(text)?;
    let moved = arrange(&mut value, &read(like)?);
    moved.then(|| {
        let mut out = String::with_capacity(text.len());
        write(&value, &mut out);
        out
    })
}

fn read(text: &str) -> Option<Value<'_>> {
    let mut tokens = Tokens(text);
    let first = tokens.next()?;
    let value = value(first, &mut tokens, MAX_DEPTH)?;
    tokens.next().is_none().then_some(value)
}

fn value<'a>(first: Token<'a>, tokens: &mut Tokens<'a>, depth: usize) -> Option<Value<'a>> {
    let deeper = depth.checked_sub(1)?;
    match first {
        Token::Atom(text) => Some(Value::Atom(text)),
        Token::Open("{") => {
            let mut members = Vec::new();
            let mut token = tokens.next()?;
            while !matches!(token, Token::Close("}")) {
                let (Token::Atom(name), Token::Colon(_)) = (token, tokens.next()?) else {
                    return None;
                };
                members.push((name, value(tokens.next()?, tokens, deeper)?));
                token = behind(tokens, "}")?;
            }
            Some(Value::Object(members))
        }
        Token::Open(_) => {
            let mut elements = Vec::new();
            let mut token = tokens.next()?;
            while !matches!(token, Token::Close("]")) {
                elements.push(value(token, tokens, deeper)?);
                token = behind(tokens, "]")?;
            }
            Some(Value::Array(elements))
        }
        Token::Close(_) | Token::Comma(_) | Token::Colon(_) => None,
    }
}

/// What follows a member or an element: the end, or behind a comma the next one.
fn behind<'a>(tokens: &mut Tokens<'a>, end: &str) -> Option<Token<'a>> {
    match tokens.next()? {
        Token::Comma(_) => tokens
            .next()
            .filter(|next| !matches!(next, Token::Close(_))),
        close @ Token::Close(text) if text == end => Some(close),
        _ => None,
    }
}

/// Arranges it, and says whether anything moved.
fn arrange(value: &mut Value<'_>, like: &Value<'_>) -> bool {
    match (value, like) {
        (Value::Object(members), Value::Object(like)) => arrange_members(members, like),
        (Value::Array(elements), Value::Array(like)) => {
            let pairs = elements.iter_mut().zip(like);
            pairs.fold(false, |moved, (element, like)| {
                arrange(element, like) | moved
            })
        }
        _ => false,
    }
}

fn arrange_members<'a>(
    members: &mut Vec<(&'a str, Value<'a>)>,
    like: &[(&str, Value<'_>)],
) -> bool {
    // A name may come more than once.
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, (name, _)) in like.iter().enumerate() {
        places.entry(name).or_default().push_back(at);
    }
    let mut moved = false;
    let mut last = None;
    // What only one side has stays behind what it came behind.
    let mut ranked: Vec<_> = std::mem::take(members)
        .into_iter()
        .map(|(name, mut value)| {
            let place = places.get_mut(name).and_then(VecDeque::pop_front);
            if let Some(at) = place {
                moved |= arrange(&mut value, &like[at].1);
                last = Some(at);
            }
            (last, name, value)
        })
        .collect();
    moved |= !ranked.is_sorted_by_key(|(rank, ..)| *rank);
    ranked.sort_by_key(|(rank, ..)| *rank);
    let arranged = ranked.into_iter().map(|(_, name, value)| (name, value));
    members.extend(arranged);
    moved
}

fn write(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Atom(text) => out.push_str(text),
        Value::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(name);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_take_the_order_of_the_other_side_and_keep_their_spelling() {
        for (text, like, expected) in [
            (
                r#"{"c":1.50,"b":"\u0041","a":[]}"#,
                r#"{"a":[1],"b":"A","c":1.5}"#,
                Some(r#"{"a":[],"b":"\u0041","c":1.50}"#),
            ),
            // Inside of others, too.
            (
                r#"[{"b":1,"a":2},{"x":{"b":1,"a":2}}]"#,
                r#"[{"a":2,"b":1},{"x":{"a":2,"b":1}}]"#,
                Some(r#"[{"a":2,"b":1},{"x":{"a":2,"b":1}}]"#),
            ),
            // What is only here stays behind its neighbour.
            (
                r#"{"new":0,"b":1,"more":2,"a":3}"#,
                r#"{"a":3,"b":1}"#,
                Some(r#"{"new":0,"a":3,"b":1,"more":2}"#),
            ),
            // A name that comes twice.
            (
                r#"{"b":1,"a":2,"b":3}"#,
                r#"{"a":2,"b":1,"b":3}"#,
                Some(r#"{"a":2,"b":1,"b":3}"#),
            ),
            // Nothing moves.
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":3,"b":2}"#, None),
            ("[2,1]", "[1,2]", None),
            ("1", "2", None),
        ] {
            assert_eq!(arranged(text, like).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_whole_json_stays_as_it_came() {
        let like = r#"{"a":1,"b":2}"#;
        for text in [
            "",
            r#"{"b":2,"a":1"#,
            r#"{"b":2,"a":1…"#,
            r#"{"b":2,"a":1} x"#,
            r#"{"b":2,,"a":1}"#,
            r#"{"b":2,"a":1,}"#,
            r#"{"b" 2,"a":1}"#,
            r#"{"b":2,"a":1]"#,
            "{b",
        ] {
            assert_eq!(arranged(text, like), None, "{text}");
            assert_eq!(arranged(r#"{"b":2,"a":1}"#, text), None, "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(arranged(&deep, &deep), None);
    }
}
