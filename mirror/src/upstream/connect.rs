//! Opening a connection to a service: TCP, TLS or a Unix socket.
//!
//! One type for all three, so that the HTTP code need not know which it is. The caller bounds how long it may take, and
//! gives the account that its bytes are charged to ([`metered`](super::metered)).

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::HeaderValue;
use http::uri::Scheme;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::headers::Wire;
use crate::upstream::lookups::Lookups;
use crate::upstream::metered::{Metered, Paid, Payer};
use crate::upstream::own_connections::OwnConnection;
use crate::upstream::tls::TlsError;
use crate::upstream::url::UpstreamUrl;

/// Detects a peer that vanished after about two minutes, without closing a tunnel that is merely quiet.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_mins(1))
    .with_interval(Duration::from_secs(15));

/// How to reach one service.
#[derive(Clone)]
pub(crate) struct Connector {
    endpoint: Endpoint,
    /// Stands in for a `Host` field that the client did not send.
    host: HeaderValue,
}

#[derive(Clone)]
enum Endpoint {
    Tcp(Arc<str>, u16),
    Tls(Arc<str>, u16, Box<TlsClient>),
    Unix(PathBuf),
}

/// The protocols offered in a TLS handshake (ALPN); without TLS there is no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Http1,
    Http2,
    /// Both, the newer one first.
    Choice,
}

#[derive(Clone)]
struct TlsClient {
    name: ServerName<'static>,
    http1: TlsConnector,
    http2: TlsConnector,
    choice: TlsConnector,
}

impl TlsClient {
    fn new(host: &str, config: &rustls::ClientConfig) -> Result<Self, TlsError> {
        const HTTP1: &[u8] = b"http/1.1";
        const HTTP2: &[u8] = b"h2";
        let offering = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Ok(Self {
            name: ServerName::try_from(host.to_owned())
                .map_err(|_| TlsError::Name(host.to_owned()))?,
            http1: offering(&[HTTP1]),
            http2: offering(&[HTTP2]),
            choice: offering(&[HTTP2, HTTP1]),
        })
    }
}

/// Why no connection was opened.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// Nobody listens there, or the name does not resolve.
    Refused(io::Error),
    /// The operating system gave up connecting.
    TimedOut(io::Error),
    /// The handshake failed.
    Tls(io::Error),
}

impl ConnectError {
    fn from_io(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            Self::TimedOut(error)
        } else {
            Self::Refused(error)
        }
    }

    /// The underlying error.
    pub(crate) fn io(&self) -> &io::Error {
        match self {
            Self::Refused(error) | Self::TimedOut(error) | Self::Tls(error) => error,
        }
    }
}

impl Connector {
    /// `tls` is asked for only where the URL is `https://`.
    pub(crate) fn new(
        url: &UpstreamUrl,
        tls: impl FnOnce() -> Result<Arc<rustls::ClientConfig>, TlsError>,
    ) -> Result<Self, TlsError> {
        let endpoint = match url {
            UpstreamUrl::Http(url) => Endpoint::Tcp(Arc::from(&*url.host), url.port),
            UpstreamUrl::Https(url) => {
                let client = TlsClient::new(&url.host, &*tls()?)?;
                Endpoint::Tls(Arc::from(&*url.host), url.port, Box::new(client))
            }
            UpstreamUrl::Unix(path) => Endpoint::Unix(path.clone()),
        };
        Ok(Self {
            endpoint,
            host: HeaderValue::from_str(&url.authority())
                .expect("a URL's authority is visible ASCII"),
        })
    }

