//! Where a service says what: the names that the usual clients of Prometheus use, and the user's own.
//!
//! The first name of a subject that a page has is taken. What a user says comes before all others, and then they are not looked at:
//! a name that is not there is a mistake worth telling, and not a reason to measure something else.

use std::collections::{BTreeMap, BTreeSet};

use parity_schemas::metrics::Subject;

use super::labels::Labels;

/// What stands behind the name of a family on a page.
pub(super) const ENDINGS: [&str; 5] = ["", "_bucket", "_count", "_max", "_sum"];
/// What `OpenMetrics` leaves out of the name of a counter where it says its type.
pub(super) const TOTAL: &str = "_total";

/// A metric, of which labels are demanded or ruled out, and its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// As on the page, without `_bucket`, `_sum` and `_count`.
    pub name: String,
    /// Label, whether its value is the one that is meant or one that is not, and the value.
    pub labels: Vec<(String, bool, String)>,
    /// Its unit in seconds or bytes.
    pub unit: f64,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SourceError {
    /// It has another form.
    #[error("`{0}` is no metric; write `name`, `name{{label=\"value\"}}`, or `name in ms`")]
    Form(String),
    /// Its unit cannot be seen.
    #[error(
        "the unit of `{0}` cannot be seen from its name; write `{0} in ms`, or in s, us, ns, B, KiB, MiB"
    )]
    Unit(String),
    /// Its unit is none.
    #[error("`{0}` is no unit; those known are s, ms, us, ns, min, B, KiB, MiB, GiB")]
    UnknownUnit(String),
}

impl Source {
    /// Reads `name`, `name{label="value",other!="value"}`, each with ` in UNIT` behind it if the name does not tell the unit.
    pub fn read(text: &str, subject: Subject) -> Result<Self, SourceError> {
        let form = || SourceError::Form(text.to_owned());
        let (metric, unit) = match text.rsplit_once(" in ") {
            Some((metric, unit)) if !unit.contains('"') => (metric, Some(unit.trim())),
            _ => (text, None),
        };
        let (name, labels) = match metric.trim().split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').ok_or_else(form)?),
            None => (metric.trim(), ""),
        };
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || "_:.".contains(character);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(form());
        }
        let labels = matchers(labels).ok_or_else(form)?;
        let unit = match unit {
            Some(unit) => unit_of(unit).ok_or_else(|| SourceError::UnknownUnit(unit.to_owned()))?,
            None if subject.has_unit() => {
                unit_in(name).ok_or_else(|| SourceError::Unit(name.to_owned()))?
            }
            None => 1.0,
        };
        Ok(Self {
            name: name.to_owned(),
            labels,
            unit,
        })
    }

    /// Whether a sample is meant.
    pub(super) fn is_met(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|(name, is_equal, value)| {
            let own = labels.get(name).unwrap_or_default();
            (own == value) == *is_equal
        })
    }
}

fn matchers(mut rest: &str) -> Option<Vec<(String, bool, String)>> {
    let mut matchers = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if rest.is_empty() {
            return Some(matchers);
        }
        let (name, behind) = rest.split_once('=')?;
        let (name, is_equal) = match name.strip_suffix('!') {
            Some(name) => (name, false),
            None => (name, true),
        };
        let (value, behind) = behind.trim_start().strip_prefix('"')?.split_once('"')?;
        matchers.push((name.trim().to_owned(), is_equal, value.to_owned()));
        rest = behind;
    }
}

/// A unit in seconds or bytes.
pub(super) fn unit_of(word: &str) -> Option<f64> {
    Some(match word {
        "s" | "B" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    })
}

/// The unit that a name says by its ending.
fn unit_in(name: &str) -> Option<f64> {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let endings: [(&str, f64); 9] = [
        ("_milliseconds", 1e-3),
        ("_microseconds", 1e-6),
        ("_nanoseconds", 1e-9),
        ("_seconds", 1.0),
        ("_ms", 1e-3),
        ("_us", 1e-6),
        ("_ns", 1e-9),
        ("_minutes", 60.0),
        ("_bytes", 1.0),
    ];
    let mut endings = endings.iter();
    let found = endings.find(|(ending, _)| name.ends_with(ending));
    found.map(|(_, unit)| *unit)
}

