//! The words of one command, as the request that curl would send.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::data::{from_file, url_encoded};
use super::known::{FLAGS, SENT, SHORT, VALUES};
use crate::replay::recorded::{Pieces, Recorded, Why, malformed};
use crate::replay::source::Where;

/// What the options of a command say.
#[derive(Default)]
struct Command {
    method: Option<String>,
    url: Option<String>,
    headers: Vec<(String, String)>,
    /// Parts of the body, joined by `&`.
    data: Vec<Vec<u8>>,
    is_json: bool,
    is_get: bool,
    is_head: bool,
    form: Vec<(String, String)>,
}

pub(super) fn recorded(words: &[String], base: Option<&Path>) -> Result<Recorded, Why> {
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("curl") => {}
        _ => return Err(malformed("not a curl command")),
    }
    let mut command = Command::default();
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--").filter(|rest| !rest.is_empty()) {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (format!("--{name}"), Some(value.to_owned())),
                None => (word.to_owned(), None),
            };
            command.option(
                &name,
                || value.or_else(|| words.next().map(str::to_owned)),
                base,
            )?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let mut letters = letters.chars();
            while let Some(letter) = letters.next() {
                let name = SHORT.iter().find(|(short, _)| *short == letter);
                let (_, name) = name.ok_or_else(|| {
                    Why::Malformed(format!(
                        "`-{letter}` is an option of curl that is not known here"
                    ))
                })?;
                let rest = letters.as_str();
                let mut used = false;
                command.option(
                    name,
                    || {
                        used = true;
                        if rest.is_empty() {
                            words.next().map(str::to_owned)
                        } else {
                            Some(rest.to_owned())
                        }
                    },
                    base,
                )?;
                if used {
                    break;
                }
            }
        } else {
            command.url(word)?;
        }
    }
    command.recorded()
}

impl Command {
    fn url(&mut self, url: &str) -> Result<(), Why> {
        if self.url.is_some() {
            return Err(malformed(
                "a second URL, which would be another request than that for the first",
            ));
        }
        // curl adds the scheme.
        self.url = Some(if url.contains("://") {
            url.to_owned()
        } else {
            format!("http://{url}")
        });
        Ok(())
    }

    fn option(
        &mut self,
        name: &str,
        value: impl FnOnce() -> Option<String>,
        base: Option<&Path>,
    ) -> Result<(), Why> {
        match name {
            "--get" => self.is_get = true,
            "--head" => self.is_head = true,
            "--compressed" => self.headers.push((
                "accept-encoding".to_owned(),
                "gzip, deflate, br, zstd".to_owned(),
            )),
            name if FLAGS.contains(&name) => {}
            name if VALUES.contains(&name) || SENT.contains(&name) => {
                let value = value().ok_or_else(|| {
                    Why::Malformed(format!("the option {name} of curl without its value"))
                })?;
                if SENT.contains(&name) {
                    self.sent(name, value, base)?;
                }
            }
            name => {
                return Err(Why::Malformed(format!(
                    "`{name}` is an option of curl that is not known here"
                )));
            }
        }
        Ok(())
    }

    fn sent(&mut self, name: &str, value: String, base: Option<&Path>) -> Result<(), Why> {
        let header = |name: &str, value: String| (name.to_owned(), value);
        match name {
            "--url" => self.url(&value)?,
            "--request" => self.method = Some(value),
            "--user-agent" => self.headers.push(header("user-agent", value)),
            "--referer" => self.headers.push(header("referer", value)),
            "--user" => {
                let basic = format!("Basic {}", STANDARD.encode(value));
                self.headers.push(header("authorization", basic));
            }
            "--cookie" if value.contains('=') => self.headers.push(header("cookie", value)),
            "--cookie" => return Err(Why::NoBody("its cookies are in a file of curl".to_owned())),
            "--header" => match value.split_once(':') {
                // `-H 'accept:'` leaves out what curl would add itself.
                Some((_, text)) if text.trim().is_empty() => {}
                Some((name, text)) => self
                    .headers
                    .push(header(name.trim(), text.trim().to_owned())),
                // `-H 'x;'` is a header without a value.
                None => match value.strip_suffix(';') {
                    Some(name) => self.headers.push(header(name, String::new())),
                    None => return Err(malformed("not a header")),
                },
            },
            "--json" => {
                self.is_json = true;
                self.data.push(from_file(&value, base, false)?.into_owned());
            }
            "--data-raw" => self.data.push(value.into_bytes()),
            "--data" | "--data-ascii" => {
                self.data.push(from_file(&value, base, true)?.into_owned());
            }
            "--data-binary" => self.data.push(from_file(&value, base, false)?.into_owned()),
            "--data-urlencode" => self.data.push(url_encoded(&value)?),
            "--form" => match value.split_once('=') {
                Some((name, text)) if !text.starts_with(['@', '<']) => {
                    // What follows a `;` says how the part is sent, unless it is quoted.
                    let text = text
                        .strip_prefix('"')
                        .and_then(|text| text.strip_suffix('"'))
                        .unwrap_or(text);
                    self.form.push((name.to_owned(), text.to_owned()));
                }
                _ => return Err(Why::NoBody("a part of its form is a file".to_owned())),
            },
            _ => {}
        }
        Ok(())
    }

    fn recorded(self) -> Result<Recorded, Why> {
        /// Parts of forms are written with it; what it parts cannot contain it, because that is refused.
        const BOUNDARY: &str = "------------------------parity-replayed-form";
        let mut url = self
            .url
            .ok_or_else(|| Why::Malformed("a curl command without a URL".to_owned()))?;
        let mut headers = self.headers;
        let has = |headers: &[(String, String)], name: &str| {
            headers
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let add = |headers: &mut Vec<(String, String)>, name: &str, value: &str| {
            if !has(headers, name) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        let mut body = self
            .data
            .join(if self.is_json { &b""[..] } else { &b"&"[..] });
        let posts = !self.data.is_empty() && !self.is_get || !self.form.is_empty();
        if self.is_get && !body.is_empty() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&String::from_utf8_lossy(&body));
            body.clear();
        }
        if self.is_json {
            add(&mut headers, "content-type", "application/json");
            add(&mut headers, "accept", "application/json");
        } else if posts && self.form.is_empty() {
            add(
                &mut headers,
                "content-type",
                "application/x-www-form-urlencoded",
            );
        }
        if !self.form.is_empty() {
            for (name, text) in &self.form {
                if text.contains(BOUNDARY) || name.contains(['"', '\r', '\n']) {
                    return Err(malformed("a part of a form that cannot be written"));
                }
                let part = format!(
                    "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
                );
                body.extend_from_slice(part.as_bytes());
            }
            body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            add(
                &mut headers,
                "content-type",
                &format!("multipart/form-data; boundary={BOUNDARY}"),
            );
        }
        let usual = match (self.is_head, posts) {
            (true, _) => "HEAD",
            (_, true) => "POST",
            _ => "GET",
        };
        let (request, host) = Pieces {
            method: self.method.as_deref().unwrap_or(usual).as_bytes(),
            target: url.as_bytes(),
            headers: headers
                .iter()
                .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
                .collect(),
            body,
            client: None,
        }
        .request()?;
        Ok(Recorded {
            place: Where::default().place(0),
            time: None,
            session: None,
            host,
            request,
            answer: None,
            hidden: Box::default(),
        })
    }
}
