//! The configuration of the whole program: file < environment < flags, every problem reported at once.
//!
//! [`Layers`] holds the text of every setting with its origin; the typed getters turn text into values and collect
//! what is wrong. A command asks for just what it needs: `parity report` works beside a file that names no upstream, while
//! `parity mirror` does not start before every problem is solved.

mod admin;
pub(crate) mod environment;
pub(crate) mod file;
mod hidden;
mod known;
pub(crate) mod lines;
mod loops;
mod metrics;
mod needs;
mod one_page;
mod operations;
mod policy;
pub(crate) mod problem;
mod recording;
mod refused;
pub(crate) mod render;
mod rollout;
mod routes;
mod rules;
pub(crate) mod settings;
mod soak;
mod stores;
mod stress;
mod stub;
pub(crate) mod substitutes;
pub(crate) mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parity_schemas::secret::without_password;

use environment::Environment;
use file::{File, Raw, RuleEntry, TableEntry, Written};
use problem::{Origin, Problem, Problems, read_named_file};
use settings::{Kind, Many, One, Setting};

pub(crate) use admin::AdminSettings;
pub(crate) use known::Differences;
pub(crate) use metrics::{MetricsSettings, PageSettings};
pub(crate) use needs::{MirrorSettings, RecheckSettings, host_name};
pub(crate) use recording::RecordingSettings;
pub(crate) use rollout::{Bounds, Plan, RolloutSettings};
pub(crate) use soak::SoakSettings;
pub(crate) use stress::{LoadSettings, ProcessSettings, StressSettings};
pub(crate) use stub::StubSettings;
pub(crate) use substitutes::Substitute;

/// The file that is read when none is named.
pub(crate) const DEFAULT_FILE: &str = "parity.toml";
/// A larger file is surely not a configuration.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// What file, environment and flags say together: text that is not yet turned into values.
#[derive(Clone)]
pub(crate) struct Layers {
    values: BTreeMap<&'static str, Written>,
    routes: Vec<TableEntry>,
    rules: Vec<RuleEntry>,
    known: Vec<TableEntry>,
    substitutes: Vec<TableEntry>,
    problems: Vec<Problem>,
    renamed: Vec<Problem>,
    /// Settings of the file that do not apply, and the variable or flag that is stronger.
    overridden: BTreeMap<&'static str, Origin>,
    broken_file: bool,
}

