//! Reads recordings of requests: finds out their format, unpacks them, and gives one request after the other.
//!
//! A recording may be larger than memory and of anybody: it is streamed, no piece of it is kept that is larger than a limit, and
//! what cannot be read is told with its line and passed over.

mod access_log;
mod curl;
mod elements;
mod goreplay;
mod har;
mod http1;
mod lines;
mod ndjson;
mod order;
mod words;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use self::access_log::{AccessLog, Form};
pub use self::access_log::{LogFormat, LogFormatError};
pub use self::ndjson::recorded;
use super::recorded::{Place, Recorded, Unreadable, Why};

/// Largest piece of a recording: ten times the usual limit of a body, in both bodies of an exchange and in base64.
const MAX_RECORD: usize = 32 << 20;
/// How much of a recording its format is found out by.
const BEGINNING: usize = 16 << 10;
/// The buffer before a file: few reads, and little memory.
const BUFFER: usize = 128 << 10;
/// What stands for standard input.
const STDIN: &str = "-";

/// The format of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object on a line: `parity.exchange/v1`, or vegeta's targets.
    Ndjson,
    /// HAR 1.2.
    Har,
    /// GoReplay's `.gor`.
    GoReplay,
    /// An access log of these lines, or of a known format.
    AccessLog(Option<LogFormat>),
    /// Commands of curl.
    Curl,
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no format of recordings: there are ndjson, har, goreplay, access-log and curl")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Ok(match name {
            "ndjson" => Self::Ndjson,
            "har" => Self::Har,
            "goreplay" => Self::GoReplay,
            "access-log" => Self::AccessLog(None),
            "curl" => Self::Curl,
            other => return Err(UnknownFormat(other.to_owned())),
        })
    }
}

impl Format {
    /// Its name, as [`FromStr`] takes it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Har => "har",
            Self::GoReplay => "goreplay",
            Self::AccessLog(_) => "access-log",
            Self::Curl => "curl",
        }
    }
}

/// A recording cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("cannot read the recording {}", .path.display())]
    Io {
        /// As it was named.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It has none of the known formats.
    #[error(
        "{} is no recording that is known: it is neither NDJSON (of parity or vegeta), HAR, GoReplay, an access log (combined, or of an AWS load balancer), nor curl commands; name the format by --format, or the lines of a log by --access-log",
        .0.display()
    )]
    Unknown(PathBuf),
    /// It has nothing.
    #[error("the recording {} is empty", .0.display())]
    Empty(PathBuf),
}

/// What stands in the place of a request that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct SourceError(#[from] pub Unreadable);

/// A recording that is read.
pub struct Source {
    next: Box<dyn FnMut() -> Option<Result<Recorded, SourceError>> + Send>,
    format: Format,
    size: Option<u64>,
    position: Arc<AtomicU64>,
}

impl Source {
    /// Opens a recording; `-` is standard input. Without a format it is found out.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        let is_stdin = path.as_os_str() == STDIN;
        let (file, size): (Box<dyn Read + Send>, _) = if is_stdin {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(failed(io::ErrorKind::IsADirectory.into()));
            }
            (Box::new(file), metadata.is_file().then_some(metadata.len()))
        };
        let source = Self::read(file, path, format)?;
        Ok(Self { size, ..source })
    }

    fn read(
        file: Box<dyn Read + Send>,
        path: &Path,
        format: Option<Format>,
    ) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        let position = Arc::<AtomicU64>::default();
        let counted = Counted {
            reader: file,
            position: Arc::clone(&position),
        };
        let reader = unpacked(counted).map_err(failed)?;
        let (beginning, reader) = begun(reader).map_err(failed)?;
        let format = match format {
            Some(format) => format,
            // What begins with that many blanks may have something behind them.
            None if beginning.len() < BEGINNING && beginning.trim_ascii().is_empty() => {
                return Err(OpenError::Empty(path.to_owned()));
            }
            None => found(&beginning).ok_or_else(|| OpenError::Unknown(path.to_owned()))?,
        };
        let of = Where(path.into());
        let next: Box<dyn FnMut() -> Option<Result<Recorded, SourceError>> + Send> = match &format {
            Format::Ndjson => {
                let mut lines = ndjson::Ndjson::new(reader, of);
                Box::new(move || lines.next())
            }
            Format::Har => {
                let mut entries = har::Har::new(reader, of);
                let mut ordered = order::InOrder::new(move || entries.next());
                Box::new(move || ordered.next())
            }
            Format::GoReplay => {
                let mut messages = goreplay::GoReplay::new(reader, of);
                Box::new(move || messages.next())
            }
            Format::AccessLog(lines) => {
                let form = match lines {
                    Some(lines) => Form::Variables(lines.clone()),
                    None => access_log::form_of(&beginning)
                        .ok_or_else(|| OpenError::Unknown(path.to_owned()))?,
                };
                let mut log = AccessLog::new(reader, form, of);
                Box::new(move || log.next())
            }
            Format::Curl => {
                let mut commands = curl::Curl::new(reader, of);
                Box::new(move || commands.next())
            }
        };
        Ok(Self {
            next,
            format,
            size: None,
            position,
        })
    }

    /// Its format.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The size of the file in bytes, packed as it is; `None` if that is not known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// How many bytes of the file were read, as it goes on.
    pub fn position(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.position)
    }
}

