//! Redacts a body by what it claims to be.
//!
//! Each body is redacted once, for findings and sample alike. In this order it is asked: is it text by its type, is it
//! text by its bytes, can it be parsed as what it claims to be. If any answer is no, nothing of it is recorded. A body
//! without a type claims to be what it starts as.

mod embedded;

use std::borrow::Cow;

use parity_schemas::exchange::{Body, Exchange};
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::Side;

use super::claim::{Claim, in_utf8, is_text};
use super::config::PlainText;
use super::hidden::HideReason;
use super::json::Document;
use super::markup::Dialect;
use super::place::Content;
use super::{Redactor, graphql, markup, strings};
use crate::comparator::Comparison;
use crate::csv;
use crate::events;
use crate::form;
use crate::limits::{DECODED_BYTES, MAX_DEPTH};
use crate::media;
use crate::notation::index::{Index, Layout, without_separators};
use crate::rules::{Renames, Rules, Scope};
use crate::{decode, grpc, multipart, xml, yaml};

/// Longest body that is parsed for the record; useful values of `limits.body` are far below.
const MAX_BODY_BYTES: usize = 32 << 20;
/// A compressed body may decompress to this size, or to its captured size if that is larger. It is a multiple of the
/// default of `limits.body`, for mirrors that set a higher one.
pub(super) const UNPACKED_BYTES: usize = 16 * DECODED_BYTES;

/// A body as it may be recorded.
pub(super) enum RedactedBody {
    /// There is no body.
    Absent,
    /// Redacted by its structure.
    Json(Document),
    /// Redacted as text, with its lines kept.
    Text(String),
    /// Not recorded; a placeholder for it.
    Hidden(String),
}

impl RedactedBody {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Absent => "",
            Self::Json(document) => document.text(),
            Self::Text(text) | Self::Hidden(text) => text,
        }
    }
}

/// The bodies of an exchange, as far as they are recorded.
pub(super) struct RedactedBodies {
    pub(super) request: RedactedBody,
    pub(super) legacy: RedactedBody,
    pub(super) candidate: RedactedBody,
    /// See [`Redactor::are_names_in_doubt`].
    pub(super) doubtful: bool,
}

/// A body after parsing.
pub(super) enum ParsedBody {
    /// JSON documents that we made from the body, and what they hold.
    Documents(Vec<Vec<u8>>, Content),
    /// JSON documents made from YAML in which one value may occur under several names.
    Aliased(Vec<Vec<u8>>),
    /// XML that is compared as data: redacted as text, and what it says by its structure.
    Xml(String, xml::Document),
    /// The same for a table; whether its columns have a declared name.
    Csv(String, csv::Table, bool),
    Redacted(RedactedBody),
}

