//! A body as it may be recorded: what it claims to be, and what is made of it.
//!
//! It is made once for each message and serves findings and sample alike. The order of the questions: is it text by its
//! type, is it text by its bytes, can it be read as what it claims. Where the answer is no, nothing of it is kept. A
//! body without a type claims what it begins as.

use std::borrow::Cow;

use parity_schemas::exchange::{Body, Exchange};
use parity_schemas::fields::FieldLines;

use super::claim::{Claim, in_utf8, is_text};
use super::config::PlainText;
use super::hidden::Why;
use super::json::Document;
use super::place::Content;
use super::{Redactor, graphql, markup, strings};
use crate::comparator::Comparison;
use crate::events;
use crate::form;
use crate::limits::{DECODED_BYTES, MAX_DEPTH};
use crate::media;
use crate::notation::index::{Index, Layout, without_separators};
use crate::rules::Scope;
use crate::{decode, grpc, multipart, yaml};

/// Longest body that is parsed for the record; the largest `limits.body` that is of use is far below.
const MAX_BODY_BYTES: usize = 32 << 20;
/// A compressed body may unpack to this, or to what was captured of it: as the default of `limits.body`, and as much
/// again for mirrors with a larger one.
pub(super) const UNPACKED_BYTES: usize = 16 * DECODED_BYTES;

/// A body as it may be recorded.
pub(super) enum Shown {
    /// There is none.
    Nothing,
    /// By its structure.
    Json(Document),
    /// As text, each line where it was.
    Text(String),
    /// Not at all; what stands for it.
    Hidden(String),
}

impl Shown {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Json(document) => document.text(),
            Self::Text(text) | Self::Hidden(text) => text,
        }
    }
}

/// The bodies of an exchange, as far as they are needed.
pub(super) struct Bodies {
    pub(super) request: Shown,
    pub(super) legacy: Shown,
    pub(super) candidate: Shown,
    /// See [`Redactor::are_names_in_doubt`].
    pub(super) doubtful: bool,
}

/// What a body was read as.
enum Read {
    /// Documents in JSON that we made, and what is in them.
    Documents(Vec<Vec<u8>>, Content),
    /// The same, made of YAML that puts one value under several names.
    Aliased(Vec<Vec<u8>>),
    Shown(Shown),
}

impl Read {
    /// Whether it is not several documents, or none.
    fn is_single(&self) -> bool {
        match self {
            Self::Documents(documents, _) | Self::Aliased(documents) => documents.len() == 1,
            Self::Shown(_) => true,
        }
    }

    fn yaml(text: &str, documents: Vec<Vec<u8>>) -> Self {
        if text.contains('*') {
            Self::Aliased(documents)
        } else {
            Self::Documents(documents, Content::Values)
        }
    }
}

impl Redactor {
    pub(super) fn bodies(
        &self,
        exchange: &Exchange,
        comparison: &Comparison,
        sampled: bool,
        doubtful: bool,
        scope: &Scope,
    ) -> Bodies {
        let differ = comparison
            .findings
            .iter()
            .any(|finding| finding.part == parity_schemas::verdict::Part::Body);
        let (legacy, candidate) = if sampled || differ {
            let read = [&exchange.legacy, &exchange.candidate]
                .map(|answer| self.read(&answer.headers, &answer.body, scope));
            let [one, two] = read;
            // One document is itself; several on either side are lists on both, as they are compared.
            let single = one.is_single() && two.is_single();
            (
                self.finished(one, single, scope),
                self.finished(two, single, scope),
            )
        } else {
            (Shown::Nothing, Shown::Nothing)
        };
        let request = if sampled {
            let read = self.read(&exchange.request.headers, &exchange.request.body, scope);
            let single = read.is_single();
            self.finished(read, single, scope)
        } else {
            Shown::Nothing
        };
        Bodies {
            request,
            legacy,
            candidate,
            doubtful,
        }
    }

    fn finished(&self, read: Read, single: bool, scope: &Scope) -> Shown {
        let (documents, content, aliased) = match read {
            Read::Shown(shown) => return shown,
            Read::Documents(documents, content) => (documents, content, false),
            Read::Aliased(documents) => (documents, Content::Values, true),
        };
        let text = yaml::joined(documents, single);
        Document::read(self, text, Layout::Document, content, aliased, scope).map_or_else(
            |text| Shown::Hidden(self.hide(&text, Why::Limit)),
            Shown::Json,
        )
    }