impl Iterator for Source {
    type Item = Result<Recorded, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.next)()
    }
}

/// Counts what is read of a file.
struct Counted {
    reader: Box<dyn Read + Send>,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A reader that can go to another thread.
type Reader = Box<dyn BufRead + Send>;

/// Unpacks gzip and zstd, told by how they begin.
fn unpacked(file: Counted) -> io::Result<Reader> {
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let first = beginning(&mut reader, 4)?;
    let whole = Cursor::new(first.clone()).chain(reader);
    Ok(match &*first {
        [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
            Box::new(BufReader::with_capacity(BUFFER, decoder))
        }
        _ => Box::new(whole),
    })
}

/// The beginning of a recording, and all of it.
fn begun(mut reader: Reader) -> io::Result<(Cow<'static, [u8]>, Reader)> {
    let beginning = beginning(&mut reader, BEGINNING)?;
    let whole = Cursor::new(beginning.clone()).chain(reader);
    Ok((beginning.into(), Box::new(whole)))
}

/// Reads as many bytes, or all if there are fewer. What cannot be unpacked any more is an error for later, once all before it
/// has been read.
fn beginning(reader: &mut impl Read, bytes: usize) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    match reader.take(bytes as u64).read_to_end(&mut beginning) {
        Ok(_) => Ok(beginning),
        Err(_) if !beginning.is_empty() => Ok(beginning),
        Err(error) => Err(error),
    }
}

/// The format of what begins so.
fn found(beginning: &[u8]) -> Option<Format> {
    if har::is_one(beginning) {
        return Some(Format::Har);
    }
    let text = beginning
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(beginning);
    if text.trim_ascii_start().starts_with(b"{") {
        return Some(Format::Ndjson);
    }
    if goreplay::is_one(text) {
        return Some(Format::GoReplay);
    }
    if curl::is_one(text) {
        return Some(Format::Curl);
    }
    access_log::form_of(text).map(|_| Format::AccessLog(None))
}

/// The file that is read, for places in it.
#[derive(Clone)]
struct Where(Arc<Path>);

impl Default for Where {
    fn default() -> Self {
        Self(Path::new(STDIN).into())
    }
}

impl Where {
    fn place(&self, line: u64) -> Place {
        Place {
            file: Arc::clone(&self.0),
            line,
        }
    }

    fn unreadable(&self, line: u64, why: Why) -> Unreadable {
        Unreadable {
            place: self.place(line),
            why,
        }
    }

    /// The file cannot be read any further.
    fn io(&self, error: &io::Error, line: u64) -> Unreadable {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => Why::CutOff,
            _ => Why::Malformed(format!(
                "the recording cannot be read from here on: {error}"
            )),
        };
        self.unreadable(line, why)
    }

    /// The directory of the file; none of standard input, by whatever name, and of other things that are no files.
    fn directory(&self) -> Option<PathBuf> {
        let is_file = self.0.metadata().is_ok_and(|of| of.is_file());
        let is_link = self.0.symlink_metadata().is_ok_and(|of| of.is_symlink());
        if !is_file || is_link || self.0.as_os_str() == STDIN {
            return None;
        }
        let parent = self.0.parent()?;
        Some(if parent.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            parent.to_owned()
        })
    }
}

#[cfg(test)]
mod tests;
