//! Checks what ARCHITECTURE.md says: which crate may depend on which, and which outside packages each may use.

mod citations;
mod imports;

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::support::root;

/// Source folders of the crates, whose modules must not import each other in cycles.
const WITHOUT_CYCLES: &[&str] = &["comparator", "dashboards", "mirror", "schemas", "sink", "."];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

/// Names of the dependencies of a package; of all kinds, or only those that are part of the program.
fn dependencies(package: &Value, with_development: bool) -> BTreeSet<String> {
    package["dependencies"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|dependency| with_development || dependency["kind"] != "dev")
        .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn dependencies_between_our_crates_point_one_way() {
    let allowed: &[(&str, &[&str])] = &[
        (
            "parity",
            &["comparator", "dashboards", "mirror", "schemas", "sink"],
        ),
        ("parity-schemas", &[]),
        ("parity-mirror", &["schemas"]),
        ("parity-comparator", &["schemas"]),
        ("parity-sink", &["schemas"]),
        ("parity-dashboards", &["comparator", "schemas", "sink"]),
    ];
    let packages = packages();
    assert_eq!(
        packages.len(),
        allowed.len(),
        "a crate was added: say here what it may depend on"
    );
    for package in &packages {
        let name = package["name"].as_str().expect("a name");
        let (_, allowed) = allowed
            .iter()
            .find(|(known, _)| *known == name)
            .expect("a known crate");
        let ours = dependencies(package, true)
            .into_iter()
            .filter_map(|name| Some(name.strip_prefix("parity-")?.to_owned()));
        for dependency in ours {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on parity-{dependency}"
            );
        }
    }
}

#[test]
fn stores_and_protocols_stay_in_their_crates() {
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let direct = dependencies(&package, false);
        let has = |dependency: &str| direct.contains(dependency);
        for store in ["rusqlite", "rdkafka", "clickhouse"] {
            assert!(
                name == "parity-sink" || !has(store),
                "only parity-sink names {store}, not {name}"
            );
        }
        if name == "parity-comparator" || name == "parity-schemas" {
            for outside in [
                "tokio",
                "hyper",
                "hyper-util",
                "tracing",
                "rand",
                "getrandom",
            ] {
                assert!(!has(outside), "{name} is pure and must not name {outside}");
            }
        }
    }
}

#[test]
fn the_comparator_reads_no_clock_no_file_and_no_randomness() {
    for file in rust_files(&root().join("comparator/src")) {
        let text = std::fs::read_to_string(&file).expect("readable");
        for outside in [
            "std::fs",
            "std::net",
            "std::env",
            "SystemTime",
            "Instant::now",
            "Timestamp::now",
            "thread::spawn",
            "new_v4",
            "now_v7",
        ] {
            assert!(!text.contains(outside), "{} uses {outside}", file.display());
        }
    }
}

#[test]
fn no_two_modules_of_a_crate_import_each_other() {
    for folder in WITHOUT_CYCLES {
        let cycles = imports::cycles_in(&root().join(folder).join("src"));
        assert!(
            cycles.is_empty(),
            "{folder} has cycles of imports between its modules:\n{}",
            cycles.join("\n")
        );
    }
}

#[test]
fn every_module_opens_with_what_it_owns() {
    for folder in [
        "src",
        "schemas/src",
        "mirror/src",
        "comparator/src",
        "sink/src",
        "dashboards/src",
        "examples",
    ] {
        for file in rust_files(&root().join(folder)) {
            let text = std::fs::read_to_string(&file).expect("readable");
            assert!(
                text.starts_with("//!"),
                "{} does not open with //!",
                file.display()
            );
        }
    }
}

/// A sentence over two lines of source whose first line lost its `\` has a gap where it is printed.
#[test]
fn no_text_of_the_program_has_a_gap_between_its_words() {
    let is_gap = |text: &str| {
        let signs: Vec<char> = text.chars().collect();
        signs.windows(5).any(|run| {
            let is_word = |sign: char| sign.is_ascii_lowercase();
            (is_word(run[0]) || ",;.".contains(run[0]))
                && run[1..4].iter().all(|sign| *sign == ' ')
                && (is_word(run[4]) || run[4] == ' ')
        })
    };
    let mut gaps = Vec::new();
    for folder in WITHOUT_CYCLES {
        for file in rust_files(&root().join(folder).join("src")) {
            if file.components().any(|part| part.as_os_str() == "tests") {
                continue;
            }
            let text = std::fs::read_to_string(&file).expect("readable");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in (1..).zip(text.lines()) {
                // Within one line of source, what stands in quotes.
                let line = line.replace("\\n", "\n");
                let quoted = line.split('"').skip(1).step_by(2);
                let mut sentences = quoted.filter(|quoted| is_gap(quoted) && ends_in_words(quoted));
                if sentences.next().is_some() {
                    gaps.push(format!("{}:{number}: {line}", file.display()));
                }
            }
        }
    }
    assert!(gaps.is_empty(), "{}", gaps.join("\n"));
}

/// Whether words follow a gap: in a table a placeholder does.
fn ends_in_words(quoted: &str) -> bool {
    let after = quoted.rsplit("   ").next().unwrap_or_default();
    after
        .trim_start()
        .starts_with(|sign: char| sign.is_ascii_lowercase())
}

#[test]
fn no_test_file_is_forgotten() {
    let main = std::fs::read_to_string(root().join("tests/it/main.rs")).expect("readable");
    for entry in std::fs::read_dir(root().join("tests/it")).expect("readable") {
        let name = entry
            .expect("readable")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "tests/it/{name} is in no binary"
        );
    }
}

fn rust_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    assert!(!files.is_empty(), "{} holds no Rust", folder.display());
    files
}
