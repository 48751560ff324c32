//! How a controller reaches the port: by the address of its file, with the time-out of its file.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::root;

/// A file of examples/rollout, as a controller reads it.
pub(super) fn example(name: &str) -> Value {
    let path = root().join("examples/rollout").join(name);
    let text = std::fs::read_to_string(&path).expect("readable");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text at a place of a file.
pub(super) fn text<'a>(of: &'a Value, pointer: &str) -> &'a str {
    let found = of.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {of}"))
}

/// A duration as both controllers write it.
pub(super) fn duration(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: u64 = number.parse().expect(text);
    match unit {
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(60 * number),
        _ => panic!("{text} is no duration"),
    }
}

/// A request that a file describes.
pub(super) struct Call<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a str,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    pub(super) timeout: Duration,
}

impl Call<'_> {
    /// Status and body; an error if there is none within the time-out. The name in the address leads to `port`.
    pub(super) fn send(&self, port: SocketAddr) -> Result<(u16, String), String> {
        let rest = self.url.strip_prefix("http://").expect("plain HTTP");
        let (host, target) = rest.split_once('/').expect("a path");
        let begun = Instant::now();
        let failed = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect_timeout(&port, self.timeout).map_err(failed)?;
        stream
            .set_read_timeout(Some(self.timeout))
            .map_err(failed)?;
        let mut request = format!(
            "{} /{target} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\nconnection: close\r\n",
            self.method,
            self.body.len()
        );
        for (name, value) in &self.headers {
            request.extend([name.as_str(), ": ", value, "\r\n"]);
        }
        request.extend(["\r\n", &self.body]);
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(failed)?;
        if begun.elapsed() >= self.timeout {
            return Err("timed out".to_owned());
        }
        let answer = String::from_utf8(answer).map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        assert!(
            head.to_ascii_lowercase()
                .contains(&format!("content-length: {}", body.len())),
            "{head}"
        );
        Ok((status.ok_or("no status")?, body.to_owned()))
    }
}
