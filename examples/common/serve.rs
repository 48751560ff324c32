//! A sample service on a socket: every connection is a task, and one function answers.

use std::convert::Infallible;
use std::io::Result;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Where a service waits for its clients.
pub(crate) trait Listening {
    /// A client's connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next client.
    async fn next(&self) -> Result<Self::Stream>;
}

impl Listening for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> Result<TcpStream> {
        let (stream, _) = self.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Listening for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> Result<UnixStream> {
        Ok(self.accept().await?.0)
    }
}

/// Serves until the listener's runtime ends.
pub(crate) async fn serve<L, A, F>(listener: L, answer: A) -> Result<()>
where
    L: Listening,
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send,
{
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let stream = listener.next().await?;
        while connections.try_join_next().is_some() {}
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(|request| {
                let response = answer(request);
                async move { Ok::<_, Infallible>(response.await) }
            });
            let served = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
            // The sample ignores clients that go away.
            drop(served);
        });
    }
}
