//! Where the tokens of a GraphQL document stand to each other, and whether a sign between them must have got lost.

use std::collections::HashSet;

use super::Token;

/// Where the tokens of a document stand to each other.
pub(super) struct Places {
    /// Of those that are no blanks and no comments: which they are, and the bracket that each stands in.
    seen: Vec<(usize, Option<&'static str>)>,
}

impl Places {
    /// `None` where a sign must have got lost: a name and a value that nothing parts, a variable or a default where there
    /// is none.
    pub(super) fn of(tokens: &[Token<'_>]) -> Option<Self> {
        let mut open = Vec::new();
        let mut seen = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Blank(_) | Token::Comment(_) => continue,
                Token::Sign("}" | "]" | ")") => {
                    open.pop();
                }
                _ => {}
            }
            seen.push((at, open.last().copied()));
            match token {
                Token::Sign("{") => open.push("{"),
                Token::Sign("[") => open.push("["),
                Token::Sign("(") => open.push("("),
                _ => {}
            }
        }
        let places = Self { seen };
        let sound = |index: usize| places.is_sound(tokens, index);
        (0..places.seen.len()).all(sound).then_some(places)
    }

    fn token<'t>(&self, tokens: &[Token<'t>], index: Option<usize>) -> Option<Token<'t>> {
        let (at, _) = self.seen.get(index?)?;
        tokens.get(*at).copied()
    }

    fn is_sound(&self, tokens: &[Token<'_>], index: usize) -> bool {
        let before = self.token(tokens, index.checked_sub(1));
        let next = self.token(tokens, Some(index + 1));
        let inside = self.seen.get(index).and_then(|(_, inside)| *inside);
        let value = inside == Some("[") || matches!(before, Some(Token::Sign(":" | "=")));
        let named = next == Some(Token::Sign(":"));
        match self.token(tokens, Some(index)) {
            Some(Token::Variable(_)) if named => inside == Some("("),
            Some(Token::Variable(_) | Token::Number(_)) => value,
            Some(Token::Name(_)) if inside == Some("(") => {
                named || value || before == Some(Token::Sign("@"))
            }
            // A name is no value of another.
            Some(Token::Sign(":")) if !self.is_key(tokens, index.checked_sub(1)) => false,
            Some(Token::Sign(":")) => matches!(
                next,
                Some(
                    Token::Name(_)
                        | Token::Variable(_)
                        | Token::Number(_)
                        | Token::String(_)
                        | Token::Sign("[" | "{")
                )
            ),
            Some(Token::Sign("=")) => match next {
                // The members of a union.
                Some(Token::Name(_) | Token::Sign("|")) if inside.is_none() => true,
                _ => self.has_type_before(tokens, index),
            },
            _ => true,
        }
    }

    fn is_key(&self, tokens: &[Token<'_>], index: Option<usize>) -> bool {
        let before = index.and_then(|index| self.token(tokens, index.checked_sub(1)));
        matches!(
            self.token(tokens, index),
            Some(Token::Name(_) | Token::Variable(_) | Token::Sign(")"))
        ) && before != Some(Token::Sign(":"))
    }

    /// Whether a colon and a type stand before `=`.
    fn has_type_before(&self, tokens: &[Token<'_>], index: usize) -> bool {
        let mut at = index;
        let mut names = 0;
        while let Some(token) = self.token(tokens, at.checked_sub(1)) {
            at -= 1;
            match token {
                Token::Name(_) if names == 0 => names = 1,
                Token::Sign("!" | "]") if names == 0 => {}
                Token::Sign("[") if names == 1 => {}
                token => return names == 1 && token == Token::Sign(":"),
            }
        }
        false
    }

    /// Whether a literal is the value of something, and not words about what follows.
    pub(super) fn is_value(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Ok(index) = self.seen.binary_search_by_key(&at, |(at, _)| *at) else {
            return false;
        };
        let before = self.token(tokens, index.checked_sub(1));
        let inside = self.seen.get(index).and_then(|(_, inside)| *inside);
        inside == Some("[") || matches!(before, Some(Token::Sign(":" | "=")))
    }

    /// The variables that are declared and put behind nothing, so that nothing says what they are; `None` where an
    /// operation uses others than it declares.
    pub(super) fn unused<'t>(&self, tokens: &[Token<'t>]) -> Option<HashSet<&'t str>> {
        let (mut declared, mut used) = (HashSet::new(), HashSet::new());
        for (index, _) in self.seen.iter().enumerate() {
            if let Some(Token::Variable(name)) = self.token(tokens, Some(index)) {
                if self.token(tokens, Some(index + 1)) == Some(Token::Sign(":")) {
                    declared.insert(name);
                } else {
                    used.insert(name);
                }
            }
        }
        let operation = tokens
            .iter()
            .any(|token| matches!(token, Token::Name("query" | "mutation" | "subscription")));
        if operation && used.iter().any(|name| !declared.contains(name)) {
            return None;
        }
        Some(declared.difference(&used).copied().collect())
    }
}
