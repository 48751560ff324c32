//! What a file cites can be read: a document that is named is in the repository.
//!
//! Only names are looked at, not paths: whether a link in a page leads somewhere is checked with the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::root;

/// Folders that are made by programs, and no part of the repository.
const MADE: &[&str] = &["target", "artifacts", "corpus"];

#[test]
fn every_document_that_is_cited_is_in_the_repository() {
    let files = files(root());
    let names: BTreeSet<_> = files.iter().filter_map(|file| file.file_name()).collect();
    let known = |name: &str| names.contains(std::ffi::OsStr::new(name));
    let mut cited_at_all = 0;
    for file in &files {
        // What is not text cites nothing.
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let is_test = file.iter().any(|part| part == "tests");
        // Tests have names of made-up files in their data, none of them in capitals.
        let meant = |name: &&str| !is_test || name.starts_with(char::is_uppercase);
        for name in documents(&text).filter(meant) {
            cited_at_all += 1;
            assert!(
                known(name),
                "{} cites {name}, which is not in the repository",
                file.display()
            );
        }
    }
    assert!(cited_at_all > 50, "only {cited_at_all} were found");
}

#[test]
fn names_of_documents_are_found_in_comments_links_and_sentences() {
    for text in [
        "-- the tables of CHANGELOG.md, chapter 6",
        "//! See docs/CHANGELOG.md.",
        "[there](../CHANGELOG.md#chapter)",
        "`CHANGELOG.md`",
    ] {
        assert_eq!(
            documents(text).collect::<Vec<_>>(),
            ["CHANGELOG.md"],
            "{text}"
        );
    }
    assert_eq!(documents("a.mdx, .md, md").count(), 0);
}

/// The names of documents in a text, without their folders.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let in_path =
        |letter: char| letter.is_ascii_alphanumeric() || ['.', '/', '-', '_'].contains(&letter);
    text.split(move |letter| !in_path(letter))
        .filter_map(|word| word.trim_end_matches('.').rsplit('/').next())
        .filter(|name| {
            let end = name.rsplit_once('.');
            end.is_some_and(|(stem, extension)| !stem.is_empty() && extension == "md")
        })
}

/// All files of the repository.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("readable") {
            let entry = entry.expect("readable");
            let name = entry.file_name();
            let kind = entry.file_type().expect("readable");
            if kind.is_dir() && name != ".git" && MADE.iter().all(|made| name != *made) {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files
}
