//! Services that answer as a test tells them, over real sockets; also ones that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use socket2::{Domain, Socket, Type};

/// A request as a service saw it.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Reads one request; `None` when the connection ends.
    pub(crate) fn read(stream: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut line = String::new();
        stream
            .read_line(&mut line)
            .ok()
            .filter(|length| *length > 0)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream
                .read_line(&mut line)
                .ok()
                .filter(|length| *length > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut request = Self {
            method,
            target,
            headers,
            body: Vec::new(),
        };
        if let Some(length) = request
            .header("content-length")
            .and_then(|text| text.parse().ok())
        {
            request.body = vec![0; length];
            stream.read_exact(&mut request.body).ok()?;
        } else if request.header("transfer-encoding").is_some() {
            loop {
                let mut size = String::new();
                stream.read_line(&mut size).ok()?;
                let length = usize::from_str_radix(size.trim(), 16).ok()?;
                let mut chunk = vec![0; length + 2];
                stream.read_exact(&mut chunk).ok()?;
                if length == 0 {
                    break;
                }
                request.body.extend_from_slice(&chunk[..length]);
            }
        }
        Some(request)
    }
}

/// An answer with a Content-Length, unless it is a stream.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    is_chunked: bool,
}

impl Answer {
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, body).header("content-type", "application/json")
    }

    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            is_chunked: false,
        }
    }

    /// An event stream, which does not say how long it is.
    pub(crate) fn events(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let mut answer = Self::new(status, body).header("content-type", "text/event-stream");
        answer.is_chunked = true;
        answer
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn write(&self, stream: &mut TcpStream, head: bool) -> std::io::Result<()> {
        let mut bytes = format!("HTTP/1.1 {} Whatever\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if self.status == 204 || self.status == 304 {
            bytes.extend_from_slice(b"\r\n");
        } else if self.is_chunked {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            if !head {
                bytes.extend_from_slice(format!("{:x}\r\n", self.body.len()).as_bytes());
                bytes.extend_from_slice(&self.body);
                bytes.extend_from_slice(b"\r\n0\r\n\r\n");
            }
        } else {
            bytes.extend_from_slice(
                format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes(),
            );
            if !head {
                bytes.extend_from_slice(&self.body);
            }
        }
        stream.write_all(&bytes)
    }
}

/// A listening service; it ends when the value is dropped.
pub(crate) struct Service {
    address: SocketAddr,
    seen: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
}

impl Service {
    /// Answers every request by `answer`.
    pub(crate) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::raw(move |stream, seen| {
            let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
            while let Some(request) = Request::read(&mut reader) {
                seen.fetch_add(1, Ordering::SeqCst);
                if answer(&request)
                    .write(stream, request.method == "HEAD")
                    .is_err()
                {
                    break;
                }
            }
        })
    }

    /// The same JSON for every request.
    pub(crate) fn json(body: &str) -> Self {
        let body = body.to_owned();
        Self::start(move |_| Answer::json(body.as_bytes()))
    }

    /// Reads each request and hands over the socket: for services that misbehave.
    pub(crate) fn misbehaving(
        act: impl Fn(&Request, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        Self::raw(move |stream, seen| {
            let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
            if let Some(request) = Request::read(&mut reader) {
                seen.fetch_add(1, Ordering::SeqCst);
                act(&request, stream);
            }
        })
    }

    pub(crate) fn raw(act: impl Fn(&mut TcpStream, &AtomicUsize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (seen, ended) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counter, over, act) = (Arc::clone(&seen), Arc::clone(&ended), Arc::new(act));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let (counter, act) = (Arc::clone(&counter), Arc::clone(&act));
                std::thread::spawn(move || {
                    drop(stream.set_nodelay(true));
                    act(&mut stream, &counter);
                    drop(stream.shutdown(Shutdown::Both));
                });
            }
        });
        Self {
            address,
            seen,
            ended,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests read so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; when that fails it has ended already.
        drop(TcpStream::connect(self.address));
    }
}

/// An address on which nothing listens.
pub(crate) fn nobody() -> String {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(&any.into()).expect("a free port");
    let address = socket.local_addr().expect("bound").as_socket();
    // Kept as long as the tests run: another process could take a released port at once.
    std::mem::forget(socket);
    format!("http://{}", address.expect("an address"))
}
