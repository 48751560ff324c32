//! The pages and their blocks.

use std::fmt;

use crate::support::root;

/// A fenced block.
pub(crate) struct Block {
    file: String,
    line: usize,
    pub(super) language: String,
    pub(super) attributes: Vec<String>,
    pub(crate) text: String,
}

/// How a block is checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Its commands are run.
    Session { services: bool },
    /// They are printed by the script that tells the story.
    Story,
    /// `parity config check`, with this variable set.
    Configuration(Option<String>),
    /// Two documents, different without the rules and equal with them.
    Pair,
    /// By a test of its own.
    Elsewhere,
    /// A diagram: nothing to run.
    Drawing,
}

/// A command, and the output that is shown of it.
pub(super) struct Step {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Block {
    /// What its fence says.
    pub(super) fn check(&self) -> Check {
        let attributes: Vec<&str> = self.attributes.iter().map(String::as_str).collect();
        match (self.language.as_str(), attributes.as_slice()) {
            ("console", ["story"]) => Check::Story,
            ("console", attributes) => {
                for attribute in attributes {
                    let known = *attribute == "services"
                        || attribute.starts_with("exit=")
                        || attribute.starts_with("not-run=");
                    assert!(known, "{self}: `{attribute}` is not known here");
                }
                let services = attributes.contains(&"services");
                Check::Session { services }
            }
            ("toml", []) => Check::Configuration(None),
            ("toml", ["equal"]) => Check::Pair,
            ("toml", [variable]) if variable.starts_with("PARITY_") => {
                Check::Configuration(Some((*variable).to_owned()))
            }
            ("yaml", ["ci" | "envoy"])
            | ("nginx" | "dockerfile", [])
            | ("ini", ["systemd"])
            | ("text", ["demo"]) => Check::Elsewhere,
            ("text", ["diagram"]) => Check::Drawing,
            (language, _) => panic!(
                "{self}: nobody checks a block of `{language} {}`; see tests/it/docs for the kinds that are",
                attributes.join(" ")
            ),
        }
    }

    /// The value of an attribute such as `exit=1`.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let attributes = self.attributes.iter();
        attributes.filter_map(move |attribute| attribute.strip_prefix(name)?.strip_prefix('='))
    }

    /// Its commands, which begin with `$ `.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for line in self.text.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step {
                    command: command.to_owned(),
                    output: Vec::new(),
                });
            } else {
                let step = steps.last_mut();
                let step = step.unwrap_or_else(|| panic!("{self} begins with `{line}`"));
                step.output.push(line.to_owned());
            }
        }
        steps
    }
}

/// README.md and the files of docs.
pub(super) fn files() -> Vec<String> {
    let docs = std::fs::read_dir(root().join("docs")).expect("docs is a folder");
    let names = docs.map(|entry| entry.expect("readable").file_name());
    let mut files: Vec<String> = names
        .map(|name| format!("docs/{}", name.into_string().expect("UTF-8")))
        // Beside the pages are their pictures, and what is generated.
        .filter(|file| {
            std::path::Path::new(file)
                .extension()
                .is_some_and(|end| end == "md")
        })
        .collect();
    files.push("README.md".to_owned());
    files.sort_unstable();
    files
}

pub(super) fn text(file: &str) -> String {
    let text = std::fs::read_to_string(root().join(file));
    text.unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The blocks of a page.
pub(super) fn blocks(file: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (line, number) in text(file).lines().zip(1..) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(fence)) => {
                let mut words = fence.split_whitespace().map(str::to_owned);
                open = Some(Block {
                    file: file.to_owned(),
                    line: number,
                    language: words.next().unwrap_or_default(),
                    attributes: words.collect(),
                    text: String::new(),
                });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, None) => {
                let indented = line.trim_start();
                let hidden = indented.starts_with("```") || indented.starts_with("~~~");
                assert!(!hidden, "{file}:{number}: a fence that is not read");
            }
        }
    }
    if let Some(block) = open {
        panic!("{block} has no end");
    }
    blocks
}

/// The text of the one block of all pages with this language and first attribute.
pub(crate) fn only(language: &str, attribute: &str) -> String {
    let mut found = files().into_iter().flat_map(|file| blocks(&file));
    let mut wanted = found.by_ref().filter(|block| {
        let first = block.attributes.first().map_or("", String::as_str);
        block.language == language && first == attribute
    });
    let block = wanted
        .next()
        .unwrap_or_else(|| panic!("no page has a block `{language} {attribute}`"));
    if let Some(second) = wanted.next() {
        panic!("{block} and {second} are both `{language} {attribute}`");
    }
    block.text
}
