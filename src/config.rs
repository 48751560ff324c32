//! The configuration of the whole program: file < environment < flags, every problem reported at once.
//!
//! [`Layers`] holds the text of every setting with its origin; the typed getters turn text into values and collect
//! what is wrong. A command asks for just what it needs, so `parity report` works beside a file that lacks an
//! upstream, while `parity mirror` does not start before every problem is mended.

pub(crate) mod environment;
pub(crate) mod file;
mod hidden;
mod loops;
mod needs;
mod policy;
pub(crate) mod problem;
pub(crate) mod render;
mod rules;
pub(crate) mod settings;
mod stores;
pub(crate) mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parity_schemas::secret::without_password;

use environment::Environment;
use file::{Entry, File, Raw, Written};
use problem::{Origin, Problem, Problems, read_named_file};
use settings::{SETTINGS, Setting};

pub(crate) use needs::{AdminSettings, MirrorSettings};

/// The file that is read when none is named.
pub(crate) const DEFAULT_FILE: &str = "parity.toml";
/// A larger configuration is surely another kind of file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// What every layer says, unread.
pub(crate) struct Layers {
    values: BTreeMap<&'static str, Written>,
    routes: Vec<Entry>,
    rules: Vec<Entry>,
    problems: Vec<Problem>,
    broken_file: bool,
}

impl Layers {
    /// Reads the file, if one is given, then the environment, then the flags. What the environment says is checked for
    /// its form at once, whoever asks for it: a value that is thought to hold and does not is worse than none.
    pub(crate) fn load(
        file: Option<&Path>,
        environment: &Environment,
        flags: &[(&'static str, &str)],
    ) -> Self {
        let mut problems = Vec::new();
        let mut file = file
            .map(|path| read_file(path, &mut problems))
            .unwrap_or_default();
        let mut values = std::mem::take(&mut file.settings);
        problems.extend(environment.problems());
        for setting in SETTINGS {
            let variable = setting.variable();
            if let Some(text) = environment.get(&variable) {
                if let Err(error) = setting.check(text) {
                    let origin = Origin::Environment(variable.clone());
                    problems.push(Problem::new(origin, format!("{}: {error}", setting.key)));
                }
                let value = match setting.kind {
                    settings::Kind::List => Raw::List(value::list(text)),
                    _ => Raw::Text(text.to_owned()),
                };
                values.insert(
                    setting.key,
                    Written {
                        value,
                        origin: Origin::Environment(variable),
                    },
                );
            }
        }
        for (key, text) in flags {
            let setting = SETTINGS.iter().find(|setting| setting.key == *key);
            let flag = setting.and_then(|setting| setting.flag);
            let origin = flag.map_or(Origin::Default, Origin::Flag);
            let value = match setting.map(|setting| setting.kind) {
                Some(settings::Kind::List) => Raw::List(value::list(text)),
                _ => Raw::Text((*text).to_owned()),
            };
            values.insert(key, Written { value, origin });
        }
        Self {
            values,
            routes: file.routes,
            rules: file.rules,
            problems,
            broken_file: file.broken,
        }
    }

    /// With the file that is named, or parity.toml if it is there, and the process's environment.
    pub(crate) fn load_here(named: Option<&Path>, flags: &[(&'static str, &str)]) -> Self {
        let default = Path::new(DEFAULT_FILE);
        let file = named.or_else(|| default.exists().then_some(default));
        Self::load(file, &Environment::of_process(), flags)
    }

    /// A setting for people to read: as given or by default, without what is secret in it, and where it comes from.
    pub(crate) fn shown(&self, setting: &Setting) -> (Option<String>, Origin) {
        let (text, origin) = match self.values.get(setting.key) {
            Some(Written {
                value: Raw::List(items),
                origin,
            }) if setting.name() == "set_headers" => {
                let items: Vec<_> = items.iter().map(|item| hidden::header(item)).collect();
                (Some(items.join(",")), origin.clone())
            }
            _ => self.given(setting),
        };
        let text = match setting.kind {
            settings::Kind::Upstream | settings::Kind::Store => {
                text.map(|text| without_password(&text).into_owned())
            }
            _ => text,
        };
        (text, origin)
    }

    /// The text of a setting as given or by default, and where it comes from.
    fn given(&self, setting: &Setting) -> (Option<String>, Origin) {
        match self.values.get(setting.key) {
            Some(written) => {
                let text = match &written.value {
                    Raw::Text(_) if setting.kind == settings::Kind::Secret => "…".to_owned(),
                    Raw::Text(text) => text.clone(),
                    Raw::List(items) => items.join(","),
                };
                (Some(text), written.origin.clone())
            }
            None => (setting.default.map(str::to_owned), Origin::Default),
        }
    }

    /// Whether any of these settings is given.
    pub(crate) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.values.contains_key(key))
    }

    /// Whether there are routes or rules.
    pub(crate) fn has_entries(&self) -> bool {
        !(self.routes.is_empty() && self.rules.is_empty())
    }

    fn text(&self, key: &'static str) -> Option<(String, Origin)> {
        let setting = SETTINGS
            .iter()
            .find(|setting| setting.key == key)
            .expect("every key is in the table");
        let (text, origin) = self.given(setting);
        Some((text?, origin))
    }

    fn get<T, E: std::fmt::Display>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let (text, origin) = self.text(key)?;
        match read(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems
                    .push(Problem::new(origin, format!("{key}: {error}")));
                None
            }
        }
    }

    /// A password as it was given.
    fn hidden(&self, key: &'static str) -> Option<&str> {
        match &self.values.get(key)?.value {
            Raw::Text(text) => Some(text),
            Raw::List(_) => None,
        }
    }

    /// Where a setting was given.
    fn origin(&self, key: &'static str) -> Origin {
        self.values
            .get(key)
            .map_or(Origin::Default, |written| written.origin.clone())
    }

    fn list(&self, key: &'static str, default: Vec<String>) -> Vec<String> {
        match self.values.get(key).map(|written| &written.value) {
            Some(Raw::List(items)) => items.clone(),
            _ => default,
        }
    }

    fn path(&mut self, key: &'static str) -> Option<(PathBuf, Origin)> {
        let (text, origin) = self.text(key)?;
        Some((PathBuf::from(text), origin))
    }

    /// Problems found so far, by place.
    pub(crate) fn into_problems(self) -> Problems {
        let mut problems = Problems::default();
        problems.merge(Problems(self.problems));
        problems
    }
}

fn read_file(path: &Path, problems: &mut Vec<Problem>) -> File {
    let unreadable = |error: std::io::Error| problem::unreadable(path, &error);
    let text =
        read_named_file(&path.to_path_buf(), &Origin::Default, MAX_FILE_BYTES).and_then(|bytes| {
            String::from_utf8(bytes)
                .map_err(|_| unreadable(std::io::Error::other("it is not UTF-8 text")))
        });
    match text {
        Ok(text) => File::read(path, &text, problems),
        Err(problem) => {
            problems.push(problem);
            File {
                broken: true,
                ..File::default()
            }
        }
    }
}
