//! Files of curl commands, as browsers copy them and people keep them.
//!
//! A command is split as a POSIX shell would, without running anything: what a shell would replace (`$NAME`, `` `command` ``) is
//! refused. Options that only say how curl works or prints are passed over; one that is not known is refused, because it might
//! change what is sent.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read as _};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::lines::Lines;
use super::words::{self, Split, split};
use super::{MAX_RECORD, SourceError, Where};
use crate::replay::recorded::{Pieces, Recorded, Why, malformed};

/// Options without a value that change nothing of what is sent.
const FLAGS: [&str; 28] = [
    "--compressed-ssh",
    "--fail",
    "--fail-with-body",
    "--globoff",
    "--http1.1",
    "--http2",
    "--http2-prior-knowledge",
    "--http3",
    "--include",
    "--insecure",
    "--ipv4",
    "--ipv6",
    "--keepalive",
    "--location",
    "--no-buffer",
    "--no-keepalive",
    "--no-progress-meter",
    "--path-as-is",
    "--progress-bar",
    "--remote-name",
    "--show-error",
    "--silent",
    "--ssl-reqd",
    "--styled-output",
    "--tcp-nodelay",
    "--tlsv1.2",
    "--tlsv1.3",
    "--verbose",
];
/// Options with a value that change nothing of what is sent.
const VALUES: [&str; 15] = [
    "--cacert",
    "--capath",
    "--cert",
    "--ciphers",
    "--connect-timeout",
    "--cookie-jar",
    "--dump-header",
    "--key",
    "--max-redirs",
    "--max-time",
    "--output",
    "--resolve",
    "--retry",
    "--stderr",
    "--write-out",
];
/// Short options and their long names.
const SHORT: [(char, &str); 32] = [
    ('0', "--http1.0"),
    ('4', "--ipv4"),
    ('6', "--ipv6"),
    ('A', "--user-agent"),
    ('D', "--dump-header"),
    ('E', "--cert"),
    ('F', "--form"),
    ('G', "--get"),
    ('H', "--header"),
    ('I', "--head"),
    ('L', "--location"),
    ('N', "--no-buffer"),
    ('O', "--remote-name"),
    ('S', "--show-error"),
    ('X', "--request"),
    ('b', "--cookie"),
    ('c', "--cookie-jar"),
    ('d', "--data"),
    ('e', "--referer"),
    ('f', "--fail"),
    ('g', "--globoff"),
    ('i', "--include"),
    ('k', "--insecure"),
    ('m', "--max-time"),
    ('o', "--output"),
    ('s', "--silent"),
    ('u', "--user"),
    ('v', "--verbose"),
    ('w', "--write-out"),
    ('#', "--progress-bar"),
    ('T', "--upload-file"),
    ('x', "--proxy"),
];
/// Options with a value that say what is sent.
const SENT: [&str; 14] = [
    "--cookie",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--form",
    "--header",
    "--json",
    "--referer",
    "--request",
    "--url",
    "--user",
    "--user-agent",
];

/// Reads such a file.
pub(super) struct Curl<R> {
    lines: Lines<R>,
    of: Where,
    command: Vec<u8>,
    has_ended: bool,
}

/// Whether a text begins with such a command.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let mut lines = beginning
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    first.is_some_and(|line| line.starts_with(b"curl "))
}

impl<R: BufRead> Curl<R> {
    pub(super) fn new(reader: R, of: Where) -> Self {
        Self {
            lines: Lines::new(reader),
            of,
            command: Vec::new(),
            has_ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Recorded, SourceError>> {
        if self.has_ended {
            return None;
        }
        self.command.clear();
        let mut begin = None;
        let mut end = words::Command::default();
        let why = loop {
            let before = self.command.len();
            let read = match self.lines.append(&mut self.command, MAX_RECORD) {
                Ok(Some(read)) => read,
                Ok(None) => {
                    self.has_ended = true;
                    begin?;
                    break Why::CutOff;
                }
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(self.of.io(&error, self.lines.number()).into()));
                }
            };
            begin.get_or_insert(read.number);
            if read.is_too_long {
                break Why::TooLarge { limit: MAX_RECORD };
            }
            if end.goes_on_after(self.command.get(before..).unwrap_or_default()) {
                self.command.push(b'\n');
                continue;
            }
            match self.whole() {
                Ok(Some(mut recorded)) => {
                    recorded.place = self.of.place(begin.unwrap_or(1));
                    return Some(Ok(recorded));
                }
                Ok(None) => {
                    begin = None;
                    self.command.clear();
                }
                Err(why) => break why,
            }
        };
        Some(Err(self.of.unreadable(begin.unwrap_or(1), why).into()))
    }

    /// Reads a whole command; `None` if it is only a comment.
    fn whole(&self) -> Result<Option<Recorded>, Why> {
        let Ok(text) = std::str::from_utf8(&self.command) else {
            return Err(malformed("not UTF-8"));
        };
        match split(text) {
            Ok(Split::Open) => Err(Why::CutOff),
            Ok(Split::Words(words)) if words.is_empty() => Ok(None),
            Ok(Split::Words(words)) => recorded(&words, self.of.directory().as_deref()).map(Some),
            Err(what) => Err(malformed(what)),
        }
    }
}

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

fn recorded(words: &[String], base: Option<&Path>) -> Result<Recorded, Why> {
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
            hidden: Box::default(),
            host,
            request,
            answer: None,
        })
    }
}

/// The value, or the file that it names with `@`: one in the directory of the commands or below. A recording that somebody else
/// made must not send other files of this machine to a service.
fn from_file<'a>(
    value: &'a str,
    base: Option<&Path>,
    strips_lines: bool,
) -> Result<Cow<'a, [u8]>, Why> {
    let Some(name) = value.strip_prefix('@') else {
        return Ok(Cow::Borrowed(value.as_bytes()));
    };
    let is_below = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Some(base) = base.filter(|_| is_below && !name.is_empty()) else {
        return Err(Why::NoBody(format!(
            "`{value}` is no file beside the commands"
        )));
    };
    let path: PathBuf = base.join(name);
    let within = |path: &Path| {
        Some(
            path.canonicalize()
                .ok()?
                .starts_with(base.canonicalize().ok()?),
        )
    };
    if within(&path) != Some(true) {
        return Err(Why::NoBody(format!(
            "`{value}` is no file beside the commands"
        )));
    }
    let failed = |error: io::Error| Why::NoBody(format!("`{value}`: {error}"));
    // A pipe would be waited for, and a device read without an end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Why::NoBody(format!("`{value}` is no file")));
    }
    let mut read = Vec::new();
    let file = File::open(&path).map_err(failed)?;
    let most = MAX_RECORD as u64 + 1;
    file.take(most).read_to_end(&mut read).map_err(failed)?;
    if read.len() > MAX_RECORD {
        return Err(Why::TooLarge { limit: MAX_RECORD });
    }
    if strips_lines {
        read.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    }
    Ok(Cow::Owned(read))
}

/// `--data-urlencode`: `text`, `=text` or `name=text`.
fn url_encoded(value: &str) -> Result<Vec<u8>, Why> {
    let (name, text) = match value.split_once(['=', '@']) {
        Some((name, text)) if value.as_bytes().get(name.len()) == Some(&b'=') => (name, text),
        Some(_) => return Err(Why::NoBody("a part of its data is a file".to_owned())),
        None => ("", value),
    };
    let mut out = name.as_bytes().to_vec();
    if !name.is_empty() {
        out.push(b'=');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    Ok(out)
}