    fn read(&self, headers: &FieldLines, body: &Body, scope: &Scope) -> Read {
        let raw = body.contiguous();
        if raw.is_empty() {
            return Read::Shown(Shown::Nothing);
        }
        let hidden = |why| Read::Shown(Shown::Hidden(self.hide(&raw, why)));
        if super::place::Place::root(Content::Values, self, scope).secret {
            return hidden(Why::Asked);
        }
        let encodings = decode::encodings(headers);
        let limit = UNPACKED_BYTES.max(raw.len());
        let Ok(decoded) = decode::decode(&raw, &encodings, limit) else {
            return hidden(Why::Invalid("content encoding"));
        };
        if decoded.len() > MAX_BODY_BYTES {
            return hidden(Why::Limit);
        }
        if media::is_grpc(headers) {
            return match grpc::json_message(headers, &decoded, limit) {
                Some(message) => self.claimed(&Claim::Json, &message, scope),
                None => hidden(Why::Bytes),
            };
        }
        let (claim, charset) = Claim::of(headers);
        match claim {
            Claim::Bytes => hidden(Why::Bytes),
            Claim::Multipart(_) | Claim::MultipartForm(_) => self.claimed(&claim, &decoded, scope),
            _ => match in_utf8(decoded, charset.as_deref()) {
                Some(text) => self.claimed(&claim, &text, scope),
                None => hidden(Why::Invalid("charset")),
            },
        }
    }

    /// A body without encodings, as what it claims to be.
    fn claimed(&self, claim: &Claim, body: &[u8], scope: &Scope) -> Read {
        let hidden = |why| Read::Shown(Shown::Hidden(self.hide(body, why)));
        let json = |text: &[u8], layout| {
            Document::read(self, text.to_vec(), layout, Content::Values, false, scope)
                .map(|document| Read::Shown(Shown::Json(document)))
        };
        if let Claim::Multipart(boundary) | Claim::MultipartForm(boundary) = claim {
            let form = matches!(claim, Claim::MultipartForm(_));
            if has_part_before(body, boundary.as_deref().unwrap_or_default()) {
                return hidden(Why::Invalid("multipart"));
            }
            return match multipart::to_json(body, boundary.as_deref(), &mut is_json) {
                Ok(parts) => Read::Documents(vec![parts], Content::Parts { form }),
                Err(_) => hidden(Why::Invalid("multipart")),
            };
        }
        let Some(text) = std::str::from_utf8(body).ok().filter(|text| is_text(text)) else {
            return hidden(Why::Bytes);
        };
        let plain = text.trim_start_matches('\u{feff}');
        match claim {
            Claim::Json => match json(plain.as_bytes(), Layout::Document) {
                Ok(read) => read,
                Err(_) => self
                    .guarded_json(plain, scope)
                    .map_or_else(|| hidden(Why::Invalid("JSON")), Read::Shown),
            },
            Claim::Lines => json(&without_separators(plain.as_bytes()), Layout::Lines)
                .unwrap_or_else(|_| hidden(Why::Invalid("JSON"))),
            Claim::Yaml => match yaml::documents(plain, MAX_DEPTH, MAX_BODY_BYTES) {
                Ok(documents) if !self.is_doubtful_yaml(plain, &documents) => {
                    Read::yaml(plain, documents)
                }
                _ => hidden(Why::Invalid("YAML")),
            },
            Claim::Events if !events::is_strict(plain) && self.speaks_of_a_secret(plain) => {
                hidden(Why::Invalid("events"))
            }
            Claim::Events => {
                let mut broken = false;
                let events = events::to_json(plain, &mut |data| {
                    let sound = is_json(data);
                    broken |= !sound && std::str::from_utf8(data).is_ok_and(strings::claims_json);
                    sound
                });
                // What was one event may have become two.
                if broken && self.speaks_of_a_secret(plain) {
                    return hidden(Why::Invalid("events"));
                }
                Read::Documents(vec![events], Content::Events)
            }
            Claim::Form if self.is_whole_form(text) => {
                Read::Documents(vec![form::to_json(text)], Content::Values)
            }
            // Clients that name no type send JSON as a form.
            Claim::Form if self.claims_json(plain.trim_start()) => {
                self.undeclared(&Claim::Plain, text, plain, scope)
            }
            Claim::Form => hidden(Why::Invalid("form")),
            Claim::Unread => hidden(Why::Unread),
            Claim::Markup(_) | Claim::GraphQl | Claim::Table => {
                Read::Shown(self.structured(claim, text).map_or_else(
                    || Shown::Hidden(self.hide(body, self.invalid(claim))),
                    Shown::Text,
                ))
            }
            Claim::Plain | Claim::Silent => self.undeclared(claim, text, plain, scope),
            Claim::Multipart(_) | Claim::MultipartForm(_) | Claim::Bytes => hidden(Why::Bytes),
        }
    }

