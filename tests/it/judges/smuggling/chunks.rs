//! Ambiguous chunks: sizes, extensions, line ends and trailers.

use super::{Vector, vector};

/// Attacks use that proxies disagree on whether a bare line feed ends a line within a body.
const LINE_FEED: &str =
    "a bare line feed ends no line of a body (RFC 9112 §2.2 allows it in heads only)";

pub(super) const VECTORS: &[Vector] = &[
    vector(
        "size with zeros before it",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0026\r\n{S}\r\n000\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "size with 0x",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "signed size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n+26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "negative size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "size that is no number",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2g\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "no size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "size beyond 64 bits",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000026\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "size of 64 bits",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space before the size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n 26\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space behind the size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26 \r\n{S}\r\n0\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "two sizes",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26 0\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "extension",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26;a=\"b\"\r\n{S}\r\n0;c\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "extension with a line feed",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0;a\n\r\n\r\n{S}",
        &[],
        LINE_FEED,
    ),
    vector(
        "extension with a carriage return",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26;a\rb\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "bare line feed behind the size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26\n{S}\r\n0\r\n\r\n",
        &[],
        LINE_FEED,
    ),
    vector(
        "bare carriage return behind the size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26\r{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "bare line feed behind the chunk",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}\n0\r\n\r\n",
        &[],
        LINE_FEED,
    ),
    vector(
        "no line end behind the chunk",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "chunk that is longer than its size",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{S}\r\n0\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "bare line feeds at the end",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\n\n{S}",
        &[],
        LINE_FEED,
    ),
    vector(
        "trailers that would frame",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 38\r\nTransfer-Encoding: x\r\nHost: i\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "trailers that would frame, announced",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nTrailer: Content-Length, Transfer-Encoding, Host, Connection, X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\nContent-Length: 38\r\nTransfer-Encoding: x\r\nHost: i\r\nConnection: x\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "trailer without a colon",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nGET /##/smuggled HTTP/1.1\r\n\r\n{S}",
        &[],
        "",
    ),
];
