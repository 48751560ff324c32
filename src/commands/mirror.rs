//! `parity mirror`: the main job, until SIGTERM or Ctrl-C.

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::MirrorArgs;
use crate::config::Layers;
use crate::instance::{Instance, Signal, Signals};
use crate::output;

/// Runs it.
pub(crate) fn run(args: &MirrorArgs) -> Result<ExitCode> {
    let settings = Layers::load_here(args.file.config.as_deref(), &args.settings()).mirror()?;
    let lines = format!(
        "legacy {} · candidate {} · store {}",
        settings.mirror.legacy, settings.mirror.candidate, settings.store
    );
    let mut signals = Signals::listen()?;
    let instance = Instance::start(&settings)?;
    output::note(&format!(
        "listening on http://{} · {lines}",
        instance.address()
    ));
    output::note(&format!(
        "admin port on http://{}/ · Ctrl-C drains and ends",
        instance.admin_address()
    ));
    signals.wait(std::future::pending(), |signal| match signal {
        Signal::End => true,
        Signal::ShadowingOff => {
            instance.set_shadowing(false);
            false
        }
        Signal::ShadowingOn => {
            instance.set_shadowing(true);
            false
        }
    });
    instance.drain();
    output::note("draining; a second Ctrl-C ends at once");
    finish_or_abandon(instance, &mut signals)
}

/// Finishes on a thread of its own, so that a second signal can end the process before the drain is over.
fn finish_or_abandon(instance: Instance, signals: &mut Signals) -> Result<ExitCode> {
    let (finished, outcome) = tokio::sync::oneshot::channel();
    let finishing = std::thread::Builder::new()
        .name("drain".to_owned())
        .spawn(move || {
            let ended = instance.finish();
            // The receiver is gone only after a second signal, when nobody waits for the outcome any more.
            let _unheard = finished.send(());
            ended
        })?;
    let mut abandoned = false;
    let done = async move {
        let _ended = outcome.await;
    };
    signals.wait(done, |signal| {
        abandoned = signal == Signal::End;
        abandoned
    });
    if abandoned {
        anyhow::bail!(
            "ended before the drain was over; requests under way were cut and the last results are lost"
        );
    }
    finishing
        .join()
        .map_err(|_| anyhow::anyhow!("the drain ended by a panic; the log has it"))??;
    Ok(ExitCode::SUCCESS)
}
