//! Parses the command line. An unknown flag that is the name of a setting without a flag is answered with where that
//! setting is set; the nearest flag, which clap would suggest, is another one. So is it for a flag that only other commands
//! have, where this one has its own for the same purpose.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Parser};

use parity_schemas::secret::without_password;

use crate::config::settings;

/// Flags of some commands, and what means the same to others: where somebody connects, for people or for traffic.
const SAME: [(&str, &str); 1] = [("listen", "admin")];

/// The command line of this process. A wrong one ends the process, as does `--help`.
pub(crate) fn parse<C: Parser>() -> C {
    C::try_parse().unwrap_or_else(|error| explained(error, &C::command()).exit())
}

fn explained(mut error: clap::Error, command: &Command) -> clap::Error {
    // A password in an address would stand in the log of whatever called.
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        let shown = without_password(value).into_owned();
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => flag,
        _ => return error,
    };
    let used = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let mut tips = tips(flag);
    if tips.is_empty() {
        tips.extend(same(flag, &used, command));
    }
    if !tips.is_empty() {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Where the settings of this name are set that have no flag.
fn tips(flag: &str) -> Vec<StyledStr> {
    let name = flag.trim_start_matches('-').split('=').next();
    let name = name.unwrap_or_default().replace(['-', '.'], "_");
    let named = settings::all().filter(|setting| {
        setting.flag.is_none() && (setting.name() == name || setting.key.replace('.', "_") == name)
    });
    named
        .map(|setting| {
            let variable = setting.variable();
            StyledStr::from(format!(
                "`{}` is set by the file or by {variable}",
                setting.key
            ))
        })
        .collect()
}

/// What means the same as a flag to the command that was called: the one whose name stands in its usage.
fn same(flag: &str, usage: &str, all: &Command) -> Option<StyledStr> {
    let name = flag.trim_start_matches('-').split('=').next()?;
    let (_, meant) = SAME.iter().find(|(other, _)| *other == name)?;
    let mut called = all;
    for word in usage.split_whitespace() {
        called = called.find_subcommand(word).unwrap_or(called);
    }
    let mut flags = called.get_arguments().filter_map(clap::Arg::get_long);
    flags
        .any(|flag| flag == *meant)
        .then(|| StyledStr::from(format!("the address of the pages is '--{meant}'")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[derive(Debug, Parser)]
    struct Few {
        #[arg(long)]
        sample: Option<String>,
        #[arg(long, value_parser = crate::top::base)]
        admin: Option<crate::top::Base>,
    }

    #[test]
    fn a_password_in_an_address_is_not_told() {
        for address in [
            "http://u:pw@127.0.0.1:1",
            "u:pw@127.0.0.1:1/x",
            "http://u:pw@ /",
        ] {
            let told = told(&format!("--admin={address}"));
            assert!(!told.contains("pw") && told.contains("--admin"), "{told}");
        }
    }

    fn told(flag: &str) -> String {
        let parsed = Few::try_parse_from(["parity", flag]);
        explained(parsed.expect_err("an unknown flag"), &Few::command()).to_string()
    }

    #[test]
    fn a_setting_without_a_flag_is_named_with_where_it_is_set() {
        for flag in ["--drain", "--drain=5s", "--limits-drain"] {
            let told = told(flag);
            assert!(
                told.contains("`limits.drain` is set by the file or by PARITY_LIMITS_DRAIN"),
                "{told}"
            );
            assert!(!told.contains("similar argument"), "{told}");
        }
        let of_pages = told("--listen");
        assert!(
            of_pages.contains("the address of the pages is '--admin'"),
            "{of_pages}"
        );
        let told = told("--smaple");
        assert!(told.contains("'--sample'"), "{told}");
    }
}
