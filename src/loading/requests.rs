//! What is sent: the requests of a file, or a template over ids. Only those that do no harm, unless the user says otherwise.
//!
//! They are read before the load begins and held in memory, so that reading never is the limit; what does not fit is counted.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use parity_comparator::redact::{Redactor, by_hand};
use parity_dashboards::terminal;
use parity_mirror::load::may_send;
use parity_mirror::replay::{
    Format, OpenError, Recorded, Source, SourceError, is_needed, recorded,
};
use parity_schemas::exchange::{Body, Origin, OwnParts, Request};
use parity_schemas::fields::FieldLines;
use parity_schemas::recording::{EXCHANGE_SCHEMA, RecordedBody, RecordedExchange};
use parity_schemas::route::RouteResolver;
use parity_schemas::secret::without_password;
use parity_schemas::stress::LoadRequests;
use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;

use crate::cli::SentArgs;
use crate::config::MirrorSettings;

/// Different requests that are held: more tell no more about a service.
const MOST: usize = 1_000_000;
/// Bytes of memory that they may take.
const MOST_BYTES: usize = 512 << 20;
/// Largest file with ids or a body.
const MOST_FILE: u64 = 64 << 20;
/// Unreadable parts that are told one by one.
const TOLD: u64 = 20;
/// What stands for an id.
const ID: &str = "{id}";

/// All requests.
pub(crate) struct Requests {
    pub(crate) all: Arc<[Request]>,
    /// What is told of them.
    pub(crate) told: LoadRequests,
}

/// Takes requests as long as there is room.
struct Taking {
    routes: RouteResolver,
    all: Vec<Request>,
    bytes: usize,
    told: LoadRequests,
}

impl Requests {
    /// Reads them all. That none is left is an error.
    pub(crate) fn read(args: &SentArgs, settings: &MirrorSettings) -> Result<Self> {
        let routes = RouteResolver::new(Arc::clone(&settings.mirror.policy.routes));
        let mut taking = Taking {
            routes: routes.with_unsafe_methods(args.allow_unsafe),
            all: Vec::new(),
            bytes: 0,
            told: LoadRequests::default(),
        };
        match (&args.requests, &args.request) {
            (Some(file), _) => taking.file(file, args)?,
            (None, Some(template)) => {
                taking.told.source = shown(template, settings)?;
                taking.template(template, args)?;
            }
            (None, None) => bail!("name a file with requests, or a template by --request"),
        }
        let Taking { all, mut told, .. } = taking;
        told.requests = all.len() as u64;
        if all.is_empty() {
            bail!("nothing can be sent: {}", left(&told));
        }
        let left_out: u64 = told.left_out.values().sum();
        if left_out > 0 {
            terminal::note(&format!("not sent: {}", left(&told)));
        }
        Ok(Self {
            all: all.into(),
            told,
        })
    }
}

/// A template as it may be told: without what the record hides of a request. What is none may be anything, a secret among it.
fn shown(template: &str, settings: &MirrorSettings) -> Result<String> {
    let (method, url) = template.trim().split_once(' ').with_context(|| {
        format!(
            "`{}` is no request; write `GET /balance/{ID}`",
            by_hand(template)
        )
    })?;
    let redactor = Redactor::new(
        &settings.redact,
        &settings.redaction_key,
        Arc::clone(&settings.rules),
    );
    let redactor = redactor.context("the redaction settings")?;
    let request = Request {
        method: method.parse().with_context(|| {
            format!(
                "`{}` is no method; write `GET /balance/{{ID}}`",
                by_hand(method)
            )
        })?,
        target: without_password(url.trim()).into(),
        headers: FieldLines::default(),
        body: Body::default(),
        origin: Origin::default(),
    };
    let (method, url) = redactor.asked(&request);
    Ok(format!("{method} {url}"))
}

/// A request once more.
pub(crate) fn copied(request: &Request) -> Request {
    OwnParts::default().of(request)
}

fn left(told: &LoadRequests) -> String {
    let mut parts: Vec<String> = told
        .left_out
        .iter()
        .map(|(why, count)| {
            let why = match why.as_str() {
                "unsafe_method" => {
                    "that may change something (--allow-unsafe, or shadow = true of their route, lets them be sent)"
                }
                "hidden" => "that need what the recording hides",
                other => other,
            };
            format!("{count} {why}")
        })
        .collect();
    if told.unreadable > 0 {
        parts.push(format!("{} that cannot be read", told.unreadable));
    }
    if parts.is_empty() {
        format!("{} has no request", visible(&told.source))
    } else {
        parts.join(", ")
    }
}

