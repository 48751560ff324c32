//! The request of a recorded mismatch, as a line of a recording: to be sent again.
//!
//! A record is made to be read. Its request has hashes in the place of what is hidden, and a body that was compared as JSON stands
//! there as that JSON. So each hidden part is named, as in a recording; a form is written as a form again; and what cannot be
//! written as it was sent is no line at all. A text of a client that looks like a hash counts as hidden: doubt is never sent as if
//! it were known.

use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use parity_schemas::fields::FieldLines;
use parity_schemas::hidden::is_hash_of_body;
use parity_schemas::record::{Mismatch, RecordedMessage};
use parity_schemas::recording::{EXCHANGE_SCHEMA, RecordedBody, RecordedExchange};
use parity_schemas::rerun::HiddenWhy;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::address::OTHER_METHOD;
use super::claim::Claim;
use super::hidden::HASH;
use crate::limits::MAX_DEPTH;
use crate::notation::index::{Index, Layout, NodeKind, ROOT, Tree};

/// Parts of a body that are named; with more, the whole body is said to be hidden.
const MAX_PARTS: usize = 256;
/// The name of a hidden part for all of a body.
const WHOLE_BODY: &str = "body";

/// A request that may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRequest {
    /// As a line of a recording; `None` if it cannot be written as it was sent.
    pub line: Option<RecordedExchange>,
    /// What of it is not there, by the names of recordings.
    pub missing: Vec<(String, HiddenWhy)>,
}

/// A body as it is sent, or why it is not there.
enum Body {
    Sent { text: String, hidden: Vec<String> },
    Missing(HiddenWhy),
}

/// The request of a mismatch; `None` if it was not kept.
pub fn kept_request(mismatch: &Mismatch) -> Option<KeptRequest> {
    let request = &mismatch.sample.as_ref()?.request;
    let mut missing = Vec::new();
    let mut hide = |part: String| missing.push((part, HiddenWhy::Redacted));
    let is_known = mismatch.method != OTHER_METHOD;
    if !is_known {
        hide("method".to_owned());
    }
    if is_hashed(&mismatch.path) {
        hide("path".to_owned());
    }
    for field in mismatch.query.split(['&', ';']) {
        if is_hashed(field) {
            let name = field.split_once('=').map_or("", |(name, _)| name);
            hide(format!("query/{name}"));
        }
    }
    let mut headers = request.headers.clone();
    for (name, value) in &headers {
        if is_hashed(value) {
            hide(format!("header/{name}"));
        }
    }
    let text = match body(request) {
        Body::Sent { text, hidden } => {
            hidden.into_iter().for_each(&mut hide);
            Some(text)
        }
        Body::Missing(why) => {
            missing.push((WHOLE_BODY.to_owned(), why));
            None
        }
    };
    // The body is written without its content encoding.
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(CONTENT_ENCODING.as_str()));
    missing.dedup();
    let line = text.filter(|_| is_known).map(|text| RecordedExchange {
        schema: EXCHANGE_SCHEMA.to_owned(),
        time: mismatch.time,
        session: None,
        method: mismatch.method.clone(),
        url: match &*mismatch.query {
            "" => mismatch.path.clone(),
            query => format!("{}?{query}", mismatch.path),
        },
        headers,
        body: RecordedBody {
            text: (!text.is_empty()).then_some(text),
            ..RecordedBody::default()
        },
        hidden: missing.iter().map(|(part, _)| part.clone()).collect(),
        response: None,
    });
    Some(KeptRequest { line, missing })
}

fn is_hashed(text: &str) -> bool {
    text.contains(HASH)
}

/// The header fields that say what a body is.
fn declared(request: &RecordedMessage) -> FieldLines {
    let mut fields = FieldLines::default();
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value))
            && [CONTENT_TYPE, CONTENT_ENCODING].contains(&name)
        {
            fields.push(name, value.as_bytes());
        }
    }
    fields
}

