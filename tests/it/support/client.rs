//! A client that sees every byte: one request per connection, unless a test keeps it.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// An answer as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, &[], b"")
}

/// Sends one request on a connection of its own and reads the whole answer.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut connection = Connection::open(address);
    connection.send(method, path, headers, body);
    connection
        .answer(method)
        .unwrap_or_else(|| panic!("{method} {path} was not answered"))
}

/// A connection kept for several requests.
pub(crate) struct Connection {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::on(TcpStream::connect(address).expect("somebody listens"))
    }

    /// On a connection that is there already.
    pub(crate) fn on(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        stream.set_nodelay(true).expect("a socket option");
        let reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
        Self { stream, reader }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        self.try_send(method, path, headers, body)
            .expect("the request can be written");
    }

    /// The same where the other side may be gone.
    pub(crate) fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        // A coding that no client asks for would be a difference of its own.
        for (name, value) in [("host", "localhost"), ("accept-encoding", "*")] {
            let given = headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name));
            if !given {
                head.extend([name, ": ", value, "\r\n"]);
            }
        }
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !body.is_empty() {
            head.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
        }
        head.push_str("\r\n");
        let message = [head.as_bytes(), body].concat();
        self.stream.write_all(&message)
    }

    /// The next answer; `None` if the connection ends before it is whole.
    pub(crate) fn answer(&mut self, method: &str) -> Option<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.reader.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        if method == "HEAD" || status == 204 || status == 304 {
            return Some(answer);
        }
        if let Some(length) = answer
            .header("content-length")
            .and_then(|text| text.parse().ok())
        {
            answer.body = vec![0; length];
            self.reader.read_exact(&mut answer.body).ok()?;
        } else if answer.header("transfer-encoding").is_some() {
            self.chunks(&mut answer.body)?;
        } else {
            self.reader.read_to_end(&mut answer.body).ok()?;
        }
        Some(answer)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        use std::io::BufRead;
        loop {
            let mut size = String::new();
            self.reader.read_line(&mut size).ok()?;
            let length = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; length + 2];
            self.reader.read_exact(&mut chunk).ok()?;
            if length == 0 {
                return Some(());
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }
}
