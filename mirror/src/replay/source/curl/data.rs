//! The body of a command: a value, or a file beside the commands. Any other file of this machine is refused.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use crate::replay::recorded::Why;
use crate::replay::source::MAX_RECORD;

/// The value, or the file that it names with `@`: one in the directory of the commands or below. A recording that somebody else
/// made must not send other files of this machine to a service.
pub(super) fn from_file<'a>(
    value: &'a str,
    base: Option<&Path>,
    strips_lines: bool,
) -> Result<Cow<'a, [u8]>, Why> {
    let Some(name) = value.strip_prefix('@') else {
        return Ok(Cow::Borrowed(value.as_bytes()));
    };
    let is_below = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Some(base) = base.filter(|_| is_below && !name.is_empty()) else {
        return Err(Why::NoBody(format!(
            "`{value}` is no file beside the commands"
        )));
    };
    let path: PathBuf = base.join(name);
    let within = |path: &Path| {
        Some(
            path.canonicalize()
                .ok()?
                .starts_with(base.canonicalize().ok()?),
        )
    };
    if within(&path) != Some(true) {
        return Err(Why::NoBody(format!(
            "`{value}` is no file beside the commands"
        )));
    }
    let failed = |error: io::Error| Why::NoBody(format!("`{value}`: {error}"));
    // A pipe would be waited for, and a device read without an end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Why::NoBody(format!("`{value}` is no file")));
    }
    let mut read = Vec::new();
    let file = File::open(&path).map_err(failed)?;
    let most = MAX_RECORD as u64 + 1;
    file.take(most).read_to_end(&mut read).map_err(failed)?;
    if read.len() > MAX_RECORD {
        return Err(Why::TooLarge { limit: MAX_RECORD });
    }
    if strips_lines {
        read.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    }
    Ok(Cow::Owned(read))
}

/// `--data-urlencode`: `text`, `=text` or `name=text`.
pub(super) fn url_encoded(value: &str) -> Result<Vec<u8>, Why> {
    let (name, text) = match value.split_once(['=', '@']) {
        Some((name, text)) if value.as_bytes().get(name.len()) == Some(&b'=') => (name, text),
        Some(_) => return Err(Why::NoBody("a part of its data is a file".to_owned())),
        None => ("", value),
    };
    let mut out = name.as_bytes().to_vec();
    if !name.is_empty() {
        out.push(b'=');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    Ok(out)
}
