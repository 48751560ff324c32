//! The files to start from: what `config init` writes, and the configuration of the example.

use crate::support::process::Place;

#[test]
fn the_file_to_start_from_passes_its_own_check_and_is_never_overwritten() {
    let place = Place::new();
    assert_eq!(place.run(&["config", "init"]).code, 0);
    let checked = place.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    let again = place.run(&["config", "init"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let printed = place.run(&["config", "init", "-"]);
    assert_eq!(
        printed.stdout,
        std::fs::read_to_string(place.path().join("parity.toml")).expect("written")
    );
}

#[test]
fn every_setting_of_the_starting_file_is_valid_when_uncommented() {
    let place = Place::new();
    let text = place.run(&["config", "init", "-"]).stdout;
    let skipped = [
        "admin_token_file",
        "admin_look_token_file",
        "admin_tls_certificate_file",
        "admin_tls_key_file",
        "tls_certificate_file",
        "tls_key_file",
        "credentials_file",
        "ca_file",
        "instance",
        "password_file",
        "certificate_file",
        "key_file",
        "kafka = ",
        "clickhouse = ",
        "username",
    ];
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ").map(str::trim_start) {
            Some(rest)
                if rest.contains(" = ")
                    && !skipped.iter().any(|key| rest.starts_with(key))
                    && !rest.contains(". ") =>
            {
                rest
            }
            Some(rest) if rest.starts_with("[[") => rest,
            _ => line,
        })
        .fold(String::new(), |text, line| text + line + "\n");
    place.write("parity.toml", &uncommented);
    let ended = place.run(&["config", "check"]);
    assert_eq!(ended.code, 0, "{}\n{uncommented}", ended.stderr);
}

#[test]
fn the_example_configuration_is_valid_and_leaves_what_must_be_mended() {
    let file = crate::support::root().join("examples/payments/parity.toml");
    let file = file.to_str().expect("UTF-8");
    let place = Place::new();
    let ended = place.run(&["config", "check", file]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for (route, legacy, candidate, code) in [
        (
            "items.json",
            "{\"as_of\":\"2026-03-01T09:30:12.12Z\"}",
            "{\"as_of\":\"2026-03-01T09:30:12.120Z\"}",
            0,
        ),
        (
            "fees.json",
            "{\"fees\":\"1290.96\"}",
            "{\"fees\":\"1290.95\"}",
            1,
        ),
    ] {
        place.write(route, legacy);
        let ended = place.run_with(
            &["diff", route, "-", "--as", "json", "--rules", file],
            &[],
            candidate,
        );
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
    }
}
