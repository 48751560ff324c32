//! README.md and docs: every code block is run as printed, or checked in another way. None is skipped silently.
//!
//! The fence of each block says how it is checked; [`Check`] is the whole list:
//!
//! - ```` ```console ````: the commands are run, and the output that is shown is compared (`session`). `…` stands for
//!   anything, in a line or as a line. `exit=N` is the exit code of the last command. `services` needs Kafka and
//!   ClickHouse. `not-run=PROGRAM` names a program that is not run; its words, and those for `parity` within them, are
//!   checked.
//! - ```` ```console story ````: a part of what `examples/payments/story` prints, which `story` runs.
//! - ```` ```toml ````: `parity config check` finds no problem. A variable that must be set is named in the fence. `equal`:
//!   the two documents in the comments differ without the rules, and do not with them.
//! - ```` ```yaml ci ````: a part of examples/ci, which `ci` runs. ```` ```yaml envoy ````, ```` ```nginx ````: run by `tap`. ```` ```ini systemd ````
//!   and ```` ```dockerfile ````: by `service`, as far as that is possible without systemd and Docker.
//! - ```` ```text demo ````: compared with the demo by `demo`. ```` ```text diagram ````: nothing to run.

mod page;
mod service;
mod session;
mod shown;
mod spans;
mod story;
mod toml;
mod words;

pub(crate) use page::{Block, only};
use page::{Check, blocks, files};

use crate::support::root;

/// One test a page with sessions, so that they run beside each other.
macro_rules! pages {
    ($($test:ident: $file:literal),+ $(,)?) => {
        const PAGES: &[&str] = &[$($file),+];
        $(#[test]
        fn $test() {
            session::run_page($file);
        })+
    };
}
pages!(
    sessions_of_the_readme_run_as_they_are_printed: "README.md",
    sessions_about_the_api_run_as_they_are_printed: "docs/api.md",
    sessions_about_ci_run_as_they_are_printed: "docs/ci.md",
    sessions_about_decisions_run_as_they_are_printed: "docs/decisions.md",
    sessions_about_many_mirrors_run_as_they_are_printed: "docs/many-mirrors.md",
    sessions_about_metrics_run_as_they_are_printed: "docs/metrics.md",
    sessions_about_a_migration_run_as_they_are_printed: "docs/migration.md",
    sessions_about_production_run_as_they_are_printed: "docs/production.md",
    sessions_about_recordings_run_as_they_are_printed: "docs/record.md",
    sessions_about_replays_run_as_they_are_printed: "docs/replay.md",
    sessions_about_the_stub_run_as_they_are_printed: "docs/stub.md",
    sessions_about_the_report_run_as_they_are_printed: "docs/report.md",
    sessions_about_the_rollout_run_as_they_are_printed: "docs/rollout.md",
    sessions_about_rollouts_run_as_they_are_printed: "docs/rollouts.md",
    sessions_about_rules_run_as_they_are_printed: "docs/rules.md",
    sessions_about_security_run_as_they_are_printed: "docs/security.md",
    sessions_about_soaks_run_as_they_are_printed: "docs/soak.md",
    sessions_about_stress_run_as_they_are_printed: "docs/stress.md",
    sessions_about_troubleshooting_run_as_they_are_printed: "docs/troubleshooting.md",
    sessions_about_the_verdict_run_as_they_are_printed: "docs/verdict.md",
);

#[test]
fn no_page_with_a_session_is_forgotten() {
    let mut pages = PAGES.to_vec();
    pages.sort_unstable();
    let session = Check::Session { services: false };
    let has_one = |file: &String| blocks(file).iter().any(|block| block.check() == session);
    let mut expected = files();
    expected.retain(has_one);
    assert_eq!(expected, pages, "the list above is of pages with a session");
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn sessions_with_kafka_and_clickhouse_run_as_they_are_printed() {
    let mut ran = 0;
    for block in files().iter().flat_map(|file| blocks(file)) {
        if block.check() == (Check::Session { services: true }) {
            session::run_with_services(&block);
            ran += 1;
        }
    }
    assert!(ran > 0, "no page shows many mirrors");
}

#[test]
fn every_block_is_of_a_kind_that_is_checked() {
    let mut ran = 0;
    for block in files().iter().flat_map(|file| blocks(file)) {
        match block.check() {
            Check::Session { .. } | Check::Story => {
                assert!(!block.steps().is_empty(), "{block} shows no command");
                ran += 1;
            }
            Check::Configuration(variable) => {
                toml::is_valid(&block, variable.as_deref());
                ran += 1;
            }
            Check::Pair => {
                toml::makes_equal(&block);
                ran += 1;
            }
            // There is only one of each, so another test checks this very block.
            Check::Elsewhere => {
                let attribute = block.attributes.first().map_or("", String::as_str);
                assert_eq!(only(&block.language, attribute), block.text, "{block}");
            }
            Check::Drawing => assert!(!block.text.contains("$ "), "{block} shows a command"),
        }
    }
    assert!(ran > 20, "only {ran} blocks were found");
}

/// Lines of a tall window, of an editor or a browser.
const LINES_OF_A_SCREEN: usize = 72;
/// Words of a line, empty lines and code included, where the others are full: more would be one long paragraph.
const WORDS_OF_A_LINE: usize = 8;

/// Who opens it must see what the program is for and how to try it, without a search. What goes further is in docs.
#[test]
fn the_readme_is_a_screen_and_a_half() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("readable");
    let (lines, words) = (readme.lines().count(), readme.split_whitespace().count());
    let most = LINES_OF_A_SCREEN * 3 / 2;
    assert!(
        lines <= most && words <= most * WORDS_OF_A_LINE,
        "{lines} lines and {words} words: what goes further belongs into docs"
    );
}
