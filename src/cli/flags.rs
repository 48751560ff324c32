//! Flags that are settings. They are made from the definitions of the settings, so no command can give one another
//! name, describe another default or forget to read it. Their values stay text. They are the last of three layers
//! (file < environment < flags); `config` parses all three and reports the problems of all of them together.

use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::config::settings::{
    self, Kind, Setting, metrics, mirror, record, recording, redact, sink, soak, stress, top,
};

/// The settings that a command takes as flags.
pub(crate) trait Takes {
    /// In the order of its help.
    fn settings() -> Vec<&'static Setting>;

    /// What holds for this command where nobody says otherwise, in words, if that is not the default.
    fn otherwise(_setting: &Setting) -> Option<&'static str> {
        None
    }
}

/// The flags of a command that are settings, where the user gave them.
#[derive(Debug)]
pub(crate) struct Flags<C> {
    given: Vec<(&'static Setting, String)>,
    command: PhantomData<C>,
}

impl<C> Flags<C> {
    /// As a layer of the configuration.
    pub(crate) fn settings(&self) -> Vec<(&'static Setting, &str)> {
        let given = self.given.iter();
        given.map(|(setting, text)| setting.is(text)).collect()
    }
}

impl<C: Takes> clap::Args for Flags<C> {
    fn augment_args(command: Command) -> Command {
        command.args(C::settings().into_iter().filter_map(argument::<C>))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Takes> FromArgMatches for Flags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = C::settings().into_iter().filter_map(|setting| {
            let texts = matches.get_many::<String>(setting.key)?;
            let texts: Vec<&str> = texts.map(String::as_str).collect();
            Some((setting, texts.join(",")))
        });
        Ok(Self {
            given: given.collect(),
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a setting, if it has one.
fn argument<C: Takes>(setting: &'static Setting) -> Option<Arg> {
    let flag = setting.flag?;
    let mut help = setting.about.to_owned();
    if setting.kind == Kind::List {
        help.push_str("; several parted by commas, or each by a flag");
    }
    let action = if setting.kind == Kind::List {
        ArgAction::Append
    } else {
        ArgAction::Set
    };
    let own = C::otherwise(setting).map(str::to_owned);
    if let Some(default) = own
        .or_else(|| setting.default())
        .filter(|default| !default.is_empty())
    {
        help = format!("{help} [default: {default}]");
    }
    let argument = Arg::new(setting.key)
        .long(flag.name.trim_start_matches('-'))
        .value_name(flag.value)
        .action(action)
        .help(help);
    Some(argument)
}

/// `mirror` and `config show`: every setting that has a flag, except those of sinks, of metrics and of load.
#[derive(Debug)]
pub(crate) struct OfMirror;
impl Takes for OfMirror {
    fn settings() -> Vec<&'static Setting> {
        let elsewhere = [
            "sink",
            "metrics",
            "legacy_metrics",
            "candidate_metrics",
            "stress",
            "soak",
        ];
        let mut settings: Vec<_> = settings::all()
            .filter(|setting| setting.flag.is_some() && !elsewhere.contains(&setting.section()))
            .collect();
        // The settings that matter most come first in the help.
        settings.sort_by_key(|setting| setting.section() != "mirror");
        settings
    }
}

/// `replay`: what a mirror has, but for its clients.
#[derive(Debug)]
pub(crate) struct OfReplay;
impl Takes for OfReplay {
    fn settings() -> Vec<&'static Setting> {
        let of_clients: [&'static Setting; 6] = [
            &mirror::LISTEN,
            &mirror::WORKERS,
            &mirror::SHADOW,
            &mirror::TLS_CERTIFICATE_FILE,
            &mirror::TLS_KEY_FILE,
            &mirror::HANDOVER,
        ];
        let is_of_clients =
            |setting: &&'static Setting| of_clients.iter().any(|one| one.key == setting.key);
        let mut settings = OfMirror::settings();
        settings.retain(|setting| !is_of_clients(setting) && setting.section() != "recording");
        settings
    }
}

/// `ci`: what a mirror has that ends with its job.
#[derive(Debug)]
pub(crate) struct OfCi;
impl Takes for OfCi {
    fn settings() -> Vec<&'static Setting> {
        let elsewhere: [&'static Setting; 5] = [
            &mirror::MODE,
            &mirror::SHADOW,
            &mirror::TLS_CERTIFICATE_FILE,
            &mirror::TLS_KEY_FILE,
            &mirror::HANDOVER,
        ];
        let is_elsewhere =
            |setting: &&'static Setting| elsewhere.iter().any(|one| one.key == setting.key);
        let mut settings = OfMirror::settings();
        settings.retain(|setting| !is_elsewhere(setting));
        settings
    }

    fn otherwise(setting: &Setting) -> Option<&'static str> {
        let own: [(&Setting, _); 5] = [
            (&mirror::LISTEN, "a free port"),
            (&mirror::ADMIN, "a free port"),
            (&record::STORE, "one that is deleted with the job"),
            (&mirror::INSTANCE, "ci"),
            (&top::MIGRATION, "ci"),
        ];
        let found = own.into_iter().find(|(one, _)| one.key == setting.key);
        found.map(|(_, words)| words)
    }
}

/// `record`: where clients connect, where the legacy is, and what is hidden.
#[derive(Debug)]
pub(crate) struct OfRecord;
impl Takes for OfRecord {
    fn settings() -> Vec<&'static Setting> {
        vec![
            &*mirror::LEGACY,
            &*mirror::LISTEN,
            &*recording::ANSWERS,
            &*mirror::WORKERS,
            &*mirror::CA_FILE,
            &*mirror::TLS_CERTIFICATE_FILE,
            &*mirror::TLS_KEY_FILE,
            &*redact::KEY_FILE,
            &*top::PROFILES,
        ]
    }
}

