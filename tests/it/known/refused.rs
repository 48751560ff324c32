//! What cannot be entered as known, and hostile words in what can.

use super::*;

#[test]
fn what_cannot_be_entered_changes_nothing() {
    let place = recorded();
    let before = file(&place);
    let name = name_of_new(&place);
    let slip = format!(
        "{}{}",
        name.get(..15).expect("16 digits"),
        if name.ends_with('0') { '1' } else { '0' }
    );
    for (more, words) in [
        (&[slip.as_str()][..], format!("did you mean `{name}`?")),
        (
            &["zzz"],
            "no difference is recorded as `zzz`: those that count are".to_owned(),
        ),
        (&[], "say what is known".to_owned()),
        (&["--path", "/**"], "it means everything".to_owned()),
        (&["--path", "/*"], "it means everything".to_owned()),
        (&["--kind", "value"], "it means everything".to_owned()),
        (
            &["--path", "/total", "--kind", "valeu"],
            "did you mean `value`?".to_owned(),
        ),
        (
            &["--path", "/total", "--route", "orders"],
            "known-1`: route".to_owned(),
        ),
        (
            &["--path", "/total", "--expires", "soon"],
            "`soon` is not a date".to_owned(),
        ),
        (
            &["--path", "/total", "--expires", "2020-01-01"],
            "expired on 2020-01-01".to_owned(),
        ),
        (&["--path", "/total", "--owner", " "], "owner".to_owned()),
    ] {
        let ended = place.run(&if more.contains(&"--owner") {
            [&["known", "add", "--reason", "r"][..], more].concat()
        } else {
            add(more)
        });
        says(&ended, 2, &[&words]);
        assert_eq!(file(&place), before, "{more:?}");
    }
    let left: Vec<_> = std::fs::read_dir(place.path())
        .expect("a directory")
        .flatten()
        .collect();
    let left: Vec<_> = left.iter().map(std::fs::DirEntry::file_name).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().ends_with(".new")),
        "{left:?}"
    );
    for (text, words) in [
        ("known = [", "is not TOML"),
        ("known = []\n", "write each entry as [[known]]"),
    ] {
        place.write("parity.toml", text);
        says(&place.run(&add(&["--path", "/total"])), 2, &[]);
        assert_eq!(file(&place), text, "{words}");
    }
    std::fs::remove_file(place.path().join("parity.toml")).expect("it was there");
    says(
        &place.run(&add(&["--path", "/total"])),
        2,
        &["parity config init"],
    );
}

#[test]
fn every_mistake_of_an_entry_is_told_with_its_line() {
    let place = Place::new();
    let text = "[[known]]\nid = \"a\"\nfingerprints = [\"xyz\"]\npath = \"/a\"\nowner = \"o\"\nreason = \"r\"\n\
                [[known]]\nid = \"a\"\npath = \"/b\"\nowner = \"o\"\nreason = \"r\"\nexpires = \"2020-01-01\"\nrate = 2\n\
                [[known]]\nid = \"c\"\npath = \"/b\"\nownr = \"o\"\nreason = \"\"\nmended = \"2999-01-01\"\nblocks = 1\n\
                [[known]]\nkind = \"value\"\nowner = \"o\"\nreason = \"r\"\n\
                [[known]]\nid = \"p\"\npart = \"boddy\"\nowner = \"o\"\nreason = \"r\"\n";
    place.write("parity.toml", text);
    let ended = place.run(&["config", "check"]);
    says(
        &ended,
        2,
        &[
            "parity.toml:3:1: known difference `a`: fingerprints: `xyz` is no fingerprint",
            "parity.toml:4:1: known difference `a`: path: it stands beside `fingerprints`",
            "parity.toml:8:1: id `a` is also in the [[known]] at parity.toml:2:1",
            "parity.toml:12:1: known difference `a`: expires: expired on 2020-01-01",
            "parity.toml:13:1: ",
            "parity.toml:17:1: unknown key `ownr`",
            "did you mean `owner`?",
            "parity.toml:18:1: known difference `c`: reason: it is needed",
            "parity.toml:19:1: known difference `c`: mended: 2999-01-01 has not come yet",
            "parity.toml:20:1: `blocks` is integer",
            "known difference `without id`: id: it is needed",
            "it means everything",
            "did you mean `body`?",
        ],
    );
}

#[test]
fn hostile_words_of_an_entry_are_shown_and_do_nothing() {
    let place = recorded();
    let hostile = "\u{1b}[31m<script>alert(1)</script> password=hunter2hunter2";
    let args = [
        "known", "add", "--path", "/total", "--blocks", "false", "--owner", "o", "--reason",
        hostile,
    ];
    says(&place.run(&args), 0, &[]);
    for shown in [&["gate", "--dry-run"][..], &["report"], &["known", "list"]] {
        let ended = place.run(shown);
        assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
        assert!(!ended.stdout.contains("hunter2"), "{}", ended.stdout);
    }
    let document = gate(&place, &["--output", "json"]);
    assert!(!document.stdout.contains("hunter2"), "{}", document.stdout);
    let page = place.ui().ask("/").text();
    assert!(!page.contains("<script>alert"), "{page}");
}
