//! File descriptors: raised to what the system allows, and shared out so that they cannot run out.
//!
//! Every client connection may need one to the legacy besides its own, as many requests of HTTP/2 one each, and every
//! shadow in flight one to the candidate. A process that runs out of them accepts nobody, so it takes fewer clients instead.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Idle connections to both services, the store, the spool, the admin port, the log.
const SPARE: u64 = 640;

/// Raises the limit of this process to the highest that it may have, and returns it.
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

/// How many clients may be connected at a time with so many descriptors, of the `wanted` ones.
pub(crate) fn clients(descriptors: u64, in_flight: usize, wanted: usize) -> usize {
    let left = descriptors.saturating_sub(SPARE + in_flight as u64) / 3;
    // Too few for anything is no reason to serve nobody.
    usize::try_from(left)
        .unwrap_or(usize::MAX)
        .clamp(16, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_leave_room_for_what_they_cause() {
        assert_eq!(clients(1 << 20, 1024, 10_000), 10_000);
        assert_eq!(clients(u64::MAX, 1024, 10_000), 10_000);
        assert_eq!(clients(4096, 1024, 10_000), 810);
        assert_eq!(clients(1024, 1024, 10_000), 16);
    }
}
