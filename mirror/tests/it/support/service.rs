//! A service that does exactly what its script says, one thread per connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use parity_mirror::UpstreamUrl;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::{Domain, Socket, Type};

use super::PATIENCE;
use super::sockets::other_end;
use super::wire::{Request, read_request};

/// What becomes of a connection after an answer.
pub(crate) enum Next {
    /// Reads the next request.
    Keep,
    /// Closes it.
    Close,
    /// Closes it with a reset.
    Reset,
    /// Says nothing more, but keeps it until the peer closes.
    Hang,
}

/// The bytes of a connection.
pub(crate) enum Conn {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
    Unix(UnixStream),
}

impl Conn {
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.write_all(bytes.as_ref())
            .and_then(|()| self.flush())
            .is_ok()
    }

    /// The same connection, to be read while this one is written to.
    pub(crate) fn other_end(&self) -> Self {
        let socket = self.socket().expect("TCP");
        Self::Tcp(socket.try_clone().expect("a descriptor"))
    }

    /// Waits until the peer has read all that was sent, or has hung up.
    pub(crate) fn wait_until_read(&self) {
        let socket = self.socket().expect("TCP");
        while other_end(socket).is_some_and(|end| end.unread > 0) {
            thread::yield_now();
        }
    }

    fn socket(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(stream) => Some(&stream.sock),
            Self::Unix(_) => None,
        }
    }

    fn reset(self) {
        if let Some(socket) = self.socket() {
            socket2::SockRef::from(socket)
                .set_linger(Some(Duration::ZERO))
                .expect("linger can be set");
        }
    }

    /// Reads until the peer closes.
    pub(crate) fn wait_for_close(&mut self) {
        let mut sink = [0; 4096];
        while !matches!(self.read(&mut sink), Ok(0) | Err(_)) {}
    }
}

impl Read for Conn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Conn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}

type Handler = Arc<dyn Fn(&Request, &mut Conn) -> Next + Send + Sync>;

/// A running service.
pub(crate) struct Service {
    url: String,
    shared: Arc<Shared>,
    _reserved: Option<Socket>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    changed: Condvar,
    connections: AtomicUsize,
    open: Mutex<usize>,
    closed: Condvar,
}

impl Service {
    /// Reads whole requests and lets the script answer each.
    pub(crate) fn new(
        script: impl Fn(&Request, &mut Conn) -> Next + Send + Sync + 'static,
    ) -> Self {
        let (listener, url) = listen();
        Self::accept(url, script, move || {
            listener.accept().map(|(stream, _)| Conn::Tcp(stream))
        })
    }

