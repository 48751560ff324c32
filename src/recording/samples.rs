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
use parity_mirror::replay::may_change_answer;
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
/// What was gathered.
pub(super) struct Samples {
    file: PathBuf,
    folder: PathBuf,
    each: usize,
    /// By route and status.
    kinds: BTreeMap<(String, u16), Vec<RecordedExchange>>,
    has_changed: bool,
    /// The file is ours: nobody else's is ever replaced.
    is_written: bool,
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
            has_changed: false,
            is_written: false,
            unwritten: 0,
            written_at: Instant::now(),
        })
    }

    /// Takes an exchange if it is a sample, and its kind has too few.
    pub(super) fn offer(&mut self, route: &Route, exchange: RecordedExchange, counts: &Counts) {
        let (status, sample) = match as_sample(route, exchange) {
            Ok(sample) => sample,
            Err(why) => return counts.pass_over(why),
        };
        let kind = (route.label().to_owned(), status);
        let is_new = !self.kinds.contains_key(&kind);
        if is_new && self.kinds.len() >= MAX_KINDS {
            return counts.pass_over(format!("there are {MAX_KINDS} kinds of requests already"));
        }
        let of_kind = self.kinds.entry(kind).or_default();
        let is_there = |known: &RecordedExchange| {
            (&known.method, &known.url, &known.body) == (&sample.method, &sample.url, &sample.body)
        };
        if of_kind.len() >= self.each || of_kind.iter().any(is_there) {
            let why = "there are enough of its route and status, or the same one";
            return counts.pass_over(why.to_owned());
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

    fn replace(&mut self) -> Result<()> {
        let lines: Vec<u8> = self.kinds.values().flatten().flat_map(line).collect();
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&lines)?;
        if self.is_written {
            file.persist(&self.file)?;
        } else {
            file.persist_noclobber(&self.file)?;
            self.is_written = true;
        }
        Ok(())
    }
}

/// The status and the exchange as a sample, or why it is none.
fn as_sample(
    route: &Route,
    mut exchange: RecordedExchange,
) -> Result<(u16, RecordedExchange), String> {
    let none = |why: &str| Err(why.to_owned());
    let Some(answer) = exchange.response.as_ref() else {
        return none("it has no whole answer");
    };
    let status = answer.status;
    // What is wrong at the moment is nothing to be expected, and 206 and 304 answer to what the client has.
    if !(200..500).contains(&status) || matches!(status, 206 | 304) {
        return none("the status of its answer is none to be expected (5xx, 206, 304)");
    }
    if !is_safe(route, &exchange) {
        return none(
            "what it does may have effects; a [[route]] of its own with shadow = true allows it",
        );
    }
    let texts = [&exchange.body.text, &answer.body.text];
    let is_large = |text: &&Option<String>| text.as_ref().is_some_and(|text| text.len() > MAX_BODY);
    if texts.iter().any(is_large) {
        return Err(format!("a body is over {} KiB", MAX_BODY >> 10));
    }
    if exchange.body.left_out.is_some() || !is_shown(answer) {
        return none("a body is hidden, or was too large to be recorded");
    }
    let mut hidden = Vec::new();
    for part in &exchange.hidden {
        let field = part.strip_prefix("header/");
        let field = field.and_then(|field| field.split('/').next());
        match field {
            Some(field) if !may_change_answer(part) => hidden.push(field.to_owned()),
            _ => return Err(format!("it needs what is hidden: {part}")),
        }
    }
    exchange.headers.retain(|(name, _)| !hidden.contains(name));
    exchange.hidden.clear();
    exchange.session = None;
    Ok((status, exchange))
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