    /// A text that does not say what it is, or that it is nothing special.
    fn undeclared(&self, claim: &Claim, text: &str, plain: &str, scope: &Scope) -> Read {
        let hidden = |why| Read::Shown(Shown::Hidden(self.hide(text.as_bytes(), why)));
        let begin = plain.trim_start();
        if strings::may_be_json(begin) || self.claims_json(begin) {
            for layout in [Layout::Document, Layout::Lines] {
                let text = plain.as_bytes().to_vec();
                let read = Document::read(self, text, layout, Content::Values, false, scope);
                if let Ok(document) = read {
                    return Read::Shown(Shown::Json(document));
                }
            }
        }
        if self.text == PlainText::Hidden {
            return hidden(Why::Asked);
        }
        if self.claims_json(begin) {
            return hidden(Why::Invalid("JSON"));
        }
        for (claims, kind) in [
            (strings::claims_markup(begin), Claim::Markup(None)),
            (strings::claims_graphql(begin), Claim::GraphQl),
        ] {
            if claims {
                return Read::Shown(match self.structured(&kind, text) {
                    Some(shown) => Shown::Text(shown),
                    None => Shown::Hidden(self.hide(text.as_bytes(), self.invalid(&kind))),
                });
            }
        }
        if strings::is_form(plain) {
            return Read::Documents(vec![form::to_json(plain.trim_end())], Content::Values);
        }
        let framed = plain.starts_with("---\n") || plain.starts_with("%YAML");
        let shown = self.string(text);
        // Where a secret is in it, its structure finds all of it.
        if framed || (shown != text && plain.contains('\n')) {
            let documents = yaml::documents(plain, MAX_DEPTH, MAX_BODY_BYTES).ok();
            let mapping = documents.filter(|documents| {
                documents.iter().all(|document| document.starts_with(b"{")) && !documents.is_empty()
            });
            if let Some(documents) = mapping {
                return Read::yaml(plain, documents);
            }
        }
        if *claim == Claim::Silent && plain.starts_with("--") && is_framed(plain) {
            // A multipart body that lost its type, and with it the boundary.
            return hidden(Why::Invalid("multipart"));
        }
        Read::Shown(Shown::Text(shown.into_owned()))
    }

    /// Text that keeps its lines; `None` when it is not what it claims to be.
    pub(super) fn structured(&self, claim: &Claim, text: &str) -> Option<String> {
        match claim {
            Claim::Markup(dialect) => markup::redacted(self, text, *dialect, 0),
            Claim::GraphQl => graphql::redacted(self, text, 0),
            Claim::Table => (self.text == PlainText::Patterns && self.is_table(text))
                .then(|| self.table(text).into_owned()),
            _ => None,
        }
    }

    fn invalid(&self, claim: &Claim) -> Why {
        match claim {
            Claim::Markup(_) => Why::Invalid("markup"),
            Claim::GraphQl => Why::Invalid("GraphQL"),
            Claim::Table if self.text == PlainText::Patterns => Why::Invalid("table"),
            _ => Why::Asked,
        }
    }

    /// JSON behind a line that keeps other pages from running it as a program.
    fn guarded_json(&self, text: &str, scope: &Scope) -> Option<Shown> {
        let (guard, json) = [")]}',", ")]}'", "for(;;);", "while(1);"]
            .iter()
            .find_map(|guard| Some((*guard, text.strip_prefix(guard)?)))?;
        let json = json.as_bytes().to_vec();
        let layout = Layout::Document;
        let document = Document::read(self, json, layout, Content::Values, false, scope).ok()?;
        Some(Shown::Text(format!("{guard}{}", document.text())))
    }
}

