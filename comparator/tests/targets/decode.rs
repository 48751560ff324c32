//! Whole answers: decoding changes nothing, and a body that cannot be decoded is no match.

use std::io::Write;

use http::{Method, header};
use parity_comparator::message::read_answer;
use parity_comparator::{Limits, Rules};
use parity_schemas::exchange::Capture;
use parity_schemas::verdict::{Reason, Verdict};

use super::laws::{Judge, answer};
use super::source::Source;
use super::{limits, parts};

/// Most layers of encoding that are decoded.
const LAYERS: usize = 4;

/// Two HTTP answers as they are, or one body that is sent plain and encoded.
pub(crate) fn decode(data: &[u8]) {
    let limits = limits(data);
    if let Some([legacy, candidate]) = parts(data) {
        if let (Ok(legacy), Ok(candidate)) = (read_answer(legacy), read_answer(candidate)) {
            for method in [Method::GET, Method::HEAD] {
                Judge::new(Rules::default(), limits)
                    .method(method)
                    .compare(&legacy, &candidate);
            }
        }
        return;
    }
    encoded(data, limits);
}

fn encoded(data: &[u8], limits: Limits) {
    let mut source = Source::new(data);
    let content_type = source.pick(&[
        "application/json",
        "text/plain",
        "application/yaml",
        "application/octet-stream",
        "application/grpc",
    ]);
    let mut names = Vec::new();
    let mut layers = Vec::new();
    for _ in 0..source.below(LAYERS + 1) {
        let (name, layer) = source.pick(&[
            ("gzip", gzip as fn(&[u8]) -> Vec<u8>),
            ("X-GZIP", gzip),
            ("deflate", zlib),
            ("deflate", bare_deflate),
            ("zstd", zstd),
            ("identity", <[u8]>::to_vec),
        ]);
        names.push(name);
        layers.push(layer);
    }
    let damage = (source.byte(), source.byte());
    let body = source.rest();
    let mut wrapped = layers
        .iter()
        .fold(body.to_vec(), |body, layer| layer(&body));
    let legacy = answer(content_type, body);
    let names = names.join(", ");
    let with = |body: &[u8]| -> Capture {
        let mut capture = answer(content_type, body);
        capture
            .headers
            .push(header::CONTENT_ENCODING, names.as_bytes());
        capture
    };
    let mut judge = Judge::new(Rules::default(), limits);
    let verdict = judge.compare(&legacy, &with(&wrapped)).verdict;
    let too_large = Verdict::NotCompared(Reason::ResponseTooLarge);
    assert!(
        verdict == Verdict::Match || (verdict == too_large && data.len() > limits.decoded_bytes),
        "{verdict:?} of the same body as {names}"
    );
    // Damage may hit a byte without meaning, so any verdict is right; but there must be one.
    let length = wrapped.len();
    if let Some(byte) = wrapped.get_mut(usize::from(damage.0) % length.max(1)) {
        *byte ^= damage.1;
        judge.compare(&legacy, &with(&wrapped));
        wrapped.truncate(length / 2);
        judge.compare(&legacy, &with(&wrapped));
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn bare_deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(body: &[u8]) -> Vec<u8> {
    zstd::encode_all(body, 1).expect("memory")
}
