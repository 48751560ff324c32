//! Ambiguous lengths: `Content-Length` and `Transfer-Encoding`, each twice, both together, and in odd spellings.

use super::{Vector, vector};

/// A length that chunks override (RFC 9112 §6.3) is removed before the mirror sees it. The request is forwarded in chunks,
/// and the connection is closed after it.
const OVERRIDDEN: &str =
    "chunks override any length; it is not passed on, and nothing is read behind the request";

pub(super) const VECTORS: &[Vector] = &[
    // === Both (RFC 9112 §6.1: chunks count, the length is dropped, and the connection is closed) ===
    vector(
        "length before chunks, CL.TE",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &["first"],
        "",
    ),
    vector(
        "chunks before length, TE.CL",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &["first"],
        "",
    ),
    vector(
        "chunks and a length that is none",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n0\r\n\r\n{S}",
        &["first"],
        OVERRIDDEN,
    ),
    vector(
        "chunks and two lengths",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 43\r\n\r\n0\r\n\r\n{S}",
        &["first"],
        OVERRIDDEN,
    ),
    // === Codings that are not quite chunked ===
    vector(
        "unknown coding and a length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "unknown coding alone",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "identity and a length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38\r\nTransfer-Encoding: identity\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "chunked, then identity",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "identity, then chunked",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity, chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "identity and chunked on two lines",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "chunked and identity on two lines",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "gzip, then chunked",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "chunked twice",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "chunked on two lines",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "upper case",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTRANSFER-ENCODING: CHUNKED\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "in quotes",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "with a parameter",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "empty coding and a length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38\r\nTransfer-Encoding:\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "after an empty element",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: ,chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "tabs around the coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\tchunked\t\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "vertical tab before the coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "NUL before the coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding: \0chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "space before the colon of the coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "folded coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "coding as a fold of another field",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "coding behind a bare line feed",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &["first"],
        "",
    ),
    vector(
        "coding behind a bare carriage return",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 43\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "underscore in the name of the coding",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38\r\nTransfer_Encoding: chunked\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
    // === Lengths ===
    vector(
        "the same length twice",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38\r\nContent-Length: 38\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
    vector(
        "two lengths",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "the same length in a list",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38, 38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "two lengths in a list",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "signed length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: +38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "negative length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: -38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "hexadecimal length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 0x26\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "length with a space in it",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 3 8\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "length with more behind it",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38x\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "length with a fraction",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38.0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "length with zeros before it",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 000038\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
    vector(
        "length beyond 64 bits",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551654\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "empty length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "space before the colon of the length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length : 38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "folded length",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n 38\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "GET with a body",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nContent-Length: 38\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
    vector(
        "GET with a body in chunks",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &["first", "after"],
        "",
    ),
];
