//! Request smuggling: how nginx, `HAProxy` and parity read requests whose end, host or form is ambiguous.
//!
//! Every vector is sent to all three unchanged, followed by one honest request on the same connection. Behind each stands a
//! strict legacy. Requirements on parity:
//!
//! - it forwards exactly the whole requests that the table says, which are never more than the client framed by RFC
//!   9112, and begins no other one than the first;
//! - it forwards none that neither of the others took for a request;
//! - what it forwards is framed in one way only, whatever the client wrote;
//! - the candidate gets no request that the legacy did not get;
//! - where parity forwards other requests than both of the others do, the table says why.

mod chunks;
mod heads;
mod lengths;
mod proxies;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use self::proxies::{Reference, haproxy, nginx, recording};
use super::origin::Heard;
use crate::support::process::Place;

/// What a client sends, and what of it parity passes on.
struct Vector {
    name: &'static str,
    /// `##` stands for the number of the vector in hexadecimal, `{S}` for a request for `/##/smuggled` of 38 bytes.
    bytes: &'static [u8],
    /// The last words of the targets that reach the legacy through parity, in their order.
    forwards: &'static [&'static str],
    /// Why neither nginx nor `HAProxy` does the same, where that is so.
    because: &'static str,
}

const fn vector(
    name: &'static str,
    bytes: &'static [u8],
    forwards: &'static [&'static str],
    because: &'static str,
) -> Vector {
    Vector {
        name,
        bytes,
        forwards,
        because,
    }
}

/// Comes after every vector. A proxy that is still in step answers it and closes.
const AFTER: &[u8] = b"GET /##/after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const SMUGGLED: &[u8] = b"GET /##/smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
/// A proxy that has neither answered nor closed after this is waiting for more of a request: longer than what the
/// others are told to wait.
const QUIET: Duration = Duration::from_millis(2500);

fn vectors() -> Vec<&'static Vector> {
    let all: Vec<_> = [lengths::VECTORS, chunks::VECTORS, heads::VECTORS]
        .into_iter()
        .flatten()
        .collect();
    assert!(all.len() < 256, "numbers have two digits");
    all
}

/// The bytes of a vector with its number in them.
fn written(number: usize, bytes: &[u8]) -> Vec<u8> {
    let digits = format!("{number:02x}");
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        if rest.starts_with(b"##") {
            out.extend_from_slice(digits.as_bytes());
            rest = &rest[2..];
        } else if rest.starts_with(b"{S}") {
            out.extend(written(number, SMUGGLED));
            rest = &rest[3..];
        } else {
            out.push(*first);
            rest = &rest[1..];
        }
    }
    out
}

/// Statuses of the answers to one connection, and whether the proxy closed it.
#[derive(Clone, Debug, Default)]
struct Told {
    statuses: Vec<u16>,
    closed: bool,
}

impl Told {
    fn successes(&self) -> usize {
        self.statuses
            .iter()
            .filter(|status| **status == 200)
            .count()
    }
}

fn ask(address: SocketAddr, bytes: &[u8]) -> Told {
    let mut stream = TcpStream::connect(address).expect("the proxy listens");
    stream
        .set_read_timeout(Some(QUIET))
        .expect("a socket option");
    // The proxy may have closed already, which is an answer, too.
    let _closed = stream.write_all(bytes);
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    let closed = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break true,
            Ok(length) => said.extend_from_slice(&buffer[..length]),
            Err(error) => break error.kind() != std::io::ErrorKind::WouldBlock,
        }
    };
    drop(stream.shutdown(Shutdown::Both));
    let said = String::from_utf8_lossy(&said).into_owned();
    let statuses = said
        .split("HTTP/1.")
        .skip(1)
        .filter_map(|answer| answer.get(2..5)?.parse().ok())
        .filter(|status| *status >= 200)
        .collect();
    Told { statuses, closed }
}

/// Sends every vector at once, each on a connection of its own.
fn ask_all(address: SocketAddr, vectors: &[&Vector]) -> Vec<Told> {
    thread::scope(|scope| {
        let asking: Vec<_> = vectors
            .iter()
            .enumerate()
            .map(|(number, vector)| {
                let bytes = written(number, &[vector.bytes, AFTER].concat());
                scope.spawn(move || ask(address, &bytes))
            })
            .collect();
        asking
            .into_iter()
            .map(|one| one.join().expect("no panic"))
            .collect()
    })
}

/// The number for requests that belong to no vector.
const NOWHERE: usize = usize::MAX;