fn body(request: &RecordedMessage) -> Body {
    let text = &*request.body;
    if request.body_cut {
        return Body::Missing(HiddenWhy::Cut);
    }
    if text.is_empty() {
        return Body::Sent {
            text: String::new(),
            hidden: Vec::new(),
        };
    }
    // All of it, or of a text that is not parsed a part of it.
    if is_hash_of_body(text) {
        return Body::Missing(HiddenWhy::Redacted);
    }
    let fields = declared(request);
    let (claim, declared) = Claim::of(&fields);
    let is_encoded = fields.contains(&CONTENT_ENCODING);
    let is_hashed = is_hashed(text);
    // Of the same length it is what was sent: another notation of a text hardly ever has just that.
    let is_as_sent = !is_hashed && !is_encoded && text.len() as u64 == request.body_bytes;
    let sent = |hidden| Body::Sent {
        text: text.to_owned(),
        hidden,
    };
    let all = || {
        let whole = is_hashed.then(|| WHOLE_BODY.to_owned());
        whole.into_iter().collect::<Vec<_>>()
    };
    match claim {
        Claim::Bytes | Claim::Multipart(_) | Claim::MultipartForm(_) | Claim::Events => {
            Body::Missing(HiddenWhy::OtherForm)
        }
        Claim::Form => match form(text, request.body_bytes) {
            Some((text, hidden)) => Body::Sent { text, hidden },
            // Clients that set no type send JSON labelled as a form.
            None if is_as_sent => sent(Vec::new()),
            None => Body::Missing(HiddenWhy::OtherForm),
        },
        _ if is_as_sent => sent(Vec::new()),
        // It is recorded in UTF-8.
        _ if declared.charset.is_some() => Body::Missing(HiddenWhy::OtherForm),
        Claim::Json => sent(hidden_parts(text).unwrap_or_else(all)),
        // JSON is YAML; but several documents are recorded as one list.
        Claim::Yaml if text.starts_with('{') => sent(hidden_parts(text).unwrap_or_else(all)),
        // These are recorded in their own notation.
        Claim::Lines
        | Claim::Xml
        | Claim::Csv(_)
        | Claim::Table
        | Claim::Markup(_)
        | Claim::GraphQl => sent(all()),
        // A form or YAML that nobody declared is recorded as JSON, too.
        Claim::Plain | Claim::Undeclared if !text.starts_with(['{', '[']) => sent(all()),
        _ => Body::Missing(HiddenWhy::OtherForm),
    }
}

/// `body/card/number` for each value of a JSON text with a hash in it; `None` if that cannot be said.
fn hidden_parts(text: &str) -> Option<Vec<String>> {
    let mut index = Index::default();
    index
        .read(text.as_bytes(), Layout::Document, MAX_DEPTH)
        .ok()?;
    let tree = index.tree(text.as_bytes());
    let mut parts = Vec::new();
    let mut scratch = Vec::new();
    let mut open = vec![(ROOT, WHOLE_BODY.to_owned())];
    while let Some((at, name)) = open.pop() {
        if !holds_hash(tree, at) {
            continue;
        }
        match tree.kind(at) {
            NodeKind::Object => {
                for key in tree.keys(at) {
                    if holds_hash(tree, key) {
                        return None;
                    }
                    let step = String::from_utf8_lossy(tree.unescaped(key, &mut scratch));
                    let step = step.replace('~', "~0").replace('/', "~1");
                    open.push((key + 1, format!("{name}/{step}")));
                }
            }
            NodeKind::Array => {
                let elements = tree.elements(at).enumerate();
                open.extend(elements.map(|(index, at)| (at, format!("{name}/{index}"))));
            }
            _ => parts.push(name),
        }
        if parts.len() > MAX_PARTS {
            return None;
        }
    }
    parts.sort();
    Some(parts)
}

fn holds_hash(tree: Tree<'_>, at: u32) -> bool {
    memchr::memmem::find(tree.raw(at), HASH.as_bytes()).is_some()
}

/// A form of the JSON that it was compared as, and what is hidden in it. The order of its names may be another one, which means
/// nothing in a form. `length` is that of the body that was sent.
fn form(text: &str, length: u64) -> Option<(String, Vec<String>)> {
    let mut index = Index::default();
    index
        .read(text.as_bytes(), Layout::Document, MAX_DEPTH)
        .ok()?;
    let tree = index.tree(text.as_bytes());
    if tree.kind(ROOT) != NodeKind::Object {
        return None;
    }
    let mut scratch = Vec::new();
    let mut plain = |at: u32| {
        let is_text = matches!(tree.kind(at), NodeKind::String | NodeKind::Key);
        let bytes = is_text.then(|| tree.unescaped(at, &mut scratch).to_vec())?;
        String::from_utf8(bytes).ok()
    };
    let (mut pairs, mut hidden) = (Vec::new(), Vec::new());
    for key in tree.keys(ROOT) {
        let name = plain(key)?;
        if is_hashed(&name) {
            hidden.push(WHOLE_BODY.to_owned());
        }
        let value = key + 1;
        let values: Vec<u32> = match tree.kind(value) {
            NodeKind::Array => tree.elements(value).collect(),
            _ => vec![value],
        };
        for value in values {
            let value = plain(value)?;
            if is_hashed(&value) {
                hidden.push(format!("{WHOLE_BODY}/{name}"));
            }
            pairs.push(format!("{}={}", escaped(&name), escaped(&value)));
        }
    }
    hidden.dedup();
    // A text that is no form is recorded as one name without a value.
    if let [only] = pairs.as_slice()
        && let Some(name) = only.strip_suffix('=').filter(|_| hidden.is_empty())
        && let Ok(name) = percent_decode_str(name).decode_utf8()
        && name.len() as u64 == length
    {
        return Some((name.into_owned(), hidden));
    }
    Some((pairs.join("&"), hidden))
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests;