impl ParsedBody {
    /// Whether it is exactly one document.
    fn is_single(&self) -> bool {
        match self {
            Self::Documents(documents, _) | Self::Aliased(documents) => documents.len() == 1,
            Self::Xml(..) | Self::Csv(..) | Self::Redacted(_) => true,
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
    ) -> RedactedBodies {
        let differ = comparison
            .findings
            .iter()
            .any(|finding| finding.part == parity_schemas::verdict::Part::Body);
        let (legacy, candidate) = if sampled || differ {
            let read = [&exchange.legacy, &exchange.candidate]
                .map(|answer| self.read(&answer.headers, &answer.body, scope));
            let by_line = comparison.findings.iter().any(|finding| {
                matches!(
                    (&finding.legacy, &finding.candidate),
                    (Side::Line(_), _) | (_, Side::Line(_))
                )
            });
            let [one, two] = if by_line {
                read
            } else {
                as_documents(read, &self.rules, scope)
            };
            // If both sides have one document, it is shown as it is; if either has several, both are lists, as in the
            // comparison.
            let single = one.is_single() && two.is_single();
            (
                self.finished(one, single, scope),
                self.finished(two, single, scope),
            )
        } else {
            (RedactedBody::Absent, RedactedBody::Absent)
        };
        let request = if sampled {
            let request = &exchange.request;
            let read = self.read(&request.headers, &request.body, scope);
            let single = read.is_single();
            self.finished(read, single, scope)
        } else {
            RedactedBody::Absent
        };
        RedactedBodies {
            request,
            legacy,
            candidate,
            doubtful,
        }
    }

    /// A text that is redacted wherever secret names stand in it, and what it says by its structure, in which rules lead to
    /// places.
    fn shown_and_parsed<T>(
        &self,
        claim: &Claim,
        text: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<(String, Option<T>)> {
        let shown = self.structured(claim, text)?;
        let parsed = match self.for_places() {
            Some(redactor) => parse(&redactor.structured(claim, text)?),
            None => parse(&shown),
        };
        Some((shown, parsed))
    }

    fn finished(&self, read: ParsedBody, single: bool, scope: &Scope) -> RedactedBody {
        let (documents, content, aliased) = match read {
            ParsedBody::Redacted(shown) => return shown,
            ParsedBody::Xml(shown, _) | ParsedBody::Csv(shown, ..) => {
                return RedactedBody::Text(shown);
            }
            ParsedBody::Documents(documents, content) => (documents, content, false),
            ParsedBody::Aliased(documents) => (documents, Content::Values, true),
        };
        let text = yaml::joined(documents, single);
        Document::read(self, text, Layout::Document, content, aliased, scope).map_or_else(
            |text| RedactedBody::Hidden(self.hide(&text, HideReason::Limit)),
            RedactedBody::Json,
        )
    }

    pub(super) fn read(&self, headers: &FieldLines, body: &Body, scope: &Scope) -> ParsedBody {
        let raw = body.contiguous();
        if raw.is_empty() {
            return ParsedBody::Redacted(RedactedBody::Absent);
        }
        let hidden = |why| ParsedBody::Redacted(RedactedBody::Hidden(self.hide(&raw, why)));
        if super::place::Place::root(Content::Values, self, scope).secret {
            return hidden(HideReason::Requested);
        }
        let encodings = decode::encodings(headers);
        let limit = UNPACKED_BYTES.max(raw.len());
        let Ok(decoded) = decode::decode(&raw, &encodings, limit) else {
            return hidden(HideReason::Invalid("content encoding"));
        };
        if decoded.len() > MAX_BODY_BYTES {
            return hidden(HideReason::Limit);
        }
        if media::is_any_grpc(headers) {
            return match grpc::json_message(headers, &decoded, limit) {
                Some(message) => self.claimed(&Claim::Json, &message, scope),
                None => hidden(HideReason::Binary),
            };
        }
        let (claim, declared) = Claim::of(headers);
        let charset = declared.charset_of(&decoded).map(Cow::into_owned);
        match claim {
            Claim::Bytes => hidden(HideReason::Binary),
            Claim::Multipart(_) | Claim::MultipartForm(_) => self.claimed(&claim, &decoded, scope),
            _ => match in_utf8(decoded, charset.as_deref()) {
                Some(text) => self.claimed(&claim, &text, scope),
                None => hidden(HideReason::Invalid("charset")),
            },
        }
    }

    /// A decoded body, parsed as what it claims to be.
    fn claimed(&self, claim: &Claim, body: &[u8], scope: &Scope) -> ParsedBody {
        let hidden = |why| ParsedBody::Redacted(RedactedBody::Hidden(self.hide(body, why)));
        let json = |text: &[u8], layout| {
            Document::read(self, text.to_vec(), layout, Content::Values, false, scope)
                .map(|document| ParsedBody::Redacted(RedactedBody::Json(document)))
        };
        if let Claim::Multipart(boundary) | Claim::MultipartForm(boundary) = claim {
            let form = matches!(claim, Claim::MultipartForm(_));
            if has_part_before(body, boundary.as_deref().unwrap_or_default()) {
                return hidden(HideReason::Invalid("multipart"));
            }
            return match multipart::read(body, boundary.as_deref()) {
                Ok(parts) => {
                    let parts = multipart::to_json(&parts, &mut is_json);
                    ParsedBody::Documents(vec![parts], Content::Parts { form })
                }
                Err(_) => hidden(HideReason::Invalid("multipart")),
            };
        }
        let Some(text) = std::str::from_utf8(body).ok().filter(|text| is_text(text)) else {
            return hidden(HideReason::Binary);
        };
        let plain = text.trim_start_matches('\u{feff}');
        match claim {
            Claim::Json => match json(plain.as_bytes(), Layout::Document) {
                Ok(read) => read,
                Err(_) => self
                    .guarded_json(plain, scope)
                    .map_or_else(|| hidden(HideReason::Invalid("JSON")), ParsedBody::Redacted),
            },
            Claim::Lines => json(&without_separators(plain.as_bytes()), Layout::Lines)
                .unwrap_or_else(|_| hidden(HideReason::Invalid("JSON"))),
            Claim::Yaml => match yaml::documents(plain, MAX_DEPTH, MAX_BODY_BYTES) {
                Ok(documents) if !self.is_doubtful_yaml(plain, &documents) => {
                    ParsedBody::yaml(plain, documents)
                }
                _ => hidden(HideReason::Invalid("YAML")),
            },
            Claim::Events if !events::is_strict(plain) && self.mentions_secret(plain) => {
                hidden(HideReason::Invalid("events"))
            }
            Claim::Events => {
                let mut broken = false;
                let events = events::to_json(plain, &mut |data| {
                    let sound = is_json(data);
                    broken |= !sound && std::str::from_utf8(data).is_ok_and(strings::claims_json);
                    sound
                });
                // Damage may have split one event into two.
                if broken && self.mentions_secret(plain) {
                    return hidden(HideReason::Invalid("events"));
                }
                ParsedBody::Documents(vec![events], Content::Events)
            }
            Claim::Form if self.is_whole_form(text) => {
                ParsedBody::Documents(vec![form::to_json(text)], Content::Values)
            }
            // Clients that set no type send JSON labelled as a form.
            Claim::Form if self.claims_json(plain.trim_start()) => {
                self.undeclared(&Claim::Plain, text, plain, scope)
            }
            Claim::Form => hidden(HideReason::Invalid("form")),
            Claim::Unsupported => hidden(HideReason::Unsupported),
            Claim::Xml => {
                let parse = |shown: &str| xml::parse(shown, MAX_DEPTH).ok();
                match self.shown_and_parsed(claim, plain, parse) {
                    Some((shown, Some(document))) => ParsedBody::Xml(shown, document),
                    Some((shown, None)) => ParsedBody::Redacted(RedactedBody::Text(shown)),
                    None => hidden(self.invalid(claim)),
                }
            }
            Claim::Csv(named) => match self.shown_and_parsed(claim, plain, csv::parse) {
                Some((shown, Some(table))) => ParsedBody::Csv(shown, table, *named),
                Some((shown, None)) => ParsedBody::Redacted(RedactedBody::Text(shown)),
                None => hidden(self.invalid(claim)),
            },
            Claim::Markup(_) | Claim::GraphQl | Claim::Table => {
                ParsedBody::Redacted(self.structured(claim, text).map_or_else(
                    || RedactedBody::Hidden(self.hide(body, self.invalid(claim))),
                    RedactedBody::Text,
                ))
            }
            Claim::Plain | Claim::Undeclared => self.undeclared(claim, text, plain, scope),
            Claim::Multipart(_) | Claim::MultipartForm(_) | Claim::Bytes => {
                hidden(HideReason::Binary)
            }
        }
    }

    /// Parses a text that has no type, or a type of plain text.
    fn undeclared(&self, claim: &Claim, text: &str, plain: &str, scope: &Scope) -> ParsedBody {
        let hidden =
            |why| ParsedBody::Redacted(RedactedBody::Hidden(self.hide(text.as_bytes(), why)));
        let begin = plain.trim_start();
        if strings::may_be_json(begin) || self.claims_json(begin) {
            for layout in [Layout::Document, Layout::Lines] {
                let text = plain.as_bytes().to_vec();
                let read = Document::read(self, text, layout, Content::Values, false, scope);
                if let Ok(document) = read {
                    return ParsedBody::Redacted(RedactedBody::Json(document));
                }
            }
        }
        if self.text == PlainText::Hidden {
            return hidden(HideReason::Requested);
        }
        if self.claims_json(begin) {
            return hidden(HideReason::Invalid("JSON"));
        }
        for (claims, kind) in [
            (strings::claims_markup(begin), Claim::Markup(None)),
            (strings::claims_graphql(begin), Claim::GraphQl),
        ] {
            if claims {
                return ParsedBody::Redacted(match self.structured(&kind, text) {
                    Some(shown) => RedactedBody::Text(shown),
                    None => RedactedBody::Hidden(self.hide(text.as_bytes(), self.invalid(&kind))),
                });
            }
        }
        if strings::is_form(plain) {
            return ParsedBody::Documents(vec![form::to_json(plain.trim_end())], Content::Values);
        }
        let framed = plain.starts_with("---\n") || plain.starts_with("%YAML");
        let shown = self.string(text);
        // If patterns find a secret in it, parsing it as YAML finds the whole secret.
        if framed || (shown != text && plain.contains('\n')) {
            let documents = yaml::documents(plain, MAX_DEPTH, MAX_BODY_BYTES).ok();
            let mapping = documents.filter(|documents| {
                documents.iter().all(|document| document.starts_with(b"{")) && !documents.is_empty()
            });
            if let Some(documents) = mapping {
                return ParsedBody::yaml(plain, documents);
            }
        }
        if *claim == Claim::Undeclared && plain.starts_with("--") && is_framed(plain) {
            // A multipart body without its type, and so without its boundary.
            return hidden(HideReason::Invalid("multipart"));
        }
        ParsedBody::Redacted(RedactedBody::Text(shown.into_owned()))
    }

    /// Redacts a text and keeps its lines; `None` if it is not what it claims to be.
    pub(super) fn structured(&self, claim: &Claim, text: &str) -> Option<String> {
        match claim {
            Claim::Xml => markup::redacted(self, text, Some(Dialect::Xml), 0),
            Claim::Markup(dialect) => markup::redacted(self, text, *dialect, 0),
            Claim::GraphQl => graphql::redacted(self, text, 0),
            Claim::Csv(_) | Claim::Table => (self.text == PlainText::Patterns
                && self.is_table(text))
            .then(|| self.table(text).into_owned()),
            _ => None,
        }
    }

    fn invalid(&self, claim: &Claim) -> HideReason {
        match claim {
            Claim::Xml | Claim::Markup(_) => HideReason::Invalid("markup"),
            Claim::GraphQl => HideReason::Invalid("GraphQL"),
            Claim::Csv(_) | Claim::Table if self.text == PlainText::Patterns => {
                HideReason::Invalid("table")
            }
            _ => HideReason::Requested,
        }
    }

    /// JSON after a prefix that keeps other pages from running it as a script.
    fn guarded_json(&self, text: &str, scope: &Scope) -> Option<RedactedBody> {
        let (guard, json) = [")]}',", ")]}'", "for(;;);", "while(1);"]
            .iter()
            .find_map(|guard| Some((*guard, text.strip_prefix(guard)?)))?;
        let json = json.as_bytes().to_vec();
        let layout = Layout::Document;
        let document = Document::read(self, json, layout, Content::Values, false, scope).ok()?;
        Some(RedactedBody::Text(format!("{guard}{}", document.text())))
    }
}

/// Two answers in XML, or two tables, as the JSON that the comparison made of them, so that the paths of findings lead to
/// values. One of them beside anything else was compared as text.
fn as_documents(read: [ParsedBody; 2], rules: &Rules, scope: &Scope) -> [ParsedBody; 2] {
    let json = match &read {
        [ParsedBody::Xml(_, one), ParsedBody::Xml(_, two)] => {
            match xml::as_json([one, two], Renames::of(rules, scope), MAX_BODY_BYTES) {
                [Ok(one), Ok(two)] => Some([one, two]),
                _ => None,
            }
        }
        [
            ParsedBody::Csv(_, one, named),
            ParsedBody::Csv(_, two, also),
        ] => {
            let renamed = scope.renamed_in_rows(rules);
            let renamed: Vec<_> = renamed.iter().map(|(_, names)| *names).collect();
            csv::as_json([one, two], *named && *also, &renamed)
        }
        _ => None,
    };
    match json {
        Some(json) => json.map(|json| ParsedBody::Documents(vec![json], Content::Values)),
        None => read,
    }
}

/// Whether the header of a part precedes the first boundary, so that the boundary before it was lost.
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

/// Whether the first line is a boundary that occurs again.
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

/// Whether an embedded text is JSON, nested no deeper than any comparison follows.
fn is_json(text: &[u8]) -> bool {
    Index::default()
        .read(text, Layout::Document, MAX_DEPTH)
        .is_ok()
}