/// What a legacy heard, by number of the vector.
fn heard_by_vector(heard: Vec<Heard>) -> BTreeMap<usize, Vec<(String, Heard)>> {
    let mut sorted = BTreeMap::<_, Vec<_>>::new();
    for one in heard {
        let path = one.target.split("://h").last().unwrap_or_default();
        let mut parts = path.splitn(3, '/').skip(1);
        let number = parts
            .next()
            .and_then(|number| usize::from_str_radix(number, 16).ok());
        let word = parts.next().unwrap_or_default().to_owned();
        let number = number.unwrap_or(NOWHERE);
        sorted.entry(number).or_default().push((word, one));
    }
    sorted
}

/// What one proxy made of all vectors.
struct Outcome {
    told: Vec<Told>,
    heard: BTreeMap<usize, Vec<(String, Heard)>>,
}

impl Outcome {
    /// Whole requests, or those that broke off in their bodies.
    fn words(&self, number: usize, whole: bool) -> Vec<&str> {
        let heard = self.heard.get(&number).into_iter().flatten();
        let heard = heard.filter(|(_, heard)| heard.whole == whole);
        heard.map(|(word, _)| word.as_str()).collect()
    }

    fn of(reference: Reference, vectors: &[&Vector]) -> Self {
        let told = ask_all(reference.address, vectors);
        // Faults in what the other proxies forward are not our concern.
        let (heard, _) = reference.end().record();
        Self {
            told,
            heard: heard_by_vector(heard),
        }
    }
}

/// Every vector through parity. What it forwards must be framed in one way, and the candidate must get no more.
fn through_parity(vectors: &[&Vector]) -> Outcome {
    let (legacy, candidate) = (recording(), recording());
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let told = ask_all(mirror.address, vectors);
    let (code, log) = mirror.stop();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("panicked"), "{log}");
    let (heard, faults) = legacy.record();
    assert!(faults.is_empty(), "sent to the legacy: {faults:#?}");
    let heard = heard_by_vector(heard);
    for (_, one) in heard.values().flatten() {
        for (name, _) in &one.trailers {
            let frames = ["content-length", "transfer-encoding", "host", "connection"];
            assert!(!frames.contains(&name.as_str()), "as a trailer: {one:?}");
        }
    }
    let nowhere = heard.get(&NOWHERE);
    assert!(nowhere.is_none(), "for no vector: {nowhere:?}");
    let (shadows, faults) = candidate.record();
    assert!(faults.is_empty(), "sent to the candidate: {faults:#?}");
    for (number, shadows) in heard_by_vector(shadows) {
        for (word, shadow) in shadows {
            let original = heard.get(&number).into_iter().flatten();
            let original = original.filter(|(other, _)| *other == word);
            assert!(
                original.into_iter().any(|(_, one)| one.body == shadow.body),
                "only the candidate got /{number:02x}/{word} with this body"
            );
        }
    }
    Outcome { told, heard }
}

#[test]
#[ignore = "needs other proxies and tools: run tests/run"]
fn nobody_gets_a_request_that_the_client_did_not_frame() {
    let vectors = vectors();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let references = [nginx(folder.path()), haproxy(folder.path())];
    let names = references.each_ref().map(|reference| reference.name);
    let (ours, references) = thread::scope(|scope| {
        let references =
            references.map(|reference| scope.spawn(|| Outcome::of(reference, &vectors)));
        let ours = through_parity(&vectors);
        (ours, references.map(|one| one.join().expect("no panic")))
    });
    let (mut table, mut faults) = (String::new(), Vec::new());
    for (number, vector) in vectors.iter().enumerate() {
        let words = ours.words(number, true);
        let told = &ours.told[number];
        let others = references.each_ref().map(|one| one.words(number, true));
        let statuses = &told.statuses;
        write!(
            table,
            "{number:02x} {:<44} parity {words:?} {statuses:?}",
            vector.name
        )
        .expect("memory");
        for ((name, outcome), words) in names.iter().zip(&references).zip(&others) {
            let statuses = &outcome.told[number].statuses;
            write!(table, " | {name} {words:?} {statuses:?}").expect("memory");
        }
        table.push('\n');
        let mut fault = |what: String| faults.push(format!("{number:02x} {}: {what}", vector.name));
        if words != vector.forwards {
            fault(format!(
                "forwards {words:?} instead of {:?}",
                vector.forwards
            ));
        }
        let begun = ours.words(number, false);
        if begun.iter().any(|word| *word != "first") {
            fault(format!("begins {begun:?}"));
        }
        let unheard_of = |word: &&str| !others.iter().any(|other| other.contains(word));
        if words.iter().any(unheard_of) && vector.because.is_empty() {
            fault("forwards what neither of the others takes for a request".into());
        }
        if !others.contains(&words) && vector.because.is_empty() {
            fault("differs from both of the others, and the table does not say why".into());
        }
        if told.successes() > words.len() {
            fault("more answers than requests".into());
        }
        if !told.closed && words.contains(&"after") {
            fault("the connection stays open after `Connection: close`".into());
        }
    }
    assert!(faults.is_empty(), "{faults:#?}\n{table}");
}
