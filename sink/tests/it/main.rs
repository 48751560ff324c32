//! The sink against real files, real threads and real processes that are killed.

mod answered;
mod blocks;
mod carried;
mod classes;
mod clickhouse;
mod cluster;
mod coinciding;
mod columns;
mod concurrency;
mod consume;
mod crash;
mod decisions;
mod dropped;
mod history;
mod kafka;
mod mark;
mod older;
mod opening;
mod reach;
mod recent;
mod relayed;
mod remembered;
mod report;
mod retention;
mod runs;
mod spread;
mod support;
mod tampered;
mod targets;
mod terms;
mod trouble;

#[path = "../../../tests/support/servers/mod.rs"]
mod servers;

#[test]
fn no_file_of_this_folder_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    for entry in std::fs::read_dir(folder).expect("the folder of this file") {
        let name = entry.expect("an entry").file_name();
        let module = name.to_string_lossy().replace(".rs", "");
        let line = format!("mod {module};");
        assert!(
            module == "main" || include_str!("main.rs").contains(&line),
            "{line}"
        );
    }
}
