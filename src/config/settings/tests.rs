//! The definitions fit each other, and everything that is made from them has all of them.

use std::collections::HashSet;

use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;
use crate::config::environment::Environment;
use crate::config::{Layers, render, value};

#[test]
fn keys_and_variables_are_unique_and_stand_in_their_sections() {
    let mut keys = HashSet::new();
    let mut variables = HashSet::new();
    for section in SECTIONS {
        for setting in section.settings {
            assert_eq!(setting.section(), section.name, "{}", setting.key);
            for variable in [Some(setting.variable()), setting.former_variable()] {
                let is_new = variable.is_none_or(|name| variables.insert(name));
                assert!(is_new, "{}", setting.key);
            }
            for key in [Some(setting.key), setting.formerly].into_iter().flatten() {
                assert!(keys.insert(key), "{key}");
            }
            if let Some(default) = setting.default() {
                assert_eq!(setting.kind.check(&default), Ok(()), "{}", setting.key);
            }
        }
    }
    for dropped in all_dropped() {
        assert!(keys.insert(dropped.key), "{}", dropped.key);
        assert!(variables.insert(dropped.variable()), "{}", dropped.key);
    }
    assert_eq!(
        find("record", "store").map(|(_, key)| key),
        Some("record.store")
    );
    assert_eq!(
        find("mirror", "store").map(|(_, key)| key),
        Some("mirror.store")
    );
    assert_eq!(find("", "migration").map(|(_, key)| key), Some("migration"));
    assert!(find("", "store").is_none());
}

/// A value that the form of a setting allows and that is not its default.
fn other(setting: &Setting) -> &'static str {
    match setting.kind {
        Kind::Address | Kind::Admin => "127.0.0.1:1",
        Kind::Duration => "7s",
        Kind::Size => "7KiB",
        Kind::Count | Kind::Number | Kind::Decimal => "7",
        Kind::Share => "0.7",
        Kind::Switch if setting.default().as_deref() == Some("on") => "off",
        Kind::Switch => "on",
        _ => "other",
    }
}

/// Where `config show` says that the value of a setting comes from.
fn origin(layers: &Layers, setting: &Setting) -> String {
    let document = render::document(layers);
    let shown = &document.settings[setting.key];
    assert!(shown.value.is_some(), "{}", setting.key);
    shown.origin.clone()
}

#[test]
fn every_setting_is_read_by_its_key_its_variable_and_its_flag_and_described_everywhere() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("parity.toml");
    let start = render::starting_file();
    let schema = render::schema();
    let page = crate::reference::page().expect("memory");
    let cli = Cli::command();
    for setting in all() {
        let Setting { key, about, .. } = setting;
        let (value, variable) = (other(setting), setting.variable());
        if setting.kind != Kind::Secret {
            for key in [Some(*key), setting.formerly].into_iter().flatten() {
                let shown = match setting.kind {
                    Kind::List => format!("[{value:?}]"),
                    Kind::Count | Kind::Number | Kind::Share | Kind::Decimal => value.to_owned(),
                    _ => format!("{value:?}"),
                };
                let section = key
                    .split_once('.')
                    .map_or(String::new(), |(section, _)| format!("[{section}]\n"));
                let text = format!("{section}{} = {shown}\n", name_of(key));
                std::fs::write(&file, text).expect("writable");
                let layers = Layers::load(Some(&file), &Environment::default(), &[]);
                assert!(
                    origin(&layers, setting).starts_with(&*file.to_string_lossy()),
                    "{key}"
                );
                assert!(layers.into_problems().0.is_empty(), "{key}");
            }
            let line = format!("{} = ", setting.name());
            assert!(start.contains(&format!("# {about}\n")), "{key}");
            assert!(start.contains(&line), "{key}");
            let property = match setting.section() {
                "" => &schema["properties"][setting.name()],
                section => &schema["properties"][section]["properties"][setting.name()],
            };
            assert_eq!(property["description"], *about, "{key}");
        }
        let environment = Environment::of([(&*variable, value)]);
        let layers = Layers::load(None, &environment, &[]);
        assert_eq!(origin(&layers, setting), variable);
        assert!(layers.into_problems().0.is_empty(), "{key}");
        assert!(page.contains(&format!("| `{key}` | ")), "{key}");
        assert!(page.contains(&format!("| `{variable}` | ")), "{key}");
        let Some(flag) = setting.flag else { continue };
        let layers = Layers::load(None, &Environment::default(), &[(setting, value)]);
        assert_eq!(origin(&layers, setting), flag.name);
        let taken = cli.get_subcommands().any(|command| {
            let mut arguments = command.get_arguments();
            arguments.any(|argument| argument.get_id().as_str() == *key)
        });
        assert!(taken, "no command takes {} of {key}", flag.name);
    }
}

