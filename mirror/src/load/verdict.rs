//! Whether a service held a rate, broke, or cannot be told because the generator was the limit.
//!
//! Errors of what was sent are the service's, however late the generator is. What could not be sent from here is not: that no port was free,
//! and that no place was while the generator was late itself, because then it sends what it has missed at once. A latency above the limit is the service's as far as the generator
//! cannot have added it: it is late twice, when it sends and when it reads, so twice its own p99 is taken off first. What is left
//! unclear is never a rate that was held. But a latency within the limit is one: it counts from when requests were due, so what the
//! generator was late is in it already.

use std::fmt::Write as _;
use std::time::Duration;

use super::run::{Failure, Run};

/// Below this, a p99 is the latency of one request.
pub const LEAST_REQUESTS: u64 = 100;
/// A generator that is late by more than this share of the limit, at its own p99, measures itself.
const MAX_LATENESS: f64 = 0.1;
/// But timers and schedulers of a healthy machine are late by this.
const USUAL_LATENESS: Duration = Duration::from_millis(2);

/// What a service must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demands {
    /// At most, from when a request was due.
    pub p99: Duration,
    /// At most, a share of the requests.
    pub errors: f64,
    /// At least, a share: whole answers that come in a time, by the requests that are due in it. Below it the service is saturated.
    pub answered: f64,
    /// Requests that may be unanswered at once.
    pub places: usize,
}

/// What is said of a run. The text is why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The service held the rate.
    Held,
    /// It did not.
    Broken(String),
    /// The generator could not send or read any faster, or had no room.
    Generator(String),
    /// Too little was measured.
    Unclear(String),
}

impl Demands {
    fn has_room(&self, rate: u32) -> bool {
        self.places as f64 >= f64::from(rate) * self.p99.as_secs_f64()
    }

    /// Whether places that were full are the service's fault: with enough of them, and a generator that is in time, one that keeps up never
    /// fills them.
    fn is_of_service(&self, run: &Run, rate: u32) -> bool {
        self.has_room(rate) && !self.is_late(run) && run.unsent == 0
    }

    /// Which share of what was sent failed, of 1. What could not be sent is the service's only if the generator was not the limit.
    pub fn share_of_errors(&self, run: &Run, rate: u32) -> f64 {
        let [errors, sent] = if self.is_of_service(run, rate) {
            let no_place = run.failures_of(Failure::NoPlace);
            [
                run.errors() + no_place,
                run.due - run.failures_of(Failure::NoPort),
            ]
        } else {
            [run.errors(), run.due - run.not_sent()]
        };
        errors as f64 / sent.max(1) as f64
    }

    /// Judges a run at `rate` requests a second.
    pub fn judge(&self, run: &Run, rate: u32) -> Verdict {
        if run.is_given_up {
            return Verdict::Broken(format!("nothing answers: {}", failures(run)));
        }
        if run.is_cut {
            return Verdict::Unclear("ended before its time".to_owned());
        }
        if run.due == 0 {
            return if run.unsent > 0 {
                Verdict::Generator(unsent(run))
            } else {
                Verdict::Unclear("no request was due".to_owned())
            };
        }
        let has_room = self.has_room(rate);
        let is_of_service = self.is_of_service(run, rate);
        let share = self.share_of_errors(run, rate);
        if share > self.errors {
            return Verdict::Broken(format!(
                "{} of the requests failed, {} are allowed: {}",
                percent(share),
                percent(self.errors),
                failures(run)
            ));
        }
        let own = self.limit_of_generator(run, rate, has_room, is_of_service);
        let late = run.lateness(0.99).unwrap_or_default();
        let too_late = || self.is_late(run).then(|| self.lateness_told(run));
        if let Some(p99) = run.latency(0.99).filter(|p99| *p99 > self.p99) {
            if p99.saturating_sub(2 * late) > self.p99 {
                return Verdict::Broken(format!(
                    "p99 is {}, {} is allowed",
                    millis(p99),
                    millis(self.p99)
                ));
            }
            return Verdict::Generator(own.or_else(too_late).unwrap_or_else(|| {
                format!(
                    "p99 is {}, {} is allowed, and the generator may have added {}, twice its own lateness",
                    millis(p99),
                    millis(self.p99),
                    millis(2 * late)
                )
            }));
        }
        if let Some(own) = own {
            return Verdict::Generator(own);
        }
        let answered = run.in_time as f64 / run.due as f64;
        if answered < self.answered {
            if let Some(late) = too_late() {
                return Verdict::Generator(late);
            }
            return Verdict::Broken(format!(
                "saturated: answers came at {} of the rate, {} is demanded",
                percent(answered),
                percent(self.answered)
            ));
        }
        if run.due < LEAST_REQUESTS {
            return Verdict::Unclear(format!(
                "only {} requests were due, and a p99 needs {LEAST_REQUESTS}",
                run.due
            ));
        }
        Verdict::Held
    }

