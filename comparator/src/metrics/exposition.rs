//! What a service says of itself on its metrics page: the text format of Prometheus and `OpenMetrics`, read line by line.
//!
//! A page comes from a service, so it may be anything. A line that cannot be read is counted and told, and costs the others nothing.
//! Comments, help, timestamps and exemplars are passed over: nothing here needs them.

use std::collections::BTreeMap;

/// Lines that are told of those that cannot be read: who sees three knows what the page is.
const TOLD: usize = 3;
/// Bytes of such a line that are told.
const TOLD_BYTES: usize = 120;

/// One page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exposition {
    /// The samples of each name, in the order of the page.
    pub samples: BTreeMap<String, Vec<Sample>>,
    /// What each family says it is, in the words of the page: `counter`, `gauge`, `histogram`, `summary`, `untyped`.
    pub types: BTreeMap<String, String>,
    /// Families that say twice what they are, and not the same.
    pub contradictions: Vec<String>,
    /// Lines that cannot be read.
    pub unreadable: u64,
    /// The first of them: number, and what it says.
    pub told: Vec<(usize, String)>,
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Sorted by name. `le` and `quantile` are among them.
    pub labels: BTreeMap<String, String>,
    /// May be no number and infinite.
    pub value: f64,
}

impl Exposition {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        let mut page = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                if comment.trim() == "EOF" {
                    break;
                }
                page.comment(comment);
            } else if !line.is_empty() {
                match sample(line) {
                    Some((name, sample)) => page.samples.entry(name).or_default().push(sample),
                    None => page.refuse(index + 1, line),
                }
            }
        }
        page
    }

    /// Whether nothing could be read of it.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    fn comment(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        if words.next() != Some("TYPE") {
            return;
        }
        if let (Some(family), Some(word)) = (words.next(), words.next()) {
            let family = family.trim_matches('"');
            let before = self.types.get(family);
            if before.is_some_and(|before| before != word) {
                self.contradictions.push(family.to_owned());
            }
            self.types.insert(family.to_owned(), word.to_owned());
        }
    }

    fn refuse(&mut self, number: usize, line: &str) {
        self.unreadable += 1;
        if self.told.len() < TOLD {
            let end = line.floor_char_boundary(TOLD_BYTES);
            self.told.push((number, line.split_at(end).0.to_owned()));
        }
    }
}

/// `name{label="value",…} number timestamp? # exemplar?`, or `{"name",label="value"} number`.
fn sample(line: &str) -> Option<(String, Sample)> {
    let end = line.find(|character: char| character == '{' || character.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
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
    Some((name, Sample { labels, value }))
}

/// Reads labels up to the closing brace, and returns what is behind it. A quoted text without a value is the name of the metric.
fn label_set<'a>(
    mut rest: &'a str,
    labels: &mut BTreeMap<String, String>,
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
            labels.insert(label, value);
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
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn both_formats_are_read() {
        let page = Exposition::read(
            "# HELP http_requests_total Requests.\n# TYPE http_requests_total counter\n\
             http_requests_total{code=\"200\",method=\"get\"} 1027 1395066363000\n\
             http_requests_total { code = \"500\" , } 3\r\n\
             # TYPE a histogram\n\
             a_bucket{le=\"+Inf\"} 17 # {trace_id=\"x\"} 0.67 1520879607.789\n\
             a_sum 1.5e3\nnone NaN\nmost +Inf\nleast -Inf\n\
             {\"a.dotted\",x=\"1\"} 2\n\
             esc{path=\"C:\\\\D \\\"q\\\" \\n\"} 1\n# EOF\nbehind 1\n",
        );
        assert_eq!(page.unreadable, 0, "{:?}", page.told);
        let of = |name: &str| page.samples[name].as_slice();
        assert_eq!(
            of("http_requests_total")[0],
            Sample {
                labels: labels(&[("code", "200"), ("method", "get")]),
                value: 1027.0
            }
        );
        assert_eq!(
            of("http_requests_total")[1].labels,
            labels(&[("code", "500")])
        );
        assert_eq!(of("a_bucket")[0].value, 17.0);
        assert_eq!(of("a_sum")[0].value, 1500.0);
        assert!(of("none")[0].value.is_nan());
        assert_eq!(of("most")[0].value, f64::INFINITY);
        assert_eq!(of("least")[0].value, f64::NEG_INFINITY);
        assert_eq!(of("a.dotted")[0].labels, labels(&[("x", "1")]));
        assert_eq!(of("esc")[0].labels["path"], "C:\\D \"q\" \n");
        assert!(!page.samples.contains_key("behind"));
        assert_eq!(page.types["a"], "histogram");
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
            "name{x=\"1\"}",
            "name x",
            "9name 1",
            "na-me 1",
            "name{\"a\",\"b\"} 1",
            "name{\"a\"} 1",
            "\u{202e} 1",
        ] {
            let page = Exposition::read(&format!("before 1\n{line}\nafter 2\n"));
            assert_eq!(page.unreadable, 1, "{line}");
            assert_eq!(page.told[0].0, 2, "{line}");
            assert_eq!(page.samples.len(), 2, "{line}");
        }
        let many = Exposition::read(&"<\n".repeat(1_000));
        assert_eq!((many.unreadable, many.told.len()), (1_000, TOLD));
        let long = Exposition::read(&"ü".repeat(1_000));
        assert!(long.told[0].1.len() <= TOLD_BYTES);
    }

    #[test]
    fn a_family_that_contradicts_itself_is_named() {
        let page =
            Exposition::read("# TYPE a counter\n# TYPE a gauge\n# TYPE b gauge\n# TYPE b gauge\n");
        assert_eq!(page.contradictions, ["a"]);
    }
}
