//! What is read as a store, and what is refused with which message.

use super::*;

fn error(text: &str) -> String {
    text.parse::<StoreUrl>()
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn paths_are_taken_as_written() {
    for (text, path) in [
        ("sqlite:parity.db", "parity.db"),
        ("sqlite:/var/lib/parity.db", "/var/lib/parity.db"),
        ("sqlite:///var/lib/parity.db", "/var/lib/parity.db"),
        ("sqlite:a b?c#d.db", "a b?c#d.db"),
    ] {
        let url: StoreUrl = text.parse().expect("a store");
        assert_eq!(url, StoreUrl::Sqlite(path.into()));
        assert_eq!(
            url.to_string().parse::<StoreUrl>().expect("own text"),
            url,
            "{text}"
        );
    }
}

#[test]
fn what_is_no_store_is_told_what_is() {
    assert_eq!(
        error("parity.db"),
        "`parity.db` has no scheme; did you mean `sqlite:parity.db`?"
    );
    for text in [
        "",
        "postgres://x",
        "sqlite:",
        "sqlite://host/x",
        "sqlite::memory:",
    ] {
        assert!(error(text).contains("sqlite:parity.db"), "{text}");
    }
}

#[test]
fn what_is_left_out_has_its_default_and_the_text_reads_back() {
    for (text, whole) in [
        ("clickhouse://db", "clickhouse://db:8123/default"),
        (
            "clickhouse://me@db/parity?secure=true",
            "clickhouse://me@db:8443/parity?secure=true",
        ),
        ("clickhouse://[::1]:8124/x", "clickhouse://[::1]:8124/x"),
        ("kafka://a", "kafka://a:9092/parity.records"),
        ("kafka://a:1,b,[::1]:3/t", "kafka://a:1,b:9092,[::1]:3/t"),
    ] {
        let url: StoreUrl = text.parse().expect(text);
        assert_eq!(url.to_string(), whole);
        assert_eq!(whole.parse::<StoreUrl>().expect(whole), url);
    }
}

#[test]
fn a_password_is_refused_and_not_repeated() {
    for text in ["clickhouse://me:secret@db:8123/x", "kafka://me:secret@a/t"] {
        let error = error(text);
        assert!(!error.contains("secret"), "{error}");
        assert!(error.contains("PASSWORD"), "{error}");
    }
}

#[test]
fn each_part_is_checked() {
    for (text, part) in [
        ("clickhouse://", "no host"),
        ("clickhouse:/x", "does not begin"),
        ("clickhouse://@db/x", "no user"),
        ("clickhouse://db:0/x", "`0` is no port"),
        ("clickhouse://db:x/x", "`x` is no port"),
        ("clickhouse://d b/x", "`d b` is no host"),
        ("clickhouse://db/x/y", "database"),
        ("clickhouse://db/x?password=1", "?secure=true"),
        ("kafka://a,/t", "no host"),
        ("kafka://a/t/u", "`t/u` is no name"),
        ("kafka://a/..", "`..` is no name"),
    ] {
        assert!(error(text).contains(part), "{text}: {}", error(text));
    }
}