    /// Why the generator was the limit, if it was.
    fn limit_of_generator(
        &self,
        run: &Run,
        rate: u32,
        has_room: bool,
        is_of_service: bool,
    ) -> Option<String> {
        let late = run.lateness(0.99).unwrap_or_default();
        let [no_place, no_port] =
            [Failure::NoPlace, Failure::NoPort].map(|failure| run.failures_of(failure));
        if run.unsent > 0 {
            return Some(unsent(run));
        }
        if no_port > 0 {
            return Some(format!(
                "{no_port} requests could not be sent from here: no descriptor or no port was free"
            ));
        }
        if no_place > 0 && !has_room {
            return Some(format!(
                "{no_place} requests had no place: at {rate}/s and {} there must be room for {:.0} at once, and there is for {}",
                millis(self.p99),
                f64::from(rate) * self.p99.as_secs_f64(),
                self.places
            ));
        }
        if no_place > 0 && !is_of_service {
            return Some(format!(
                "{no_place} requests had no place, because the generator itself was late by {} at its p99 and sent them together",
                millis(late)
            ));
        }
        None
    }

    /// How late the generator was, by which rule that is too much, and what to do.
    fn lateness_told(&self, run: &Run) -> String {
        format!(
            "the generator itself was late by {} at its p99, and from {} on (a tenth of the p99 limit, {} at least) a service is not blamed for what it adds; give it a core of its own or a machine that is less busy, or a higher --p99",
            millis(run.lateness(0.99).unwrap_or_default()),
            millis(self.most_lateness()),
            millis(USUAL_LATENESS)
        )
    }

    /// A generator that is later measures itself.
    fn most_lateness(&self) -> Duration {
        self.p99.mul_f64(MAX_LATENESS).max(USUAL_LATENESS)
    }

    /// Whether the generator was late by more than a healthy machine makes it.
    fn is_late(&self, run: &Run) -> bool {
        let late = run.lateness(0.99).unwrap_or_default();
        late > self.most_lateness()
    }
}

fn unsent(run: &Run) -> String {
    let all = run.due + run.unsent;
    format!("{} of {all} requests were not sent in time", run.unsent)
}

