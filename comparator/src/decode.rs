//! Undoes `Content-Encoding`, within a limit on what comes out.
//!
//! Output is read into a buffer that grows with what really arrives: a claimed size is never trusted, and a
//! decompression bomb ends at the limit. What cannot be undone, or breaks off, is `undecodable`: half an answer is no
//! evidence for either side.

use std::borrow::Cow;
use std::io::Read;

use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderName};
use parity_schemas::verdict::Reason;

/// Encodings applied one after the other; servers use one, two are legal, more are an attack.
const MAX_ENCODINGS: usize = 4;
/// Largest window that a zstd frame may ask for, as a power of two: 8 MiB, what every decoder must support (RFC 8878).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Bytes the brotli decoder reads at a time.
const BROTLI_INPUT_BYTES: usize = 4_096;

/// The encodings of a body in the order in which they were applied, lower case, `identity` left out.
pub(crate) fn encodings(headers: &HeaderMap) -> Vec<String> {
    listed(headers, &CONTENT_ENCODING)
}

/// The same of another field that lists encodings.
pub(crate) fn listed(headers: &HeaderMap, field: &HeaderName) -> Vec<String> {
    let mut found = Vec::new();
    for value in headers.get_all(field) {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        found.extend(
            text.split(',')
                .map(str::trim)
                .filter(|name| !matches!(*name, "" | "identity"))
                .map(str::to_owned),
        );
    }
    found
}

/// The body without its encodings; borrowed when there are none.
pub fn decode<'a>(
    body: &'a [u8],
    encodings: &[String],
    limit: usize,
) -> Result<Cow<'a, [u8]>, Reason> {
    if encodings.len() > MAX_ENCODINGS {
        return Err(Reason::Undecodable);
    }
    let mut decoded = Cow::Borrowed(body);
    // Nothing at all is what a server sends when there is nothing to encode.
    if body.is_empty() {
        return Ok(decoded);
    }
    for name in encodings.iter().rev() {
        decoded = Cow::Owned(undo(&decoded, name, limit)?);
    }
    Ok(decoded)
}

fn undo(body: &[u8], name: &str, limit: usize) -> Result<Vec<u8>, Reason> {
    match name {
        "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(body), limit),
        // RFC 9110 says zlib; some servers send the bare stream, which cannot be mistaken for the other: it would have
        // to begin with a zlib header whose checksum fits and still be a stream.
        "deflate" => match read(flate2::read::ZlibDecoder::new(body), limit) {
            Err(Reason::Undecodable) => read(flate2::read::DeflateDecoder::new(body), limit),
            decided => decided,
        },
        "br" => read(
            brotli_decompressor::Decompressor::new(body, BROTLI_INPUT_BYTES),
            limit,
        ),
        "zstd" => {
            let mut decoder =
                zstd::stream::read::Decoder::new(body).map_err(|_| Reason::Undecodable)?;
            decoder
                .window_log_max(ZSTD_WINDOW_LOG_MAX)
                .map_err(|_| Reason::Undecodable)?;
            read(decoder, limit)
        }
        _ => Err(Reason::Undecodable),
    }
}

/// Reads to the end, or to one byte beyond the limit.
fn read(source: impl Read, limit: usize) -> Result<Vec<u8>, Reason> {
    let mut out = Vec::new();
    source
        .take(limit as u64 + 1)
        .read_to_end(&mut out)
        .map_err(|_| Reason::Undecodable)?;
    if out.len() > limit {
        return Err(Reason::ResponseTooLarge);
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

    fn undo_all(body: &[u8], names: &[&str], limit: usize) -> Result<Vec<u8>, Reason> {
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
    fn what_is_cut_corrupt_or_unknown_is_undecodable() {
        let whole = gzip(TEXT);
        for (body, names) in [
            (&whole[..whole.len() - 9], &["gzip"][..]),
            (&whole[..5], &["gzip"]),
            (TEXT, &["gzip"]),
            (TEXT, &["br"]),
            (TEXT, &["zstd"]),
            (TEXT, &["deflate"]),
            (TEXT, &["compress"]),
            (TEXT, &["gzip", "gzip", "gzip", "gzip", "gzip"]),
        ] {
            assert_eq!(
                undo_all(body, names, 1_000),
                Err(Reason::Undecodable),
                "{names:?}"
            );
        }
        assert_eq!(undo_all(b"", &["gzip"], 1_000), Ok(Vec::new()));
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bomb = gzip(&vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        assert_eq!(
            undo_all(&bomb, &["gzip"], 1_000_000),
            Err(Reason::ResponseTooLarge)
        );
        assert_eq!(
            undo_all(&gzip(TEXT), &["gzip"], TEXT.len()).as_deref(),
            Ok(TEXT)
        );
    }
}
