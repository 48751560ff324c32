//! Every setting once: where it stands in the file, its flag, its environment variable, its type, how it is read, its
//! default, its meaning, whether only a restart changes it, and what it was called before.
//!
//! The flags of the commands, the reader of the file and of the environment, the hints on unknown keys, `config show`,
//! `config init`, the JSON Schema and docs/settings.md are all made from these definitions, so none of them can forget a
//! setting or describe another one. Whoever needs a value names the definition (`mirror::LISTEN`), never the key, so a
//! slip does not compile.

mod default;
mod dropped;
pub(crate) mod entries;
pub(crate) mod kind;
mod table;

use std::marker::PhantomData;
use std::ops::Deref;

use default::DefaultValue;
use dropped::DROPPED;
pub(crate) use dropped::Dropped;
pub(crate) use kind::Kind;
pub(crate) use table::*;

/// One setting, whatever the type of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// `section.key`, or the key alone at the top of the file.
    pub(crate) key: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// The value when nobody sets it; `None` if there is none then.
    default: Option<DefaultValue>,
    /// The flag, where there is one.
    pub(crate) flag: Option<Flag>,
    /// One line on what it does.
    pub(crate) about: &'static str,
    /// Whether only a restart changes it: a running mirror holds it open, or is known by it. With `--handover` a restart
    /// costs no request.
    pub(crate) needs_restart: bool,
    /// Its former key, which a file may still use.
    pub(crate) formerly: Option<&'static str>,
    /// A value to show where there is no default.
    pub(crate) example: Option<&'static str>,
    /// Whether the file to start from sets it, to the example.
    pub(crate) filled_in: bool,
    /// The only words that its values can be.
    pub(crate) words: Option<fn() -> Vec<&'static str>>,
    /// Whether a value may be a credential, so that only its name is shown.
    pub(crate) hides_values: bool,
}

/// A flag of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    /// With its dashes.
    pub(crate) name: &'static str,
    /// What the help calls its value.
    pub(crate) value: &'static str,
}

/// A setting and how its text is read. `F` tells whether it has one value or a list of them.
#[derive(Debug)]
pub(crate) struct Typed<T, F> {
    setting: Setting,
    /// Of a list: each element.
    pub(super) read: fn(&str) -> Result<T, String>,
    form: PhantomData<F>,
}

/// Marks a setting with one value.
#[derive(Debug)]
pub(crate) struct Single;
/// Marks a list.
#[derive(Debug)]
pub(crate) struct Listed;
/// A setting with one value.
pub(crate) type One<T> = Typed<T, Single>;
/// A setting that is a list.
pub(crate) type Many<T> = Typed<T, Listed>;

impl<T, F> Deref for Typed<T, F> {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.setting
    }
}

/// What definitions are written with.
impl<T, F> Typed<T, F> {
    const fn new(
        key: &'static str,
        kind: Kind,
        read: fn(&str) -> Result<T, String>,
        about: &'static str,
    ) -> Self {
        let setting = Setting {
            key,
            kind,
            default: None,
            flag: None,
            about,
            needs_restart: false,
            formerly: None,
            example: None,
            filled_in: false,
            words: None,
            hides_values: false,
        };
        Self {
            setting,
            read,
            form: PhantomData,
        }
    }

    /// Not every text of its type is a value.
    const fn read_as<U>(self, read: fn(&str) -> Result<U, String>) -> Typed<U, F> {
        Typed {
            setting: self.setting,
            read,
            form: PhantomData,
        }
    }

    const fn default(mut self, text: &'static str) -> Self {
        self.setting.default = Some(DefaultValue::Text(text));
        self
    }

    /// The library that uses the value has its default.
    const fn default_of(mut self, text: fn() -> String) -> Self {
        self.setting.default = Some(DefaultValue::Of(text));
        self
    }

    const fn flag(mut self, name: &'static str, value: &'static str) -> Self {
        self.setting.flag = Some(Flag { name, value });
        self
    }

    const fn needs_restart(mut self) -> Self {
        self.setting.needs_restart = true;
        self
    }

