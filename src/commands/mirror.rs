//! `parity mirror`: the main job, until SIGTERM or Ctrl-C.

use std::process::ExitCode;

use anyhow::{Result, bail};
use parity_dashboards::terminal;
use parity_schemas::audit::{AuditAction, AuditOutcome, AuditSource};
use parity_schemas::edited::Edited;
use parity_schemas::time::Timestamp;

use crate::cli::MirrorArgs;
use crate::config::{Layers, MirrorSettings};
use crate::error;
use crate::process::handover::{Inherited, Prepared};
use crate::process::instance::Instance;
use crate::process::signals::{Hangup, Signal, Signals};

/// Refuses a rollout that a successor would take over.
fn without_handover(settings: MirrorSettings) -> Result<MirrorSettings> {
    if settings.handover.is_some() && settings.rollout.is_some() {
        // While both serve, a fall back of the one would not be known to the other.
        bail!(
            "mirror.handover: a mirror with a [rollout] does not leave serving to a successor, which would not know of a fall back \
             meanwhile; restart it without --handover, behind a load balancer if no connection may be refused"
        );
    }
    Ok(settings)
}

/// Runs it.
pub(crate) fn run(args: &MirrorArgs) -> Result<ExitCode> {
    let load = || {
        Layers::load_here(args.file.config.as_deref(), &args.flags.settings()).mirror_to_roll_out()
    };
    let mut settings = without_handover(load()?)?;
    let mut signals = Signals::listen(Hangup::Reloads)?;
    let mut inherited = Inherited::take(settings.handover.as_deref())?;
    let prepared = {
        let _entered = signals.runtime().enter();
        settings.handover.as_deref().map(Prepared::bind)
    };
    let prepared = prepared.transpose()?.flatten();
    let mut instance = Instance::start(&settings, &mut inherited)?;
    // Nothing may fail from here on: the mirror that this one replaces is about to end.
    let handover = match (prepared, instance.take_sockets()) {
        (Some(prepared), Some(sockets)) => prepared.publish(sockets),
        _ => None,
    };
    if let Some(predecessor) = inherited.predecessor() {
        predecessor.ready();
        terminal::note("took over from the mirror that was running");
    }
    announce(&instance, &settings);
    let mut successor = None;
    let ended = instance.ended();
    let over = async {
        let asked = async {
            match &handover {
                Some(handover) => successor = Some(handover.successor().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = asked => {}
            () = ended => {}
        }
    };
    let alarm = signals.alarm();
    alarm.set(settings.next_expiry);
    signals.wait(over, |signal| match signal {
        Signal::End => true,
        Signal::ShadowingOff | Signal::ShadowingOn => {
            let (on, action) = match signal {
                Signal::ShadowingOn => (true, AuditAction::ShadowingOn),
                _ => (false, AuditAction::ShadowingOff),
            };
            instance.set_shadowing(on);
            let what = (action, AuditSource::Signal);
            instance.changed(what, AuditOutcome::Done, <(String, String)>::default());
            false
        }
        Signal::Alarm => {
            alarm.set(expire(&mut instance, &mut settings));
            false
        }
        Signal::Reload => {
            let mut change = String::new();
            let mut known = Edited::default();
            let outcome = load().map_err(anyhow::Error::from).and_then(|next| {
                change = next.change_of(&settings);
                known = next.known_edited(&settings);
                reload(&mut instance, &mut settings, next)
            });
            match &outcome {
                Ok(()) => {
                    terminal::note("configuration reloaded");
                    name_overridden(&settings);
                }
                Err(error) => {
                    terminal::note("configuration not reloaded, the old one stays in force");
                    let _reported = error::report(error);
                }
            }
            instance.reloaded(&outcome);
            audit_reload(&instance, &outcome, change, &known);
            alarm.set(settings.next_expiry);
            false
        }
    });
    if let Some(successor) = successor {
        drop(handover);
        instance.hand_over();
        successor.let_go();
        terminal::note(&format!(
            "handed over to a successor; draining for {} s at most",
            instance.longest_end().as_secs()
        ));
    } else {
        if let Some(handover) = handover {
            handover.remove();
        }
        instance.drain();
        terminal::note(&format!(
            "draining for {} s at most; a second Ctrl-C ends at once",
            instance.longest_end().as_secs()
        ));
    }
    instance.finish_or_abandon(&mut signals)?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps what a reload changed, or why it changed nothing.
fn audit_reload(instance: &Instance, outcome: &Result<()>, change: String, known: &Edited) {
    let (ended, told) = match outcome {
        Ok(()) => (AuditOutcome::Done, change),
        Err(error) => (AuditOutcome::Refused, error::line(error)),
    };
    let what = (AuditAction::Reload, AuditSource::Signal);
    instance.changed(what, ended, (String::new(), told));
    if outcome.is_ok() && !known.is_empty() {
        // Nothing of the register is in the counts, so a chart and the page of a group have this line alone.
        let what = (AuditAction::KnownChanged, AuditSource::Signal);
        instance.changed(what, AuditOutcome::Done, (String::new(), known.told()));
    }
}

/// Says that it began and where it listens, and warns when the candidate version is missing.
fn announce(instance: &Instance, settings: &MirrorSettings) {
    instance.began();
    let policy = &settings.mirror.policy;
    let scheme = match policy.tls {
        Some(_) => "https",
        None => "http",
    };
    terminal::note(&format!(
        "listening on {scheme}://{} · legacy {} · candidate {} · store {}",
        instance.address(),
        policy.legacy.url,
        policy.candidate.url,
        settings.store
    ));
    terminal::note(&format!(
        "admin port on {} · Ctrl-C drains and ends",
        instance.admin_url()
    ));
    if settings.identity.candidate_version.is_empty() {
        tracing::warn!(
            "no --candidate-version: what is counted of one build of the candidate is added to that of the next"
        );
    }
}

/// Removes the rules that have expired. The rules hash changes with them, so the evidence starts anew: the differences
/// that they excused now count. Returns when the next rule expires.
fn expire(instance: &mut Instance, settings: &mut MirrorSettings) -> Option<Timestamp> {
    /// When the settings cannot be applied (a file that they name cannot be read), the old rules and their hash stay in
    /// force, and this is the pause before the next attempt, in microseconds.
    const AGAIN: i64 = 60_000_000;
    let now = Timestamp::now();
    let mut next = settings.clone();
    let expired = next.expire_rules(now);
    if let Err(error) = instance.reload(&next) {
        tracing::error!(
            error = error::line(&error),
            "a rule has expired but still applies, because the configuration cannot be reloaded; trying again in a minute"
        );
        return Some(Timestamp::from_micros(now.as_micros() + AGAIN));
    }
    for rule in expired {
        let what = (AuditAction::RuleExpired, AuditSource::Clock);
        instance.changed(what, AuditOutcome::Done, (rule.clone(), String::new()));
        terminal::note(&format!(
            "the rule {rule} has expired and no longer applies; the evidence starts anew"
        ));
    }
    *settings = next;
    settings.next_expiry
}

/// Says what of the file has no effect: who has changed a setting there may wait for it.
fn name_overridden(settings: &MirrorSettings) {
    for (setting, stronger) in &settings.overridden {
        terminal::note(&format!(
            "{setting} of the file does not apply: {stronger} is stronger, until a restart without it"
        ));
    }
}

/// Applies new settings. If any of them needs a restart, none is applied.
fn reload(
    instance: &mut Instance,
    settings: &mut MirrorSettings,
    next: MirrorSettings,
) -> Result<()> {
    let fixed = next.need_a_restart(settings);
    if !fixed.is_empty() {
        anyhow::bail!("only a restart can change {}", fixed.join(", "));
    }
    instance.reload(&next)?;
    // Shadowing that an operator switched by hand stays so, unless the configuration changed it.
    if next.mirror.shadowing != settings.mirror.shadowing {
        instance.set_shadowing(next.mirror.shadowing);
    }
    *settings = next;
    Ok(())
}
