//! A small payments service in two versions: the original in Go, and its rewrite in Rust.
//!
//! The legacy answers what Go's `encoding/json` would print, the candidate what serde prints, with the differences that
//! such a rewrite really has. `parity demo` runs both in its process. Answers depend on the path only, so every run finds the
//! same. `examples/payments` has such a rewrite as programs of their own.

use std::fmt::Write;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

/// Which of the two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The Go service.
    Legacy,
    /// Its rewrite.
    Candidate,
}

/// Accounts `acc-1000` to `acc-1099` exist.
pub(crate) const ACCOUNTS: u32 = 100;
/// Orders `ord-20000` to `ord-20499` exist.
pub(crate) const ORDERS: u32 = 500;

/// What it answers.
pub(crate) fn answer(role: Role, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, media_type, body) = route(role, request.method(), request.uri().path());
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static(media_type),
    );
    headers.insert("cache-control", http::HeaderValue::from_static("no-store"));
    response
}

fn route(role: Role, method: &Method, path: &str) -> (StatusCode, &'static str, String) {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let number = |text: &str, prefix: &str, first: u32, count: u32| {
        let number = text
            .strip_prefix(prefix)?
            .parse::<u32>()
            .ok()?
            .checked_sub(first)?;
        (number < count).then_some(number)
    };
    let account = |text: &str| number(text, "acc-", 1000, ACCOUNTS);
    let order = |text: &str| number(text, "ord-", 20_000, ORDERS);
    let found = match (method, segments.as_slice()) {
        (&Method::GET, ["status"]) => {
            return (
                StatusCode::OK,
                "text/plain; charset=utf-8",
                "ok\n".to_owned(),
            );
        }
        (&Method::GET, ["accounts", id, "balance"]) => account(id).map(|id| balance(role, id)),
        (&Method::GET, ["accounts", id, "statistics"]) => {
            account(id).map(|id| statistics(role, id))
        }
        (&Method::GET, ["accounts", id, "orders"]) => account(id).map(|id| orders(role, id)),
        (&Method::GET, ["orders", id]) => order(id).map(|id| one_order(role, id)),
        (&Method::POST, ["orders"]) => {
            return (
                StatusCode::CREATED,
                json(role),
                ended(role, "{\"accepted\":true}"),
            );
        }
        _ => None,
    };
    if let Some(body) = found {
        return (StatusCode::OK, json(role), ended(role, &body));
    }
    // The rewrite answers the same status with another body.
    let body = match role {
        Role::Legacy => "{\"error\":\"not found\"}",
        Role::Candidate => "{\"code\":\"not_found\",\"error\":\"no such resource\"}",
    };
    (StatusCode::NOT_FOUND, json(role), ended(role, body))
}

/// The Go service names the charset, axum does not: no difference for JSON.
fn json(role: Role) -> &'static str {
    match role {
        Role::Legacy => "application/json; charset=utf-8",
        Role::Candidate => "application/json",
    }
}

/// Go's `Encoder` ends with a newline, serde does not: white space is no difference.
fn ended(role: Role, body: &str) -> String {
    match role {
        Role::Legacy => format!("{body}\n"),
        Role::Candidate => body.to_owned(),
    }
}

/// A money amount in cents that depends on the account.
fn cents(account: u32) -> u32 {
    account * 7_919 % 500_000 + 1_025
}

fn balance(role: Role, account: u32) -> String {
    let cents = cents(account);
    // One balance in a hundred ends in half a cent, which the rewrite rounds down.
    let cents = if role == Role::Candidate && account == 37 {
        cents - 1
    } else {
        cents
    };
    let (whole, rest) = (cents / 100, cents % 100);
    let as_of = time(role, account);
    match role {
        Role::Legacy => format!(
            "{{\"account\":\"acc-{}\",\"as_of\":\"{as_of}\",\"balance\":\"{whole}.{rest:02}\",\"currency\":\"EUR\"}}",
            1000 + account
        ),
        // Fields in the order of the struct instead of sorted: no difference.
        Role::Candidate => format!(
            "{{\"account\":\"acc-{}\",\"currency\":\"EUR\",\"balance\":\"{whole}.{rest:02}\",\"as_of\":\"{as_of}\"}}",
            1000 + account
        ),
    }
}

