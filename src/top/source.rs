//! An admin port, asked by HTTP. Every answer has a limit in bytes and in time.
//!
//! A port is asked nothing, shown no token and changed in no way before it has proven to be an admin port of parity ([`Source::prove`]):
//! whoever mistypes a port may have that of the proxy, which passes what it gets on to the legacy service. Each new connection
//! proves it again, because another program may have taken the port since.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use parity_dashboards::server::ONE_HOST;
use parity_schemas::documents::{ErrorCode, ErrorDocument};
use parity_schemas::secret::without_password;
use parity_schemas::visible::visible_up_to;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::fetching::{Missed, Within};

use super::lines::{Asked as Answer, Line, Lines, with_hosts};

/// Largest answer that is read from a store: a report of ten thousand groups has about half of it.
const MAX_ANSWER: usize = 64 << 20;
/// Largest answer of what is in memory, a status or metrics: they have some kilobytes, and a few hundred with many routes.
const MAX_SHORT_ANSWER: usize = 4 << 20;
/// Longest error that is told.
const MAX_ERROR_CHARS: usize = 300;
/// What proves that a port is an admin port: the description of its API, which every one of them has.
const PROOF: &str = "/api/v1/openapi.json";
/// The second host of a question that names two: a name that is never anybody's (RFC 2606).
const NO_HOST: &str = "parity.invalid";
/// What each answer of a proxy port begins with that is its own.
const OF_PROXY: &[u8] = b"parity: ";
/// What to do about a port that is none of ours.
const NAME_IT: &str = "Name the admin port by --admin (http://127.0.0.1:9900 unless `parity mirror --admin` says otherwise), and not the \
     port at which clients are served";
/// The title of that description.
const TITLE: &str = "parity";
/// The version of the API that is spoken here.
const API_VERSION: &str = "1";
/// Longest part of what a stranger answered that is told.
const MAX_STRANGER_CHARS: usize = 80;
/// How long a status may take, which is in memory.
pub(super) const SHORT: Duration = Duration::from_secs(5);
/// How long a report may take, which is read from a store.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Where an admin port is: a URL without a path.
#[derive(Clone, Debug)]
pub(crate) struct Base(String);

/// Reads `--admin`.
pub(crate) fn base(text: &str) -> Result<Base, String> {
    let with_scheme = match text.parse::<SocketAddr>() {
        // Where a port listens, as a mirror takes it: on every address is on that of this machine.
        Ok(mut address) => {
            match address.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
                _ => {}
            }
            format!("http://{address}")
        }
        Err(_) if text.contains("://") => text.to_owned(),
        Err(_) => format!("http://{text}"),
    };
    let wrong = || {
        let text = without_password(text);
        format!("`{text}` is not the address of an admin port; write http://HOST:PORT")
    };
    let uri: Uri = with_scheme.parse().map_err(|_| wrong())?;
    let (Some(scheme @ ("http" | "https")), Some(authority)) = (uri.scheme_str(), uri.authority())
    else {
        return Err(wrong());
    };
    if authority.as_str().contains('@') {
        return Err(
            "a token does not belong into an address; name its file by --token-file".to_owned(),
        );
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong());
    }
    Ok(Base(format!("{scheme}://{authority}")))
}

/// What of the record is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) migration: Option<String>,
    pub(crate) since: Option<String>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Nothing answers there.
    Unreachable(String),
    /// It answered that it has none: its status, and its words.
    Answered(StatusCode, String),
    /// No whole answer came in time.
    TooLong(String),
}

impl Refused {
    /// In words.
    pub(crate) fn told(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Answered(_, why) | Self::TooLong(why) => why,
        }
    }
}

/// An admin port.
pub(crate) struct Source {
    lines: Lines,
    base: Base,
    /// The token, if there is one.
    headers: HeaderMap,
    asked: Asked,
    /// Whether its API was described since it was last lost.
    is_described: AtomicBool,
}

/// What the description of an API says of itself.
#[derive(Deserialize)]
struct Described {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    title: String,
    version: String,
}

