//! File descriptors: raises their limit to the highest that the system allows, and divides them so that they cannot run
//! out.
//!
//! Clients come first: for each one that is accepted there is a connection to the legacy. Shadows get what is left,
//! possibly very little; the admin port and the store have a reserve. If descriptors are few, every share is smaller, and
//! a warning says so.

use parity_mirror::{Config, ConnectionLimits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Reserve of the process: standard streams, listening and handover sockets, files of the store, the spool, the
/// configuration and the log, sockets of name look-ups, and some to spare.
const PROCESS: usize = 96;
/// Reserve of each worker: its copy of the listening socket, an event queue, a waker, a client that waits until another
/// one leaves, and name look-ups.
const WORKER: usize = 8;
/// Descriptors for a connection to the admin port: its own, and those of the store that it reads.
const ADMIN: usize = 4;
/// With room for fewer clients at a time than this, the process warns.
const FEW_CLIENTS: usize = 1_000;
/// This many clients are accepted however few descriptors there are: refusing all of them would be worse than running
/// out.
const FEWEST: usize = 16;

/// How many connections of each kind there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    descriptors: u64,
    /// Clients of the proxy.
    pub(crate) clients: usize,
    /// Further connections to the services, besides one to the legacy for each client.
    pub(crate) others: ConnectionLimits,
    /// To the admin port.
    pub(crate) admin: usize,
}

impl Shares {
    /// Divides `descriptors`; no share is larger than `config` asks for.
    pub(crate) fn of(descriptors: u64, config: &Config) -> Self {
        let available = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let workers = config.workers.get();
        let admin = (available / 32).clamp(4, parity_dashboards::server::CONNECTIONS);
        let reserved = PROCESS.min(available / 4) + WORKER * workers + ADMIN * admin;
        let left = available.saturating_sub(reserved);
        // A client costs its own connection and one to the legacy. Every two clients may have one more concurrent HTTP/2
        // request, and every four one idle connection in another worker: eleven descriptors for four clients. An eighth
        // of all is left for shadows.
        let clients = (left - left / 8) / 11 * 4;
        let clients = clients.min(config.connections).max(FEWEST);
        let streams = (clients / 2).max(1);
        let idle = clients / 4;
        let candidate = left.saturating_sub(2 * clients + streams + idle).max(1);
        Self {
            descriptors,
            clients,
            others: ConnectionLimits {
                streams,
                candidate,
                idle: idle.div_ceil(workers),
            },
            admin,
        }
    }

    /// A warning for the operator if descriptors are few, with the remedy.
    pub(crate) fn low(&self, config: &Config) -> Option<String> {
        let shadows = config.policy.limits.in_flight;
        let few = self.clients < FEW_CLIENTS.min(config.connections);
        (few || self.others.candidate < shadows).then(|| {
            format!(
                "{} file descriptors are allowed: at most {} clients at a time, and {} connections to the candidate \
                 (shadows beyond count as in_flight_cap); raise `ulimit -n`",
                self.descriptors, self.clients, self.others.candidate
            )
        })
    }
}

/// Raises the soft limit of this process to the hard limit, and returns it.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum.unwrap_or(u64::MAX),
        Err(error) => {
            tracing::debug!(%error, "the limit of file descriptors stays as it is");
            current.unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_mirror::{Policy, Target};

    use super::*;

    fn config(workers: usize) -> Config {
        let target = || Target::new("http://127.0.0.1:1".parse().expect("a URL"));
        Config {
            listen: ([127, 0, 0, 1], 0).into(),
            workers: std::num::NonZeroUsize::new(workers).expect("some"),
            connections: Config::CONNECTIONS,
            others: ConnectionLimits::default(),
            shadowing: true,
            policy: Policy::new(target(), target()),
        }
    }

    #[test]
    fn many_descriptors_hold_nobody_back() {
        for descriptors in [u64::MAX, 1 << 20, 64 * 1024] {
            let config = config(8);
            let shares = Shares::of(descriptors, &config);
            assert_eq!(shares.clients, Config::CONNECTIONS);
            assert!(shares.others.candidate > 4 * config.policy.limits.in_flight);
            assert!(shares.others.idle >= 256);
            assert_eq!(shares.low(&config), None);
        }
    }

    #[test]
    fn with_few_descriptors_clients_leave_room_for_what_they_cause_and_shadows_get_the_rest() {
        for (descriptors, workers, least) in [
            (256, 2, 32),
            (1024, 1, 200),
            (1024, 8, 200),
            (4096, 4, 1000),
        ] {
            let config = config(workers);
            let shares = Shares::of(descriptors, &config);
            let ConnectionLimits {
                streams,
                candidate,
                idle,
            } = shares.others;
            assert!(shares.clients >= least, "{shares:?}");
            assert!(candidate >= 8, "{shares:?}");
            let used = 2 * shares.clients + streams + idle * (workers - 1) + candidate;
            let fixed =
                PROCESS.min(descriptors as usize / 4) + WORKER * workers + ADMIN * shares.admin;
            assert!(
                used + fixed <= descriptors as usize + 2 * workers,
                "{shares:?}"
            );
            let low = shares.low(&config).expect("a word");
            assert!(low.contains("ulimit -n"), "{low}");
        }
    }

    #[test]
    fn hardly_any_descriptors_are_no_reason_to_serve_nobody() {
        let shares = Shares::of(64, &config(2));
        assert_eq!((shares.clients, shares.others.candidate), (FEWEST, 1));
    }
}
