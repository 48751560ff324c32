//! An HTTP/2 service and client with a blocking interface, each on a thread with its own runtime.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};

use super::PATIENCE;

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
            let (head, body) = request.into_parts();
            // A request that says so is answered by its head alone.
            let (body, trailers) = if head.headers.contains_key("x-early") {
                (Vec::new(), None)
            } else {
                match whole(body).await {
                    Some(whole) => whole,
                    None => return,
                }
            };
            let read = Seen {
                head: Arc::new(head),
                body,
                trailers,
            };
            seen.lock().expect("no panic").push(read.clone());
            act(script(&read), respond, &leave).await;
        });
    }
}

async fn act(act: Act, mut respond: SendResponse<Bytes>, leave: &tokio::sync::mpsc::Sender<()>) {
    match act {
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

async fn put(stream: &mut SendStream<Bytes>, bytes: &'static [u8], over: bool) -> bool {
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

/// One connection of a client.
pub(crate) struct H2Client {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    ended: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

/// An answer that came whole.
#[derive(Debug)]
pub(crate) struct H2Reply {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Option<HeaderMap>,
}

impl H2Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::with_window(address, 65_535)
    }

    /// The same, with room for so many bytes of each answer.
    pub(crate) fn with_window(address: SocketAddr, bytes: u32) -> Self {
        let open = async move {
            tokio::net::TcpStream::connect(address)
                .await
                .expect("the mirror listens")
        };
        Self::opened(open, bytes)
    }

    /// On a connection that `open` makes.
    pub(crate) fn over<S>(open: impl Future<Output = S>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self::opened(open, 65_535)
    }

    fn opened<S>(open: impl Future<Output = S>, window: u32) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let runtime = runtime();
        let (sender, ended) = runtime.block_on(async {
            let (sender, connection) = h2::client::Builder::new()
                // As many as the mirror will allow, before it has said so.
                .initial_max_send_streams(100)
                .initial_window_size(window)
                .handshake(open.await)
                .await
                .expect("the mirror speaks HTTP/2");
            (sender, tokio::spawn(connection))
        });
        Self {
            runtime,
            sender,
            ended,
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> H2Reply {
        let request = Request::get(format!("http://test{path}")).body(());
        self.ask(request.expect("a request"), b"", None)
            .expect("an answer")
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) fn ask(
        &mut self,
        request: Request<()>,
        body: &'static [u8],
        trailers: Option<HeaderMap>,
    ) -> Result<H2Reply, h2::Error> {
        let sender = self.sender.clone();
        self.within(one(sender, request, body, trailers))
    }

    /// Sends a request whose answer does not wait for the body, and tells how its stream was reset.
    pub(crate) fn ask_early(
        &mut self,
        request: Request<()>,
        body: &'static [u8],
    ) -> (H2Reply, Option<Reason>) {
        let sender = self.sender.clone();
        self.within(early(sender, request, body))
            .expect("an answer")
    }

    /// Sends many requests at once and reads all answers.
    pub(crate) fn ask_all(
        &mut self,
        requests: impl Iterator<Item = Request<()>>,
    ) -> Vec<Result<H2Reply, h2::Error>> {
        let sender = self.sender.clone();
        self.within(async move {
            let tasks: Vec<_> = requests
                .map(|request| tokio::spawn(one(sender.clone(), request, b"", None)))
                .collect();
            let mut replies = Vec::new();
            for task in tasks {
                replies.push(task.await.expect("no panic"));
            }
            replies
        })
    }

    /// Begins a request, waits for the head of the answer, and gives it up. Frames leave in their order, so the mirror
    /// hears of it before whatever is asked next on this connection.
    pub(crate) fn abandon(&mut self, path: &str) {
        let sender = self.sender.clone();
        let request = Request::get(format!("http://test{path}"))
            .body(())
            .expect("a request");
        self.within(async move {
            let mut sender = sender.ready().await.expect("a connection");
            let (answer, mut stream) = sender.send_request(request, true).expect("sent");
            let _head = answer.await;
            stream.send_reset(Reason::CANCEL);
        });
    }

    /// Opens and resets streams until the connection ends or there were `most`.
    pub(crate) fn reset_rapidly(&mut self, most: usize) -> usize {
        let sender = self.sender.clone();
        self.within(async move {
            for number in 0..most {
                let Ok(mut ready) = sender.clone().ready().await else {
                    return number;
                };
                let request = Request::get("http://test/").body(()).expect("a request");
                let Ok((_, mut stream)) = ready.send_request(request, true) else {
                    return number;
                };
                stream.send_reset(Reason::CANCEL);
                tokio::task::yield_now().await;
            }
            most
        })
    }

    /// Waits for the end of the connection.
    pub(crate) fn wait_for_end(self) -> Result<(), h2::Error> {
        let Self {
            runtime,
            sender,
            ended,
        } = self;
        drop(sender);
        runtime
            .block_on(async { tokio::time::timeout(PATIENCE, ended).await })
            .expect("it ends")
            .expect("no panic")
    }

    fn within<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, work).await })
            .expect("in time")
    }
}

/// As [`one`], of an answer that does not wait for the body; and how the stream ended for the rest.
async fn early(
    sender: SendRequest<Bytes>,
    request: Request<()>,
    body: &'static [u8],
) -> Result<(H2Reply, Option<Reason>), h2::Error> {
    let mut sender = sender.ready().await?;
    let (answer, mut stream) = sender.send_request(request, false)?;
    put(&mut stream, body, true).await;
    let reply = read(answer.await?).await?;
    let reset = std::future::poll_fn(|cx| stream.poll_reset(cx)).await;
    Ok((reply, reset.ok()))
}

async fn one(
    sender: SendRequest<Bytes>,
    request: Request<()>,
    body: &'static [u8],
    trailers: Option<HeaderMap>,
) -> Result<H2Reply, h2::Error> {
    let mut sender = sender.ready().await?;
    let over = body.is_empty() && trailers.is_none();
    let (answer, mut stream) = sender.send_request(request, over)?;
    if !over {
        put(&mut stream, body, trailers.is_none()).await;
        if let Some(trailers) = trailers {
            stream.send_trailers(trailers)?;
        }
    }
    read(answer.await?).await
}

async fn read(answer: Response<RecvStream>) -> Result<H2Reply, h2::Error> {
    let (head, mut incoming) = answer.into_parts();
    let mut bytes = Vec::new();
    while let Some(chunk) = incoming.data().await {
        let chunk = chunk?;
        incoming.flow_control().release_capacity(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(H2Reply {
        head,
        body: bytes,
        trailers: incoming.trailers().await?,
    })
}
