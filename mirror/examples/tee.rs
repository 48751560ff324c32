//! The mirror alone, with an observer that only counts: what shadowing costs before anything is compared.
//!
//! `cargo run --release -p parity-mirror --example tee -- 127.0.0.1:8080 http://127.0.0.1:7001 http://127.0.0.1:7002`
//! serves until its standard input ends, then drains and prints what it counted.

use std::error::Error;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parity_mirror::{Config, Mirror, Observer, Policy, Receipt, Target, UpstreamUrl};
use parity_schemas::clients::ClientOutcome;
use parity_schemas::exchange::Exchange;
use parity_schemas::route::Route;
use parity_schemas::verdict::Reason;
use tokio::sync::watch;

struct Counts {
    received: AtomicU64,
    exchanges: AtomicU64,
    not_compared: [AtomicU64; Reason::COUNT],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            received: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            not_compared: [const { AtomicU64::new(0) }; Reason::COUNT],
        }
    }
}

#[derive(Clone, Default)]
struct Counter(Arc<Counts>);

impl Observer for Counter {
    fn received(&self, _: &Arc<Route>) -> Receipt {
        self.0.received.fetch_add(1, Ordering::Relaxed);
        Receipt::default()
    }

    fn begun(&self) -> Receipt {
        Receipt::default()
    }

    fn named(&self, _: &Arc<Route>) {
        self.0.received.fetch_add(1, Ordering::Relaxed);
    }

    fn not_compared(&self, _: &Arc<Route>, reason: Reason, _: Receipt) {
        self.0.not_compared[reason.index()].fetch_add(1, Ordering::Relaxed);
    }

    fn exchange(&self, exchange: Exchange, _: Receipt) {
        self.0.exchanges.fetch_add(1, Ordering::Relaxed);
        drop(exchange);
    }

    fn answered(&self, _: &Arc<Route>, _: u16) {}

    fn client(&self, _: &Arc<Route>, _: ClientOutcome) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, legacy, candidate, rest @ ..] = arguments.as_slice() else {
        return Err("usage: tee LISTEN LEGACY CANDIDATE [WORKERS]".into());
    };
    let mirror = Mirror::bind(Config {
        listen: listen.parse()?,
        workers: rest
            .first()
            .map_or(Ok(NonZeroUsize::MIN), |it| it.parse())?,
        connections: Config::CONNECTIONS,
        others: parity_mirror::ConnectionLimits::default(),
        shadowing: true,
        policy: Policy::new(
            Target::new(UpstreamUrl::parse(legacy)?),
            Target::new(UpstreamUrl::parse(candidate)?),
        ),
    })?;
    let (sender, shutdown) = watch::channel(false);
    std::thread::spawn(move || {
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        sender.send_replace(true);
        ended
    });
    let counter = Counter::default();
    let observed = counter.clone();
    let drained = mirror.run(move |_| Rc::new(observed.clone()), None, &shutdown)?;

    let counts = &counter.0;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "received {} exchanges {} cut {}",
        counts.received.load(Ordering::Relaxed),
        counts.exchanges.load(Ordering::Relaxed),
        drained.cut
    )?;
    for reason in Reason::ALL {
        match counts.not_compared[reason.index()].load(Ordering::Relaxed) {
            0 => {}
            count => writeln!(out, "{reason} {count}")?,
        }
    }
    Ok(())
}
