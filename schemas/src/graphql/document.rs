//! Reads which operations a GraphQL document has, without reading what they select.
//!
//! A text is either read as the grammar of October 2021 says, or not at all: what one server takes for a query must not be
//! a mutation for another, so everything that two lexers could see differently (a carriage return that ends a comment, a
//! line separator of Unicode, a stray character) makes the whole document unreadable. Nothing here calls itself, so no
//! nesting can use up the stack.

use super::Access;

/// Deepest nesting of brackets that is read: servers refuse far less.
const MAX_DEPTH: usize = 256;

/// The text is no GraphQL document, or one that servers could read differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Most fields of a mutation that are told: what asks for more is not what an operator has listed.
const MAX_FIELDS: usize = 100;

/// One operation of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Defined<'t> {
    pub(super) access: Access,
    pub(super) name: Option<&'t str>,
    /// Which fields of the root it runs; `None` if that cannot be told, because fragments say it.
    pub(super) fields: Option<Vec<&'t str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    /// `...` is a dot.
    Punctuator(u8),
    Text,
    Number,
}

/// Calls `found` for each operation, in the order of the document.
pub(super) fn operations<'t>(
    text: &'t str,
    mut found: impl FnMut(Defined<'t>),
) -> Result<(), Unreadable> {
    let mut lexer = Lexer::new(text);
    while let Some(token) = lexer.next()? {
        let (access, next) = match token {
            // A description of what follows.
            Token::Text => continue,
            Token::Punctuator(b'{') => (Some((Access::Reads, None)), token),
            Token::Name("fragment") => {
                let named = [lexer.name()?, lexer.name()?, lexer.name()?];
                if named[0] == "on" || named[1] != "on" {
                    return Err(Unreadable);
                }
                (None, lexer.needed()?)
            }
            Token::Name(word) => {
                let access = match word {
                    "query" => Access::Reads,
                    "mutation" => Access::Writes,
                    "subscription" => Access::Streams,
                    _ => return Err(Unreadable),
                };
                let mut next = lexer.needed()?;
                let mut name = None;
                if let Token::Name(text) = next {
                    name = Some(text);
                    next = lexer.needed()?;
                }
                if next == Token::Punctuator(b'(') {
                    lexer.skip_group(b')', None)?;
                    next = lexer.needed()?;
                }
                (Some((access, name)), next)
            }
            _ => return Err(Unreadable),
        };
        if lexer.skip_directives(next)? != Token::Punctuator(b'{') {
            return Err(Unreadable);
        }
        let mut roots = Roots::default();
        lexer.skip_group(b'}', Some(&mut roots))?;
        if let Some((access, name)) = access {
            let fields = roots.told();
            found(Defined {
                access,
                name,
                fields,
            });
        }
    }
    Ok(())
}

/// Whether a text is a name of GraphQL.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(begins_name) && bytes.all(continues_name)
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The fields of the root that a selection has.
#[derive(Default)]
struct Roots<'t> {
    fields: Vec<&'t str>,
    /// The token before this one, outside of other groups.
    last: Option<Token<'t>>,
    /// There are more than names tell.
    is_open: bool,
}

impl<'t> Roots<'t> {
    fn see(&mut self, token: Token<'t>) {
        const COLON: Token<'_> = Token::Punctuator(b':');
        const AT: Token<'_> = Token::Punctuator(b'@');
        let last = self.last.replace(token);
        match (last, token) {
            // The name of a directive, which is followed by no colon.
            (Some(AT), Token::Name(_)) => self.last = None,
            (_, Token::Name(field)) if self.fields.len() < MAX_FIELDS => self.fields.push(field),
            // What was read was an alias.
            (Some(Token::Name(_)), COLON) => {
                self.fields.pop();
            }
            // A fragment, too many fields, or a colon or a directive without its name.
            (_, Token::Punctuator(b'.') | Token::Name(_) | COLON) | (Some(COLON | AT), _) => {
                self.is_open = true;
            }
            _ => {}
        }
    }

    fn told(self) -> Option<Vec<&'t str>> {
        (!self.is_open).then_some(self.fields)
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// The closing brackets that are awaited; kept for the next group.
    open: Vec<u8>,
}

