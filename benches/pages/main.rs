//! How long the pages of `parity ui` take on a large record: a million mismatches, and tallies of a hundred routes for ten
//! days, in `SQLite` and in `ClickHouse`.
//!
//! `benches/pages/run` builds and prints it. One hour is written by the code that a mirror writes with; the other 239 are made
//! of it by one SQL statement for each table, shifted in time, because writing three million rows one by one measures nothing
//! of a page. `PAGES_STORE=FILE` keeps the file and uses it again, `PAGES_GROUPS=many` has ten thousand groups, and
//! `PAGES_CLICKHOUSE=1` measures ClickHouse, too; with a URL instead, a database that is there.

#![allow(clippy::print_stdout, reason = "what is measured is printed")]

mod fill;
mod multiply;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use parity_schemas::clickhouse::Layout;
use parity_sink::write::Retention;
use parity_sink::{StoreConfig, StoreUrl, apply_schema};

use self::fill::Shape;

#[path = "../../tests/support/servers/mod.rs"]
mod servers;

/// Loads of each page.
const LOADS: usize = 21;
/// Loads that are not measured: the first ones read what later ones find in memory, and are told apart.
const COLD: usize = 1;

fn main() {
    // `cargo test --all-targets` runs benchmarks without this word: then two hours and one load of each page show that it works.
    let measured = std::env::args().any(|word| word == "--bench");
    let loads = if measured { LOADS } else { 1 };
    let shape = match std::env::var("PAGES_GROUPS").as_deref() {
        _ if !measured => Shape::TRIED,
        Ok("many") => Shape::MANY,
        _ => Shape::USUAL,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = std::env::var_os("PAGES_STORE")
        .filter(|_| measured)
        .map_or_else(|| folder.path().join("parity.db"), PathBuf::from);
    if !path.exists() {
        let began = Instant::now();
        fill::hour(&StoreUrl::Sqlite(path.clone()).into(), &shape);
        multiply::sqlite(&path, &shape);
        println!("filled {} in {:.0?}", path.display(), began.elapsed());
    }
    println!(
        "SQLite, {} MB, {} groups",
        std::fs::metadata(&path).map_or(0, |file| file.len() >> 20),
        shape.all_groups()
    );
    measure(&format!("sqlite:{}", path.display()), folder.path(), loads);
    let asked = std::env::var("PAGES_CLICKHOUSE").ok().filter(|_| measured);
    if let Some(url) = asked.as_deref().filter(|url| url.contains("://")) {
        println!("{url}");
        measure(url, folder.path(), loads);
    } else if asked.is_some() {
        let server = servers::ClickHouse::shared();
        let database = server.database();
        let store = StoreConfig::from(database.url().parse::<StoreUrl>().expect("a URL"));
        apply_schema(&store, &Layout::Single, &Retention::default()).expect("the tables are made");
        let began = Instant::now();
        fill::hour(&store, &shape);
        multiply::clickhouse(&database, &shape);
        println!("ClickHouse, filled in {:.0?}", began.elapsed());
        measure(&database.url(), folder.path(), loads);
    }
}

/// Serves a store and asks for its pages.
fn measure(store: &str, folder: &Path, loads: usize) {
    let mut ui = Ui::start(store, folder);
    let list = ui.get("/api/v1/mismatches?limit=1");
    let found: serde_json::Value = serde_json::from_slice(&list.body).expect("a document");
    let mismatch = &found["mismatches"][0];
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let group = text(&mismatch["fingerprints"][0]);
    let pages = [
        ("overview", "/".to_owned()),
        ("groups", "/groups".to_owned()),
        ("causes", "/causes".to_owned()),
        ("group", format!("/groups/{group}")),
        ("exchange", format!("/mismatches/{}", text(&mismatch["id"]))),
        ("history, 24 h", "/history?since=24h".to_owned()),
        ("history, 10 days", "/history".to_owned()),
        ("overview of 24 h", "/?since=24h".to_owned()),
    ];
    println!(
        "  {:<18} {:>9} {:>9} {:>9} {:>9}",
        "page", "first", "median", "worst", "bytes"
    );
    for (name, path) in pages {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in (0..COLD).chain(0..loads) {
            let began = Instant::now();
            let answer = ui.get(&path);
            times.push(began.elapsed());
            assert_eq!(answer.status, 200, "{path}");
            bytes = answer.body.len();
        }
        let first = times.remove(0);
        times.sort_unstable();
        println!(
            "  {name:<18} {:>9} {:>9} {:>9} {bytes:>9}",
            millis(first),
            millis(times[times.len() / 2]),
            millis(times[times.len() - 1]),
        );
    }
    println!("  memory of the process: {} MB", ui.memory() >> 10);
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// `parity ui`, ended with this.
struct Ui {
    child: Child,
    address: String,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
}

impl Ui {
    fn start(store: &str, folder: &Path) -> Self {
        let program = std::env::var("PAGES_PROGRAM")
            .unwrap_or_else(|_| env!("CARGO_BIN_EXE_parity").to_owned());
        let mut child = Command::new(program)
            .args(["ui", "--store", store, "--admin", "127.0.0.1:0"])
            // The newest record in the store is of the migration that pads it, and that is what it would show by itself.
            .env("PARITY_MIGRATION", fill::MEASURED)
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let address = loop {
            let line = lines
                .next()
                .expect("it says where it serves")
                .expect("text");
            if let Some((_, rest)) = line.split_once("http://") {
                break rest.split('/').next().expect("an address").to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn get(&mut self, path: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("it accepts");
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.expect("a head") + 4);
        let head = String::from_utf8_lossy(&answer);
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.expect("a status"),
            body,
        }
    }

    /// Kilobytes that it has in memory now.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        // It only reads.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