/// A value as it is compared: a file says `true` and `1` where a variable says `on` and `1.0`.
fn plain(setting: &Setting, text: Option<String>) -> Option<String> {
    match setting.kind {
        Kind::Switch => text.map(|text| value::switch(&text).expect("a switch").to_string()),
        Kind::Share => text.map(|text| value::share(&text).expect("a share").to_string()),
        _ => text,
    }
}

#[test]
fn the_starting_file_with_every_default_uncommented_says_what_no_file_says() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("parity.toml");
    let start = render::starting_file();
    let settings = start.split("# Routes are recognized").next();
    let mut uncommented = 0;
    let mut text = String::new();
    for line in settings.expect("settings come first").lines() {
        let said = line.strip_prefix("# ").filter(|rest| {
            let name = rest.split_once(" = ").map_or("", |(name, _)| name);
            all().any(|setting| setting.name() == name)
        });
        uncommented += usize::from(said.is_some());
        // The addresses that are filled in are to be changed, and no defaults.
        let said = said.unwrap_or(if line.starts_with('[') { line } else { "" });
        text.push_str(said);
        text.push('\n');
    }
    std::fs::write(&file, &text).expect("writable");
    let with_file = Layers::load(Some(&file), &Environment::default(), &[]);
    let without = Layers::load(None, &Environment::default(), &[]);
    let mut with_default = 0;
    for setting in all() {
        let says = |layers: &Layers| plain(setting, layers.shown(setting).0);
        assert_eq!(says(&with_file), says(&without), "{}", setting.key);
        if setting.default().is_some() {
            with_default += 1;
            assert!(with_file.is_given(setting), "{}", setting.key);
        }
    }
    assert_eq!(uncommented, with_default, "{text}");
    assert!(with_file.into_problems().0.is_empty(), "{text}");
}

#[test]
fn default_lists_are_shown_wherever_defaults_are() {
    let names = ["content-type", "x-total-count"];
    let layers = Layers::load(None, &Environment::default(), &[]);
    let document = render::document(&layers);
    let shown = [
        render::list(&layers, false),
        format!("{:?}", document.settings["redact.keep_headers"].value),
        render::schema()["properties"]["redact"]["properties"]["keep_headers"]["default"]
            .to_string(),
        render::starting_file(),
        crate::reference::page().expect("memory"),
    ];
    for text in shown {
        for name in names {
            assert!(text.contains(name), "{name} is missing in {text}");
        }
    }
}

#[test]
fn a_setting_that_is_no_more_is_refused_with_what_to_do_instead() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("parity.toml");
    for dropped in all_dropped() {
        let (section, name) = dropped.key.split_once('.').expect("a section");
        std::fs::write(&file, format!("[{section}]\n{name} = 1\n")).expect("writable");
        let of_file = Layers::load(Some(&file), &Environment::default(), &[]);
        let environment = Environment::of([(&*dropped.variable(), "1")]);
        let of_environment = Layers::load(None, &environment, &[]);
        for layers in [of_file, of_environment] {
            let problems = layers.into_problems().0;
            assert_eq!(problems.len(), 1, "{}", dropped.key);
            assert_eq!(problems[0].message, dropped.message());
            assert_eq!(problems[0].hint.as_deref(), Some(dropped.instead));
        }
    }
}

#[test]
fn the_variable_of_a_former_name_holds_until_both_are_given() {
    let setting: &'static Setting = &record::SPOOL_SIZE;
    let former = setting.former_variable().expect("it had one");
    assert_eq!(former, "PARITY_LIMITS_SPOOL");
    let layers = Layers::load(None, &Environment::of([(&*former, "7KiB")]), &[]);
    assert_eq!(layers.shown(setting).0.as_deref(), Some("7KiB"));
    assert_eq!(origin(&layers, setting), former);
    assert!(layers.into_problems().0.is_empty());
    let both = [(&*former, "7KiB"), (&*setting.variable(), "8KiB")];
    let layers = Layers::load(None, &Environment::of(both), &[]);
    assert_eq!(layers.shown(setting).0.as_deref(), Some("8KiB"));
    assert_eq!(layers.into_problems().0.len(), 1);
    // One that is made from a flag has stayed.
    assert_eq!(redact::KEY_FILE.former_variable(), None);
    assert_eq!(redact::KEY_FILE.variable(), "PARITY_REDACTION_KEY_FILE");
}
