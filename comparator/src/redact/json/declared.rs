//! Objects that say themselves which of their members are secret.
//!
//! - A JSON Web Key (RFC 7517) has a `kty`; its private parts have names of one or two letters, which mean anything
//!   elsewhere.
//! - `{"sensitive": true, "value": …}`: a flag beside a value, as in Terraform, GitLab and their like; the type
//!   `SecureString` of AWS.
//! - `sensitive_attributes` beside `attributes`, `sensitive_values` beside `values`, `after_sensitive` beside `after`:
//!   the state and the plans of Terraform. A member with a secret anywhere in it is hidden whole.
//! - `answer` beside a question that only one person can answer: `security_question`, or "Your mother's maiden name?".
//! - `{"format": "password", "example": …}`, as descriptions of APIs and forms have it.
//! - `pepper`, `product_key` and `remember_me` are ordinary where their values are, and credentials where they look like one.
//! - `seed` and `nonce` are numbers in most services, and credentials where they are texts.

use std::collections::HashSet;
use std::rc::Rc;

use parity_schemas::secret::Words;
use smallvec::SmallVec;

use super::reading::NamedTree;
use crate::notation::index::NodeKind;
use crate::redact::last_word::ends_in;

/// The private parts of a JSON Web Key.
const PRIVATE: [&str; 8] = ["d", "dp", "dq", "k", "oth", "p", "q", "qi"];
/// Members that say of the value beside them that it is secret.
const FLAGS: [&[u8]; 12] = [
    b"confidential",
    b"is_secret",
    b"is_sensitive",
    b"isSecret",
    b"isSensitive",
    b"masked",
    b"secret",
    b"secure",
    b"secured",
    b"sensitive",
    b"Sensitive",
    b"writeOnly",
];
/// Members that tell which members of another one are secret, and that other one.
const MARKS: [(&[u8], &str); 4] = [
    (b"sensitive_attributes", "attributes"),
    (b"sensitive_values", "values"),
    (b"after_sensitive", "after"),
    (b"before_sensitive", "before"),
];
/// Members of a pair of tokens; either alone says how something may be reached, or how often.
const TOKENS: [&str; 2] = ["access", "refresh"];
/// Last words of members that hold a question.
const QUESTION: [&[u8]; 2] = [b"question", b"questions"];
/// Members that hold an answer.
const ANSWER: [&str; 6] = [
    "answer", "answers", "Answer", "Answers", "response", "Response",
];
/// Longest question: longer ones are texts.
const MAX_QUESTION_BYTES: usize = 256;
/// Words before that by which a question guards something.
const GUARDING: [&[u8]; 6] = [
    b"challenge",
    b"password",
    b"recovery",
    b"reset",
    b"secret",
    b"security",
];
/// What questions ask that guard something: of `your first pet`, not of a product.
const PERSONAL: [&str; 17] = [
    "born",
    "birth",
    "car",
    "childhood",
    "city",
    "father",
    "favorite",
    "favourite",
    "first",
    "friend",
    "hero",
    "mother",
    "nickname",
    "pet",
    "school",
    "street",
    "teacher",
];
/// Steps of a path in `sensitive_attributes` that are no names.
const STEPS: [&str; 2] = ["get_attr", "index"];

