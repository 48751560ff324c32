//! The payments service after its rewrite: balance and statistics of an account, computed from its ledger.
//!
//! The weakness of the original: every answer copies and sorts the whole ledger, which the garbage collector has to clean up.
//! Planted bugs: `rounding`: fees are rounded half to even, as a money library does, where the original rounds half up. `audit`: the
//! audit trail keeps the number of a customer in one byte; one that does not fit ends the process. A shadow is no customer and leaves
//! no audit, so no comparison shows that, but the first customer whom the rewrite serves.

#[path = "../common/program.rs"]
mod program;
#[path = "../common/serve.rs"]
mod serve;

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::ExitCode;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use program::Version;

/// Accounts `acc-10000` to `acc-25999` exist: as many as the published comparison asked for.
const ACCOUNTS: u64 = 16_000;
const FIRST: u64 = 10_000;
/// Customers `C-1` to `C-256` ask in turn.
const CUSTOMERS: u32 = 256;
/// What mirrors and load generators of parity send with requests that no client waits for.
const SHADOW: &str = "x-parity-shadow";
const CUSTOMER: &str = "x-customer";
/// Entries of a ledger.
const ENTRIES: usize = 200;

fn main() -> ExitCode {
    program::run(
        "payments",
        |version, request| async move { answer(&version, &request) },
        request,
    )
}

/// Balance and statistics in turn, of one account after the other.
fn request(number: u32) -> Request<Full<Bytes>> {
    let account = FIRST + u64::from(number / 2) * 7_919 % ACCOUNTS;
    let what = if number.is_multiple_of(2) {
        "balance"
    } else {
        "statistics"
    };
    let mut request = Request::new(Full::default());
    *request.uri_mut() = format!("/accounts/acc-{account}/{what}")
        .parse()
        .expect("a path");
    let customer = format!("C-{}", number % CUSTOMERS + 1);
    let customer = customer.parse().expect("visible characters");
    request.headers_mut().insert(CUSTOMER, customer);
    request
}

/// Leaves a line of who was served, as the rewrite does for each of its clients.
#[expect(clippy::print_stderr, reason = "the audit trail of a sample")]
#[expect(
    clippy::exit,
    reason = "a fault that ends the process, as a panic of a service that is built to end with it"
)]
fn audit(version: &Version, request: &Request<Incoming>) {
    let headers = request.headers();
    if version.is_legacy() || headers.contains_key(SHADOW) {
        return;
    }
    let customer = headers.get(CUSTOMER).and_then(|value| value.to_str().ok());
    let number = customer.and_then(|customer| customer.strip_prefix("C-")?.parse::<u32>().ok());
    let Some(number) = number else { return };
    if version.has_bug("audit") && u8::try_from(number).is_err() {
        eprintln!("audit: {number} is no number of a customer");
        std::process::exit(101);
    }
    eprintln!("audit: C-{number} {}", request.uri().path());
}

fn answer(version: &Version, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    audit(version, request);
    let segments: Vec<&str> = request.uri().path().split('/').skip(1).collect();
    let found = match (request.method(), segments.as_slice()) {
        (&Method::GET, ["accounts", id, "balance"]) => number(id).map(|id| balance(version, id)),
        (&Method::GET, ["accounts", id, "statistics"]) => {
            number(id).map(|id| statistics(version, id))
        }
        _ => None,
    };
    let (status, mut body) = match found {
        Some(body) => (StatusCode::OK, body),
        None => (
            StatusCode::NOT_FOUND,
            "{\"error\":\"no such account\"}".to_owned(),
        ),
    };
    if version.is_legacy() {
        // As Go's encoder.
        body.push('\n');
    }
    program::answer(status, "application/json", body)
}

fn number(id: &str) -> Option<u64> {
    let account = id.strip_prefix("acc-")?.parse::<u64>().ok()?;
    (FIRST..FIRST + ACCOUNTS)
        .contains(&account)
        .then_some(account)
}

/// The amounts of an account in cents; every version has the same ledger.
fn ledger(account: u64) -> impl Iterator<Item = u64> {
    let mut state = account;
    std::iter::repeat_with(move || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        (state >> 8) % 20_000 * 5 + 5
    })
    .take(ENTRIES)
}

fn money(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

fn balance(version: &Version, account: u64) -> String {
    let balance = money(ledger(account).sum());
    // Go prints a time without trailing zeros.
    let milliseconds = account % 10;
    let as_of = match (version.is_legacy(), milliseconds) {
        (true, 0) => "2026-03-01T09:30:12.12Z".to_owned(),
        _ => format!("2026-03-01T09:30:12.12{milliseconds}Z"),
    };
    format!(
        "{{\"account\":\"acc-{account}\",\"currency\":\"EUR\",\"balance\":\"{balance}\",\"as_of\":\"{as_of}\"}}"
    )
}

fn statistics(version: &Version, account: u64) -> String {
    let mut amounts: Vec<u64> = ledger(account).collect();
    let fees: u64 = amounts.iter().map(|cents| fee(version, *cents)).sum();
    let total: u64 = amounts.iter().sum();
    let (_, median, above) = amounts.select_nth_unstable(ENTRIES / 2);
    let median = *median;
    let largest = above.iter().copied().max().unwrap_or(median);
    let mut partners = ["retail", "online", "travel"];
    if version.is_legacy() {
        // As Go lists a map: from one of eight places on, most of which are empty.
        match RandomState::new().build_hasher().finish() % 8 {
            1 => partners.rotate_left(1),
            2 => partners.rotate_left(2),
            _ => {}
        }
    } else {
        partners.sort_unstable();
    }
    let flags = match (account.is_multiple_of(4), version.is_legacy()) {
        (true, _) => "[\"watched\"]",
        // Go prints a list that was never made as null.
        (false, true) => "null",
        (false, false) => "[]",
    };
    let mut out = format!(
        "{{\"account\":\"acc-{account}\",\"payments\":{ENTRIES},\"total\":\"{}\"",
        money(total)
    );
    let _infallible = write!(
        out,
        ",\"median\":\"{}\",\"largest\":\"{}\",\"fees\":\"{}\",\"partners\":[\"{}\"],\"flags\":{flags}}}",
        money(median),
        money(largest),
        money(fees),
        partners.join("\",\"")
    );
    out
}

/// 1.3 % of an amount.
fn fee(version: &Version, cents: u64) -> u64 {
    let (whole, rest) = (cents * 13 / 1_000, cents * 13 % 1_000);
    let rounds_up = if version.has_bug("rounding") && rest == 500 {
        whole % 2 == 1
    } else {
        rest >= 500
    };
    whole + u64::from(rounds_up)
}