    /// Answers every request with the same bytes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |_, conn| {
            conn.say(&answer);
            Next::Keep
        })
    }

    /// Answers every request with the same bytes and closes.
    pub(crate) fn saying_then(
        answer: impl Into<Vec<u8>>,
        next: impl Fn() -> Next + Send + Sync + 'static,
    ) -> Self {
        let answer = answer.into();
        Self::new(move |_, conn| {
            conn.say(&answer);
            next()
        })
    }

    /// Behind TLS.
    pub(crate) fn tls(config: Arc<ServerConfig>, answer: &str) -> Self {
        let answer = answer.to_owned();
        Self::tls_with(config, move |_, conn| {
            conn.say(&answer);
            Next::Keep
        })
    }

    /// Behind TLS, by a script.
    pub(crate) fn tls_with(
        config: Arc<ServerConfig>,
        script: impl Fn(&Request, &mut Conn) -> Next + Send + Sync + 'static,
    ) -> Self {
        let (listener, url) = listen();
        let port = url.rsplit(':').next().expect("a port").to_owned();
        Self::accept(format!("https://localhost:{port}"), script, move || {
            let (stream, _) = listener.accept()?;
            let session = ServerConnection::new(Arc::clone(&config))
                .map_err(|error| io::Error::other(error.to_string()))?;
            Ok(Conn::Tls(Box::new(StreamOwned::new(session, stream))))
        })
    }

    /// Behind a Unix socket.
    pub(crate) fn unix(path: &Path, answer: &str) -> Self {
        let listener = UnixListener::bind(path).expect("a free path");
        let answer = answer.to_owned();
        Self::accept(
            format!("unix:{}", path.display()),
            move |_, conn| {
                conn.say(&answer);
                Next::Keep
            },
            move || listener.accept().map(|(stream, _)| Conn::Unix(stream)),
        )
    }

    /// Lets the script have each connection from its first byte.
    pub(crate) fn raw(script: impl Fn(Conn) + Send + Sync + 'static) -> Self {
        let (listener, url) = listen();
        let shared = Arc::new(Shared::default());
        let script = Arc::new(script);
        let counted = Arc::clone(&shared);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                counted.connections.fetch_add(1, Ordering::SeqCst);
                let script = Arc::clone(&script);
                thread::spawn(move || script(Conn::Tcp(stream)));
            }
        });
        Self {
            url,
            shared,
            _reserved: None,
        }
    }

    /// A port that nobody listens on, and nobody else can get while this is kept.
    pub(crate) fn refusing() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(&any.into()).expect("a free port");
        let address = socket.local_addr().expect("bound").as_socket();
        Self {
            url: format!("http://{}", address.expect("an address")),
            shared: Arc::default(),
            _reserved: Some(socket),
        }
    }

    /// The same under another URL.
    pub(crate) fn at(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    fn accept(
        url: String,
        script: impl Fn(&Request, &mut Conn) -> Next + Send + Sync + 'static,
        next: impl Fn() -> io::Result<Conn> + Send + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let script: Handler = Arc::new(script);
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            while let Ok(conn) = next() {
                accepting.connections.fetch_add(1, Ordering::SeqCst);
                *accepting.open.lock().expect("no panic") += 1;
                let (script, shared) = (Arc::clone(&script), Arc::clone(&accepting));
                thread::spawn(move || {
                    serve(conn, &script, &shared);
                    *shared.open.lock().expect("no panic") -= 1;
                    shared.closed.notify_all();
                });
            }
        });
        Self {
            url,
            shared,
            _reserved: None,
        }
    }

    pub(crate) fn url(&self) -> UpstreamUrl {
        self.url.parse().expect("own URL")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let text = self.url.split("//").nth(1).expect("a TCP service");
        text.parse().expect("an address")
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// All requests so far, once there are `count`.
    pub(crate) fn requests(&self, count: usize) -> Vec<Request> {
        let requests = self.shared.requests.lock().expect("no panic");
        let (requests, late) = self
            .shared
            .changed
            .wait_timeout_while(requests, PATIENCE, |seen| seen.len() < count)
            .expect("no panic");
        assert!(!late.timed_out(), "{} of {count} requests", requests.len());
        requests.clone()
    }

    /// All requests so far, without waiting.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.shared.requests.lock().expect("no panic").clone()
    }

    /// Waits until the mirror has closed all but `left` connections.
    pub(crate) fn wait_open(&self, left: usize) {
        let open = self.shared.open.lock().expect("no panic");
        let (open, late) = self
            .shared
            .closed
            .wait_timeout_while(open, PATIENCE, |open| *open > left)
            .expect("no panic");
        assert!(!late.timed_out(), "{open} connections are still open");
    }
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("bound");
    (listener, format!("http://{address}"))
}

fn serve(mut conn: Conn, script: &Handler, shared: &Shared) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut conn, &mut buffer) {
        shared
            .requests
            .lock()
            .expect("no panic")
            .push(request.clone());
        shared.changed.notify_all();
        match script(&request, &mut conn) {
            Next::Keep => {}
            Next::Close => return,
            Next::Reset => return conn.reset(),
            Next::Hang => return conn.wait_for_close(),
        }
    }
}
