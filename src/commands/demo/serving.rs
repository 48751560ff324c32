//! One of the two services of a sample, on its own thread.

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[path = "../../../examples/common/serve.rs"]
mod serve;

pub(super) struct Serving {
    pub(super) url: String,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<Result<()>>,
}

impl Serving {
    /// Starts it on a free port.
    pub(super) fn start<A>(name: &str, answer: A) -> Result<Self>
    where
        A: Fn(&Request<Incoming>) -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
    {
        let listener =
            std::net::TcpListener::bind("127.0.0.1:0").context("no port for a sample service")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let answer = move |request: Request<Incoming>| {
                let response = answer(&request);
                async move { response }
            };
            runtime.block_on(async move {
                tokio::select! {
                    served = serve::serve(TcpListener::from_std(listener)?, answer) => served.context("a sample service"),
                    // A dropped sender ends the service as well.
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { url, stop, thread })
    }

    pub(super) fn stop(self) -> Result<()> {
        // Sending fails when the service has already ended with an error, which joining the thread returns.
        let _ended = self.stop.send(());
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("a sample service ended by a panic"))?
    }
}