impl Taking {
    fn file(&mut self, path: &Path, args: &SentArgs) -> Result<()> {
        self.told.source = path.display().to_string();
        let lines = args.access_log.clone();
        let format = lines.map_or_else(
            || args.format.clone(),
            |lines| Some(Format::AccessLog(Some(lines))),
        );
        let source = match Source::open(path, format) {
            Ok(source) => source,
            Err(error @ OpenError::Empty(_)) => {
                return Err(anyhow!(error).context("there is nothing to send"));
            }
            Err(error) => return Err(error.into()),
        };
        for part in source {
            match part {
                Ok(recorded) => {
                    if !self.take(recorded) {
                        break;
                    }
                }
                Err(SourceError(why)) => {
                    self.told.unreadable += 1;
                    if self.told.unreadable <= TOLD {
                        terminal::note(&visible(&why.to_string()));
                    }
                }
            }
        }
        Ok(())
    }

    fn template(&mut self, template: &str, args: &SentArgs) -> Result<()> {
        // The caller has looked at it.
        let (method, url) = template.trim().split_once(' ').unwrap_or_default();
        let shown = self.told.source.clone();
        let headers = args.headers.iter().zip(1..).map(|(field, number)| {
            // Which part of it is a secret nobody knows.
            let (name, value) = field.split_once(':').with_context(|| {
                format!("--header number {number} is no header field: it has no colon; write `name: value`")
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        let headers = headers.collect::<Result<Vec<_>>>()?;
        let body = args.body.as_deref().map(read).transpose()?;
        let texts = [Some(template), body.as_deref()].into_iter().flatten();
        let values = headers.iter().map(|(_, value): &(String, String)| &**value);
        let has_id = texts.chain(values).any(|text| text.contains(ID));
        let ids = match args.ids.as_deref() {
            Some(text) => ids(text)?,
            None if has_id => bail!(
                "`{shown}` has {ID}, and nothing says which ids there are: give --ids 16000 for 1 to 16000, or a file with one on a line"
            ),
            None => vec![String::new()],
        };
        for id in ids {
            let filled = |text: &str| text.replace(ID, &id);
            let line = RecordedExchange {
                schema: EXCHANGE_SCHEMA.to_owned(),
                time: Timestamp::default(),
                session: None,
                method: method.to_owned(),
                url: filled(url.trim()),
                headers: headers
                    .iter()
                    .map(|(name, value)| (name.clone(), filled(value)))
                    .collect(),
                body: RecordedBody {
                    text: body.as_deref().map(filled),
                    ..RecordedBody::default()
                },
                hidden: Vec::new(),
                response: None,
            };
            let recorded = recorded(line)
                .map_err(|why| anyhow!("`{}` cannot be sent: {why}", visible(&shown)))?;
            let has_more = self.take(recorded);
            // Nothing else of the template is sent either.
            if !has_more || !self.told.left_out.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Takes a request if it may be sent; `false` if there is no more room.
    fn take(&mut self, recorded: Recorded) -> bool {
        let request = recorded.request;
        let route = self.routes.resolve(&request.method, request.path());
        if !may_send(&route, &request) {
            self.leave_out("unsafe_method");
            return true;
        }
        if recorded.hidden.iter().any(|part| is_needed(part)) {
            self.leave_out("hidden");
            return true;
        }
        let bytes = size_of::<Request>() + request.head_held() + request.body.len();
        if self.all.len() >= MOST || self.bytes + bytes > MOST_BYTES {
            self.leave_out("too_many");
            return false;
        }
        self.bytes += bytes;
        self.all.push(request);
        true
    }

    fn leave_out(&mut self, why: &str) {
        *self.told.left_out.entry(why.to_owned()).or_default() += 1;
    }
}

/// The ids: 1 to a number, or the lines of a file.
fn ids(text: &str) -> Result<Vec<String>> {
    if let Ok(number) = text.parse::<usize>() {
        if number == 0 || number > MOST {
            bail!("--ids {number}: write a number from 1 to {MOST}");
        }
        return Ok((1..=number).map(|id| id.to_string()).collect());
    }
    let file = read(Path::new(text))?;
    let lines = file.lines().map(str::trim).filter(|line| !line.is_empty());
    let ids: Vec<String> = lines.map(str::to_owned).take(MOST).collect();
    if ids.is_empty() {
        bail!("{text} has no ids: one is on each line");
    }
    Ok(ids)
}

fn read(path: &Path) -> Result<String> {
    let told = || format!("cannot read {}", path.display());
    let size = path.metadata().with_context(told)?.len();
    if size > MOST_FILE {
        bail!(
            "{} has {size} bytes; {MOST_FILE} are read at most",
            path.display()
        );
    }
    std::fs::read_to_string(path).with_context(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbers_from_one_or_the_lines_of_a_file() {
        assert_eq!(ids("3").expect("a number"), ["1", "2", "3"]);
        for wrong in ["0", "1000001", "/does/not/exist"] {
            assert!(ids(wrong).is_err(), "{wrong}");
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        assert!(ids(path).is_err(), "it is empty");
        std::fs::write(file.path(), "a\n\n b \n").expect("written");
        assert_eq!(ids(path).expect("two"), ["a", "b"]);
    }
}
