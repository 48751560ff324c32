//! A request as it becomes one service's own: parts are replaced, and what was not touched stays the recording's.

use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use parity_schemas::exchange::{OwnParts, Request};
use parity_schemas::fields::FieldLines;

use super::part::Part;
use super::{Value, cookies, json, pairs};
use crate::replay::recorded::without_hidden;

/// A request that is changed.
pub(super) struct Draft<'a> {
    request: &'a Request,
    own: OwnParts,
}

impl<'a> Draft<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        Self {
            request,
            own: OwnParts::default(),
        }
    }

    /// What was changed.
    pub(super) fn own(self) -> OwnParts {
        self.own
    }

    /// Takes out the hidden fields and cookies that nothing has set.
    pub(super) fn drop_hidden(&mut self, hidden: &[Box<str>]) {
        if hidden.is_empty() {
            return;
        }
        if let Some(headers) = without_hidden(self.headers(), hidden) {
            self.own.headers = Some(headers);
        }
    }

    pub(super) fn headers(&self) -> &FieldLines {
        self.own.headers.as_ref().unwrap_or(&self.request.headers)
    }

    /// Whether it has this part.
    pub(super) fn has(&self, part: &Part) -> bool {
        match part {
            Part::Header(name) => self.headers().contains(name),
            Part::Cookie(name) => {
                let sent = cookies::sent(self.headers());
                sent.iter().any(|(sent, _)| **sent == **name)
            }
            Part::Query(name) => pairs::has(self.request.query(), name),
            Part::Form(name) => self.form().is_some_and(|form| pairs::has(&form, name)),
            Part::Body(pointer) => {
                let text = self.text();
                text.is_some_and(|text| json::find(&text, pointer).is_some())
            }
        }
    }

    /// Puts a value there, and says whether it could. With `adds`, also where there was none.
    pub(super) fn put(&mut self, part: &Part, value: &Value, adds: bool) -> bool {
        self.with(part, value, adds).is_some()
    }

    fn with(&mut self, part: &Part, value: &Value, adds: bool) -> Option<()> {
        match part {
            Part::Header(name) => self.set_header(name, &value.text),
            Part::Cookie(name) => {
                let sent = cookies::sent(self.headers());
                let with = cookies::with(&sent, name, &value.text)?;
                self.set_header(&http::header::COOKIE, &with)
            }
            Part::Query(name) => {
                let target = self.own.target.as_deref();
                let target = target.unwrap_or(&self.request.target);
                let (path, query) = target.split_once('?').unwrap_or((target, ""));
                let query = pairs::with(query, name, &value.text, adds)?;
                self.own.target = Some(format!("{path}?{query}").into());
                Some(())
            }
            Part::Form(name) => {
                let with = pairs::with(&self.form()?, name, &value.text, adds)?;
                self.set_body(with)
            }
            Part::Body(pointer) => {
                let with = json::with(&self.text()?, pointer, value, adds)?;
                self.set_body(with)
            }
        }
    }

    /// The body, if it is a form.
    fn form(&self) -> Option<String> {
        let media = self.headers().get(&CONTENT_TYPE)?.as_str()?;
        let media = media.split(';').next().unwrap_or_default().trim();
        media
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
            .then(|| self.text())?
    }

    /// The body as text, if it is one and not encoded.
    fn text(&self) -> Option<String> {
        if self.headers().contains(&CONTENT_ENCODING) {
            return None;
        }
        let body = self.own.body.as_ref().unwrap_or(&self.request.body);
        String::from_utf8(body.contiguous().into_owned()).ok()
    }

    fn set_body(&mut self, body: String) -> Option<()> {
        if self.headers().contains(&CONTENT_LENGTH) {
            self.set_header(&CONTENT_LENGTH, &body.len().to_string())?;
        }
        self.own.body = Some(body.into_bytes().into());
        Some(())
    }

    /// Sets a field in the place of all its lines; an empty value removes them.
    pub(super) fn set_header(&mut self, name: &HeaderName, value: &str) -> Option<()> {
        HeaderValue::from_str(value).ok()?;
        let (_, mut headers) = self.headers().partition(|other| other == name);
        if !value.is_empty() {
            headers.push(name.clone(), value.as_bytes());
        }
        self.own.headers = Some(headers);
        Some(())
    }
}
