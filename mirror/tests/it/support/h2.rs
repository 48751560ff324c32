//! An HTTP/2 service on a thread with its own runtime.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};

/// What a service read.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: Arc<http::request::Parts>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

/// What it answers.
#[derive(Clone)]
pub(crate) enum Act {
    Answer(Response<()>, Vec<&'static [u8]>, Option<HeaderMap>),
    /// A head at once, and the request's length as the body when all of it has come. Only for requests with `x-early`.
    Early,
    /// Ends the stream.
    Reset(Reason),
    /// A head and some bytes, then the end of the stream.
    Break(Response<()>, &'static [u8], Reason),
    /// Takes no new streams, and closes without an answer.
    GoAway,
    /// Says nothing.
    Hang,
}

type Script = Arc<dyn Fn(&Seen) -> Act + Send + Sync>;

/// A running service.
pub(crate) struct H2Service {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

impl H2Service {
    /// Without TLS, by prior knowledge.
    pub(crate) fn new(script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        Self::start(script, None)
    }

    /// By TLS, with what the configuration offers.
    pub(crate) fn tls(
        config: Arc<rustls::ServerConfig>,
        script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
    ) -> Self {
        Self::start(script, Some(tokio_rustls::TlsAcceptor::from(config)))
    }

    fn start(
        script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("bound");
        let service = Self {
            address,
            seen: Arc::default(),
            connections: Arc::default(),
        };
        let (seen, connections) = (Arc::clone(&service.seen), Arc::clone(&service.connections));
        let script: Script = Arc::new(script);
        thread::spawn(move || {
            runtime().block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                while let Ok((stream, _)) = listener.accept().await {
                    connections.fetch_add(1, Ordering::SeqCst);
                    stream.set_nodelay(true).expect("a socket");
                    let (script, seen, tls) = (Arc::clone(&script), Arc::clone(&seen), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            None => connection(stream, script, seen).await,
                            Some(tls) => {
                                if let Ok(stream) = tls.accept(stream).await {
                                    connection(stream, script, seen).await;
                                }
                            }
                        }
                    });
                }
            });
        });
        service
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn tls_url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    script: Script,
    seen: Arc<Mutex<Vec<Seen>>>,
) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    let (leave, mut leaving) = tokio::sync::mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = connection.accept() => accepted,
            _ = leaving.recv() => {
                connection.abrupt_shutdown(Reason::NO_ERROR);
                let _closed = std::future::poll_fn(|cx| connection.poll_closed(cx)).await;
                return;
            }
        };
        let Some(Ok((request, respond))) = accepted else {
            return;
        };
        let (script, seen, leave) = (Arc::clone(&script), Arc::clone(&seen), leave.clone());
        tokio::spawn(async move {
            let (head, rest) = request.into_parts();
            // A request that says so is answered by its head alone.
            let early = head.headers.contains_key("x-early");
            let (rest, whole) = if early {
                (Some(rest), None)
            } else {
                (None, whole(rest).await)
            };
            let Some((body, trailers)) = whole.or(early.then(Default::default)) else {
                return;
            };
            let read = Seen {
                head: Arc::new(head),
                body,
                trailers,
            };
            seen.lock().expect("no panic").push(read.clone());
            act(script(&read), rest, respond, &leave).await;
        });
    }
}

async fn act(
    act: Act,
    rest: Option<RecvStream>,
    mut respond: SendResponse<Bytes>,
    leave: &tokio::sync::mpsc::Sender<()>,
) {
    match act {
        Act::Early => {
            let head = respond.send_response(Response::new(()), false);
            let mut stream = head.expect("a stream");
            if let Some((body, _)) = whole(rest.expect("x-early")).await {
                let length = Bytes::from(body.len().to_string());
                stream.send_data(length, true).expect("a stream");
            }
        }
        Act::Answer(head, chunks, trailers) => {
            let over = chunks.is_empty() && trailers.is_none();
            let Ok(mut stream) = respond.send_response(head, over) else {
                return;
            };
            let last = chunks.len();
            for (chunk, number) in chunks.into_iter().zip(1..) {
                let over = number == last && trailers.is_none();
                if !put(&mut stream, chunk, over).await {
                    return;
                }
            }
            if let Some(trailers) = trailers {
                let _gone = stream.send_trailers(trailers);
            }
        }
        Act::Reset(reason) => respond.send_reset(reason),
        Act::Break(head, bytes, reason) => {
            if let Ok(mut stream) = respond.send_response(head, false) {
                put(&mut stream, bytes, false).await;
                // Sent before it is broken off, or the peer would not see it.
                tokio::task::yield_now().await;
                stream.send_reset(reason);
            }
        }
        Act::GoAway => {
            let _told = leave.send(()).await;
            // Dropping the stream would reset it, and that is another fault.
            std::future::pending::<()>().await;
        }
        Act::Hang => std::future::pending().await,
    }
}

pub(super) async fn put(stream: &mut SendStream<Bytes>, bytes: &'static [u8], over: bool) -> bool {
    let mut rest = Bytes::from_static(bytes);
    if rest.is_empty() {
        return stream.send_data(rest, over).is_ok();
    }
    while !rest.is_empty() {
        stream.reserve_capacity(rest.len());
        let Some(Ok(room)) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else {
            return false;
        };
        let part = rest.split_to(room.min(rest.len()));
        let last = over && rest.is_empty();
        if stream.send_data(part, last).is_err() {
            return false;
        }
    }
    true
}

async fn whole(mut body: RecvStream) -> Option<(Vec<u8>, Option<HeaderMap>)> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.ok()?;
        let _released = body.flow_control().release_capacity(chunk.len());
        bytes.extend_from_slice(&chunk);
    }
    Some((bytes, body.trailers().await.ok()?))
}
