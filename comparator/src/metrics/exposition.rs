//! What a service says of itself on its metrics page: the text format of Prometheus and `OpenMetrics`, read line by line.
//!
//! A page comes from a service, so it may be anything. A line that cannot be read is counted and told, and costs only what rests on a
//! metric that it [names](super::passed).
//! Comments, help, timestamps and exemplars are passed over: nothing here needs them. Of the metrics only those are kept that somebody
//! wants, because a page may have a hundred times as many.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::edges::contradictions;
use super::labels::{Labels, Samples, Shared, told};
use super::passed::{OfPage, Passed, Why};

/// Lines that are told of those that cannot be read: who sees three knows what the page is.
const TOLD: usize = 3;
/// Samples of wanted metrics on a page: 500 routes with five statuses and twenty buckets each. More are no metrics but a mistake.
const SAMPLES: usize = 50_000;
/// Types of a family that are kept: who says two contradicts itself, and a third one says no more.
pub(super) const TYPES: usize = 2;
/// Bytes of the longest type that there is.
const TYPE_BYTES: usize = "gaugehistogram".len();

/// One page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Exposition {
    /// The samples of each name that is wanted.
    pub(super) samples: BTreeMap<String, Samples>,
    /// What each family that is wanted says it is, in the words of the page: `counter`, `gauge`, `histogram`, `summary`, `untyped`.
    pub(super) types: BTreeMap<String, BTreeSet<String>>,
    /// Lines with a sample, wanted or not.
    pub(super) read: u64,
    /// Lines that cannot be read.
    pub(super) unreadable: u64,
    /// The first of them: number, and what it says.
    pub(super) told: Vec<(usize, String)>,
    /// Lines of wanted metrics that say nothing that can be.
    pub(super) passed: OfPage,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// It says nothing.
    #[error("the page has no metrics: it is empty")]
    Empty,
    /// It is something else.
    #[error("that is no page of metrics, line {0} for example: {1}")]
    Other(usize, String),
    /// It says too much.
    #[error(
        "the page has over {SAMPLES} samples of what is measured; a label with a value for each request or user makes so many"
    )]
    TooMany,
    /// It was cut.
    #[error("the page is not whole: it is OpenMetrics, and its last line is not `# EOF`")]
    NoEnd,
    /// It goes on where it should have ended.
    #[error("the page goes on behind `# EOF`, where OpenMetrics ends, line {0}: {1}")]
    Behind(usize, String),
}

impl Exposition {
    /// Reads a page.
    pub(super) fn read(
        text: &str,
        is_wanted: &dyn Fn(&str) -> bool,
        labels: &mut Shared,
    ) -> Result<Self, PageError> {
        let mut page = Self::default();
        let mut kept = 0;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                page.comment(comment, is_wanted);
            } else if !line.is_empty() {
                let Some(sample) = sample(line) else {
                    page.refuse(index + 1, line);
                    page.pass_unread(index + 1, line, is_wanted);
                    continue;
                };
                page.read += 1;
                if !is_wanted(&sample.name) {
                    continue;
                }
                kept += 1;
                if kept > SAMPLES {
                    return Err(PageError::TooMany);
                }
                let of_name = page.samples.entry(sample.name.clone()).or_default();
                let own = labels.one(sample.labels);
                let mut why = Why::of(sample.value, &own);
                // The same one again has another number, and nobody knows which holds.
                match of_name.get(&own) {
                    Some(before) => {
                        if before.to_bits() != sample.value.to_bits() {
                            why = Some(Why::Again);
                        }
                        page.refuse(index + 1, line);
                    }
                    None => drop(of_name.insert(Arc::clone(&own), sample.value)),
                }
                if let Some(why) = why {
                    let passed = Passed {
                        why,
                        labels: Some(own),
                        number: index + 1,
                        line: told(line),
                    };
                    page.passed.entry(sample.name).or_default().push(passed);
                }
            }
        }
        for (name, lines) in contradictions(&page.samples, labels) {
            page.passed.entry(name).or_default().extend(lines);
        }
        match page.told.first() {
            _ if page.read > 0 => Ok(page),
            Some((number, line)) => Err(PageError::Other(*number, line.clone())),
            None => Err(PageError::Empty),
        }
    }

    /// How many samples are kept of it.
    pub(super) fn kept(&self) -> usize {
        self.samples.values().map(BTreeMap::len).sum()
    }

    fn comment(&mut self, comment: &str, is_wanted: &dyn Fn(&str) -> bool) {
        let mut words = comment.split_whitespace();
        if words.next() != Some("TYPE") {
            return;
        }
        if let (Some(family), Some(word)) = (words.next(), words.next()) {
            let family = family.trim_matches('"');
            if is_wanted(family) && word.len() <= TYPE_BYTES {
                let words = self.types.entry(family.to_owned()).or_default();
                if words.len() < TYPES {
                    words.insert(word.to_owned());
                }
            }
        }
    }

    fn refuse(&mut self, number: usize, line: &str) {
        self.unreadable += 1;
        if self.told.len() < TOLD {
            self.told.push((number, told(line)));
        }
    }

    /// A line that cannot be read is of each wanted metric whose name is anywhere in it: nobody knows what of it is wrong.
    fn pass_unread(&mut self, number: usize, line: &str, is_wanted: &dyn Fn(&str) -> bool) {
        let is_of_name =
            |character: char| character.is_ascii_alphanumeric() || "_:.".contains(character);
        let words = line.split(|character: char| !is_of_name(character));
        for name in words.filter(|word| !word.is_empty() && is_wanted(word)) {
            let of_name = self.passed.entry(name.to_owned()).or_default();
            // One is enough, whatever labels the others have.
            if of_name.iter().all(|passed| passed.labels.is_some()) {
                of_name.push(Passed {
                    why: Why::Unreadable,
                    labels: None,
                    number,
                    line: told(line),
                });
            }
        }
    }
}