impl<'t> Lexer<'t> {
    fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            text,
            at: 0,
            open: Vec::new(),
        }
    }

    fn needed(&mut self) -> Result<Token<'t>, Unreadable> {
        self.next()?.ok_or(Unreadable)
    }

    fn name(&mut self) -> Result<&'t str, Unreadable> {
        match self.needed()? {
            Token::Name(name) => Ok(name),
            _ => Err(Unreadable),
        }
    }

    /// Skips directives that begin with `token`; returns the token behind them.
    fn skip_directives(&mut self, mut token: Token<'t>) -> Result<Token<'t>, Unreadable> {
        while token == Token::Punctuator(b'@') {
            self.name()?;
            token = self.needed()?;
            if token == Token::Punctuator(b'(') {
                self.skip_group(b')', None)?;
                token = self.needed()?;
            }
        }
        Ok(token)
    }

    /// Skips to the bracket that closes the group whose first bracket was just read. Values are only read in parentheses:
    /// a selection that holds any is another language, such as JSON. What stands in no other group is told to `roots`.
    fn skip_group(
        &mut self,
        close: u8,
        mut roots: Option<&mut Roots<'t>>,
    ) -> Result<(), Unreadable> {
        self.open.clear();
        self.open.push(close);
        let mut parentheses = usize::from(close == b')');
        while !self.open.is_empty() {
            let token = self.needed()?;
            if let Some(roots) = &mut roots
                && self.open.len() == 1
            {
                roots.see(token);
            }
            let sign = match token {
                Token::Punctuator(sign) => sign,
                Token::Name(_) => continue,
                Token::Text | Token::Number if parentheses > 0 => continue,
                Token::Text | Token::Number => return Err(Unreadable),
            };
            match sign {
                b'(' => {
                    parentheses += 1;
                    self.open.push(b')');
                }
                b'{' => self.open.push(b'}'),
                b'[' if parentheses > 0 => self.open.push(b']'),
                b'}' | b')' | b']' if self.open.pop() != Some(sign) => return Err(Unreadable),
                b')' => parentheses -= 1,
                b'}' | b']' | b':' | b'@' | b'.' => {}
                _ if parentheses == 0 => return Err(Unreadable),
                _ => {}
            }
            if self.open.len() > MAX_DEPTH {
                return Err(Unreadable);
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Token<'t>>, Unreadable> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                None => return Ok(None),
                Some(b' ' | b'\t' | b'\n' | b'\r' | b',') => self.at += 1,
                Some(b'#') => self.skip_comment()?,
                Some(_) => break,
            }
        }
        let rest = &bytes[self.at..];
        let (token, length) = match rest[0] {
            first if begins_name(first) => {
                let length = run(rest, continues_name);
                let name = self.text.get(self.at..self.at + length);
                (Token::Name(name.ok_or(Unreadable)?), length)
            }
            b'"' => (Token::Text, text_length(rest)?),
            b'-' | b'0'..=b'9' => (
                Token::Number,
                run(rest, |byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
                }),
            ),
            b'.' if rest.starts_with(b"...") => (Token::Punctuator(b'.'), 3),
            sign @ (b'!' | b'$' | b'&' | b'(' | b')' | b':' | b'=' | b'@' | b'[' | b']' | b'{'
            | b'|' | b'}') => (Token::Punctuator(sign), 1),
            _ => return Err(Unreadable),
        };
        self.at += length;
        Ok(Some(token))
    }

    /// Skips a comment up to the end of its line.
    fn skip_comment(&mut self) -> Result<(), Unreadable> {
        let rest = self.text.get(self.at..).ok_or(Unreadable)?;
        let line = rest.split('\n').next().unwrap_or_default();
        let comment = line.strip_suffix('\r').unwrap_or(line);
        let is_doubtful = |sign: char| {
            (sign.is_control() && sign != '\t') || matches!(sign, '\u{2028}' | '\u{2029}')
        };
        if comment.contains(is_doubtful) {
            return Err(Unreadable);
        }
        self.at += line.len();
        Ok(())
    }
}

fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !wanted(*byte));
    end.unwrap_or(bytes.len())
}

/// Length of the string that `bytes` begins with.
fn text_length(bytes: &[u8]) -> Result<usize, Unreadable> {
    const BLOCK: &[u8] = b"\"\"\"";
    if !bytes.starts_with(BLOCK) {
        let mut at = 1;
        loop {
            match bytes.get(at).ok_or(Unreadable)? {
                b'"' => return Ok(at + 1),
                b'\\' => at += 2,
                byte if byte.is_ascii_control() && *byte != b'\t' => return Err(Unreadable),
                _ => at += 1,
            }
        }
    }
    let mut at = BLOCK.len();
    loop {
        let rest = bytes.get(at..).ok_or(Unreadable)?;
        if rest.starts_with(BLOCK) {
            return Ok(at + BLOCK.len());
        }
        let escaped = rest.strip_prefix(b"\\");
        at += match escaped {
            Some(quotes) if quotes.starts_with(BLOCK) => 1 + BLOCK.len(),
            _ if rest.is_empty() => return Err(Unreadable),
            _ => 1,
        };
    }
}
