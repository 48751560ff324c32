//! Checks the order of tokens in a GraphQL document, so that one with a lost character is recognized.

use std::collections::HashSet;

use super::Token;

/// The significant tokens of a document and the brackets around each.
pub(super) struct TokenPlaces {
    /// For each token that is neither white space nor comment: its index, and the innermost bracket around it.
    seen: Vec<(usize, Option<&'static str>)>,
}

impl TokenPlaces {
    /// `None` if a character must have been lost: a name and a value without a separator, or a variable or default
    /// where none is allowed.
    pub(super) fn of(tokens: &[Token<'_>]) -> Option<Self> {
        let mut open = Vec::new();
        let mut seen = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                Token::Blank(_) | Token::Comment(_) => continue,
                Token::Punctuator("}" | "]" | ")") => {
                    open.pop();
                }
                _ => {}
            }
            seen.push((at, open.last().copied()));
            match token {
                Token::Punctuator("{") => open.push("{"),
                Token::Punctuator("[") => open.push("["),
                Token::Punctuator("(") => open.push("("),
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
        let value = inside == Some("[") || matches!(before, Some(Token::Punctuator(":" | "=")));
        let named = next == Some(Token::Punctuator(":"));
        match self.token(tokens, Some(index)) {
            Some(Token::Variable(_)) if named => inside == Some("("),
            Some(Token::Variable(_) | Token::Number(_)) => value,
            Some(Token::Name(_)) if inside == Some("(") => {
                named || value || before == Some(Token::Punctuator("@"))
            }
            // A value cannot be a name at the same time.
            Some(Token::Punctuator(":")) if !self.is_key(tokens, index.checked_sub(1)) => false,
            Some(Token::Punctuator(":")) => matches!(
                next,
                Some(
                    Token::Name(_)
                        | Token::Variable(_)
                        | Token::Number(_)
                        | Token::String(_)
                        | Token::Punctuator("[" | "{")
                )
            ),
            Some(Token::Punctuator("=")) => match next {
                // The members of a union.
                Some(Token::Name(_) | Token::Punctuator("|")) if inside.is_none() => true,
                _ => self.has_type_before(tokens, index),
            },
            _ => true,
        }
    }

    fn is_key(&self, tokens: &[Token<'_>], index: Option<usize>) -> bool {
        let before = index.and_then(|index| self.token(tokens, index.checked_sub(1)));
        matches!(
            self.token(tokens, index),
            Some(Token::Name(_) | Token::Variable(_) | Token::Punctuator(")"))
        ) && before != Some(Token::Punctuator(":"))
    }

    /// Whether a colon and a type precede the `=`.
    fn has_type_before(&self, tokens: &[Token<'_>], index: usize) -> bool {
        let mut at = index;
        let mut names = 0;
        while let Some(token) = self.token(tokens, at.checked_sub(1)) {
            at -= 1;
            match token {
                Token::Name(_) if names == 0 => names = 1,
                Token::Punctuator("!" | "]") if names == 0 => {}
                Token::Punctuator("[") if names == 1 => {}
                token => return names == 1 && token == Token::Punctuator(":"),
            }
        }
        false
    }

    /// Whether a literal is a value, and not a description of what follows.
    pub(super) fn is_value(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Ok(index) = self.seen.binary_search_by_key(&at, |(at, _)| *at) else {
            return false;
        };
        let before = self.token(tokens, index.checked_sub(1));
        let inside = self.seen.get(index).and_then(|(_, inside)| *inside);
        inside == Some("[") || matches!(before, Some(Token::Punctuator(":" | "=")))
    }

    /// The variables that are declared but never used, so that nothing tells what they hold; `None` if an operation
    /// uses undeclared variables.
    pub(super) fn unused<'t>(&self, tokens: &[Token<'t>]) -> Option<HashSet<&'t str>> {
        let (mut declared, mut used) = (HashSet::new(), HashSet::new());
        for (index, _) in self.seen.iter().enumerate() {
            if let Some(Token::Variable(name)) = self.token(tokens, Some(index)) {
                if self.token(tokens, Some(index + 1)) == Some(Token::Punctuator(":")) {
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
