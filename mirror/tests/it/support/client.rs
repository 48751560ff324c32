//! A client that sends exactly what it is told and reads exactly what comes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use super::PATIENCE;
use super::wire::{fill_until, find, unchunk};

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer as it stood on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Up to and without the empty line.
    pub(crate) head: String,
    /// Content, chunks joined.
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        let status = self.head.split(' ').nth(1).expect("a status line");
        status.parse().expect("a status")
    }

    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the mirror listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream
            .write_all(bytes.as_ref())
            .expect("the mirror reads");
        self
    }

    /// Sends what the mirror may not want to read any more.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends a request without a body and reads the answer.
    pub(crate) fn ask(&mut self, method: &str, target: &str) -> Reply {
        self.send(format!("{method} {target} HTTP/1.1\r\nhost: test\r\n\r\n"));
        self.reply_to(method)
    }

    pub(crate) fn get(&mut self, target: &str) -> Reply {
        self.ask("GET", target)
    }

    pub(crate) fn post(&mut self, target: &str, body: &str) -> Reply {
        self.send(format!(
            "POST {target} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        self.reply_to("POST")
    }

    /// Reads the answer to a request that was sent, 100 Continue left out.
    pub(crate) fn reply(&mut self) -> Reply {
        self.reply_to("GET")
    }

    pub(crate) fn reply_to(&mut self, method: &str) -> Reply {
        self.try_reply(method)
            .unwrap_or_else(|| panic!("no whole answer, but {:?}", self.buffered()))
    }

    /// `None` if the connection ends before the answer does.
    pub(crate) fn try_reply(&mut self, method: &str) -> Option<Reply> {
        let head = self.head()?;
        let reply = Reply {
            head,
            body: Vec::new(),
        };
        let status = reply.status();
        let body = if method == "HEAD" || status == 204 || status == 304 || status == 101 {
            Vec::new()
        } else if reply.header("transfer-encoding") == ["chunked"] {
            let (raw, body) = fill_until(&mut self.stream, &mut self.buffer, unchunk)?;
            self.buffer.drain(..raw);
            body
        } else if let Some(length) = reply.header("content-length").first() {
            let length: usize = length.parse().expect("a length");
            fill_until(&mut self.stream, &mut self.buffer, |bytes| {
                (bytes.len() >= length).then_some(())
            })?;
            self.buffer.drain(..length).collect()
        } else {
            self.rest()
        };
        Some(Reply { body, ..reply })
    }

    /// Reads a head, leaving what follows.
    pub(crate) fn head(&mut self) -> Option<String> {
        let end = fill_until(&mut self.stream, &mut self.buffer, |bytes| {
            find(bytes, b"\r\n\r\n")
        })?;
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        if head.starts_with("HTTP/1.1 100 ") {
            return self.head();
        }
        Some(head)
    }

    /// Reads until these bytes have come.
    pub(crate) fn read_until(&mut self, wanted: &[u8]) {
        let found = fill_until(&mut self.stream, &mut self.buffer, |bytes| {
            find(bytes, wanted)
        });
        assert!(found.is_some(), "only {:?} came", self.buffered());
    }

    /// Everything until the connection ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut chunk = [0; 16 * 1024];
        while let Ok(count) = self.stream.read(&mut chunk) {
            if count == 0 {
                break;
            }
            self.buffer.extend_from_slice(&chunk[..count]);
        }
        std::mem::take(&mut self.buffer)
    }

    pub(crate) fn close_writing(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("open");
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .expect("a socket");
    }

    fn buffered(&self) -> String {
        String::from_utf8_lossy(&self.buffer).into_owned()
    }
}
