//! Writes docs/settings.md from the definitions that the program itself uses: the table of settings, the command line, the
//! words of rules. A test fails when the file differs from what is written here.

use std::fmt::{self, Write};

use clap::{Arg, ArgAction, Command, CommandFactory};
use parity_schemas::verdict::Explanation;

use crate::cli::Cli;
use crate::config::environment::BESIDE;
use crate::config::settings::entries::{EntryKey, known, of_rules, route, substitute};
use crate::config::settings::{self, Kind, SECTIONS, Setting};
use crate::error;

/// The command that writes the file.
const WRITE: &str = "UPDATE_DOCS=1 cargo test -p parity --bin parity reference";

pub(crate) fn page() -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(
        out,
        "# Settings\n\n\
         <!-- Made from the program's own definitions. Do not edit; write it anew: {WRITE} -->\n\n\
         Every setting is a key of `parity.toml` and an environment variable, and some are flags. What holds is, from weak to \
         strong:\nthe default, the file, the environment, the flag. `parity config show --origin` tells what holds and \
         why,\n`parity config init` writes a file with every setting, `parity config schema` prints its JSON Schema.\n"
    )?;
    kinds(&mut out)?;
    writeln!(
        out,
        "*Restart* means that a running mirror cannot take another value (`kill -HUP` is then refused): only a restart does.\n\n\
         ## At the top of the file\n"
    )?;
    for section in SECTIONS {
        if !section.name.is_empty() {
            writeln!(out, "## [{}]\n", section.name)?;
        }
        settings(&mut out, section.settings)?;
    }
    writeln!(
        out,
        "A former name of a setting still holds, with a warning that names the new one. A setting that is no more is an error \
         that\nsays what to write instead.\n"
    )?;
    writeln!(out, "## Routes\n\nEach `[[route]]` has these keys:\n")?;
    keys(&mut out, route::ALL.iter().copied())?;
    writeln!(out, "## Rules\n\nEach `[[rule]]` has these keys:\n")?;
    keys(&mut out, &of_rules())?;
    writeln!(
        out,
        "## Known differences\n\nEach `[[known]]` has these keys:\n"
    )?;
    keys(&mut out, known::ALL.iter().copied())?;
    writeln!(
        out,
        "## Substitutes\n\nWhat `parity replay` and `parity rerun` put in the place of recorded values. Each `[[substitute]]` has these keys:\n"
    )?;
    keys(&mut out, substitute::ALL.iter().copied())?;
    words(&mut out)?;
    writeln!(out, "## Commands\n")?;
    let cli = Cli::command();
    writeln!(out, "These flags are for every command:\n")?;
    flags(&mut out, cli.get_arguments())?;
    let shown = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    for command in shown {
        commands(&mut out, command, "parity")?;
    }
    variables(&mut out)?;
    exit_codes(&mut out)?;
    Ok(out)
}

/// The form of a value, in one word.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Address => "address",
        Kind::Admin => "admin port",
        Kind::Upstream => "upstream",
        Kind::Store => "store",
        Kind::Secret => "secret",
        Kind::Path => "path",
        Kind::Duration => "duration",
        Kind::Size => "size",
        Kind::Count | Kind::Number => "number",
        Kind::Share => "share",
        Kind::Decimal => "decimal",
        Kind::Switch => "switch",
        Kind::List => "list",
    }
}