/// `check`: how the service is reached, and what counts as equal.
#[derive(Debug)]
pub(crate) struct OfCheck;
impl Takes for OfCheck {
    fn settings() -> Vec<&'static Setting> {
        vec![&*top::PROFILES, &*mirror::CA_FILE, &*redact::KEY_FILE]
    }
}

/// `stub`: how a service behind it is reached, and what counts as equal.
#[derive(Debug)]
pub(crate) struct OfStub;
impl Takes for OfStub {
    fn settings() -> Vec<&'static Setting> {
        OfCheck::settings()
    }
}

/// `rerun`: which record, how the services are reached, and what counts as equal.
#[derive(Debug)]
pub(crate) struct OfRerun;
impl Takes for OfRerun {
    fn settings() -> Vec<&'static Setting> {
        vec![
            &*mirror::LEGACY,
            &*mirror::CANDIDATE,
            &*record::STORE,
            &*top::PROFILES,
            &*mirror::CA_FILE,
            &*redact::KEY_FILE,
        ]
    }
}

/// `sink`: its own section.
#[derive(Debug)]
pub(crate) struct OfSink;
impl Takes for OfSink {
    fn settings() -> Vec<&'static Setting> {
        settings::all()
            .filter(|setting| setting.flag.is_some() && setting.section() == "sink")
            .collect()
    }
}

/// `schema apply`: where the tables are.
#[derive(Debug)]
pub(crate) struct OfSchema;
impl Takes for OfSchema {
    fn settings() -> Vec<&'static Setting> {
        vec![&*sink::CLICKHOUSE]
    }
}

/// `report` and `gate`: which record. Here the candidate version selects evidence and is not a setting: without the flag
/// the latest evidence is taken, whatever version the configuration names.
#[derive(Debug)]
pub(crate) struct OfReader;
impl Takes for OfReader {
    fn settings() -> Vec<&'static Setting> {
        vec![&*record::STORE, &*top::MIGRATION]
    }
}

/// `ui`: which record, where it is shown, and which services may be asked again.
#[derive(Debug)]
pub(crate) struct OfUi;
impl Takes for OfUi {
    fn settings() -> Vec<&'static Setting> {
        let shown: [&'static Setting; 8] = [
            &mirror::ADMIN,
            &mirror::ADMIN_TOKEN_FILE,
            &mirror::ADMIN_LOOK_TOKEN_FILE,
            &mirror::ADMIN_TLS_CERTIFICATE_FILE,
            &mirror::ADMIN_TLS_KEY_FILE,
            &mirror::LEGACY,
            &mirror::CANDIDATE,
            &mirror::CA_FILE,
        ];
        [OfReader::settings(), shown.into()].concat()
    }
}

/// `metrics`: both pages, for how long they are read, and what is demanded.
#[derive(Debug)]
pub(crate) struct OfMetrics;
impl Takes for OfMetrics {
    fn settings() -> Vec<&'static Setting> {
        let pages: [&'static Setting; 2] = [&metrics::legacy::URL, &metrics::candidate::URL];
        let mut settings = Vec::from(pages);
        settings.extend(metrics::window::ALL);
        settings.push(&*mirror::CA_FILE);
        settings
    }
}

/// What both services are, and what counts as equal; of the commands that load them.
fn of_load() -> Vec<&'static Setting> {
    vec![
        &*mirror::LEGACY,
        &*mirror::CANDIDATE,
        &*metrics::legacy::URL,
        &*metrics::candidate::URL,
        &*top::PROFILES,
        &*mirror::CA_FILE,
        &*redact::KEY_FILE,
    ]
}

/// `stress`: both services, and how they are loaded.
#[derive(Debug)]
pub(crate) struct OfStress;
impl Takes for OfStress {
    fn settings() -> Vec<&'static Setting> {
        [of_load(), stress::ALL.to_vec()].concat()
    }
}

/// `soak`: both services, how they are loaded, and what counts as growth.
#[derive(Debug)]
pub(crate) struct OfSoak;
impl Takes for OfSoak {
    fn settings() -> Vec<&'static Setting> {
        // What is about many steps has no meaning for one.
        let of_steps: [&'static Setting; 15] = [
            &stress::RATES,
            &stress::FROM,
            &stress::FACTOR,
            &stress::UP_TO,
            &stress::REFINE,
            &stress::REPEATS,
            &stress::WINDOW,
            &stress::WARM_UP,
            &stress::PAUSE,
            &stress::RECOVERY,
            &stress::THRESHOLDS,
            &stress::JUDGED_BY,
            &stress::AT,
            &stress::PRICE_VCPU,
            &stress::PRICE_GIB,
        ];
        let shared = stress::ALL.iter().copied();
        let shared = shared.filter(|setting| of_steps.iter().all(|one| one.key != setting.key));
        [of_load(), soak::ALL.to_vec(), shared.collect()].concat()
    }
}

/// `diff`: rules that come with the program.
#[derive(Debug)]
pub(crate) struct OfDiff;
impl Takes for OfDiff {
    fn settings() -> Vec<&'static Setting> {
        vec![&*top::PROFILES]
    }
}
