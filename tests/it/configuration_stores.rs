//! Settings of stores and of `sink`: what is checked before anything starts, and that passwords are never shown.

use crate::configuration::{UPSTREAMS, in_order, refused};
use crate::support::process::Place;

#[test]
fn a_password_is_taken_from_the_environment_or_a_file_and_never_shown() {
    refused(
        &format!("{UPSTREAMS}[kafka]\npassword = \"hunter2-secret\"\n"),
        &[
            "parity.toml:5:1: `password`",
            "does not belong into this file",
            "PARITY_KAFKA_PASSWORD",
        ],
    );
    let place = Place::new();
    let environment = [("PARITY_CLICKHOUSE_PASSWORD", "hunter2-secret")];
    for output in ["text", "json"] {
        let arguments = ["config", "show", "--output", output];
        let shown = place.run_with(&arguments, &environment, "");
        assert!(!shown.stdout.contains("hunter2"), "{}", shown.stdout);
        assert!(shown.stdout.contains("clickhouse.password"));
    }
    refused(
        &format!("{UPSTREAMS}store = \"clickhouse://me:hunter2-secret@db/parity\"\n"),
        &[
            "parity.toml:4:1: mirror.store",
            "holds a password",
            "PARITY_CLICKHOUSE_PASSWORD",
        ],
    );
}

#[test]
fn what_a_connection_to_kafka_needs_is_checked_before_anything_starts() {
    let store = "store = \"kafka://127.0.0.1:9092/t\"\n";
    let kafka = |settings: &str| format!("{UPSTREAMS}{store}[kafka]\n{settings}\n");
    refused(
        &kafka("security = \"tls\""),
        &[
            "parity.toml:6:1: kafka.security: `tls` is none of",
            "sasl_ssl",
        ],
    );
    refused(
        &kafka("security = \"sasl_plaintext\"\nusername = \"me\""),
        &[
            "parity.toml:6:1: kafka.security: a login needs",
            "PARITY_KAFKA_PASSWORD",
        ],
    );
    refused(
        &kafka("certificate_file = \"Cargo.toml\"\nca_file = \"nowhere.pem\""),
        &[
            "parity.toml:6:1: cannot read Cargo.toml",
            "parity.toml:7:1: cannot read nowhere.pem",
        ],
    );
    if !cfg!(feature = "kafka-tls") {
        refused(
            &kafka("security = \"ssl\""),
            &[
                "parity.toml:6:1: kafka.security: this build speaks neither",
                "--features kafka-tls",
            ],
        );
    }
    refused(
        &format!("{UPSTREAMS}store = \"kafka://127.0.0.1:x/t\"\n"),
        &[
            "parity.toml:4:1: mirror.store",
            "`x` is no port",
            "kafka://127.0.0.1:9092/parity.records",
        ],
    );
}

#[test]
fn a_sink_says_all_that_it_lacks_and_its_file_is_checked_as_one() {
    let place = Place::new();
    let ended = place.run(&["sink"]);
    assert_eq!(ended.code, 2);
    in_order(
        &ended,
        &[
            "no kafka is given",
            "--kafka kafka://",
            "no clickhouse is given",
            "--clickhouse",
        ],
    );
    let ended = place.run(&[
        "sink",
        "--kafka",
        "clickhouse://a",
        "--clickhouse",
        "sqlite:x.db",
    ]);
    assert_eq!(ended.code, 2);
    in_order(
        &ended,
        &["--kafka: sink.kafka", "--clickhouse: sink.clickhouse"],
    );
    let file =
        "[sink]\nkafka = \"kafka://127.0.0.1:9092/t\"\nclickhouse = \"clickhouse://127.0.0.1/x\"\n";
    place.write("parity.toml", format!("{file}memory = \"32MiB\"\n"));
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    place.write(
        "parity.toml",
        format!("{file}workers = 0\nmemory = \"lots\"\n"),
    );
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    in_order(
        &ended,
        &[
            "parity.toml:4:1: sink.workers",
            "parity.toml:5:1: sink.memory",
        ],
    );
}