fn kinds(out: &mut String) -> fmt::Result {
    writeln!(out, "| type | how it is written |\n|---|---|")?;
    for (kind, form) in [
        (Kind::Text, "one line"),
        (Kind::Address, "`127.0.0.1:8080` or `[::1]:8080`"),
        (
            Kind::Admin,
            "an address, or `http://127.0.0.1:9900` as whoever asks it writes it",
        ),
        (
            Kind::Upstream,
            "`http://HOST:PORT`, `https://HOST` or `unix:/path/to.sock`",
        ),
        (
            Kind::Store,
            "`sqlite:parity.db`, `kafka://HOST:9092/TOPIC` or `clickhouse://USER@HOST:8123/DATABASE`",
        ),
        (
            Kind::Secret,
            "in the environment only, never in the file, and never shown",
        ),
        (Kind::Path, "relative to the working directory"),
        (Kind::Duration, "`500ms`, `5s`, `2m`, `12h` or `14d`"),
        (
            Kind::Size,
            "`512KiB`, `32MiB`, `4GiB` (of 1,024), `500KB`, `32MB`, `4GB` (of 1,000), or a number of bytes",
        ),
        (Kind::Count, "a whole number of at least 1"),
        (Kind::Share, "a number from 0 to 1"),
        (
            Kind::Switch,
            "`on` or `off`; in the file also `true` or `false`",
        ),
        (
            Kind::List,
            "`[\"a\", \"b\"]` in the file; elsewhere parted by commas",
        ),
    ] {
        writeln!(out, "| {} | {form} |", name(kind))?;
    }
    writeln!(out)
}

fn settings(out: &mut String, settings: &[&Setting]) -> fmt::Result {
    writeln!(
        out,
        "| setting | type | default | flag | variable | restart | meaning |\n|---|---|---|---|---|---|---|"
    )?;
    for setting in settings {
        let Setting {
            key,
            kind,
            flag,
            about,
            needs_restart,
            ..
        } = setting;
        let code = |text: Option<&str>| match text {
            None | Some("") => String::new(),
            Some(text) => format!("`{text}`"),
        };
        writeln!(
            out,
            "| `{key}` | {} | {} | {} | `{}` | {} | {} |",
            name(*kind),
            code(
                setting
                    .default()
                    .map(|text| text.replace(',', ", "))
                    .as_deref()
            ),
            code(flag.map(|flag| flag.name)),
            setting.variable(),
            if *needs_restart { "yes" } else { "" },
            cell(about)
        )?;
    }
    writeln!(out)
}

fn keys<'a>(out: &mut String, keys: impl IntoIterator<Item = &'a EntryKey>) -> fmt::Result {
    writeln!(out, "| key | meaning |\n|---|---|")?;
    for key in keys {
        writeln!(out, "| `{}` | {} |", key.name, cell(key.about))?;
    }
    writeln!(out)
}

/// The words that are allowed as values of a rule's keys.
fn words(out: &mut String) -> fmt::Result {
    let of_rules = of_rules().into_iter().map(|key| (key.name, key.words));
    let of_settings = settings::all().map(|setting| (setting.key, setting.words));
    writeln!(out, "| key | words |\n|---|---|")?;
    for (key, words) in of_rules.chain(of_settings) {
        // Explanations have a table of their own.
        if let Some(words) = words.filter(|_| key != "explanations") {
            let words: Vec<String> = words().iter().map(|word| format!("`{word}`")).collect();
            writeln!(out, "| `{key}` | {} |", words.join(", "))?;
        }
    }
    writeln!(out, "\n| explanation | meaning |\n|---|---|")?;
    for word in Explanation::ALL {
        writeln!(out, "| `{word}` | {} |", cell(word.meaning()))?;
    }
    writeln!(out)
}

fn commands(out: &mut String, command: &Command, before: &str) -> fmt::Result {
    let name = format!("{before} {}", command.get_name());
    if command.get_subcommands().next().is_none() {
        let about = command.get_about().map(ToString::to_string);
        let about = about.unwrap_or_default();
        writeln!(out, "### {name}\n\n{}.\n", about.trim_end_matches('.'))?;
        if command.get_arguments().next().is_some() {
            flags(out, command.get_arguments())?;
        }
    }
    for command in command.get_subcommands() {
        commands(out, command, &name)?;
    }
    Ok(())
}

