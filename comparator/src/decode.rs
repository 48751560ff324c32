//! Undoes `Content-Encoding`, within a limit on what comes out.
//!
//! The output buffer grows with what really arrives: a claimed size is never trusted, and a decompression bomb ends at
//! the limit. A body that is invalid in its encoding is distinguished from one whose encoding is unknown here: only of
//! the first is it proven that no client can read it.

use std::borrow::Cow;
use std::io::Read;

use http::HeaderName;
use http::header::CONTENT_ENCODING;
use parity_schemas::fields::FieldLines;
use parity_schemas::verdict::Reason;

/// Most encodings of one body; servers use one, two are legal, more are an attack.
const MAX_ENCODINGS: usize = 4;
/// Largest window that a zstd frame may ask for, as a power of two: 8 MiB, what every decoder must support (RFC 8878).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Bytes the brotli decoder reads at a time.
const BROTLI_INPUT_BYTES: usize = 4_096;

/// Why a body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An encoding that is unknown here, too many of them, or data after the end, which readers treat differently.
    #[error("an encoding that is not known")]
    Unknown,
    /// It is not valid in this encoding, or is cut off.
    #[error("invalid {0}")]
    Broken(&'static str),
    /// It exceeds the limit.
    #[error("it is too large once decompressed")]
    TooLarge,
}

impl DecodeError {
    /// Why the body cannot be compared.
    pub const fn reason(self) -> Reason {
        match self {
            Self::Unknown | Self::Broken(_) => Reason::Undecodable,
            Self::TooLarge => Reason::ResponseTooLarge,
        }
    }
}

/// The encodings of a body in the order in which they were applied, lower case, `identity` left out.
pub(crate) fn encodings(headers: &FieldLines) -> Vec<String> {
    listed(headers, &CONTENT_ENCODING)
}

/// The same for another field that lists encodings.
pub(crate) fn listed(headers: &FieldLines, field: &HeaderName) -> Vec<String> {
    let mut found = Vec::new();
    for value in headers.get_all(field) {
        let text = value.lossy().to_ascii_lowercase();
        found.extend(
            text.split(',')
                .map(str::trim)
                .filter(|name| !matches!(*name, "" | "identity"))
                .map(str::to_owned),
        );
    }
    found
}

/// The body of an answer without its encodings; `None` if that is not possible.
pub fn of_answer<'a>(headers: &FieldLines, body: &'a [u8], limit: usize) -> Option<Cow<'a, [u8]>> {
    decode(body, &encodings(headers), limit).ok()
}

/// The decoded body; borrowed if it has no encodings.
pub fn decode<'a>(
    body: &'a [u8],
    encodings: &[String],
    limit: usize,
) -> Result<Cow<'a, [u8]>, DecodeError> {
    if encodings.len() > MAX_ENCODINGS {
        return Err(DecodeError::Unknown);
    }
    let mut decoded = Cow::Borrowed(body);
    // A server that has nothing to encode sends nothing.
    if body.is_empty() {
        return Ok(decoded);
    }
    for name in encodings.iter().rev() {
        decoded = Cow::Owned(undo(&decoded, name, limit)?);
    }
    Ok(decoded)
}

fn undo(body: &[u8], name: &str, limit: usize) -> Result<Vec<u8>, DecodeError> {
    match name {
        "gzip" | "x-gzip" => {
            let all = read(flate2::read::MultiGzDecoder::new(body), "gzip", limit);
            // Data after a complete member is skipped by some readers, and is an error to others.
            let whole = || read(flate2::read::GzDecoder::new(body), "gzip", limit).is_ok();
            match all {
                Err(DecodeError::Broken(_)) if whole() => Err(DecodeError::Unknown),
                decided => decided,
            }
        }
        // RFC 9110 says zlib, but some servers send the bare deflate stream. The two cannot be confused: a bare stream
        // would have to begin with a zlib header whose checksum fits.
        "deflate" => match read(flate2::read::ZlibDecoder::new(body), "deflate", limit) {
            Err(DecodeError::Broken(_)) => {
                read(flate2::read::DeflateDecoder::new(body), "deflate", limit)
            }
            decided => decided,
        },
        "br" => read(
            brotli_decompressor::Decompressor::new(body, BROTLI_INPUT_BYTES),
            "br",
            limit,
        ),
        "zstd" => {
            let broken = |_| DecodeError::Broken("zstd");
            let mut decoder = zstd::stream::read::Decoder::new(body).map_err(broken)?;
            decoder
                .window_log_max(ZSTD_WINDOW_LOG_MAX)
                .map_err(broken)?;
            read(decoder, "zstd", limit)
        }
        _ => Err(DecodeError::Unknown),
    }
}

