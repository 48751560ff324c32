//! Waits for a point in time more precisely than the runtime's timer, which has milliseconds: at 5,000 requests a second that would
//! be bursts of five, and a lateness that a fast service does not have.

use std::io;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(super) use timer::Ticker;

#[cfg(target_os = "linux")]
mod timer {
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    use super::{Duration, io};

    /// A timer of the system, waited for as a socket is.
    pub(in crate::load) struct Ticker(AsyncFd<OwnedFd>);

    impl Ticker {
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe; the descriptor of an OwnedFd stays the same, which is all that it is about"
        )]
        pub(in crate::load) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self(AsyncFd::new(timer)?))
        }

        /// Waits for that long. Waiting again sets the timer anew.
        pub(in crate::load) async fn wait(&self, time: Duration) -> io::Result<()> {
            let spec = |time: Duration| Timespec {
                tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            };
            // Zero would never come.
            let first = spec(time.max(Duration::from_nanos(1)));
            let once = Itimerspec {
                it_interval: spec(Duration::ZERO),
                it_value: first,
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            loop {
                let mut ready = self.0.readable().await?;
                let mut times = [0; 8];
                let read = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut times)?));
                if let Ok(read) = read {
                    // It rings once, so nothing is lost; otherwise the next wait would begin with a read of nothing.
                    ready.clear_ready();
                    return read.map(drop);
                }
            }
        }
    }
}

/// The runtime's timer, where the system has no other: its lateness is measured as any other.
#[cfg(not(target_os = "linux"))]
pub(super) struct Ticker;

#[cfg(not(target_os = "linux"))]
impl Ticker {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn wait(&self, time: Duration) -> io::Result<()> {
        tokio::time::sleep(time).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn it_waits_as_long_as_it_is_told_and_again() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let ticker = Ticker::new().expect("a timer");
            for micros in [0, 300, 2_000] {
                let (begun, time) = (Instant::now(), Duration::from_micros(micros));
                ticker.wait(time).await.expect("it comes");
                assert!(begun.elapsed() >= time);
            }
        });
    }
}
