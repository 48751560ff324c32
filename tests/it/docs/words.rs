//! Commands that are not run: checks that the programs, files and flags that they name exist.

use std::process::Command;

use super::{Block, only};
use crate::support::process::Place;
use crate::support::root;

/// Flags and the form of their values, as the program reads them.
pub(super) fn checks_flags(place: &Place, at: &str, command: &str) {
    let command = command.trim_end_matches(['…', ' ']);
    let words = command.strip_prefix("parity").expect("the program");
    let script = format!("\"$0\" {words} --help");
    let output = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_parity")])
        .current_dir(place.path())
        .output()
        .expect("bash runs");
    assert!(
        output.status.success(),
        "{at}: `{command}`: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A command that is not run: is what it names there?
pub(super) fn checks_words(place: &Place, block: &Block, command: &str) {
    let command = command.split(" #").next().unwrap_or_default().trim();
    let words: Vec<&str> = command.split(' ').collect();
    let text = |file: &str| std::fs::read_to_string(root().join(file)).expect("readable");
    match words.as_slice() {
        ["cargo", "install" | "build", flags @ ..] => {
            let mut flags = flags.iter();
            while let Some(flag) = flags.next() {
                match *flag {
                    "--release" => {}
                    "--path" => {
                        let folder = flags.next().expect("a folder");
                        let manifest = text(&format!("{folder}/Cargo.toml"));
                        assert!(manifest.contains("default-run = \"parity\""), "{block}");
                    }
                    "--features" => {
                        let feature = flags.next().expect("a feature");
                        let line = format!("\n{feature} = [");
                        assert!(text("Cargo.toml").contains(&line), "{block}: {feature}");
                    }
                    other => panic!("{block}: `{other}` is not known here"),
                }
            }
        }
        // A script of ours: it is there, and its shell can read it.
        [script] if script.contains('/') => {
            let checked = Command::new("bash")
                .arg("-n")
                .arg(root().join(script))
                .status();
            assert!(checked.expect("bash runs").success(), "{block}: {script}");
        }
        ["docker", "build", ..] => {
            // Its folder is where the only Dockerfile of the pages is meant to be.
            assert!(command.ends_with(" ."), "{block}: `{command}`");
            assert!(!only("dockerfile", "").is_empty());
        }
        // Containers and clusters: the words behind the last name of the program are for it.
        ["docker" | "podman" | "kubectl", ..] => {
            let ours = command.rsplit_once("parity ").map(|(_, words)| words);
            let words = ours.unwrap_or_else(|| panic!("{block}: `{command}` runs no parity"));
            checks_flags(place, &block.to_string(), &format!("parity {words}"));
        }
        _ => panic!("{block}: nobody knows how to check `{command}`; run it"),
    }
}
