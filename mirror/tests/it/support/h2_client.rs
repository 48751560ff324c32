//! An HTTP/2 client with a blocking interface: its connection is driven on a runtime of its own while it waits.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;

use super::PATIENCE;
use super::h2::{put, runtime};

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
