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
    place.write("parity.toml", format!("{file}batch_rows = 10\n"));
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    place.write(
        "parity.toml",
        format!("{file}batch_rows = 0\nmemory = \"lots\"\n"),
    );
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 2);
    in_order(
        &ended,
        &[
            "parity.toml:4:1: sink.batch_rows",
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
