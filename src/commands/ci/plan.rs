//! What a job is to do, from its flags, before anything is started.

use std::fmt;

use anyhow::{Result, anyhow, bail};
use parity_dashboards::terminal;

use super::ports::{PLACE, Port};
use crate::cli::CiArgs;
use crate::commands::replay::sending::{adjust, of_own_load, without_legacy};
use crate::config::settings::{Setting, mirror, record, top};
use crate::config::{Layers, MirrorSettings};

/// What the record is filed under, unless somebody says otherwise.
const NAME: &str = "ci";
/// Where CI systems have the commit that is built.
const COMMITS: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];

/// One of the two services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Legacy,
    Candidate,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Candidate => "candidate",
        })
    }
}

/// A service to start.
pub(super) struct Start {
    pub(super) side: Side,
    /// For `sh -c`.
    pub(super) command: String,
    pub(super) port: Port,
}

/// What is to be done.
pub(super) struct Plan {
    pub(super) settings: MirrorSettings,
    pub(super) start: Vec<Start>,
}

impl Plan {
    /// Reads the settings. The record is in `store`, unless a flag says otherwise.
    pub(super) fn of(args: &CiArgs, store: &str) -> Result<Self> {
        refuse_without_effect(args)?;
        let mut flags: Vec<(&'static Setting, String)> = args
            .flags
            .settings()
            .into_iter()
            .map(|(setting, text)| (setting, text.to_owned()))
            .collect();
        let mut start = Vec::new();
        for (side, url, command) in [
            (Side::Legacy, &*mirror::LEGACY, &args.legacy_command),
            (
                Side::Candidate,
                &*mirror::CANDIDATE,
                &args.candidate_command,
            ),
        ] {
            let given = flags.iter_mut().find(|(setting, _)| setting.key == url.key);
            let Some(command) = command else {
                if let Some((_, text)) = given
                    && text.contains(PLACE)
                {
                    bail!(
                        "--{side} {text}: only a service that --{side}-command starts has a {PLACE}"
                    );
                }
                continue;
            };
            let port = Port::free()?;
            match given {
                Some((_, text)) => *text = port.put_into(text),
                None => flags.push((url, format!("http://127.0.0.1:{}", port.number))),
            }
            start.push(Start {
                side,
                command: port.put_into(command),
                port,
            });
        }
        // What a file or a variable says of these is meant for a mirror that stays.
        for (setting, text) in [
            (&*mirror::LISTEN, "127.0.0.1:0"),
            (&*mirror::ADMIN, "127.0.0.1:0"),
            (&*record::STORE, store),
            (&*mirror::SHADOW, "on"),
        ] {
            if flags.iter().all(|(given, _)| given.key != setting.key) {
                flags.push((setting, text.to_owned()));
            }
        }
        let mut flags: Vec<_> = flags
            .iter()
            .map(|(setting, text)| setting.is(text))
            .collect();
        if args.sending.recorded_answers {
            without_legacy(&mut flags);
        }
        let layers = Layers::load_here(args.file.config.as_deref(), &flags);
        let mut otherwise = vec![top::MIGRATION.is(NAME), mirror::INSTANCE.is(NAME)];
        let commit = if layers.is_given(&mirror::CANDIDATE_VERSION) {
            None
        } else {
            commit()?
        };
        if let Some(commit) = &commit {
            otherwise.push(mirror::CANDIDATE_VERSION.is(commit));
        }
        let mut settings = of_own_load(layers).or(&otherwise).mirror()?;
        settings.may_wait = !args.recordings.is_empty();
        if settings.may_wait {
            // What comes from a recording is in one.
            settings.recording = None;
        }
        adjust(&mut settings, &args.sending);
        settings.mirror.policy.tls = None;
        settings.mirror.policy.mode = parity_mirror::Mode::Proxy;
        if settings.mirror.policy.candidate.url == settings.mirror.policy.legacy.url {
            terminal::note("legacy and candidate are one service: what differs is noise");
        }
        Ok(Self { settings, start })
    }
}

/// The commit that is built, if a CI system says which.
fn commit() -> Result<Option<String>> {
    let given = COMMITS.iter().find_map(|name| {
        let value = std::env::var_os(name)?;
        (!value.is_empty()).then_some((name, value))
    });
    let Some((name, value)) = given else {
        return Ok(None);
    };
    let text = value
        .into_string()
        .map_err(|_| "the text is not UTF-8".to_owned())
        .and_then(|text| crate::config::value::text(&text));
    text.map(Some).map_err(|why| {
        anyhow!("{name} in the environment, which is taken for the candidate's version: {why}, or give --candidate-version")
    })
}

/// Refuses flags that do nothing.
fn refuse_without_effect(args: &CiArgs) -> Result<()> {
    let is_given = |setting: &Setting| {
        let mut given = args.flags.settings().into_iter();
        given.any(|(given, _)| given.key == setting.key)
    };
    if args.sending.recorded_answers && is_given(&mirror::LEGACY) {
        bail!(
            "--legacy has no effect with --recorded-answers: the answers of the recording stand for the legacy's"
        );
    }
    let replays = !args.recordings.is_empty();
    if replays && is_given(&mirror::LISTEN) {
        bail!("--listen has no effect with --replay: nobody connects");
    }
    if let Some(flag) = args.sending.needs_a_recording().filter(|_| !replays) {
        bail!("{flag} has no effect without --replay");
    }
    Ok(())
}