/// Whether the head of a part stands before the first boundary: what was one before it is none.
fn has_part_before(body: &[u8], boundary: &str) -> bool {
    let delimiter = format!("--{boundary}");
    let mut found = memchr::memmem::find_iter(body, &delimiter);
    let first = found.find(|at| {
        let rest = body.get(at + delimiter.len()..).unwrap_or_default();
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let begins = body
            .get(..*at)
            .is_some_and(|before| before.is_empty() || before.ends_with(b"\n"));
        begins && (line.starts_with(b"--") || line.trim_ascii().is_empty())
    });
    let before = body.get(..first.unwrap_or(0)).unwrap_or_default();
    let text = String::from_utf8_lossy(before).to_ascii_lowercase();
    text.contains("content-disposition")
}

/// Whether the first line is a boundary that comes again.
pub(super) fn is_framed(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default().trim_end();
    first.len() > 2
        && text.lines().skip(1).any(|line| {
            line.trim_end()
                .strip_suffix("--")
                .unwrap_or(line.trim_end())
                == first
        })
}

impl Redactor {
    /// A text within a body that we turned into JSON: the body of a part, or the data of an event.
    pub(super) fn claimed_text<'t>(
        &self,
        claim: &Claim,
        text: &'t str,
        depth: usize,
    ) -> Cow<'t, str> {
        let hidden = |why| Cow::Owned(self.hide(text.as_bytes(), why));
        let json = |text: &[u8]| {
            let text = std::str::from_utf8(text).ok()?;
            self.nested_json(text, depth + 1)
        };
        if !is_text(text) {
            return hidden(Why::Bytes);
        }
        let shown = match claim {
            Claim::Plain | Claim::Silent if self.text == PlainText::Hidden => {
                return match json(text.as_bytes()) {
                    Some(shown) if self.claims_json(text) => Cow::Owned(shown),
                    _ => hidden(Why::Asked),
                };
            }
            Claim::Plain | Claim::Silent => return self.string_at(text, depth),
            Claim::Bytes => return hidden(Why::Bytes),
            Claim::Unread | Claim::Multipart(_) | Claim::MultipartForm(_) => {
                return hidden(Why::Unread);
            }
            Claim::Json => json(text.as_bytes()),
            Claim::Lines => {
                let lines = text.lines().map(|line| match line.trim() {
                    "" => Some(String::new()),
                    line => self.nested_json(line, depth + 1),
                });
                lines
                    .collect::<Option<Vec<_>>>()
                    .map(|lines| lines.join("\n"))
            }
            Claim::Yaml => yaml::documents(text, MAX_DEPTH, MAX_BODY_BYTES)
                .ok()
                .filter(|documents| !self.is_doubtful_yaml(text, documents))
                .and_then(|documents| {
                    let single = documents.len() == 1;
                    let json = yaml::joined(documents, single);
                    self.nested_yaml(&json, text.contains('*'), depth + 1)
                }),
            Claim::Form if !self.is_whole_form(text) => None,
            Claim::Form => json(&form::to_json(text)),
            Claim::Events if !events::is_strict(text) && self.speaks_of_a_secret(text) => None,
            Claim::Events => json(&events::to_json(text, &mut is_json)),
            Claim::Markup(_) | Claim::GraphQl | Claim::Table => self.structured(claim, text),
        };
        match shown {
            Some(shown) if shown == text => Cow::Borrowed(text),
            Some(shown) => Cow::Owned(shown),
            None => hidden(match claim {
                Claim::Yaml => Why::Invalid("YAML"),
                Claim::Markup(_) | Claim::GraphQl | Claim::Table => self.invalid(claim),
                _ => Why::Invalid("JSON"),
            }),
        }
    }
}

/// Whether an embedded text is JSON, as deep as any comparison follows it.
fn is_json(text: &[u8]) -> bool {
    Index::default()
        .read(text, Layout::Document, MAX_DEPTH)
        .is_ok()
}
