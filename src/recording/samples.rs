//! Samples of what is answered: a few exchanges of each route and status, in a file that `parity check` asks again.
//!
//! Only what can be asked again as it stands is a sample: by a safe method, without a credential or a value that is hidden. The
//! file is small, sorted and always whole: it is replaced when something was added.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use http::Method;
use parity_schemas::graphql::{Access, Operation, Part};
use parity_schemas::recording::{RecordedExchange, RecordedResponse};
use parity_schemas::route::Route;

use super::counts::Counts;
use super::line::line;

/// Largest body of a sample: a file of samples is read by people, and kept beside the code.
const MAX_BODY: usize = 64 << 10;
/// Kinds of requests that are sampled: more than a service has routes and statuses.
const MAX_KINDS: usize = 2_000;
/// Between two times that the file is written.
const BETWEEN: Duration = Duration::from_secs(1);
/// Fields of a request without which the service may answer otherwise; where one is hidden, the request is no sample. So is
/// every one that begins with `if-`.
const NEEDED: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "range",
    "content-type",
    "expect",
];

/// What was gathered.
pub(super) struct Samples {
    file: PathBuf,
    folder: PathBuf,
    each: usize,
    /// By route and status.
    kinds: BTreeMap<(String, u16), Vec<RecordedExchange>>,
    has_changed: bool,
    /// Of them, those that are not in the file yet.
    unwritten: u64,
    written_at: Instant,
}

impl Samples {
    pub(super) fn new(file: PathBuf, each: NonZeroUsize) -> Result<Self> {
        if file.symlink_metadata().is_ok() {
            bail!(
                "{} is there already, and samples never overwrite a file; name another one, or remove it",
                file.display()
            );
        }
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        tempfile::tempfile_in(&folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
        Ok(Self {
            file,
            folder,
            each: each.get(),
            kinds: BTreeMap::new(),
            has_changed: true,
            unwritten: 0,
            written_at: Instant::now(),
        })
    }

    /// Takes an exchange if it is a sample, and its kind has too few.
    pub(super) fn offer(&mut self, route: &Route, exchange: RecordedExchange, counts: &Counts) {
        let Some((status, sample)) = as_sample(route, exchange) else {
            counts.passed_over.inc();
            return;
        };
        let kind = (route.label().to_owned(), status);
        let is_new = !self.kinds.contains_key(&kind);
        if is_new && self.kinds.len() >= MAX_KINDS {
            counts.passed_over.inc();
            return;
        }
        let of_kind = self.kinds.entry(kind).or_default();
        let is_there = |known: &RecordedExchange| {
            (&known.method, &known.url, &known.body) == (&sample.method, &sample.url, &sample.body)
        };
        if of_kind.len() >= self.each || of_kind.iter().any(is_there) {
            counts.passed_over.inc();
            return;
        }
        of_kind.push(sample);
        of_kind.sort_by(|one, other| (&one.url, &one.method).cmp(&(&other.url, &other.method)));
        self.unwritten += 1;
        self.has_changed = true;
    }

    /// Writes what was added, not too often.
    pub(super) fn look(&mut self, now: Instant, counts: &Counts) {
        if self.has_changed && now >= self.written_at + BETWEEN {
            self.write(counts);
        }
    }

    /// Writes what was added.
    pub(super) fn write(&mut self, counts: &Counts) {
        if !self.has_changed {
            return;
        }
        self.written_at = Instant::now();
        match self.replace() {
            Ok(()) => {
                self.has_changed = false;
                counts.written.inc_by(std::mem::take(&mut self.unwritten));
                counts.fail(None);
            }
            Err(error) => counts.fail(Some(format!("{error:#}"))),
        }
    }

    /// Writes what was added a last time; what is not in the file then is lost.
    pub(super) fn finish(&mut self, counts: &Counts) {
        self.write(counts);
        let lost = std::mem::take(&mut self.unwritten);
        counts.dropped.disk.inc_by(lost);
    }

    fn replace(&self) -> Result<()> {
        let lines: Vec<u8> = self.kinds.values().flatten().flat_map(line).collect();
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&lines)?;
        file.persist(&self.file)?;
        Ok(())
    }
}

/// The status and the exchange as a sample; `None` if it is none.
fn as_sample(route: &Route, mut exchange: RecordedExchange) -> Option<(u16, RecordedExchange)> {
    let answer = exchange.response.as_ref()?;
    let status = answer.status;
    // What is wrong at the moment is nothing to be expected, and 206 and 304 answer to what the client has.
    let is_lasting = (200..500).contains(&status) && !matches!(status, 206 | 304);
    let texts = [&exchange.body.text, &answer.body.text];
    let is_small = texts
        .iter()
        .all(|text| text.as_ref().is_none_or(|text| text.len() <= MAX_BODY));
    let is_whole = exchange.body.left_out.is_none() && is_shown(answer);
    if !(is_lasting && is_small && is_whole && is_safe(route, &exchange)) {
        return None;
    }
    let mut hidden = Vec::new();
    for part in &exchange.hidden {
        let field = part.strip_prefix("header/")?.split('/').next()?;
        if NEEDED.contains(&field) || field.starts_with("if-") {
            return None;
        }
        hidden.push(field.to_owned());
    }
    exchange.headers.retain(|(name, _)| !hidden.contains(name));
    exchange.hidden.clear();
    exchange.session = None;
    Some((status, exchange))
}

/// Whether there is something of its body to be expected.
fn is_shown(answer: &RecordedResponse) -> bool {
    answer.body.left_out.is_none() && !answer.hidden.iter().any(|part| part == "body")
}

/// Whether `parity check` would ask it.
fn is_safe(route: &Route, exchange: &RecordedExchange) -> bool {
    let policy = route.policy();
    if policy.graphql && exchange.method == Method::POST.as_str() {
        let media = exchange
            .headers
            .iter()
            .find(|(name, _)| name == "content-type");
        let media = media.map_or("", |(_, value)| value);
        let query = exchange.url.split_once('?').map(|(_, query)| query);
        let body = exchange.body.text.as_deref().unwrap_or_default();
        let operation = Operation::of_body(media.as_bytes(), query, body.as_bytes());
        let reads = |part: &Part| part.access() == Access::Reads;
        return policy.shadow_queries && operation.parts().iter().all(reads);
    }
    let is_safe = matches!(&*exchange.method, "GET" | "HEAD" | "OPTIONS");
    policy.shadow.unwrap_or(is_safe)
}