/// One line.
struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

/// `name{label="value",…} number timestamp? # exemplar?`, or `{"name",label="value"} number`.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(|character: char| character == '{' || character.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let mut labels = Vec::new();
    let mut quoted = None;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('{') {
        Some(inside) => label_set(inside, &mut labels, &mut quoted)?,
        None => rest,
    };
    let name = match (is_name(name, true), quoted) {
        (true, None) => name.to_owned(),
        (false, Some(quoted)) if name.is_empty() => quoted,
        _ => return None,
    };
    let value = number(rest.split_whitespace().next()?)?;
    let labels = Labels::of(labels)?;
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// Reads labels up to the closing brace, and returns what is behind it. A quoted text without a value is the name of the metric.
fn label_set<'a>(
    mut rest: &'a str,
    labels: &mut Vec<(String, String)>,
    name: &mut Option<String>,
) -> Option<&'a str> {
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Some(behind);
        }
        let (label, behind) = if let Some(inside) = rest.strip_prefix('"') {
            quoted(inside)?
        } else {
            let end = rest.find(|c: char| c == '=' || c.is_whitespace())?;
            let (label, behind) = rest.split_at(end);
            is_name(label, false).then_some((label.to_owned(), behind))?
        };
        rest = behind.trim_start();
        if let Some(behind) = rest.strip_prefix('=') {
            let inside = behind.trim_start().strip_prefix('"')?;
            let (value, behind) = quoted(inside)?;
            labels.push((label, value));
            rest = behind.trim_start();
        } else if name.replace(label).is_some() {
            return None;
        }
        rest = match rest.strip_prefix(',') {
            Some(behind) => behind,
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

/// The text up to the closing quote, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut read = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((read, text.split_at(at + 1).1)),
            '\\' => match characters.next()?.1 {
                'n' => read.push('\n'),
                escaped @ ('"' | '\\') => read.push(escaped),
                other => {
                    read.push('\\');
                    read.push(other);
                }
            },
            _ => read.push(character),
        }
    }
    None
}

fn is_name(text: &str, of_metric: bool) -> bool {
    let mut bytes = text.bytes();
    let is_first =
        |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || (of_metric && byte == b':');
    bytes.next().is_some_and(is_first) && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit())
}

