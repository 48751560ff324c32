//! Blocks that are a parity.toml, or a part of one.

use super::Block;
use super::session::with_files;
use crate::support::process::Place;

/// The block without dates, which would make the result depend on the day.
fn lasting(block: &Block) -> String {
    block.text.replace("expires = \"20", "expires = \"21")
}

/// `parity config check` finds no problem.
pub(super) fn is_valid(block: &Block, variable: Option<&str>) {
    let place = Place::new();
    with_files(&place);
    place.write("parity.toml", lasting(block));
    let variables: Vec<(&str, &str)> = variable.map(|name| (name, "secret")).into_iter().collect();
    let ended = place.run_with(&["config", "check"], &variables, "");
    assert_eq!(ended.code, 0, "{block}: {}", ended.stderr);
}

/// Two documents differ without the rules, and do not with them.
pub(super) fn makes_equal(block: &Block) {
    is_valid(block, None);
    let place = Place::new();
    for name in ["legacy", "candidate"] {
        let line = block.text.lines().find_map(|line| {
            let (side, document) = line.strip_prefix("# ")?.split_once(':')?;
            (side == name).then_some(document)
        });
        let document = line.unwrap_or_else(|| panic!("{block} has no `# {name}:`"));
        place.write(&format!("{name}.json"), document);
    }
    place.write("parity.toml", lasting(block));
    let files = ["diff", "legacy.json", "candidate.json"];
    let without = place.run(&files);
    assert_eq!(without.code, 1, "{block}: {}", without.stdout);
    let with = place.run(&[&files[..], &["--rules", "parity.toml"]].concat());
    assert_eq!(with.code, 0, "{block}: {}{}", with.stdout, with.stderr);
}