/// Go trims the zeros of fractional seconds, chrono prints three digits. Accounts whose last digit is zero show it.
fn time(role: Role, account: u32) -> String {
    match (role, account % 10) {
        (Role::Legacy, 0) => "2026-03-01T09:30:12.12Z".to_owned(),
        (Role::Candidate, 0) => "2026-03-01T09:30:12.120Z".to_owned(),
        (_, digit) => format!("2026-03-01T09:30:12.12{digit}Z"),
    }
}

fn statistics(role: Role, account: u32) -> String {
    // Every fifth account has had more than 2^53 ledger entries; the rewrite read the number as a double.
    let sequence: u64 = if account.is_multiple_of(5) {
        9_007_199_254_740_993
    } else {
        48_000 + u64::from(account)
    };
    let sequence = if role == Role::Candidate {
        (sequence as f64) as u64
    } else {
        sequence
    };
    // The same double as Go and as serde print it: no difference.
    let (volume, rate) = match role {
        Role::Legacy => ("1000000", "0.000001"),
        Role::Candidate => ("1000000.0", "1e-6"),
    };
    format!(
        "{{\"account\":\"acc-{}\",\"payments\":{},\"volume\":{volume},\"dispute_rate\":{rate},\"ledger_sequence\":{sequence}}}",
        1000 + account,
        120 + account
    )
}

fn orders(role: Role, account: u32) -> String {
    let mut numbers: Vec<u32> = (0..5).map(|step| (account * 5 + step) % ORDERS).collect();
    // The rewrite collects some lists from a hash map.
    if role == Role::Candidate && account % 10 == 7 {
        numbers.swap(0, 3);
        numbers.swap(1, 4);
    }
    let items: Vec<String> = numbers
        .into_iter()
        .map(|number| item(role, number))
        .collect();
    // `omitempty` drops the empty cursor of the last page; serde prints what is there.
    let cursor = match (role, account % 10) {
        (Role::Legacy, 5) => String::new(),
        (_, 5) => ",\"next_cursor\":\"\"".to_owned(),
        _ => format!(",\"next_cursor\":\"c{account}\""),
    };
    format!(
        "{{\"account\":\"acc-{}\",\"items\":[{}]{cursor}}}",
        1000 + account,
        items.join(",")
    )
}

fn item(role: Role, order: u32) -> String {
    let mut out = format!(
        "{{\"id\":\"ord-{}\",\"amount\":\"{}.{:02}\"",
        20_000 + order,
        order * 3 + 5,
        order % 100
    );
    let tags = match order % 10 {
        // A nil slice prints as null in Go, an empty Vec as [] in Rust.
        3 if role == Role::Legacy => "null",
        3 => "[]",
        _ => "[\"card\",\"eu\"]",
    };
    let _infallible = write!(out, ",\"tags\":{tags}}}");
    out
}

fn one_order(role: Role, order: u32) -> String {
    // The single order fills its tags from the database row, so both services agree.
    let tags = "[\"card\",\"eu\"]";
    let amount = format!("{}.{:02}", order * 3 + 5, order % 100);
    let id = 20_000 + order;
    match role {
        Role::Legacy => format!(
            "{{\"amount\":\"{amount}\",\"id\":\"ord-{id}\",\"note\":\"R\\u0026D\",\"tags\":{tags}}}"
        ),
        // Go escapes & < >, serde does not: no difference.
        Role::Candidate => format!(
            "{{\"id\":\"ord-{id}\",\"amount\":\"{amount}\",\"tags\":{tags},\"note\":\"R&D\"}}"
        ),
    }
}
