//! Flags that are parts of a question to the record. They are made from the declarations that the parameters of the API are
//! made from, too, so that `parity gate` and `/api/v1/gate` take and refuse the same.

use std::marker::PhantomData;

use clap::builder::TypedValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use parity_dashboards::question::{Form, PARTS, Part, Question};

/// The parts that a command takes as flags.
pub(crate) trait Asks {
    /// In the order of its help.
    fn parts() -> impl Iterator<Item = &'static Part>;
}

/// `gate`: every part.
#[derive(Debug)]
pub(crate) struct OfGate;
impl Asks for OfGate {
    fn parts() -> impl Iterator<Item = &'static Part> {
        PARTS.iter()
    }
}

/// `replay --gate` and `ci`: what does not say which evidence, because that is what the command has added.
#[derive(Debug)]
pub(crate) struct OfOwnEvidence;
impl Asks for OfOwnEvidence {
    fn parts() -> impl Iterator<Item = &'static Part> {
        let selects = |part: &&Part| matches!(part.name, "candidate-version" | "since");
        PARTS.iter().filter(move |part| !selects(part))
    }
}

/// `report`: what a report depends on.
#[derive(Debug)]
pub(crate) struct OfReport;
impl Asks for OfReport {
    fn parts() -> impl Iterator<Item = &'static Part> {
        PARTS.iter().filter(|part| part.of_report)
    }
}

/// What the flags of a command ask.
#[derive(Debug)]
pub(crate) struct Asked<C> {
    question: Question,
    /// Whether any flag was given.
    is_given: bool,
    command: PhantomData<C>,
}

impl<C> Asked<C> {
    /// Whether any of the flags was given.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given
    }

    /// The question; which migration it is about is a setting.
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }
}

impl<C: Asks> clap::Args for Asked<C> {
    fn augment_args(command: Command) -> Command {
        command.args(C::parts().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Asks> FromArgMatches for Asked<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut question = Question::default();
        let mut is_given = false;
        for part in C::parts() {
            is_given |= matches.value_source(part.name) == Some(ValueSource::CommandLine);
            let given: Vec<&str> = match part.form {
                Form::Switch if matches.get_flag(part.name) => vec!["true"],
                Form::Switch => Vec::new(),
                Form::Once | Form::Repeated => {
                    let given = matches.get_many::<String>(part.name);
                    given.into_iter().flatten().map(String::as_str).collect()
                }
            };
            for text in given {
                part.read(&mut question, text).map_err(|wrong| {
                    clap::Error::raw(clap::error::ErrorKind::ValueValidation, wrong)
                })?;
            }
        }
        Ok(Self {
            question,
            is_given,
            command: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a part.
fn argument(part: &'static Part) -> Arg {
    let argument = Arg::new(part.name).long(part.name).help(part.about);
    let action = match part.form {
        Form::Switch => return argument.action(ArgAction::SetTrue),
        Form::Once => ArgAction::Set,
        Form::Repeated => ArgAction::Append,
    };
    let check = move |text: String| part.check(&text).map(|()| text);
    let argument = argument
        .action(action)
        .value_name(part.value)
        .value_parser(clap::builder::StringValueParser::new().try_map(check));
    match part.default() {
        Some(default) => argument.default_value(default),
        None => argument,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;
    use parity_dashboards::question::{MIGRATION, ONLY_FLAGS};

    use crate::cli::Cli;

    use super::*;

    /// The names of parameters of the gate, as flags have them.
    fn parameters() -> BTreeSet<String> {
        let parts = PARTS.iter().map(|part| part.name.to_owned());
        parts.chain([MIGRATION.to_owned()]).collect()
    }

    #[test]
    fn each_flag_of_the_gate_is_a_parameter_or_says_why_not() {
        let cli = Cli::command();
        let gate = cli.find_subcommand("gate").expect("a command");
        let flags: BTreeSet<String> = gate
            .get_arguments()
            .filter_map(|flag| flag.get_long().map(str::to_owned))
            .collect();
        let only: BTreeSet<String> = ONLY_FLAGS
            .iter()
            .map(|(flag, _)| (*flag).to_owned())
            .collect();
        let parameters = parameters();
        assert!(
            only.is_disjoint(&parameters),
            "both: {:?}",
            only.intersection(&parameters)
        );
        let taken: BTreeSet<String> = only.union(&parameters).cloned().collect();
        assert_eq!(
            flags, taken,
            "a flag of `gate` is declared in dashboards/src/question/parts.rs, or listed in ONLY_FLAGS with the reason"
        );
    }

    #[test]
    fn each_parameter_is_in_the_documentation() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api.md");
        let page = std::fs::read_to_string(page).expect("the page of the API");
        for name in parameters() {
            let parameter = name.replace('-', "_");
            assert!(
                page.contains(&format!("`{parameter}`")),
                "docs/api.md does not name {parameter}"
            );
        }
    }
}