/// Reads to the end, or to one byte beyond the limit.
fn read(source: impl Read, encoding: &'static str, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    source
        .take(limit as u64 + 1)
        .read_to_end(&mut out)
        .map_err(|_| DecodeError::Broken(encoding))?;
    if out.len() > limit {
        return Err(DecodeError::TooLarge);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TEXT: &[u8] = b"{\"a\":1,\"b\":[1,2,3],\"c\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(body).expect("memory");
        encoder.finish().expect("memory")
    }

    fn undo_all(body: &[u8], names: &[&str], limit: usize) -> Result<Vec<u8>, DecodeError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        decode(body, &names, limit).map(Cow::into_owned)
    }

    #[test]
    fn each_encoding_is_undone_also_one_upon_another() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        zlib.write_all(TEXT).expect("memory");
        let mut raw =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        raw.write_all(TEXT).expect("memory");
        let zstd = zstd::encode_all(TEXT, 3).expect("memory");
        for (body, names) in [
            (gzip(TEXT), &["gzip"][..]),
            (gzip(TEXT), &["x-gzip"]),
            (zlib.finish().expect("memory"), &["deflate"]),
            (raw.finish().expect("memory"), &["deflate"]),
            (zstd.clone(), &["zstd"]),
            (gzip(&zstd), &["zstd", "gzip"]),
        ] {
            assert_eq!(
                undo_all(&body, names, 1_000).as_deref(),
                Ok(TEXT),
                "{names:?}"
            );
        }
        // "hello world\n" by the reference encoder.
        let brotli = [
            0x8b, 0x05, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x20, 0x77, 0x6f, 0x72, 0x6c, 0x64,
            0x0a, 0x03,
        ];
        assert_eq!(
            undo_all(&brotli, &["br"], 1_000).as_deref(),
            Ok(&b"hello world\n"[..])
        );
    }

    #[test]
    fn what_is_cut_or_corrupt_is_told_apart_from_what_is_not_known() {
        let whole = gzip(TEXT);
        let followed = [&whole[..], b"\0\0\0\0"].concat();
        let second_is_cut = [&whole[..], &whole[..whole.len() - 9]].concat();
        for (body, names, expected) in [
            (
                &whole[..whole.len() - 9],
                &["gzip"][..],
                DecodeError::Broken("gzip"),
            ),
            (&whole[..5], &["gzip"], DecodeError::Broken("gzip")),
            (TEXT, &["gzip"], DecodeError::Broken("gzip")),
            (TEXT, &["br"], DecodeError::Broken("br")),
            (TEXT, &["zstd"], DecodeError::Broken("zstd")),
            (TEXT, &["deflate"], DecodeError::Broken("deflate")),
            (TEXT, &["compress"], DecodeError::Unknown),
            (
                TEXT,
                &["gzip", "gzip", "gzip", "gzip", "gzip"],
                DecodeError::Unknown,
            ),
            (&followed, &["gzip"], DecodeError::Unknown),
            (&second_is_cut, &["gzip"], DecodeError::Unknown),
        ] {
            assert_eq!(undo_all(body, names, 1_000), Err(expected), "{names:?}");
        }
        assert_eq!(undo_all(b"", &["gzip"], 1_000), Ok(Vec::new()));
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        assert_eq!(
            undo_all(&bomb, &["gzip"], 1_000_000),
            Err(DecodeError::TooLarge)
        );
        assert_eq!(
            undo_all(&gzip(TEXT), &["gzip"], TEXT.len()).as_deref(),
            Ok(TEXT)
        );
    }
}