fn number(text: &str) -> Option<f64> {
    // Rust also reads `nan` and `infinity` in any case, and so do the readers of Prometheus.
    text.parse().ok()
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Exposition, PageError> {
        Exposition::read(text, &|_| true, &mut Shared::default())
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Labels::of(pairs.collect()).expect("names that differ")
    }

    #[test]
    fn both_formats_are_read() {
        let page = read(
            "# HELP http_requests_total Requests.\n# TYPE http_requests_total counter\n\
             http_requests_total{code=\"200\",method=\"get\"} 1027 1395066363000\n\
             http_requests_total { code = \"500\" , } 3\r\n\
             # TYPE a histogram\n\
             a_bucket{le=\"+Inf\"} 17 # {trace_id=\"x\"} 0.67 1520879607.789\n\
             a_sum 1.5e3\nnone NaN\nmost +Inf\nleast -Inf\n\
             {\"a.dotted\",x=\"1\"} 2\n\
             esc{path=\"C:\\\\D \\\"q\\\" \\n\"} 1\n# EOF\nbehind 1\n",
        )
        .unwrap();
        assert_eq!(page.unreadable, 0, "{:?}", page.told);
        assert_eq!((page.read, page.kept()), (10, 10));
        let of = |name: &str, pairs: &[(&str, &str)]| page.samples[name][&labels(pairs)];
        let requests = "http_requests_total";
        assert_eq!(of(requests, &[("code", "200"), ("method", "get")]), 1027.0);
        assert_eq!(of(requests, &[("code", "500")]), 3.0);
        assert_eq!(of("a_bucket", &[("le", "+Inf")]), 17.0);
        assert_eq!(of("a_sum", &[]), 1500.0);
        assert!(of("none", &[]).is_nan());
        assert_eq!(of("most", &[]), f64::INFINITY);
        assert_eq!(of("least", &[]), f64::NEG_INFINITY);
        assert_eq!(of("a.dotted", &[("x", "1")]), 2.0);
        assert_eq!(of("esc", &[("path", "C:\\D \"q\" \n")]), 1.0);
        // Which is a comment here.
        assert_eq!(of("behind", &[]), 1.0);
        assert_eq!(page.types["a"], ["histogram".to_owned()].into());
    }

    #[test]
    fn what_cannot_be_read_costs_the_others_nothing() {
        for line in [
            "<html>",
            "{\"a\":1}",
            "name",
            "name{",
            "name{x} 1",
            "name{x=1} 1",
            "name{x=\"1} 1",
            "name{x=\"1\"y=\"2\"} 1",
            "name{x=\"1\",x=\"2\"} 1",
            "name{x=\"1\"}",
            "name x",
            "9name 1",
            "na-me 1",
            "name{\"a\",\"b\"} 1",
            "name{\"a\"} 1",
            "\u{202e} 1",
            // The same one again.
            "before 3",
        ] {
            let page = read(&format!("before 1\n{line}\nafter 2\n")).unwrap();
            assert_eq!(page.unreadable, 1, "{line}");
            assert_eq!(page.told[0].0, 2, "{line}");
            assert_eq!(page.samples.len(), 2, "{line}");
            assert_eq!(page.samples["before"][&Labels::default()], 1.0, "{line}");
        }
        let many = read(&format!("a 1\n{}", "<\n".repeat(1_000))).unwrap();
        assert_eq!((many.unreadable, many.told.len()), (1_000, TOLD));
        let long = read(&format!("a 1\n{}", "ü".repeat(1_000))).unwrap();
        assert!(long.told[0].1.len() <= 120);
    }

    #[test]
    fn what_is_no_page_says_why() {
        let html = read("\n<!DOCTYPE html>\n<html></html>\n").unwrap_err();
        assert_eq!(html, PageError::Other(2, "<!DOCTYPE html>".to_owned()));
        for empty in ["", "\n\n", "# HELP a b\n# TYPE a counter\n", "# EOF\n"] {
            assert_eq!(read(empty), Err(PageError::Empty), "{empty}");
        }
        let lines = |count: usize| (0..count).map(|at| format!("a{{x=\"{at}\"}} 1\n"));
        assert!(read(&lines(SAMPLES).collect::<String>()).is_ok());
        let many: String = lines(SAMPLES + 1).collect();
        assert_eq!(read(&many), Err(PageError::TooMany));
        // What nobody wants is not kept, however much it is.
        let shared = &mut Shared::default();
        let page = Exposition::read(&many, &|_| false, shared).unwrap();
        assert_eq!((page.read, page.kept(), shared.bytes()), (50_001, 0, 0));
    }

    #[test]
    fn a_family_that_contradicts_itself_has_both_types() {
        let page = read(
            "# TYPE a counter\n# TYPE a gauge\n# TYPE a summary\n# TYPE b gauge\n# TYPE b gauge\na 1\n",
        )
        .unwrap();
        assert_eq!(page.types["a"].len(), TYPES);
        assert_eq!(page.types["b"].len(), 1);
    }
}
