//! Two processes that write one recording, as while one takes over from the other: nothing that either wrote is lost.

use serde_json::Value;

use super::{files, lines, recording};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::Service;
use crate::support::wait_for;

/// Asks for so many paths.
fn send(proxy: &Mirror<'_>, who: &str, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let answer = client::get(proxy.address, &format!("/{who}/{number}"));
        assert_eq!(answer.status, 200);
    }
}

/// Whatever is in the files of the recording.
fn all(place: &Place, file: &str) -> Vec<String> {
    let begin = file.split('.').next().expect("a name");
    let lines = files(place, begin).into_iter().flat_map(|path| {
        let name = path.file_name().expect("a name").to_string_lossy();
        lines(place, &name)
    });
    let url = |line: Value| line["url"].as_str().expect("a URL").to_owned();
    let mut urls: Vec<String> = lines.map(url).collect();
    urls.sort();
    urls
}

fn expected(of: &[(&str, usize)]) -> Vec<String> {
    let urls = of
        .iter()
        .flat_map(|(who, count)| (0..*count).map(move |number| format!("/{who}/{number}")));
    let mut urls: Vec<String> = urls.collect();
    urls.sort();
    urls
}

#[test]
fn neither_of_two_writers_removes_what_the_other_writes() {
    for file in ["live.ndjson", "live.ndjson.zst"] {
        let place = Place::new();
        place.write(
            "parity.toml",
            "[recording]\nfiles = 1\nfile_size = \"64KiB\"\n",
        );
        let service = Service::json("{}");
        let start = || recording(&place, &service.url(), &[file]);
        // An empty file of one that has written nothing yet.
        let first = start();
        let second = start();
        send(&first, "first", 0..5);
        send(&second, "second", 0..5);
        wait_for("both to have written", || {
            let files = files(&place, "live");
            let mut lengths = files.iter().map(|path| path.metadata().map(|of| of.len()));
            let is_written = lengths.all(|length| length.is_ok_and(|length| length > 0));
            (is_written && files.len() == 2).then_some(())
        });
        // A full one of one that goes on: by its number it would be the first to go.
        let third = start();
        send(&first, "first", 5..9);
        send(&second, "second", 5..9);
        send(&third, "third", 0..3);
        for proxy in [second, third, first] {
            proxy.signal("INT");
            let (code, log) = proxy.ended();
            assert_eq!(code, 0, "{log}");
        }
        let of = [("first", 9), ("second", 9), ("third", 3)];
        assert_eq!(all(&place, file), expected(&of), "{file}");
        // Of those that have ended, as many are kept as ever.
        let last = start();
        send(&last, "last", 0..1);
        last.signal("INT");
        assert_eq!(last.ended().0, 0);
        assert_eq!(all(&place, file), expected(&[("last", 1)]), "{file}");
    }
}

#[test]
fn many_that_begin_at_once_lose_nothing() {
    let place = Place::new();
    let service = Service::json("{}");
    let names = ["a", "b", "c", "d", "e", "f"];
    std::thread::scope(|scope| {
        for name in names {
            let (place, service) = (&place, &service);
            scope.spawn(move || {
                let proxy = recording(place, &service.url(), &["live.ndjson"]);
                send(&proxy, name, 0..3);
                proxy.signal("INT");
                let (code, log) = proxy.ended();
                assert_eq!(code, 0, "{log}");
            });
        }
    });
    let of = names.map(|name| (name, 3));
    assert_eq!(all(&place, "live.ndjson"), expected(&of));
}