/// What the clients of Go, Rust, Node and the JVM, and frameworks on them, call it. The specific ones come first: a page may have
/// a general one of something else besides.
const USUAL: &[(Subject, &[&str])] = &[
    (
        Subject::Latency,
        &[
            "http_server_request_duration_seconds",
            "http_request_duration_seconds",
            "http_requests_duration_seconds",
            "axum_http_requests_duration_seconds",
            "http_server_requests_seconds",
            "http_server_requests_duration_seconds",
            "http_server_duration_milliseconds",
            "http_request_duration_milliseconds",
            "http_request_duration_ms",
            "http_response_time_seconds",
            "request_duration_seconds",
            "grpc_server_handling_seconds",
        ],
    ),
    (
        Subject::Requests,
        &[
            "http_server_requests_total",
            "http_requests_total",
            "axum_http_requests_total",
            "http_request_total",
            "http_request_count_total",
            "requests_total",
            "grpc_server_handled_total",
        ],
    ),
    (
        Subject::Cpu,
        &["process_cpu_seconds_total", "process_cpu_time_ns_total"],
    ),
    (
        Subject::Memory,
        &[
            "process_resident_memory_bytes",
            "process_memory_usage_bytes",
        ],
    ),
    (
        Subject::Heap,
        &[
            "go_memstats_heap_inuse_bytes",
            "nodejs_heap_size_used_bytes",
            "jvm_memory_used_bytes{area=\"heap\"}",
        ],
    ),
    (
        Subject::Pauses,
        &[
            "go_gc_duration_seconds",
            "nodejs_gc_duration_seconds",
            "jvm_gc_pause_seconds",
            "jvm_gc_collection_seconds",
        ],
    ),
    (
        Subject::Descriptors,
        &["process_open_fds", "process_files_open_files"],
    ),
    (
        Subject::Threads,
        &[
            "process_threads",
            "go_threads",
            "jvm_threads_live_threads",
            "jvm_threads_current",
        ],
    ),
    (Subject::Start, &["process_start_time_seconds"]),
];

/// Where one service says what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    own: BTreeMap<Subject, Source>,
}

impl Names {
    /// Says where something is; what was said before of it no longer counts.
    pub fn set(&mut self, subject: Subject, source: Source) {
        self.own.insert(subject, source);
    }

    /// The sources in which it is looked for, the first one first.
    pub(super) fn of(&self, subject: Subject) -> Vec<Source> {
        if let Some(own) = self.own.get(&subject) {
            return vec![own.clone()];
        }
        let mut usual = USUAL.iter().filter(|(of, _)| *of == subject);
        let names = usual.next().map_or(&[] as &[&str], |(_, names)| names);
        let sources = names
            .iter()
            .filter_map(|name| Source::read(name, subject).ok());
        sources.collect()
    }

    /// Every name that a page may have of what is looked for, of samples and of families.
    pub(super) fn wanted(&self) -> BTreeSet<String> {
        self.on_pages(Subject::ALL)
    }

    /// Those of them that tell of these subjects.
    pub(super) fn on_pages(&self, subjects: &[Subject]) -> BTreeSet<String> {
        let sources = subjects.iter().flat_map(|subject| self.of(*subject));
        let names = sources.flat_map(|source| {
            let family = source.name.strip_suffix(TOTAL).map(str::to_owned);
            let samples = ENDINGS.map(|ending| format!("{}{ending}", source.name));
            samples.into_iter().chain(family)
        });
        names.collect()
    }

    /// Whether the user has said where it is.
    pub(super) fn is_own(&self, subject: Subject) -> bool {
        self.own.contains_key(&subject)
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn every_usual_name_can_be_read_and_every_subject_has_one() {
        for (subject, names) in USUAL {
            for name in *names {
                Source::read(name, *subject).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        for subject in Subject::ALL {
            assert!(!Names::default().of(*subject).is_empty(), "{subject}");
        }
    }

    #[test]
    fn every_usual_name_is_in_the_documentation() {
        let page = include_str!("../../../docs/metrics.md");
        for (subject, names) in USUAL {
            let row = format!("\n| `{subject}` |");
            let row = page.split(&row).nth(1).unwrap_or_default();
            let row = row.lines().next().unwrap_or_default();
            let told = row.matches('`').count() / 2;
            assert!(
                names.iter().all(|name| row.contains(&format!("`{name}`"))),
                "{subject}: {row}"
            );
            assert_eq!(told, names.len(), "{subject}: {row}");
        }
    }

    #[test]
    fn labels_and_units_are_read() {
        let source =
            Source::read(r#"took{route="/a b",code!="404"} in ms"#, Subject::Latency).unwrap();
        assert_eq!((source.name.as_str(), source.unit), ("took", 1e-3));
        let labels = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(one, two)| ((*one).to_owned(), (*two).to_owned()));
            Labels::of(pairs.collect()).unwrap()
        };
        assert!(source.is_met(&labels(&[("route", "/a b"), ("code", "200")])));
        assert!(source.is_met(&labels(&[("route", "/a b")])));
        assert!(!source.is_met(&labels(&[("route", "/a b"), ("code", "404")])));
        assert!(!source.is_met(&labels(&[("code", "200")])));
        for (text, unit) in [
            ("a_seconds", 1.0),
            ("a_ms", 1e-3),
            ("a_ns_total", 1e-9),
            ("a in us", 1e-6),
        ] {
            assert_eq!(
                Source::read(text, Subject::Latency).unwrap().unit,
                unit,
                "{text}"
            );
        }
        assert_eq!(Source::read("a", Subject::Requests).unwrap().unit, 1.0);
        for text in [
            "",
            "a{",
            "a{x}",
            "a{x=1}",
            "a b",
            "{x=\"1\"}",
            "a_seconds{x=\"1}",
        ] {
            assert_eq!(
                Source::read(text, Subject::Latency),
                Err(SourceError::Form(text.to_owned())),
                "{text}"
            );
        }
        assert_eq!(
            Source::read("a", Subject::Latency),
            Err(SourceError::Unit("a".to_owned()))
        );
        assert_eq!(
            Source::read("a in weeks", Subject::Latency),
            Err(SourceError::UnknownUnit("weeks".to_owned()))
        );
    }
}
