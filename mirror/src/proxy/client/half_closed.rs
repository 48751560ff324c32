//! How long a client that has closed its sending side keeps its request alive.
//!
//! A client may close its sending side and still read its answer. On TCP it looks like one that has gone, until something
//! is sent to it. Most have gone: browsers, load balancers and programs whose time-out is over close both sides. nginx and
//! Go take every one of them as gone, at once. Here an answer that comes soon is still delivered; then the request is given
//! up as `client_aborted`, because each holds a connection to the legacy, and a route that hangs would soon hold all.
//!
//! The sweep measures the time, so that a request costs nothing.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::proxy::socket_state::SocketState;

/// How long such a client waits for the first or the next bytes of its answer: longer than a request should take, and a
/// fraction of the time-outs of load balancers, so that what clients have given up does not pile up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while other clients wait for a slot or a descriptor: enough for a usual answer.
const SCARCE_PATIENCE: Duration = Duration::from_millis(250);

/// Since when a client with a request in progress has been seen half-closed, with the number of writes at that time.
#[derive(Default)]
pub(super) struct HalfClosed(Cell<Option<(Instant, u64)>>);

impl HalfClosed {
    /// Since when it has got nothing, if that is long enough to give its request up.
    pub(super) fn has_waited(
        &self,
        socket: &SocketState,
        now: Instant,
        scarce: bool,
    ) -> Option<Instant> {
        let writes = socket.writes_half_closed()?;
        let since = match self.0.get() {
            Some((since, then)) if then == writes => since,
            _ => {
                self.0.set(Some((now, writes)));
                now
            }
        };
        let patience = if scarce { SCARCE_PATIENCE } else { PATIENCE };
        (now.saturating_duration_since(since) >= patience).then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_a_half_closed_client_that_gets_nothing_is_given_up() {
        let (socket, waits) = (SocketState::default(), HalfClosed::default());
        let begin = Instant::now();
        let at = |seconds: u32, scarce| waits.has_waited(&socket, begin + SECOND * seconds, scarce);
        assert_eq!((at(0, false), at(100, true)), (None, None), "it is open");
        socket.set_half_closed();
        assert_eq!(at(100, false), None);
        assert_eq!(at(101, false), None);
        assert_eq!(at(101, true), Some(begin + SECOND * 100));
        socket.wrote(&Poll::Ready(()));
        assert_eq!(at(106, false), None, "it gets its answer");
        assert_eq!(at(110, false), None);
        assert_eq!(at(111, false), Some(begin + SECOND * 106));
    }

    #[test]
    fn one_that_does_not_read_is_left_to_the_time_out_for_that() {
        let (socket, waits) = (SocketState::default(), HalfClosed::default());
        socket.set_half_closed();
        socket.wrote(&Poll::<()>::Pending);
        let begin = Instant::now();
        assert_eq!(waits.has_waited(&socket, begin, true), None);
        assert_eq!(waits.has_waited(&socket, begin + SECOND * 50, true), None);
    }
}