impl Source {
    /// The files have the token, and certificates to trust besides those of the system.
    pub(crate) fn new(
        base: &Base,
        [token_file, ca_file]: [Option<&Path>; 2],
        asked: Asked,
    ) -> Result<Self> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token_file.map(token).transpose()? {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| anyhow!("the token has characters that no header can have"))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(Self {
            lines: Lines::to(&base.0, ca_file)?,
            base: base.clone(),
            headers,
            asked,
            is_described: AtomicBool::new(false),
        })
    }

    /// Where it is, for people.
    pub(super) fn name(&self) -> &str {
        &self.base.0
    }

    /// Parameters that every question about the record has.
    pub(super) fn parameters(&self) -> String {
        let given = [
            ("migration", &self.asked.migration),
            ("since", &self.asked.since),
        ];
        let given = given
            .iter()
            .filter_map(|(name, value)| Some(format!("&{name}={}", encoded(value.as_deref()?))));
        given.collect()
    }

    /// The migration alone, for questions that no range belongs to.
    pub(super) fn migration_parameter(&self) -> String {
        let given = self.asked.migration.as_deref();
        let given = given.map(|migration| format!("&migration={}", encoded(migration)));
        given.unwrap_or_default()
    }

    /// Whether somebody said since when.
    pub(super) const fn has_since(&self) -> bool {
        self.asked.since.is_some()
    }

    /// A JSON document.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: Duration,
    ) -> Result<T, Refused> {
        self.answer(Method::GET, path, limit).await
    }

    /// The document that answers this method.
    pub(crate) async fn answer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        limit: Duration,
    ) -> Result<T, Refused> {
        let body = self.ask(method, path, limit).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let name = path.split('?').next().unwrap_or(path);
            Refused::Unreachable(format!(
                "{name} is not what this program knows ({error}); is that the admin port of a parity of this version?"
            ))
        })
    }

    /// The bytes of an answer to GET.
    pub(super) async fn get(&self, path: &str, limit: Duration) -> Result<Bytes, Refused> {
        self.ask(Method::GET, path, limit).await
    }

    async fn ask(&self, method: Method, path: &str, limit: Duration) -> Result<Bytes, Refused> {
        let asked = self.on_proven(&method, path, limit).await;
        let (status, body) = asked.inspect_err(|_| {
            // Whoever answers there next may be of another version.
            self.is_described.store(false, Ordering::Relaxed);
        })?;
        if status == StatusCode::OK {
            return Ok(body);
        }
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => {
                self.refuses(status, &body)
            }
            _ => Refused::Answered(status, words(&body)),
        })
    }

    /// Asks on a connection that has proven what is at its other end.
    async fn on_proven(
        &self,
        method: &Method,
        path: &str,
        limit: Duration,
    ) -> Result<(StatusCode, Bytes), Refused> {
        let headers = with_hosts(&[self.lines.authority()], &self.headers);
        while let Some(mut line) = self.lines.take() {
            if let Some(answer) = self
                .send(&mut line, (method, path), &headers, limit)
                .await?
            {
                self.lines.keep(line);
                return Ok(answer);
            }
        }
        let mut line = self.prove().await?;
        let answer = self
            .send(&mut line, (method, path), &headers, limit)
            .await?;
        self.lines.keep(line);
        answer.ok_or_else(|| self.hung_up())
    }

    fn hung_up(&self) -> Refused {
        Refused::Unreachable(format!(
            "{} closes each connection without an answer; the address of the admin port is --admin",
            self.base.0
        ))
    }

    async fn open(&self) -> Result<Line, Refused> {
        let opened = self.lines.open().await;
        opened.map_err(|missed| self.missed(missed, Within::of(SHORT)))
    }

    /// A connection that has proven that an admin port of parity is at its other end. The first question is refused by each of them, in
    /// words that nobody else has; where a proxy before the port refuses it, or nothing is known of the API yet, the description of that
    /// is asked for.
    async fn prove(&self) -> Result<Line, Refused> {
        let mut line = self.open().await?;
        let is_admin = self.refuses_two_hosts(&mut line).await?;
        if !(is_admin && self.is_described.load(Ordering::Relaxed)) {
            self.describe(&mut line, is_admin).await?;
            self.is_described.store(true, Ordering::Relaxed);
        }
        Ok(line)
    }

    /// Asks for the description of the API, and looks whether it is that of parity. Unless it is known to be an admin port, first
    /// without the token: only a port that says by the status and in the words of parity that it needs one is shown it.
    async fn describe(&self, line: &mut Line, is_admin: bool) -> Result<(), Refused> {
        let (mut status, mut body) = if is_admin {
            let answer = self.question(line, &self.headers).await?;
            answer.ok_or_else(|| self.hung_up())?
        } else {
            self.question_of_stranger(line, &HeaderMap::new()).await?
        };
        let is_asked_for = !is_admin
            && status == StatusCode::UNAUTHORIZED
            && is_error(&body, ErrorCode::TokenNeeded);
        if is_asked_for && !self.headers.is_empty() {
            (status, body) = self.question_of_stranger(line, &self.headers).await?;
        }
        if serde_json::from_slice::<ErrorDocument>(&body).is_ok()
            && matches!(
                status,
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST
            )
        {
            return Err(self.refuses(status, &body));
        }
        let described: Option<Described> = serde_json::from_slice(&body).ok();
        let info = described.map(|described| described.info);
        match info {
            Some(info) if status == StatusCode::OK && info.title == TITLE => {
                if info.version == API_VERSION {
                    return Ok(());
                }
                Err(Refused::Unreachable(format!(
                    "{} is an admin port of parity whose API has version {}, and this program speaks version {API_VERSION}: use a parity \
                     of the same version",
                    self.base.0,
                    visible_up_to(&info.version, MAX_STRANGER_CHARS)
                )))
            }
            _ => {
                let told = visible_up_to(String::from_utf8_lossy(&body).trim(), MAX_STRANGER_CHARS);
                Err(Refused::Unreachable(format!(
                    "{} is no admin port of parity: it answered GET {PROOF} with {status} and `{told}`; nothing else was sent there. \
                     {NAME_IT}",
                    self.base.0
                )))
            }
        }
    }

    /// Asks for the description on a connection; `None` if that has ended.
    async fn question(
        &self,
        line: &mut Line,
        headers: &HeaderMap,
    ) -> Result<Option<(StatusCode, Bytes)>, Refused> {
        let headers = with_hosts(&[self.lines.authority()], headers);
        self.send(line, (&Method::GET, PROOF), &headers, SHORT)
            .await
    }

    /// The same, and on a new connection if this one has ended: there are servers that close it behind what they refuse.
    async fn question_of_stranger(
        &self,
        line: &mut Line,
        headers: &HeaderMap,
    ) -> Result<(StatusCode, Bytes), Refused> {
        if let Some(answer) = self.question(line, headers).await? {
            return Ok(answer);
        }
        *line = self.open().await?;
        let answer = self.question(line, headers).await?;
        answer.ok_or_else(|| self.hung_up())
    }

    /// Asks once what no server may serve: which of two hosts is meant is not said (RFC 9112 §3.2). The port of a mirror at which clients are
    /// served refuses it by itself, passes nothing on and counts nothing as received, so the slip of a person is in no record, and
    /// nobody can hide a request by it. An admin port refuses it in words of its own, and that is what this returns. Everybody else
    /// is asked properly then: so does a proxy before an admin port refuse it.
    async fn refuses_two_hosts(&self, line: &mut Line) -> Result<bool, Refused> {
        let nobody = HeaderValue::from_static(NO_HOST);
        let hosts = with_hosts(&[self.lines.authority(), &nobody], &HeaderMap::new());
        let asked = (&Method::GET, PROOF);
        let answer = self.send(line, asked, &hosts, SHORT).await?;
        let (status, body) = answer.ok_or_else(|| self.hung_up())?;
        if status != StatusCode::BAD_REQUEST {
            return Ok(false);
        }
        if body.starts_with(OF_PROXY) {
            return Err(Refused::Unreachable(format!(
                "{} is the port of a mirror at which clients are served, and no admin port of parity: it refused the first question by itself, \
                 and nothing was passed on to the legacy or recorded. {NAME_IT}",
                self.base.0
            )));
        }
        let document: Option<ErrorDocument> = serde_json::from_slice(&body).ok();
        Ok(document.is_some_and(|document| document.error == ONE_HOST))
    }

    fn refuses(&self, status: StatusCode, body: &Bytes) -> Refused {
        Refused::Unreachable(format!(
            "{} refuses ({status}): {}",
            self.base.0,
            words(body)
        ))
    }

    /// The answer; `None` if the connection had ended before.
    async fn send(
        &self,
        line: &mut Line,
        (method, path): (&Method, &str),
        headers: &HeaderMap,
        limit: Duration,
    ) -> Result<Option<(StatusCode, Bytes)>, Refused> {
        let within = Within::of(limit);
        let asked = line.ask(method, path, headers, within).await;
        Ok(match asked.map_err(|missed| self.missed(missed, within))? {
            Answer::Answered(status, body) => Some((status, body)),
            Answer::NotSent => None,
        })
    }

    fn missed(&self, missed: Missed, within: Within) -> Refused {
        match missed {
            Missed::NoAnswer(cause) => Refused::Unreachable(format!(
                "{} does not answer: {cause}; the address of the admin port is --admin",
                self.base.0
            )),
            Missed::NotWhole(cause) => Refused::Unreachable(format!(
                "the answer of {} broke off or has over {} MiB: {cause}",
                self.base.0,
                within.bytes >> 20
            )),
            Missed::TooLate => Refused::TooLong(format!(
                "{} did not answer in {} s",
                self.base.0,
                within.time.as_secs()
            )),
        }
    }
}

