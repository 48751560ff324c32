//! Changes of the `[[known]]` tables of a configuration file, with all comments and the order of keys kept.
//!
//! The new text is checked as `parity config check` does, and only what is no worse than before is written: to a file beside it, which
//! then takes its place. So a reader sees the old text or the new one, and a mistake changes nothing. What somebody else wrote
//! meanwhile is not overwritten.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use parity_dashboards::view::Adoptable;
use parity_schemas::known::KnownEntry;
use parity_schemas::visible::visible;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

use crate::cli::AddArgs;
use crate::config::Layers;

/// A file that is being changed.
pub(super) struct Edited {
    /// As the user named it.
    named: PathBuf,
    /// Where it is; a link stays one.
    path: PathBuf,
    before: String,
    document: DocumentMut,
}

/// An entry to add.
pub(super) struct NewEntry<'a> {
    pub(super) id: &'a str,
    pub(super) args: &'a AddArgs,
    /// What was recorded of it, if it names fingerprints.
    pub(super) what: Option<&'a Adoptable>,
}

impl Edited {
    /// Reads a file. One that is no TOML is not changed.
    pub(super) fn open(named: &Path) -> Result<Self> {
        let named = named.to_owned();
        let shown = visible(&named.display().to_string());
        let path = named.canonicalize().with_context(|| {
            format!("cannot read {shown}, into which known differences are entered; `parity config init` writes one")
        })?;
        let before =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let Ok(document) = before.parse::<DocumentMut>() else {
            bail!("{shown} is not TOML, so it is not changed; `parity config check` says where");
        };
        Ok(Self {
            named,
            path,
            before,
            document,
        })
    }

    /// The register as it would be read now.
    pub(super) fn register(&self) -> Arc<[KnownEntry]> {
        Layers::known_of(&self.named, &self.document.to_string()).0
    }

    fn tables(&mut self) -> Result<&mut ArrayOfTables> {
        let item = self
            .document
            .entry("known")
            .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        let Item::ArrayOfTables(tables) = item else {
            bail!(
                "`known` is written as a value in {}; write each entry as [[known]], so that it can be changed",
                self.named.display()
            );
        };
        Ok(tables)
    }

    /// Adds an entry at the end.
    pub(super) fn add(&mut self, new: &NewEntry<'_>, rate: Option<f64>) -> Result<()> {
        let NewEntry { id, args, what } = new;
        let mut table = Table::new();
        table["id"] = value(*id);
        if let Some(what) = what {
            table["fingerprints"] = value(what.fingerprints.iter().collect::<Array>());
            // What it is, for whoever reads the file. It is one line, and what was captured is visible in it.
            table
                .decor_mut()
                .set_prefix(format!("\n# {}\n", what.words()));
        }
        let texts = [
            ("route", &args.route),
            ("part", &args.part),
            ("path", &args.path),
            ("kind", &args.kind),
            ("explanation", &args.explanation),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                table[key] = value(text);
            }
        }
        table["blocks"] = value(args.blocks);
        table["owner"] = value(&args.owner);
        table["reason"] = value(&args.reason);
        for (key, text) in [("ticket", &args.ticket), ("expires", &args.expires)] {
            if let Some(text) = text {
                table[key] = value(text);
            }
        }
        if let Some(rate) = rate {
            table["rate"] = value(rate);
        }
        self.tables()?.push(table);
        Ok(())
    }

    /// Gives a key of an entry a value.
    pub(super) fn set(&mut self, id: &str, key: &str, to: impl Into<Value>) -> Result<()> {
        let mut tables = self.tables()?.iter_mut();
        let wanted =
            |table: &&mut Table| table.get("id").and_then(Item::as_str).map(str::trim) == Some(id);
        let Some(table) = tables.find(wanted) else {
            bail!("no [[known]] has the id `{}`", visible(id));
        };
        table[key] = value(to);
        Ok(())
    }

    /// Writes the new text, unless it has a problem that the old one has not.
    pub(super) fn save(self) -> Result<()> {
        let text = self.document.to_string();
        let (_, before) = Layers::known_of(&self.named, &self.before);
        let (_, after) = Layers::known_of(&self.named, &text);
        let known: HashSet<&str> = before
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        let new = after
            .iter()
            .find(|problem| !known.contains(problem.message.as_str()));
        if let Some(problem) = new {
            let hint = problem
                .hint
                .as_deref()
                .map_or(String::new(), |hint| format!("; {hint}"));
            bail!(
                "{}{}. Nothing is changed",
                visible(&problem.message),
                visible(&hint)
            );
        }
        self.replace(&text)
            .with_context(|| format!("cannot write {}", self.named.display()))
    }

    fn replace(&self, text: &str) -> Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let beside = self
            .path
            .with_file_name(format!(".{name}.{}.new", std::process::id()));
        let written = self.write(&beside, text);
        if written.is_err() {
            // It may not have been created at all.
            let _gone = std::fs::remove_file(&beside);
        }
        written
    }

    fn write(&self, beside: &Path, text: &str) -> Result<()> {
        let mut file: File = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(beside)?;
        file.set_permissions(std::fs::metadata(&self.path)?.permissions())?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if std::fs::read_to_string(&self.path)? != self.before {
            bail!("it was changed meanwhile, so it is left as it is; try again");
        }
        std::fs::rename(beside, &self.path)?;
        Ok(())
    }
}