    const fn formerly(mut self, key: &'static str) -> Self {
        self.setting.formerly = Some(key);
        self
    }

    const fn example(mut self, text: &'static str) -> Self {
        self.setting.example = Some(text);
        self
    }

    const fn filled_in(mut self, text: &'static str) -> Self {
        self.setting.filled_in = true;
        self.example(text)
    }

    const fn words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        self.setting.words = Some(words);
        self
    }

    const fn hides_values(mut self) -> Self {
        self.setting.hides_values = true;
        self
    }
}

impl<T> Many<T> {
    /// What the list is when nobody gives one.
    const fn default_list(mut self, items: fn() -> Vec<String>) -> Self {
        self.setting.default = Some(DefaultValue::List(items));
        self
    }

    /// Without a list nothing is on it.
    const fn empty(self) -> Self {
        self.default_list(Vec::new)
    }
}

impl Setting {
    /// What holds when nobody says otherwise, as a variable would give it; `None` means absent.
    pub(crate) fn default(&self) -> Option<String> {
        self.default.map(DefaultValue::text)
    }

    /// Of a list: the elements that it has when nobody gives one. `None` where no list and an empty one are two things.
    pub(crate) fn default_list(&self) -> Option<Vec<String>> {
        self.default.map(DefaultValue::items)
    }

    /// The section of the file; empty at the top.
    pub(crate) fn section(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(section, _)| section)
    }

    /// The key within its section.
    pub(crate) fn name(&self) -> &'static str {
        name_of(self.key)
    }

    /// `PARITY_` and the flag's name; the whole key where there is no flag, and for `sink`, `metrics`, `stress` and `soak`: some of their flags
    /// mean something else with other commands.
    pub(crate) fn variable(&self) -> String {
        let is_own = matches!(self.section(), "sink" | "metrics" | "stress" | "soak");
        let flag = self.flag.filter(|_| !is_own);
        variable_of(flag.map_or(self.key, |flag| flag.name.trim_start_matches('-')))
    }

    /// The variable of its former name, where it had another one: one that is made from a flag has stayed.
    pub(crate) fn former_variable(&self) -> Option<String> {
        let former = self.formerly.filter(|_| self.flag.is_none())?;
        Some(variable_of(former))
    }

    /// The setting with a text, as a flag gives it.
    pub(crate) fn is<'a>(&'static self, text: &'a str) -> (&'static Self, &'a str) {
        (self, text)
    }
}

/// The environment variable of a key, or of a flag without its dashes.
fn variable_of(name: &str) -> String {
    let name = name.to_ascii_uppercase().replace(['-', '.'], "_");
    format!("PARITY_{name}")
}

/// A key without its section.
pub(crate) fn name_of(key: &'static str) -> &'static str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// A part of the file.
pub(crate) struct Section {
    /// Empty at the top.
    pub(crate) name: &'static str,
    /// In the order in which they are shown.
    pub(crate) settings: &'static [&'static Setting],
}

/// All settings, in the order in which `config init` and `config show` print them.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    SECTIONS
        .iter()
        .flat_map(|section| section.settings.iter().copied())
}

/// The setting that a key of the file names, and the name that it has there: its own or a former one.
pub(crate) fn find(section: &str, name: &str) -> Option<(&'static Setting, &'static str)> {
    let is_it = |key: &&'static str| match key.split_once('.') {
        Some((of, key)) => of == section && key == name,
        None => section.is_empty() && *key == name,
    };
    all().find_map(|setting| {
        let keys = [Some(setting.key), setting.formerly];
        let key = keys.into_iter().flatten().find(is_it)?;
        Some((setting, key))
    })
}

/// All settings that are no more.
pub(crate) fn all_dropped() -> impl Iterator<Item = &'static Dropped> {
    DROPPED.iter()
}

/// What a key of the file named once.
pub(crate) fn find_dropped(section: &str, name: &str) -> Option<&'static Dropped> {
    DROPPED
        .iter()
        .find(|dropped| dropped.key.split_once('.') == Some((section, name)))
}

#[cfg(test)]
mod tests;