impl Within {
    /// What an answer may take that may take this long.
    const fn of(time: Duration) -> Self {
        let bytes = if time.as_secs() > SHORT.as_secs() {
            MAX_ANSWER
        } else {
            MAX_SHORT_ANSWER
        };
        Self { bytes, time }
    }
}

/// Whether an answer is an error of parity with this code.
fn is_error(body: &Bytes, code: ErrorCode) -> bool {
    let document: Option<ErrorDocument> = serde_json::from_slice(body).ok();
    document.is_some_and(|document| document.code == code)
}

fn token(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// What an error says, in one line of bounded length.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let told = document
        .as_ref()
        .and_then(|document| document["error"].as_str());
    visible_up_to(told.unwrap_or(&text).trim(), MAX_ERROR_CHARS)
}

/// A value in the query of an address.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _infallible = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_address_is_a_host_with_a_port_and_nothing_else() {
        for (text, expected) in [
            ("127.0.0.1:9900", Some("http://127.0.0.1:9900")),
            ("0.0.0.0:9900", Some("http://127.0.0.1:9900")),
            ("[::]:9900", Some("http://[::1]:9900")),
            ("mirror-1:9900", Some("http://mirror-1:9900")),
            ("http://[::1]:9900/", Some("http://[::1]:9900")),
            ("https://parity.example", Some("https://parity.example")),
            ("", None),
            ("http://", None),
            ("ftp://host:1", None),
            ("http://host:1/pages", None),
            ("http://host:1/?a=b", None),
            ("http://user:secret@host:1", None),
            ("ho st:1", None),
        ] {
            let found = base(text).ok().map(|base| base.0);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        let told = base("http://u:secret@host:1").expect_err("refused");
        assert!(!told.contains("secret"), "{told}");
    }

    /// Answers so many questions on one connection, closes it, and returns what was asked.
    fn serve(listener: &TcpListener, answers: &[(&str, String)]) -> Vec<String> {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut asked = Vec::new();
        for (status, body) in answers {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a question");
                head.extend(byte);
            }
            asked.push(String::from_utf8_lossy(&head).to_lowercase());
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .expect("answered");
        }
        asked
    }

    #[test]
    fn each_new_connection_proves_that_no_other_program_has_taken_the_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let admin = base(&listener.local_addr().expect("bound").to_string()).expect("an address");
        let folder = tempfile::tempdir().expect("a folder");
        let token = folder.path().join("token");
        std::fs::write(&token, "secret").expect("written");
        let source = Source::new(&admin, [Some(&token), None], Asked::default()).expect("made");
        let refused = serde_json::json!({"error": ONE_HOST, "code": "bad_request"}).to_string();
        let api = serde_json::json!({"info": {"title": TITLE, "version": API_VERSION}}).to_string();
        let of_admin = || ("400 Bad Request", refused.clone());
        let ok = |body: &str| ("200 OK", body.to_owned());
        let [first, again, stranger] = [
            vec![of_admin(), ok(&api), ok("1")],
            vec![of_admin(), ok("2")],
            vec![ok("hello"), ok("hello")],
        ];
        let served = std::thread::spawn(move || {
            [first, again, stranger].map(|answers| serve(&listener, &answers))
        });
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        let asked = || runtime.block_on(source.get("/api/v1/status", SHORT));
        for expected in ["1", "2"] {
            assert_eq!(asked().expect("answered"), expected);
        }
        let refused = asked().expect_err("that is no admin port");
        assert!(
            refused.told().contains("is no admin port of parity"),
            "{refused:?}"
        );
        let [first, again, stranger] = served.join().expect("served");
        // Nobody is shown the token before it has proven what it is.
        let with_token = |asked: &[String]| {
            let has = asked.iter().map(|head| head.contains("secret"));
            has.collect::<Vec<bool>>()
        };
        assert_eq!(with_token(&first), [false, true, true]);
        // It is not described again, which takes four hundred kilobytes.
        assert_eq!(with_token(&again), [false, true]);
        assert_eq!(with_token(&stranger), [false, false]);
    }

    #[test]
    fn what_an_error_says_is_short_and_visible() {
        assert_eq!(words(br#"{"error":"no\u001b[2J"}"#), "no\\u{1b}[2J");
        assert_eq!(words(b"plain\xff\n"), "plain\u{fffd}");
        assert!(words(&[b'x'; 5_000]).chars().count() <= MAX_ERROR_CHARS + 1);
        assert_eq!(encoded("a b&c=\u{e4}"), "a%20b%26c%3D%C3%A4");
    }
}
