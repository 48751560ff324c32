//! A report with its decision as JUnit XML, which CI servers show beside the results of other tests.
//!
//! One case is a route, never a request: a server lists some thousands of cases, and a name that comes twice is dropped. A case
//! before them, `decision`, is red whenever the gate says fail, so that nothing is lost which belongs to no route: a latency, a
//! limit on all requests, a record that is not complete. Undecided is `skipped`, because it is no failure, unless something
//! broke: the exit code decides, not the file.
//!
//! *Captured text is hostile here, too.* The template escapes what is markup; what XML 1.0 does not allow at all, such as most
//! control characters, is spelt out before ([`visible`]). Each line of a case begins with a sign of ours, so that a log that
//! shows the file obeys nothing in it.
//!
//! *It ends in time*: GitLab ignores a file of 30 MB. What a route differs in is left out first, then whole routes, the best
//! first to go; the first case says so.

use askama::Template;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use crate::view::words::{grouped, version};
use crate::view::{Case, CaseState, Cases, Decided};

/// Longest file: GitLab takes less than 30 MB, and takes megabytes for what they are, too.
const MOST_BYTES: usize = 25_000_000;
/// Up to here, cases have what they differ in. The rest is for the names of further routes.
const WITH_DETAILS: usize = 18_000_000;
/// Instances named in a property.
const MAX_INSTANCES: usize = 20;
/// The program that wrote it.
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));

#[derive(Template)]
#[template(path = "junit.xml")]
struct Head<'a> {
    suite: &'a str,
    sums: &'a Sums,
    time: String,
    timestamp: String,
    properties: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "junit_case.xml")]
struct OneCase<'a> {
    suite: &'a str,
    name: &'a str,
    time: String,
    state: CaseState,
    broken: &'static str,
    told: &'a str,
    content: &'a str,
}

/// How many cases there are, by what became of them.
#[derive(Default)]
struct Sums {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

impl Sums {
    fn add(&mut self, state: CaseState) {
        self.tests += 1;
        match state {
            CaseState::Passed => {}
            CaseState::Differs => self.failures += 1,
            CaseState::Broken => self.errors += 1,
            CaseState::Open => self.skipped += 1,
        }
    }
}

/// The whole document.
pub fn junit(decided: &Decided) -> String {
    of(decided, (WITH_DETAILS, MOST_BYTES))
}

fn of(decided: &Decided, (with_details, most): (usize, usize)) -> String {
    let cases = Cases::of(decided);
    let suite = visible(&format!("parity.{}", decided.decision.migration));
    let (decision, routes) = cases
        .all
        .split_first()
        .expect("the first case is that of the decision");
    let mut sums = Sums::default();
    let mut body = String::new();
    let (mut short, mut left_out) = (0_u64, 0_u64);
    for case in routes {
        let mut text = String::new();
        if short == 0 {
            text = one(&suite, case, &cases.lines(case));
        }
        if short > 0 || body.len() + text.len() > with_details {
            short += 1;
            text = one(&suite, case, &[]);
        }
        if left_out > 0 || body.len() + text.len() > most {
            left_out += 1;
            continue;
        }
        sums.add(case.state);
        body.push_str(&text);
    }
    let mut lines = cases.lines(decision);
    if short > 0 {
        lines.push(format!(
            "- Too long for JUnit: what differs is left out of the last {} routes, and {} of them are left out as a whole; a \
             report as html or json has more",
            grouped(short),
            grouped(left_out)
        ));
    }
    sums.add(decision.state);
    let head = Head {
        suite: &suite,
        sums: &sums,
        time: window(decided),
        timestamp: timestamp(decided),
        properties: properties(decided),
    };
    let mut out = drawn(&head);
    out.push_str(&one(&suite, decision, &lines));
    out.push_str(&body);
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

fn one(suite: &str, case: &Case<'_>, lines: &[String]) -> String {
    let told = visible(&case.told);
    let mut content = told.clone();
    for line in lines {
        content.push('\n');
        content.push_str(&visible(line));
    }
    drawn(&OneCase {
        suite,
        name: &case.name,
        time: seconds(case.micros.unwrap_or_default()),
        state: case.state,
        broken: if case.is_of_route() {
            "candidate_failed"
        } else {
            "incomplete"
        },
        told: &told,
        content: &content,
    })
}

fn drawn(part: &impl Template) -> String {
    // Writing to a String cannot fail, and no value of ours has a Display that does.
    let mut text = part.render().unwrap_or_default();
    text.push('\n');
    text
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// For how long requests came.
fn window(decided: &Decided) -> String {
    let length = decided
        .report
        .window
        .map(|window| window.to.as_micros() - window.from.as_micros());
    seconds(
        length
            .and_then(|length| u64::try_from(length).ok())
            .unwrap_or_default(),
    )
}

/// When they began to come, as readers of JUnit have it: to the second, in UTC, without a zone.
fn timestamp(decided: &Decided) -> String {
    let began: Timestamp = decided
        .report
        .window
        .map_or(decided.decision.time, |window| window.from);
    let text = began.to_string();
    text.split(['.', 'Z']).next().unwrap_or_default().to_owned()
}

fn properties(decided: &Decided) -> Vec<(&'static str, String)> {
    let Decided {
        report, decision, ..
    } = decided;
    let evidence = decision.evidence.as_ref();
    let mut properties = vec![
        ("program", PROGRAM.to_owned()),
        ("migration", visible(&decision.migration)),
        ("outcome", decision.outcome.to_string()),
        ("decision", decision.decision_id.to_string()),
        ("decided", decision.time.to_string()),
        ("confidence", decision.thresholds.confidence.to_string()),
        (
            "max_mismatch_rate",
            decision.thresholds.max_mismatch_rate.to_string(),
        ),
    ];
    if let Some(evidence) = evidence {
        let instances: Vec<&str> = evidence
            .instances
            .iter()
            .take(MAX_INSTANCES)
            .map(String::as_str)
            .collect();
        properties.extend([
            ("legacy_version", version(&evidence.legacy_version)),
            ("candidate_version", version(&evidence.candidate_version)),
            ("rules_hash", visible(&evidence.rules_hash)),
            ("from", evidence.from.to_string()),
            ("to", evidence.to.to_string()),
            ("instances", visible(&instances.join(", "))),
            ("received", report.counts.received.to_string()),
            ("compared", decision.total.compared.to_string()),
            ("differing", decision.total.differing.to_string()),
        ]);
    }
    properties
}

#[cfg(test)]
mod tests;