impl Layers {
    /// Reads the file, if one is given, then the environment, then the flags. The form of every variable is checked at
    /// once, whether or not the command needs it: a value that is set and does not apply is worse than none.
    pub(crate) fn load(
        file: Option<&Path>,
        environment: &Environment,
        flags: &[(&'static Setting, &str)],
    ) -> Self {
        let mut problems = Vec::new();
        let mut file = file
            .map(|path| read_file(path, &mut problems))
            .unwrap_or_default();
        let mut values = std::mem::take(&mut file.settings);
        let mut overridden = BTreeMap::new();
        problems.extend(environment.problems());
        for setting in settings::all() {
            let variable = setting.variable();
            let given = environment.get(&variable);
            let former = setting.former_variable();
            let former = former.and_then(|name| Some((environment.get(&name)?, name)));
            if let Some((_, former)) = &former {
                let (message, to) = if given.is_some() {
                    let message = format!("{former} and {variable} are one setting, given twice");
                    (message, &mut problems)
                } else {
                    let message =
                        format!("{former} is called {variable} now; the former name still holds");
                    (message, &mut file.renamed)
                };
                to.push(Problem::new(Origin::Environment(former.clone()), message));
            }
            let given = given.map(|text| (text, variable));
            if let Some((text, variable)) = given.or(former) {
                let origin = Origin::Environment(variable);
                if let Err(error) = setting.kind.check(text) {
                    let message = format!("{}: {error}", setting.key);
                    problems.push(Problem::new(origin.clone(), message));
                }
                let stronger = Written::of(setting, text, origin);
                put(&mut values, &mut overridden, setting, stronger);
            }
        }
        for (setting, text) in flags {
            let origin = setting
                .flag
                .map_or(Origin::Default, |flag| Origin::Flag(flag.name));
            let stronger = Written::of(setting, text, origin);
            put(&mut values, &mut overridden, setting, stronger);
        }
        Self {
            values,
            routes: file.routes,
            rules: file.rules,
            known: file.known,
            substitutes: file.substitutes,
            problems,
            renamed: file.renamed,
            overridden,
            broken_file: file.broken,
        }
    }

    /// Only what a file says.
    fn of_file(file: File, problems: Vec<Problem>) -> Self {
        Self {
            values: file.settings,
            routes: file.routes,
            rules: file.rules,
            known: file.known,
            substitutes: file.substitutes,
            problems,
            renamed: file.renamed,
            overridden: BTreeMap::new(),
            broken_file: file.broken,
        }
    }

    /// Reads the file that is named, or parity.toml if it is there, and the environment of the process. A former name in
    /// the file still applies, with a warning.
    pub(crate) fn load_here(named: Option<&Path>, flags: &[(&'static Setting, &str)]) -> Self {
        let default = Path::new(DEFAULT_FILE);
        let file = named.or_else(|| default.exists().then_some(default));
        let layers = Self::load(file, &Environment::of_process(), flags);
        for renamed in &layers.renamed {
            tracing::warn!("{renamed}");
        }
        layers
    }

    /// The same with more settings, each of which only applies if nothing else sets it.
    pub(crate) fn or(mut self, flags: &[(&'static Setting, &str)]) -> Self {
        for (setting, text) in flags {
            let written = || Written::of(setting, text, Origin::Default);
            self.values.entry(setting.key).or_insert_with(written);
        }
        self
    }

    /// A setting for people to read: its value or its default, without what is secret, and where it comes from.
    pub(crate) fn shown(&self, setting: &Setting) -> (Option<String>, Origin) {
        let (text, origin) = match self.values.get(setting.key) {
            Some(Written {
                value: Raw::List(items),
                origin,
                ..
            }) if setting.hides_values => {
                let items: Vec<_> = items.iter().map(|item| hidden::header(item)).collect();
                (Some(items.join(",")), origin.clone())
            }
            _ => self.given(setting),
        };
        let text = match setting.kind {
            Kind::Upstream | Kind::Store => text.map(|text| without_password(&text).into_owned()),
            _ => text,
        };
        (text, origin)
    }

    /// The text of a setting or its default, and where it comes from.
    fn given(&self, setting: &Setting) -> (Option<String>, Origin) {
        match self.values.get(setting.key) {
            Some(written) => {
                let text = match &written.value {
                    Raw::Text(_) if setting.kind == Kind::Secret => "…".to_owned(),
                    Raw::Text(text) => text.clone(),
                    Raw::List(items) => items.join(","),
                };
                (Some(text), written.origin.clone())
            }
            None => (setting.default(), Origin::Default),
        }
    }

    /// Whether a setting is given.
    pub(crate) fn is_given(&self, setting: &Setting) -> bool {
        self.values.contains_key(setting.key)
    }

    /// The settings that a file has as the file to start from sets them, with their values: examples, which nobody may have
    /// looked at yet.
    pub(crate) fn as_in_the_starting_file(&self) -> Vec<String> {
        let filled_in = settings::all().filter(|setting| setting.filled_in);
        let kept = filled_in.filter_map(|setting| {
            let (value, origin) = self.given(setting);
            let is_kept =
                matches!(origin, Origin::File { .. }) && value.as_deref() == setting.example;
            is_kept.then(|| format!("{} {}", setting.name(), value.unwrap_or_default()))
        });
        kept.collect()
    }

    /// Whether there are routes, rules, known differences or substitutes.
    pub(crate) fn has_entries(&self) -> bool {
        !(self.routes.is_empty()
            && self.rules.is_empty()
            && self.known.is_empty()
            && self.substitutes.is_empty())
    }

    fn text(&self, setting: &Setting) -> Option<(String, Origin)> {
        let (text, origin) = self.given(setting);
        Some((text?, origin))
    }

    /// The value of a setting; one that cannot be read is reported.
    fn get<T>(&mut self, setting: &'static One<T>) -> Option<T> {
        let (text, origin) = self.text(setting)?;
        let value = (setting.read)(&text);
        self.or_report(setting, origin, value)
    }

    /// The elements of a list; those that cannot be read are reported.
    fn each<T>(&mut self, setting: &'static Many<T>) -> Vec<T> {
        let origin = self.origin(setting);
        let items = self.list(setting).into_iter();
        items
            .filter_map(|item| self.or_report(setting, origin.clone(), (setting.read)(&item)))
            .collect()
    }

    fn or_report<T>(
        &mut self,
        setting: &Setting,
        origin: Origin,
        value: Result<T, String>,
    ) -> Option<T> {
        let problem = |error| Problem::new(origin, format!("{}: {error}", self.name(setting)));
        value
            .map_err(problem)
            .map_err(|problem| self.problems.push(problem))
            .ok()
    }

    /// What a setting is called where it is given.
    fn name(&self, setting: &Setting) -> &'static str {
        let written = self.values.get(setting.key);
        written.map_or(setting.key, |written| written.name)
    }

    /// A password as it was given.
    fn hidden(&self, setting: &Setting) -> Option<&str> {
        match &self.values.get(setting.key)?.value {
            Raw::Text(text) => Some(text),
            Raw::List(_) => None,
        }
    }

    /// Where a setting was given.
    fn origin(&self, setting: &Setting) -> Origin {
        self.values
            .get(setting.key)
            .map_or(Origin::Default, |written| written.origin.clone())
    }

    /// The elements of a list as text: as given or by default.
    fn list<T>(&self, setting: &Many<T>) -> Vec<String> {
        match self.values.get(setting.key).map(|written| &written.value) {
            Some(Raw::List(items)) => items.clone(),
            _ => setting.default_list().unwrap_or_default(),
        }
    }

    fn path(&mut self, setting: &'static One<PathBuf>) -> Option<(PathBuf, Origin)> {
        let origin = self.origin(setting);
        Some((self.get(setting)?, origin))
    }

    /// Problems found so far, by place.
    pub(crate) fn into_problems(self) -> Problems {
        let mut problems = Problems::default();
        problems.merge(Problems(self.problems));
        problems
    }
}

/// Sets a value that is stronger than those before it. If the file says another one, that is noted: it does not apply.
fn put(
    values: &mut BTreeMap<&'static str, Written>,
    overridden: &mut BTreeMap<&'static str, Origin>,
    setting: &Setting,
    stronger: Written,
) {
    let origin = stronger.origin.clone();
    let value = stronger.value.clone();
    let Some(weaker) = values.insert(setting.key, stronger) else {
        return;
    };
    let of_file = matches!(weaker.origin, Origin::File { .. }) && weaker.value != value;
    if of_file || overridden.contains_key(setting.key) {
        overridden.insert(setting.key, origin);
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
