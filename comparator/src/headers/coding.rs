//! Whether the client can read the content coding of an answer.
//!
//! Bodies are compared decoded, so a coding that only the candidate uses differs in nothing else. But a client that did
//! not ask for it gets bytes that it cannot read. By RFC 9110 §12.5.3 a request without `Accept-Encoding` accepts any
//! coding. In fact its sender is mostly a simple client that decodes nothing, and the legacy, which knows its clients,
//! does not encode for it. So a coding that the request does not name, and the legacy does not use, is a difference.
//! A candidate that leaves out a coding is none, because every client reads plain bytes.

use http::header::ACCEPT_ENCODING;
use parity_schemas::fields::FieldLines;

use crate::decode;

/// Whether the candidate uses a coding that the request does not accept and that the legacy does not use.
pub(super) fn is_refused(
    request: &FieldLines,
    legacy: &FieldLines,
    candidate: &FieldLines,
) -> bool {
    let usual = decode::encodings(legacy);
    decode::encodings(candidate).iter().any(|coding| {
        let coding = plain_name(coding);
        !usual.iter().any(|usual| plain_name(usual) == coding) && !accepts(request, coding)
    })
}

/// Whether one of the elements names the coding, or else whether `*` stands for it, with a weight above zero.
fn accepts(request: &FieldLines, coding: &str) -> bool {
    let mut by_name = None;
    let mut by_star = None;
    for line in request.get_all(&ACCEPT_ENCODING) {
        let line = line.lossy().to_ascii_lowercase();
        for element in line.split(',') {
            let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
            let wanted = weight(parameters) > 0.0;
            match plain_name(name.trim()) {
                "*" => by_star = Some(wanted),
                name if name == coding => by_name = Some(wanted),
                _ => {}
            }
        }
    }
    by_name.or(by_star).unwrap_or(false)
}

/// The value of `q`; 1 if there is none, and 0 if it is not a number.
fn weight(parameters: &str) -> f32 {
    let mut pairs = parameters
        .split(';')
        .filter_map(|part| part.split_once('='));
    pairs
        .find(|(name, _)| name.trim() == "q")
        .map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0))
}

/// The old names `x-gzip` and `x-compress` mean the same without their prefix (RFC 9110 §8.4.1).
fn plain_name(coding: &str) -> &str {
    match coding {
        "x-gzip" => "gzip",
        "x-compress" => "compress",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_ENCODING;

    use super::*;

    #[test]
    fn a_coding_is_for_clients_that_name_it() {
        for (accept, legacy, candidate, refused) in [
            (None, "", "gzip", true),
            (None, "gzip", "", false),
            (None, "gzip", "x-gzip", false),
            (None, "gzip", "br", true),
            (None, "gzip", "gzip, br", true),
            (None, "", "identity", false),
            (Some(""), "", "gzip", true),
            (Some("identity"), "", "gzip", true),
            (Some("br, GZIP"), "", "gzip", false),
            (Some("gzip"), "", "X-Gzip", false),
            (Some("br"), "", "gzip", true),
            (Some("gzip;q=0"), "", "gzip", true),
            (Some("gzip; Q=0.000, *"), "", "gzip", true),
            (Some("gzip;q=0.1"), "", "gzip", false),
            (Some("gzip;q=often"), "", "gzip", true),
            (Some("*"), "", "gzip", false),
            (Some("*;q=0"), "", "gzip", true),
            (Some("*;q=0, gzip"), "", "gzip", false),
            (Some("gzip"), "gzip", "gzip, br", true),
            (Some("identity"), "br", "br", false),
        ] {
            let request = accept.map(|value| (ACCEPT_ENCODING, value));
            let [legacy, candidate] =
                [legacy, candidate].map(|value| FieldLines::from_iter([(CONTENT_ENCODING, value)]));
            assert_eq!(
                is_refused(&request.into_iter().collect(), &legacy, &candidate),
                refused,
                "{accept:?}"
            );
        }
    }
}