/// Failures and errors by kind, the most frequent first.
fn failures(run: &Run) -> String {
    let mut counts: Vec<(u64, String)> = Failure::ALL
        .iter()
        .map(|failure| (run.failures_of(*failure), failure.as_str().to_owned()))
        .collect();
    counts.push((run.classes[5], "5xx".to_owned()));
    counts.push((run.throttled, "429".to_owned()));
    counts.retain(|(count, _)| *count > 0);
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut text = String::new();
    for (count, word) in counts {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{comma}{count} {word}");
    }
    text
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn millis(time: Duration) -> String {
    let text = format!("{:.1}", time.as_secs_f64() * 1_000.0);
    format!("{} ms", text.trim_end_matches(".0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMANDS: Demands = Demands {
        p99: Duration::from_millis(50),
        errors: 0.01,
        answered: 0.95,
        places: 1_000,
    };

    /// A thousand answers of so many milliseconds, by a generator that was late by so many.
    fn run(latency: u64, lateness: u64) -> Run {
        let mut run = Run {
            due: 1_000,
            in_time: 1_000,
            ..Run::default()
        };
        for _ in 0..1_000 {
            run.answered(200, Duration::from_millis(latency));
            run.was_late(Duration::from_millis(lateness));
        }
        run
    }

    fn judged(run: &Run) -> (&'static str, String) {
        match DEMANDS.judge(run, 1_000) {
            Verdict::Held => ("held", String::new()),
            Verdict::Broken(why) => ("broken", why),
            Verdict::Generator(why) => ("generator", why),
            Verdict::Unclear(why) => ("unclear", why),
        }
    }

    #[test]
    fn a_late_generator_excuses_no_failure_and_passes_nothing() {
        for (latency, lateness, expected) in [
            (10, 0, "held"),
            (10, 4, "held"),
            // Whatever it added is in what was measured.
            (10, 6, "held"),
            (10, 49, "held"),
            (60, 0, "broken"),
            (60, 4, "broken"),
            (60, 6, "generator"),
            (500, 100, "broken"),
            (200, 100, "generator"),
        ] {
            let (word, why) = judged(&run(latency, lateness));
            assert_eq!(word, expected, "{latency} {lateness}: {why}");
        }
        let mut failing = run(10, 1_000);
        failing.classes[2] -= 20;
        failing.classes[5] += 20;
        let expected = "2 % of the requests failed, 1 % are allowed: 20 5xx";
        assert_eq!(judged(&failing), ("broken", expected.to_owned()));
        failing.unsent = 500;
        assert_eq!(judged(&failing).0, "broken");
        // The rule is told with its number.
        let (_, why) = judged(&run(60, 6));
        let told = "the generator itself was late by 6 ms at its p99, and from 5 ms on";
        assert!(why.starts_with(told), "{why}");
        // Too few answers are no fault of the service then.
        let mut behind = run(10, 6);
        behind.in_time = 900;
        assert_eq!(judged(&behind).0, "generator");
    }

    #[test]
    fn answers_that_fall_behind_and_places_that_are_full_are_saturation() {
        let mut behind = run(10, 0);
        behind.in_time = 940;
        let (word, why) = judged(&behind);
        assert_eq!(word, "broken");
        assert!(why.starts_with("saturated: answers came at 94 %"), "{why}");
        let mut full = run(10, 0);
        full.failures[Failure::NoPlace as usize] = 100;
        full.due += 100;
        assert_eq!(judged(&full).0, "broken");
        // With too few places for the rate it is no fault of the service.
        let few = Demands {
            places: 10,
            ..DEMANDS
        };
        assert!(matches!(few.judge(&full, 1_000), Verdict::Generator(_)));
        let mut unsent = run(10, 0);
        unsent.unsent = 1;
        assert_eq!(judged(&unsent).0, "generator");
    }

    #[test]
    fn what_a_late_generator_could_not_send_is_no_failure_of_the_service() {
        // A burst after a pause of the generator: half had no place.
        let mut burst = run(10, 6);
        burst.due += 1_000;
        burst.in_time = 1_900;
        burst.failures[Failure::NoPlace as usize] = 1_000;
        let (word, why) = judged(&burst);
        assert_eq!(word, "generator", "{why}");
        assert!(
            why.starts_with("1000 requests had no place, because the generator"),
            "{why}"
        );
        // In time, it is the service that fills the places.
        let mut full = run(10, 0);
        full.due += 1_000;
        full.failures[Failure::NoPlace as usize] = 1_000;
        assert_eq!(judged(&full).0, "broken");
        // Without ports nothing was sent, and what was sent and failed stays the share of what was sent.
        let mut ports = run(10, 0);
        ports.due += 9_000;
        ports.failures[Failure::NoPort as usize] = 9_000;
        assert_eq!(judged(&ports).0, "generator");
        ports.classes[2] -= 50;
        ports.classes[5] += 50;
        let (word, why) = judged(&ports);
        assert_eq!(word, "broken");
        assert!(why.starts_with("5 % of the requests failed"), "{why}");
    }

    #[test]
    fn too_little_is_no_rate_that_was_held() {
        let few = Run {
            due: 50,
            in_time: 50,
            ..Run::default()
        };
        assert_eq!(judged(&few).0, "unclear");
        assert_eq!(judged(&Run::default()).0, "unclear");
        let mut cut = run(10, 0);
        cut.is_cut = true;
        assert_eq!(judged(&cut).0, "unclear");
        cut.is_given_up = true;
        cut.failures[Failure::Refused as usize] = 30;
        let expected = "nothing answers: 30 refused";
        assert_eq!(judged(&cut), ("broken", expected.to_owned()));
    }
}
