//! `parity demo`: the whole job on a sample rewrite, in one process and without a network.
//!
//! Nothing is faked: the two services listen on real sockets, the traffic goes through the same proxy as in
//! `parity mirror`, and the report is read back from the store that the mirror wrote. Only the services are samples.

#[path = "../../examples/payments/service.rs"]
mod payments;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use indicatif::{ProgressBar, ProgressStyle};
use parity_dashboards::terminal;
use parity_dashboards::view::{self, Decided};
use parity_schemas::evidence::Thresholds;
use parity_sink::{Reader, Selection, StoreConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::cli::DemoArgs;
use crate::config::Layers;
use crate::config::environment::Environment;
use crate::config::settings::{mirror, record, top};
use crate::process::handover::Inherited;
use crate::process::instance::Instance;
use crate::process::signals::{Hangup, Signal, Signals};
use payments::Role;

/// Client connections, each with one request at a time.
const CONNECTIONS: u32 = 8;
/// The store is written several times a second, so this is ample.
const RECORDED_WITHIN: Duration = Duration::from_secs(10);
/// No answer of the sample is near this size.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Runs it.
pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode> {
    let directory = tempfile::tempdir().context("no place for the demo's store")?;
    let store = format!("sqlite:{}", directory.path().join("demo.db").display());
    let legacy = Sample::start(Role::Legacy)?;
    let candidate = Sample::start(Role::Candidate)?;
    let settings = Layers::load(
        // The demo shows the defaults, so it reads neither a configuration file nor the environment.
        None,
        &Environment::default(),
        &[
            mirror::LEGACY.is(&legacy.url),
            mirror::CANDIDATE.is(&candidate.url),
            mirror::LEGACY_VERSION.is("go-4.2.1"),
            mirror::CANDIDATE_VERSION.is("rust-0.9.0"),
            mirror::INSTANCE.is("demo"),
            top::MIGRATION.is("payments-rust"),
            mirror::LISTEN.is("127.0.0.1:0"),
            mirror::ADMIN.is("127.0.0.1:0"),
            record::STORE.is(&store),
        ],
    )
    .mirror()?;
    let url = settings.store.clone();
    let instance = Instance::start(&settings, &mut Inherited::default())?;
    terminal::note(&format!(
        "legacy {} and candidate {} behind http://{}; sending {} requests",
        legacy.url,
        candidate.url,
        instance.address(),
        args.requests
    ));
    drive(&instance, args.requests)?;

    let selection = Selection {
        migration: Some("payments-rust".to_owned()),
        ..Selection::default()
    };
    if args.serve {
        super::report::print(
            &wait_until_recorded(&url, &selection, u64::from(args.requests))?,
            args.output,
        )?;
        terminal::note(&format!(
            "proxy on http://{} · report on http://{}/",
            instance.address(),
            instance.admin_address()
        ));
        terminal::note(&format!("store {url} · Ctrl-C ends and removes it"));
        Signals::listen(Hangup::Ends)?.wait(std::future::pending(), |signal| signal == Signal::End);
        instance.finish()?;
    } else {
        instance.finish()?;
        super::report::print(&read(&url, &selection)?, args.output)?;
    }
    legacy.stop()?;
    candidate.stop()?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the store again and again until every request has its outcome there.
fn wait_until_recorded(url: &StoreConfig, selection: &Selection, requests: u64) -> Result<Decided> {
    let begin = Instant::now();
    loop {
        let decided = read(url, selection)?;
        let counts = &decided.report.counts;
        if counts.received == requests && counts.settled() == requests {
            return Ok(decided);
        }
        ensure!(
            begin.elapsed() < RECORDED_WITHIN,
            "only {} of {requests} outcomes are recorded",
            counts.settled()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn read(url: &StoreConfig, selection: &Selection) -> Result<Decided> {
    let reader = view::reader(url)?;
    Ok(view::decided(&reader, selection, &Thresholds::default())?)
}

/// One of the two services, on its own thread.
struct Sample {
    url: String,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<Result<()>>,
}

impl Sample {
    fn start(role: Role) -> Result<Self> {
        let listener =
            std::net::TcpListener::bind("127.0.0.1:0").context("no port for a sample service")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(format!("{role:?}").to_lowercase()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                tokio::select! {
                    served = payments::serve(TcpListener::from_std(listener)?, role) => served.context("a sample service"),
                    // A dropped sender ends the service as well.
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { url, stop, thread })
    }

    fn stop(self) -> Result<()> {
        // Sending fails when the service has already ended with an error, which joining the thread returns.
        let _ended = self.stop.send(());
        self.thread
            .join()
            .map_err(|_| anyhow::anyhow!("a sample service ended by a panic"))?
    }
}

/// Sends the requests over a few connections and shows a progress bar.
fn drive(instance: &Instance, requests: u32) -> Result<()> {
    let address = instance.address();
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} requests")?;
    let progress = ProgressBar::new(u64::from(requests)).with_style(style);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut connections = tokio::task::JoinSet::new();
        for connection in 0..CONNECTIONS {
            let progress = progress.clone();
            connections.spawn(async move {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let (mut sender, driver) =
                    handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await?;
                let driver = tokio::spawn(driver);
                for number in (connection..requests).step_by(CONNECTIONS as usize) {
                    send(&mut sender, number).await?;
                    progress.inc(1);
                }
                drop(sender);
                driver.await??;
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(ended) = connections.join_next().await {
            ended??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    progress.finish_and_clear();
    Ok(())
}

async fn send(sender: &mut SendRequest<Full<Bytes>>, number: u32) -> Result<()> {
    let (method, path, expected) = request(number);
    sender.ready().await?;
    let body = if method == Method::POST {
        Bytes::from_static(b"{\"amount\":\"12.50\"}")
    } else {
        Bytes::new()
    };
    let request = Request::builder()
        .method(method)
        .uri(&path)
        .header("host", "payments.demo")
        .header("content-type", "application/json")
        .body(Full::new(body))?;
    let response =
        tokio::time::timeout(Duration::from_secs(30), sender.send_request(request)).await??;
    let status = response.status();
    ensure!(
        status == expected,
        "{path} was answered with {status} instead of {expected}"
    );
    Limited::new(response.into_body(), MAX_ANSWER_BYTES)
        .collect()
        .await
        .map_err(|error| anyhow::anyhow!("{path} was not answered whole: {error}"))?;
    Ok(())
}

/// The request with this number. Of twenty requests, seven ask for a balance, five for statistics, four for a list, three
/// for an order (in every tenth round an unknown one), and one writes.
fn request(number: u32) -> (Method, String, StatusCode) {
    let round = number / 20;
    let account = 1000 + (round * 7 + number) % payments::ACCOUNTS;
    match number % 20 {
        0..7 => (
            Method::GET,
            format!("/accounts/acc-{account}/balance"),
            StatusCode::OK,
        ),
        7..12 => (
            Method::GET,
            format!("/accounts/acc-{account}/statistics"),
            StatusCode::OK,
        ),
        12..16 => (
            Method::GET,
            format!("/accounts/acc-{account}/orders"),
            StatusCode::OK,
        ),
        16..19 if round % 10 == 9 => (
            Method::GET,
            format!("/orders/ord-{}", 90_000 + number),
            StatusCode::NOT_FOUND,
        ),
        16..19 => (
            Method::GET,
            format!("/orders/ord-{}", 20_000 + number % payments::ORDERS),
            StatusCode::OK,
        ),
        _ => (Method::POST, "/orders".to_owned(), StatusCode::CREATED),
    }
}
