//! Where in a message a value stands: how that is written, and what is found there.

use std::fmt;
use std::str::FromStr;

use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, EXPECT, HeaderName, SET_COOKIE, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use parity_schemas::exchange::Capture;

use super::{Decode, Value, cookies, json};

/// Longest value that is taken of an answer: servers refuse longer fields.
const MAX_VALUE: usize = 16 << 10;
/// Fields that say how a message is framed: who changes one changes another message. Cookies have their own word.
const NOT_SETTABLE: [HeaderName; 8] = [
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    EXPECT,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// A place in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A header field.
    Header(HeaderName),
    /// A cookie: of `Cookie` in requests, of `Set-Cookie` in answers.
    Cookie(Box<str>),
    /// A parameter of the query.
    Query(Box<str>),
    /// A field of a form in the body.
    Form(Box<str>),
    /// A place in a body of JSON, by a JSON Pointer.
    Body(Box<str>),
}

/// The text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// None of the words.
    #[error(
        "`{0}` is no part of a message: write header:NAME, cookie:NAME, query:NAME, form:NAME, or body:/POINTER of JSON"
    )]
    Form(String),
    /// Not a name of a header field.
    #[error("`{0}` is not a header name")]
    HeaderName(String),
    /// A field that is not to be set.
    #[error("the header `{0}` says how the message is sent, and cannot be set")]
    Framing(HeaderName),
    /// Cookies have a word of their own.
    #[error("write cookie:NAME, for one cookie, in the place of the header `{0}`")]
    CookieHeader(HeaderName),
    /// Not a JSON Pointer.
    #[error("`{0}` is no JSON Pointer: write for example body:/session/token")]
    Pointer(String),
}

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let wrong = || PartError::Form(text.to_owned());
        let (word, name) = text.split_once(':').ok_or_else(wrong)?;
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(match word {
            "header" => {
                let named = name.trim().parse::<HeaderName>();
                let name = named.map_err(|_| PartError::HeaderName(name.to_owned()))?;
                if name == COOKIE || name == SET_COOKIE {
                    return Err(PartError::CookieHeader(name));
                }
                if NOT_SETTABLE.contains(&name) {
                    return Err(PartError::Framing(name));
                }
                Self::Header(name)
            }
            "cookie" if cookies::is_name(name) => Self::Cookie(name.into()),
            "query" => Self::Query(name.into()),
            "form" => Self::Form(name.into()),
            "body" if name.starts_with('/') => Self::Body(name.into()),
            "body" => return Err(PartError::Pointer(name.to_owned())),
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(out, "header:{name}"),
            Self::Cookie(name) => write!(out, "cookie:{name}"),
            Self::Query(name) => write!(out, "query:{name}"),
            Self::Form(name) => write!(out, "form:{name}"),
            Self::Body(pointer) => write!(out, "body:{pointer}"),
        }
    }
}

impl Part {
    /// Whether answers have such a part.
    pub fn is_in_answers(&self) -> bool {
        matches!(self, Self::Header(_) | Self::Cookie(_) | Self::Body(_))
    }

    /// What a recording calls it if it hides it.
    pub(super) fn hidden_name(&self) -> String {
        match self {
            Self::Header(name) => format!("header/{name}"),
            Self::Cookie(name) => format!("header/cookie/{name}"),
            Self::Query(name) => format!("query/{name}"),
            Self::Form(name) => format!("body/{name}"),
            Self::Body(pointer) => format!("body{pointer}"),
        }
    }

    /// The value of an answer, if it has one that can be sent.
    pub(super) fn found(&self, answer: &Capture, decode: Decode) -> Option<Value> {
        let text = |text: &str| Value {
            text: text.to_owned(),
            is_json: false,
        };
        let value = match self {
            Self::Header(name) => text(answer.headers.get(name)?.as_str()?),
            Self::Cookie(name) => {
                let lines = answer.headers.get_all(&SET_COOKIE);
                let mut of_it = lines.filter_map(|line| {
                    let (set, value) = cookies::set(line.as_str()?)?;
                    (*set == **name).then(|| value.to_owned())
                });
                text(&of_it.next()?)
            }
            Self::Query(_) | Self::Form(_) => return None,
            Self::Body(pointer) => {
                if answer.body.omission().is_some() {
                    return None;
                }
                let body = answer.body.contiguous();
                let body = decode(answer, &body)?;
                json::value(std::str::from_utf8(&body).ok()?, pointer)?
            }
        };
        (!value.text.is_empty() && value.text.len() <= MAX_VALUE).then_some(value)
    }
}
