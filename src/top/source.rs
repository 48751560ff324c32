//! What is asked of an admin port: documents of its API, on connections that have proven what
//! is at their other end ([`Proof`]).

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;

use super::address::Base;
use super::lines::with_hosts;
use super::port::{Port, Refused, words};
use super::proof::Proof;

/// What of the record is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) migration: Option<String>,
    pub(crate) since: Option<String>,
}

/// An admin port.
pub(crate) struct Source {
    port: Port,
    /// The token, if there is one.
    headers: HeaderMap,
    asked: Asked,
    proof: Proof,
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
            port: Port::at(base, ca_file)?,
            headers,
            asked,
            proof: Proof::default(),
        })
    }

    /// Where it is, for people.
    pub(super) fn name(&self) -> &str {
        self.port.name()
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
        let (status, body) = asked.inspect_err(|_| self.proof.forget())?;
        if status == StatusCode::OK {
            return Ok(body);
        }
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => {
                self.port.refuses(status, &body)
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
        let headers = with_hosts(&[self.port.authority()], &self.headers);
        while let Some(mut line) = self.port.take() {
            if let Some(answer) = self
                .port
                .send(&mut line, (method, path), &headers, limit)
                .await?
            {
                self.port.keep(line);
                return Ok(answer);
            }
        }
        let mut line = self.proof.prove(&self.port, &self.headers).await?;
        let answer = self
            .port
            .send(&mut line, (method, path), &headers, limit)
            .await?;
        self.port.keep(line);
        answer.ok_or_else(|| self.port.hung_up())
    }
}

fn token(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(text.trim().to_owned())
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

    use parity_dashboards::server::ONE_HOST;

    use super::super::address::base;
    use super::super::port::SHORT;
    use super::super::proof::{API_VERSION, TITLE};
    use super::*;

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
    fn a_value_of_a_parameter_is_no_other_parameter() {
        assert_eq!(encoded("a b&c=\u{e4}"), "a%20b%26c%3D%C3%A4");
    }
}