/// The end of a name, the name in small letters and written together, and how a secret under it looks.
type LooksLike = (&'static str, &'static [u8], fn(&str) -> bool);
/// A member, and the names of its own members that are secret.
type Marked = (&'static str, Option<Rc<HashSet<String>>>);

/// What an object says of its members.
#[derive(Default)]
pub(super) struct Declared {
    /// Whether it is a key, whose private parts are secret.
    key: bool,
    /// Whether it is a pair of tokens, as `access` and `refresh` beside each other are.
    is_token_pair: bool,
    /// Whether the members that hold a value are secret.
    pub(super) values: bool,
    /// Members, with the names of their own members that are secret; without names, all of them are.
    within: SmallVec<[Marked; 2]>,
}

impl Declared {
    /// Whether this member is secret as a whole.
    pub(super) fn hides(&self, name: &str) -> bool {
        (self.key && PRIVATE.contains(&name))
            || (self.is_token_pair && TOKENS.contains(&name))
            || self
                .within
                .iter()
                .any(|(member, names)| *member == name && names.is_none())
    }

    /// The members of this member that are secret.
    pub(super) fn names_within(&self, name: &str) -> Option<Rc<HashSet<String>>> {
        let mut within = self.within.iter();
        within.find(|(member, _)| *member == name)?.1.clone()
    }
}

impl NamedTree<'_> {
    pub(super) fn declared(&mut self, object: u32) -> Declared {
        let mut declared = Declared::default();
        let mut tokens = 0;
        for key in self.tree.keys(object) {
            let kind = self.tree.kind(key + 1);
            let name = self.tree.unescaped(key, &mut self.scratch);
            if kind == NodeKind::String {
                let is_token = TOKENS.iter().any(|token| token.as_bytes() == name);
                tokens += usize::from(is_token && is_like_token(self.tree.content(key + 1)));
                declared.key |= name == b"kty";
                declared.values |= name.eq_ignore_ascii_case(b"type")
                    && self.tree.content(key + 1) == b"SecureString";
                declared.values |= name.eq_ignore_ascii_case(b"format")
                    && self.tree.content(key + 1) == b"password";
                continue;
            }
            if kind == NodeKind::True && FLAGS.contains(&name) {
                declared.values = true;
            }
            let mark = MARKS.iter().find(|(mark, _)| *mark == name);
            if let Some((_, member)) = mark {
                match kind {
                    NodeKind::True => declared.within.push((member, None)),
                    NodeKind::Array | NodeKind::Object => {
                        let names = self.marked_in(key + 1);
                        declared.within.push((member, Some(names.into())));
                    }
                    _ => {}
                }
            }
        }
        declared.is_token_pair = tokens == TOKENS.len();
        if self.is_guarded(object) {
            declared.within.extend(ANSWER.map(|name| (name, None)));
        }
        declared
    }

    /// Whether an object asks a question that guards something.
    fn is_guarded(&mut self, object: u32) -> bool {
        for key in self.tree.keys(object) {
            let name = self.key_text(key);
            if !ends_in(&name, &QUESTION) {
                continue;
            }
            let asks_for_it = self.tree.kind(key + 1) == NodeKind::String && {
                let question = self.key_text(key + 1);
                is_personal(&question) || self.asks_for_secret(&question)
            };
            if asks_for_it || is_guarding(&name) {
                return true;
            }
        }
        false
    }

    /// Whether a question asks for a secret by its name: `What is your PIN?`.
    fn asks_for_secret(&self, question: &str) -> bool {
        let words = || question.split(|sign: char| !sign.is_alphanumeric());
        question.len() <= MAX_QUESTION_BYTES
            && words().any(|word| word.eq_ignore_ascii_case("your"))
            && words().any(|word| {
                word.eq_ignore_ascii_case("pin")
                    || self.redactor.secret_names.contains_exactly(word)
            })
    }

    /// The names in a list of paths, or the members of an object that have a `true` in them.
    fn marked_in(&mut self, at: u32) -> HashSet<String> {
        let within = at..self.tree.next(at);
        if self.tree.kind(at) == NodeKind::Array {
            let texts = within.filter(|node| self.tree.kind(*node) == NodeKind::String);
            let texts: Vec<u32> = texts.collect();
            let names = texts.into_iter().map(|text| self.key_text(text));
            return names.filter(|name| !STEPS.contains(&&**name)).collect();
        }
        let keys = self.tree.keys(at).filter(|key| {
            let mut below = key + 1..self.tree.next(key + 1);
            below.any(|node| self.tree.kind(node) == NodeKind::True)
        });
        let keys: Vec<u32> = keys.collect();
        keys.into_iter().map(|key| self.key_text(key)).collect()
    }

    /// Whether a member is secret because it is a text and no number: a seed of words, a nonce that proves something.
    pub(super) fn is_secret_text(&mut self, name: &str, value: u32) -> bool {
        let ends = |word: &str| {
            let from = name.len().checked_sub(word.len());
            let end = from.and_then(|from| name.get(from..));
            end.is_some_and(|end| end.eq_ignore_ascii_case(word))
        };
        if self.tree.kind(value) != NodeKind::String {
            return false;
        }
        if (ends("seed") || ends("nonce")) && ends_in(name, &[b"seed", b"nonce"]) {
            return !is_number(&self.key_text(value));
        }
        let tests: [LooksLike; 3] = [
            ("pepper", b"pepper", is_no_word),
            ("key", b"productkey", is_in_groups),
            ("me", b"rememberme", is_no_word),
        ];
        tests.iter().any(|(end, joined, looks)| {
            ends(end) && Words::of(name).joined().ends_with(joined) && looks(&self.key_text(value))
        })
    }
}

/// The members that are secret of what a member with this name lists: `securityQuestions`.
pub(super) fn answers_within(name: &str) -> Option<HashSet<String>> {
    (ends_in(name, &QUESTION) && is_guarding(name)).then(|| ANSWER.map(str::to_owned).into())
}

/// Whether the name of a question says that it guards something.
fn is_guarding(name: &str) -> bool {
    Words::of(name).iter().any(|word| GUARDING.contains(&word))
}

/// Whether a question asks for what one person knows.
fn is_personal(question: &str) -> bool {
    if question.len() > MAX_QUESTION_BYTES {
        return false;
    }
    let lower = question.to_ascii_lowercase();
    let mut words = lower.split(|sign: char| !sign.is_alphanumeric());
    let has = |wanted: &str| words.clone().any(|word| word == wanted);
    has("maiden") || (has("your") && words.any(|word| PERSONAL.contains(&word)))
}

/// Whether a text may be a token: long, and no sentence.
fn is_like_token(text: &[u8]) -> bool {
    /// Shorter texts are words and spans of time.
    const MIN_BYTES: usize = 12;
    text.len() >= MIN_BYTES && !text.contains(&b' ')
}

/// Whether a text is long enough for a credential and has letters and digits.
fn is_no_word(text: &str) -> bool {
    /// Shorter ones can be guessed, and are sizes and grades.
    const MIN_BYTES: usize = 6;
    let has = |test: fn(&u8) -> bool| text.bytes().any(|byte| test(&byte));
    text.len() >= MIN_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether a text is written as the key of a program is: groups of capitals and digits.
fn is_in_groups(text: &str) -> bool {
    const LEAST: usize = 4;
    let is_group = |group: &str| {
        (4..=8).contains(&group.len())
            && (group.bytes()).all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit())
    };
    text.split('-').count() >= LEAST && text.split('-').all(is_group)
}

/// Whether a text is empty or a number, decimal or hexadecimal.
fn is_number(text: &str) -> bool {
    match text.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|digit| digit.is_ascii_hexdigit()),
        None => text
            .bytes()
            .all(|sign| sign.is_ascii_digit() || b"+-.".contains(&sign)),
    }
}
