//! Ambiguous heads: request lines, hosts, malformed fields, other versions, other protocols.

use super::{Vector, vector};

/// The end of such a head is clear, so the connection stays usable after the refusal.
const ONE_PLACE: &str = "a request for two places goes to none of them; the next one is served";

pub(super) const VECTORS: &[Vector] = &[
    // === Request lines ===
    vector(
        "two requests in a row",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\n\r\n{S}",
        &["first", "smuggled", "after"],
        "",
    ),
    vector(
        "empty lines before the request",
        b"\r\n\r\nGET /##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "bare line feeds throughout",
        b"GET /##/first HTTP/1.1\nHost: h\n\n",
        &["first", "after"],
        "",
    ),
    vector(
        "two spaces in the request line",
        b"GET  /##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "RFC 9112 §3 has one space; a target that begins with one is nobody's",
    ),
    vector(
        "tabs in the request line",
        b"GET\t/##/first\tHTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space in the target",
        b"GET /##/first /##/smuggled HTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space at the end of the request line",
        b"GET /##/first HTTP/1.1 \r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "NUL in the target",
        b"GET /##/first\0 HTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "carriage return in the target",
        b"GET /##/first\rx HTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "fragment in the target",
        b"GET /##/first#x HTTP/1.1\r\nHost: h\r\n\r\n",
        &["first#x", "after"],
        "",
    ),
    vector(
        "method that is no token",
        b"GE(T) /##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector("HTTP/0.9", b"GET /##/first\r\n", &[], ""),
    vector(
        "HTTP/1.2",
        b"GET /##/first HTTP/1.2\r\nHost: h\r\n\r\n",
        &[],
        "there is no such version",
    ),
    vector(
        "HTTP/2.0 in words",
        b"GET /##/first HTTP/2.0\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "HTTP/1.0 with chunks",
        b"POST /##/first HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "HTTP/1.0 with chunks, a length and keep-alive",
        b"POST /##/first HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nContent-Length: 43\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{S}",
        &[],
        "",
    ),
    // === Places ===
    vector(
        "target and Host agree",
        b"GET http://h/##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &["first", "after"],
        "",
    ),
    vector(
        "target and Host do not agree",
        b"GET http://i/##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &["after"],
        ONE_PLACE,
    ),
    vector(
        "user information in the target",
        b"GET http://h@i/##/first HTTP/1.1\r\nHost: h\r\n\r\n",
        &["after"],
        ONE_PLACE,
    ),
    vector(
        "two Hosts",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
        &["after"],
        ONE_PLACE,
    ),
    vector(
        "two Hosts and a body",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nHost: i\r\nContent-Length: 38\r\n\r\n{S}",
        &["after"],
        ONE_PLACE,
    ),
    vector(
        "no Host",
        b"GET /##/first HTTP/1.1\r\n\r\n",
        &["after"],
        "",
    ),
    vector(
        "Host with a path",
        b"GET /##/first HTTP/1.1\r\nHost: h/x\r\n\r\n",
        &["after"],
        ONE_PLACE,
    ),
    vector(
        "Host that is nominated by Connection",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nConnection: host\r\n\r\n",
        &["first", "after"],
        "",
    ),
    // === Fields ===
    vector(
        "field without a name",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "field without a colon",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nx\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space in a name",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nX Y: z\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "space before the first field",
        b"GET /##/first HTTP/1.1\r\n Host: h\r\nHost: h\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "folded field",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nX: y\r\n z\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "NUL in a value",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nX: y\0z\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "a whole request behind bare carriage returns",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nX: y\r\rGET /##/smuggled HTTP/1.1\rHost: h\r\r\r\n\r\n",
        &[],
        "",
    ),
    vector(
        "length that is nominated by Connection",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nConnection: content-length\r\nContent-Length: 38\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
    vector(
        "coding that is nominated by Connection",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nConnection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n{S}\r\n0\r\n\r\n",
        &["first", "after"],
        "",
    ),
    // === Other protocols ===
    vector(
        "upgrade with a body",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 38\r\n\r\n{S}",
        &["after"],
        "where the body ends and the other protocol begins is for two parsers to disagree about",
    ),
    vector(
        "upgrade that is declined",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n{S}",
        &["first", "smuggled", "after"],
        "",
    ),
    vector(
        "upgrade to HTTP/2 in clear",
        b"GET /##/first HTTP/1.1\r\nHost: h\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n{S}",
        &["first", "smuggled", "after"],
        "",
    ),
    vector(
        "CONNECT",
        b"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n{S}",
        &[],
        "",
    ),
    vector(
        "expectation of another kind",
        b"POST /##/first HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\nContent-Length: 38\r\n\r\n{S}",
        &["first", "after"],
        "",
    ),
];
