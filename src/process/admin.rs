//! The admin port of the commands that have one: binds it, serves a site on it, stops it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::links::Links;
use parity_dashboards::server::{self, Access, Process, Reruns, Site, TlsAcceptor};
use parity_sink::StoreConfig;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::config::{AdminSettings, host_name};
use crate::process::auditing::StoreAuditor;
use crate::process::register::RegisterFile;

/// Binds the admin port.
pub(crate) fn bind_admin(settings: &AdminSettings) -> Result<TcpListener> {
    let address = settings.address;
    TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address} for the admin port; --admin names another address")
    })
}

/// The admin port on a thread and runtime of its own, so that a slow page never takes time from a request.
pub(crate) struct AdminPort {
    address: SocketAddr,
    tls: watch::Sender<Option<TlsAcceptor>>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<()>>,
}

impl AdminPort {
    /// How long stopping may take: an open page must not delay the end of the process.
    pub(crate) const GRACE: Duration = Duration::from_secs(1);

    /// Serves `site` on a bound listener, with at most `connections` open at a time.
    pub(crate) fn start(
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        site: Site,
        connections: usize,
    ) -> Result<Self> {
        listener.set_nonblocking(true).context("the admin port")?;
        let address = listener.local_addr().context("the admin port")?;
        warn_of_clear(tls.is_some(), address);
        let (tls, certificate) = watch::channel(tls);
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || serve((listener, certificate), site, connections, stopped))
            .context("cannot start the admin thread")?;
        Ok(Self {
            address,
            tls,
            stop,
            thread,
        })
    }

    /// Its address for a browser.
    pub(crate) fn url(&self) -> String {
        let scheme = match *self.tls.borrow() {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{}/", self.address)
    }

    /// Encrypts connections from now on by this certificate; those that are open stay as they are.
    pub(crate) fn set_tls(&self, tls: Option<TlsAcceptor>) {
        warn_of_clear(tls.is_some(), self.address);
        self.tls.send_replace(tls);
    }

    /// Stops accepting connections. [`Self::finish`] waits for those that are open.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Stops it and waits until it has ended.
    pub(crate) fn finish(self) -> Result<()> {
        self.stop();
        self.thread
            .join()
            .map_err(|_| anyhow!("the admin port ended by a panic; the log has it"))?
    }
}

fn serve(
    (listener, tls): (TcpListener, watch::Receiver<Option<TlsAcceptor>>),
    site: Site,
    connections: usize,
    mut stopped: watch::Receiver<bool>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the admin runtime")?;
    let served = runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).context("the admin port")?;
        let mut ended = stopped.clone();
        let shutdown = async move {
            // An error means that the sender was dropped, which also ends the port.
            let _ended = ended.wait_for(|stop| *stop).await;
        };
        let overdue = async move {
            let _ended = stopped.wait_for(|stop| *stop).await;
            tokio::time::sleep(AdminPort::GRACE).await;
        };
        tokio::select! {
            () = server::serve(listener, tls, site, connections, shutdown) => {}
            () = overdue => {}
        }
        Ok(())
    });
    // A decision or a page that is still read from the store is for nobody now, and must not delay the end of the process.
    runtime.shutdown_background();
    served
}

/// The metric `parity_build_info`: always 1, with the version as a label.
pub(crate) fn register_build_info(registry: &mut Registry) {
    let info = Family::<Vec<(String, String)>, Gauge>::default();
    info.get_or_create(&vec![(
        "version".to_owned(),
        env!("CARGO_PKG_VERSION").to_owned(),
    )])
    .set(1);
    registry.register("parity_build_info", "Version of the running program", info);
}

/// Warns of a port that others reach and that is not encrypted, at the start and when a reload takes the certificate away.
fn warn_of_clear(is_encrypted: bool, address: SocketAddr) {
    if !is_encrypted && !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "the admin port has no TLS, so its token travels in clear: name a certificate and its key by --admin-tls-certificate-file and --admin-tls-key-file"
        );
    }
}

/// The site of `parity ui`, which shows a store and controls no mirror.
pub(crate) fn reading_site(
    store: StoreConfig,
    migration: String,
    register: RegisterFile,
    handover: Duration,
    (access, links): (Access, Links),
    reruns: Option<Reruns>,
) -> Result<Site> {
    let mut registry = Registry::default();
    register_build_info(&mut registry);
    Ok(Site {
        auditor: Arc::new(StoreAuditor::start(
            store.clone(),
            format!("ui on {}", host_name()),
        )?),
        store,
        migration,
        process: Process::Reader,
        registry,
        access,
        reruns,
        register: register.follow()?,
        handover,
        links,
    })
}