#[test]
fn the_configuration_for_many_mirrors_is_valid() {
    let file = crate::support::root().join("examples/scale/parity.toml");
    let ended = Place::new().run(&["config", "check", file.to_str().expect("UTF-8")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

const RENAMED: &str = "mirror.store is called record.store now";

#[test]
fn a_former_name_holds_and_is_told_once() {
    let place = Place::new();
    place.write("parity.toml", "[mirror]\nstore = \"sqlite:other.db\"\n");
    for command in [
        &["config", "show", "--origin"][..],
        &["config", "check"],
        &["report"],
        &["gate"],
        &["ui"],
    ] {
        let ended = place.run(command);
        let told = format!("parity.toml:2:1: {RENAMED}");
        assert_eq!(ended.stderr.matches(&told).count(), 1, "{}", ended.stderr);
        assert_eq!(
            ended.stderr.matches("called").count(),
            1,
            "{}",
            ended.stderr
        );
        match command {
            ["config", "show", ..] => {
                let shown = "= \"sqlite:other.db\"  # parity.toml:2:1";
                let mut lines = ended.stdout.lines();
                let is_it = |line: &str| line.starts_with("record.store ") && line.ends_with(shown);
                assert!(lines.any(is_it), "{}", ended.stdout);
            }
            ["config", ..] => assert_eq!(ended.code, 0, "{}", ended.stderr),
            // It is read, not only known.
            _ => in_order(&ended, &["there is no store at other.db"]),
        }
    }
    let variable = [("PARITY_STORE", "sqlite:third.db")];
    let ended = place.run_with(&["report"], &variable, "");
    in_order(&ended, &[RENAMED, "there is no store at third.db"]);
    let ended = place.run_with(&["report", "--store", "sqlite:fourth.db"], &variable, "");
    in_order(&ended, &[RENAMED, "there is no store at fourth.db"]);

    let mirror = place.mirror("http://127.0.0.1:7001", "http://127.0.0.1:7002", &[]);
    let log = mirror.log();
    assert_eq!(log.matches(RENAMED).count(), 1, "{log}");
    assert_eq!(mirror.stop().0, 0);
    place.write(
        "parity.toml",
        "[record]\nstore = \"sqlite:other.db\"\nspool = \"here\"\n",
    );
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("called"), "{}", ended.stderr);
}

#[test]
fn both_names_of_a_setting_are_an_error_that_names_both_lines() {
    let former = "store = \"sqlite:a.db\"\n";
    let now = "[record]\nstore = \"sqlite:a.db\"\n";
    refused(
        &format!("{UPSTREAMS}{former}{now}"),
        &[
            "parity.toml:6:1: record.store and mirror.store, at parity.toml:4:1, are one setting",
            "keep record.store",
        ],
    );
    // The error says it all.
    let place = Place::new();
    place.write("parity.toml", format!("[mirror]\n{former}{now}"));
    let ended = place.run(&["report"]);
    assert_eq!(ended.code, 2);
    assert!(!ended.stderr.contains("called"), "{}", ended.stderr);
    refused(
        &format!("{now}{UPSTREAMS}{former}"),
        &[
            "parity.toml:6:1: mirror.store and record.store, at parity.toml:2:1, are one setting",
            "keep record.store",
        ],
    );
    refused(
        &format!("{UPSTREAMS}spool = \"a\"\n[record]\nspool = 1\n"),
        &["parity.toml:6:1: record.spool and mirror.spool, at parity.toml:4:1"],
    );
    // The error names the setting as the file spells it.
    refused(
        &format!("{UPSTREAMS}[record]\nstore = \"sqlit:a.db\"\n"),
        &["parity.toml:5:1: record.store"],
    );
}

#[test]
fn the_file_to_start_from_has_the_new_name_alone() {
    let text = Place::new().run(&["config", "init", "-"]).stdout;
    let (_, record) = text.split_once("\n[record]\n").expect("a section");
    let (record, _) = record.split_once("\n[").expect("another section");
    for line in [
        "# store = \"sqlite:parity.db\"",
        "# spool = \"parity.spool\"",
    ] {
        assert!(record.contains(line), "{record}");
        assert_eq!(text.matches(line).count(), 1, "{text}");
    }
}
