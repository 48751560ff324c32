//! Opening a connection to a service: TCP, TLS or a Unix socket.

use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::HeaderValue;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::tls::TlsError;
use crate::upstream::UpstreamUrl;

/// A peer that vanished is found out after about two minutes, without cutting a tunnel that is merely quiet.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_mins(1))
    .with_interval(Duration::from_secs(15));

/// How to reach one service.
#[derive(Clone)]
pub(crate) struct Connector {
    target: Target,
    /// Stands in for a `Host` field that the client did not send.
    pub(crate) host: HeaderValue,
}

#[derive(Clone)]
enum Target {
    Tcp(Arc<str>, u16),
    Tls(Arc<str>, u16, TlsConnector, ServerName<'static>),
    Unix(PathBuf),
}

/// No connection came about.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// Nobody answers, or there is no such name.
    Refused(io::Error),
    /// The network gave up waiting.
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

    /// What the system said.
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
        let target = match url {
            UpstreamUrl::Http(place) => Target::Tcp(Arc::from(&*place.host), place.port),
            UpstreamUrl::Https(place) => Target::Tls(
                Arc::from(&*place.host),
                place.port,
                TlsConnector::from(tls()?),
                ServerName::try_from(place.host.to_string())
                    .map_err(|_| TlsError::Name(place.host.to_string()))?,
            ),
            UpstreamUrl::Unix(path) => Target::Unix(path.clone()),
        };
        Ok(Self {
            target,
            host: HeaderValue::from_str(&url.authority())
                .expect("a URL's authority is visible ASCII"),
        })
    }

    /// Opens one connection; how long that takes is the caller's to bound.
    pub(crate) async fn connect(&self) -> Result<UpstreamIo, ConnectError> {
        match &self.target {
            Target::Tcp(host, port) => Ok(UpstreamIo::Tcp(tcp(host, *port).await?)),
            Target::Tls(host, port, connector, name) => {
                let stream = tcp(host, *port).await?;
                let stream = connector
                    .connect(name.clone(), stream)
                    .await
                    .map_err(ConnectError::Tls)?;
                Ok(UpstreamIo::Tls(Box::new(stream)))
            }
            Target::Unix(path) => UnixStream::connect(path)
                .await
                .map(UpstreamIo::Unix)
                .map_err(ConnectError::from_io),
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let stream = TcpStream::connect((host, port))
        .await
        .map_err(ConnectError::from_io)?;
    tune(&stream);
    Ok(stream)
}

/// Small writes leave at once, and vanished peers are found out. A socket that refuses either still works.
pub(crate) fn tune(stream: &TcpStream) {
    let tuned = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE));
    if let Err(error) = tuned {
        tracing::debug!(%error, "socket options were refused");
    }
}

/// A connection to a service.
pub(crate) enum UpstreamIo {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

macro_rules! each {
    ($self:expr, $io:ident => $call:expr) => {
        match $self.get_mut() {
            UpstreamIo::Tcp(io) => {
                let $io = Pin::new(io);
                $call
            }
            UpstreamIo::Tls(io) => {
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

impl AsyncRead for UpstreamIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, io => io.poll_read(cx, buffer))
    }
}

impl AsyncWrite for UpstreamIo {
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
            // `send` is a little cheaper than `writev`, and one slice is what a request without a body is.
            [only] => self.poll_write(cx, only),
            _ => each!(self, io => io.poll_write_vectored(cx, slices)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
            Self::Unix(io) => io.is_write_vectored(),
        }
    }
}