fn flags<'a>(out: &mut String, arguments: impl Iterator<Item = &'a Arg>) -> fmt::Result {
    writeln!(out, "| flag | default | meaning |\n|---|---|---|")?;
    for argument in arguments {
        let takes_value = !matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::Count);
        let values = argument.get_value_names().filter(|_| takes_value);
        let values: Vec<&str> = values.unwrap_or_default().iter().map(|v| &**v).collect();
        let values = cell(&values.join(" "));
        let flag = match (argument.get_short(), argument.get_long()) {
            (Some(short), Some(long)) => format!("`-{short}`, `--{long}`"),
            (None, Some(long)) => format!("`--{long}`"),
            (_, None) => String::new(),
        };
        let defaults: Vec<String> = argument
            .get_default_values()
            .iter()
            .filter(|_| takes_value)
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        let about = argument.get_help().map(ToString::to_string);
        let mut about = cell(&about.unwrap_or_default());
        let words: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|_| takes_value)
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !words.is_empty() {
            write!(about, " ({})", words.join(", "))?;
        }
        if let Some(variable) = argument.get_env() {
            write!(about, " (`{}`)", variable.to_string_lossy())?;
        }
        let flag = format!("{flag} {values}");
        let flag = flag.trim();
        writeln!(out, "| {flag} | {} | {about} |", defaults.join(", "))?;
    }
    writeln!(out)
}

/// Environment variables that are not settings.
fn variables(out: &mut String) -> fmt::Result {
    writeln!(
        out,
        "## Variables that are not settings\n\n| variable | meaning |\n|---|---|"
    )?;
    for (name, about) in BESIDE {
        writeln!(out, "| `{name}` | {about} |")?;
    }
    writeln!(out)
}

fn exit_codes(out: &mut String) -> fmt::Result {
    writeln!(out, "## Exit codes\n\n| exit | meaning |\n|---|---|")?;
    for (code, about) in [
        (
            0,
            "done; `gate`, `metrics`, `stress`, `soak`: pass, or nothing was demanded; `diff`: match",
        ),
        (
            error::NO,
            "`gate`, `metrics`, `stress`, `soak`: fail; `diff`: mismatch",
        ),
        (error::ERROR, "usage, configuration or internal error"),
        (
            error::UNDECIDED,
            "`gate`, `metrics`, `stress`, `soak`: undecided; `diff`: not compared",
        ),
    ] {
        writeln!(out, "| {code} | {about} |")?;
    }
    Ok(())
}

/// Escapes text for a table cell: on one line, without anything that ends the cell or is read as markup.
fn cell(text: &str) -> String {
    let text = text
        .replace('\n', " ")
        .replace('|', "\\|")
        .replace('*', "\\*");
    // Code spans stay as they are.
    text.split('`')
        .enumerate()
        .map(|(at, part)| match at % 2 {
            0 => part.replace('<', "\\<").replace('[', "\\["),
            _ => part.replace("\\*", "*"),
        })
        .collect::<Vec<_>>()
        .join("`")
}

#[test]
fn the_page_of_settings_is_what_the_program_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.md");
    let page = page().expect("memory");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/settings.md differs from what the program says; update it: {WRITE}"
    );
}

/// What every command has stood in the middle of the own options of those with many.
#[test]
fn what_all_commands_have_stands_behind_their_own_options() {
    fn check(command: &Command, name: &str) {
        for below in command.get_subcommands() {
            check(below, &format!("{name} {}", below.get_name()));
        }
        let help = command.clone().render_long_help().to_string();
        let is_line_of = |long: &str| {
            let flag = format!("--{long}");
            let is_it = move |word: &str| word.trim_end_matches("...") == flag;
            move |line: &str| {
                let line = line.trim_start();
                line.starts_with('-') && line.split([' ', ',']).any(&is_it)
            }
        };
        let place = |long: &str| help.lines().position(is_line_of(long));
        let Some(first) = place("verbose") else {
            return;
        };
        let longs = command.get_arguments().filter_map(Arg::get_long);
        for long in longs.filter(|long| !matches!(*long, "help" | "version")) {
            let Some(at) = place(long) else { continue };
            let is_common = ["verbose", "quiet", "log-format", "color"].contains(&long);
            assert_eq!(at >= first, is_common, "{name}: --{long}");
        }
    }
    let mut whole = Cli::command();
    whole.build();
    check(&whole, "parity");
    let stress = whole.find_subcommand("stress").expect("a command");
    let help = stress.clone().render_long_help().to_string();
    assert!(help.find("--html") < help.find("--verbose") && help.contains("--verbose"));
}