    /// What stands in for a `Host` field that the client did not send.
    pub(super) fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// Whether the service uses TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self.endpoint, Endpoint::Tls(..))
    }

    /// The scheme of its URLs.
    pub(crate) fn scheme(&self) -> &'static Scheme {
        if self.is_tls() {
            &Scheme::HTTPS
        } else {
            &Scheme::HTTP
        }
    }

    /// Opens one connection; the caller bounds how long that may take.
    pub(crate) async fn connect<P: Payer>(
        &self,
        offer: Offer,
        lookups: &Lookups,
        payer: P,
    ) -> Result<UpstreamIo<P>, ConnectError> {
        match &self.endpoint {
            Endpoint::Tcp(host, port) => {
                let (stream, end) = tcp(host, *port, lookups).await?;
                Ok(UpstreamIo::Tcp {
                    io: Metered::new(stream, payer),
                    _end: end,
                })
            }
            Endpoint::Tls(host, port, client) => {
                let (stream, end) = tcp(host, *port, lookups).await?;
                let stream = Metered::new(stream, payer);
                let connector = match offer {
                    Offer::Http1 => &client.http1,
                    Offer::Http2 => &client.http2,
                    Offer::Choice => &client.choice,
                };
                let stream = connector
                    .connect(client.name.clone(), stream)
                    .await
                    .map_err(ConnectError::Tls)?;
                Ok(UpstreamIo::Tls {
                    io: Box::new(stream),
                    _end: end,
                })
            }
            Endpoint::Unix(path) => unix(path)
                .await
                .map(|stream| UpstreamIo::Unix(Metered::new(stream, payer)))
                .map_err(ConnectError::from_io),
        }
    }
}

async fn tcp(
    host: &Arc<str>,
    port: u16,
    lookups: &Lookups,
) -> Result<(TcpStream, OwnConnection), ConnectError> {
    let connected = match host.parse::<IpAddr>() {
        Ok(address) => TcpStream::connect((address, port)).await,
        Err(_) => match lookups.resolve(host, port).await {
            Ok(addresses) => TcpStream::connect(&*addresses).await,
            Err(error) => Err(error),
        },
    };
    let stream = connected.map_err(ConnectError::from_io)?;
    tune(&stream);
    let end = lookups.own_connections().register(&stream);
    Ok((stream, end))
}

/// A Unix socket refuses at once when its backlog is full, where a TCP port would let us wait.
async fn unix(path: &Path) -> io::Result<UnixStream> {
    /// As long as TCP waits before it retries.
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    loop {
        match UnixStream::connect(path).await {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// Turns on `TCP_NODELAY` and keep-alive. A socket that refuses either is used anyway.
pub(crate) fn tune(stream: &TcpStream) {
    let tuned = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE));
    if let Err(error) = tuned {
        tracing::debug!(%error, "socket options were refused");
    }
}

/// A connection to a service.
pub(crate) enum UpstreamIo<P = Paid> {
    Tcp {
        io: Metered<TcpStream, P>,
        _end: OwnConnection,
    },
    Tls {
        io: Box<TlsStream<Metered<TcpStream, P>>>,
        _end: OwnConnection,
    },
    Unix(Metered<UnixStream, P>),
}

impl<P> UpstreamIo<P> {
    /// The protocol that the service chose (ALPN); HTTP/1.1 if it chose none.
    pub(crate) fn chosen(&self) -> Wire {
        match self {
            Self::Tls { io, .. } if io.get_ref().1.alpn_protocol() == Some(b"h2") => Wire::Http2,
            _ => Wire::Http1,
        }
    }
}

macro_rules! each {
    ($self:expr, $io:ident => $call:expr) => {
        match $self.get_mut() {
            UpstreamIo::Tcp { io, .. } => {
                let $io = Pin::new(io);
                $call
            }
            UpstreamIo::Tls { io, .. } => {
                let $io = Pin::new(io);
                $call
            }
            UpstreamIo::Unix(io) => {
                let $io = Pin::new(io);
                $call
            }
        }
    };
}

impl<P: Payer> AsyncRead for UpstreamIo<P> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_read(cx, buffer))
    }
}

impl<P: Payer> AsyncWrite for UpstreamIo<P> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => io.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            // `send` is a little cheaper than `writev`, and a request without a body is one slice.
            [only] => self.poll_write(cx, only),
            _ => each!(self, io => io.poll_write_vectored(cx, slices)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp { io, .. } => io.is_write_vectored(),
            Self::Tls { io, .. } => io.is_write_vectored(),
            Self::Unix(io) => io.is_write_vectored(),
        }
    }
}
