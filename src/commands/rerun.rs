//! `parity rerun`: the request of a recorded mismatch once more, and what became of its differences.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use parity_dashboards::server::audit::{self, Auditor as _};
use parity_dashboards::terminal::{self, Layout};
use parity_dashboards::view::{self, Allowed};
use parity_schemas::audit::{Audit, AuditAction, AuditOutcome, AuditSource, MAX_DETAIL};
use parity_schemas::record::Mismatch;
use parity_schemas::rerun::{RerunDocument, RerunOutcome};
use parity_schemas::visible::visible_up_to;
use uuid::Uuid;

use crate::cli::{OutputFormat, RerunArgs};
use crate::config::{Layers, MirrorSettings, host_name};
use crate::error;
use crate::process::auditing::StoreAuditor;
use crate::rerun;

/// Runs it.
pub(crate) fn run(args: &RerunArgs) -> Result<ExitCode> {
    let id: Uuid = args.id.parse().map_err(|_| {
        anyhow!(
            "`{}` is not the id of a mismatch: that is a UUID, as in the address of its page",
            args.id
        )
    })?;
    let settings = settings(args)?;
    let reader = view::reader(&settings.store)?;
    let mismatch = reader.mismatch(id)?.with_context(|| {
        format!(
            "no mismatch {id} is recorded in {}; retention may have removed it, and --store names another store",
            settings.store
        )
    })?;
    if args.sending.allow_unsafe {
        terminal::note(
            "warning: --allow-unsafe sends every method, such as POST and DELETE: both services do again what it did",
        );
    }
    let allowed = Allowed {
        unsafe_methods: args.sending.allow_unsafe,
        hidden: args.sending.accept_hidden,
        left_out: args.sending.accept_left_out,
    };
    let ran = rerun::run(&settings, &mismatch, allowed);
    leave_line(&settings, &mismatch, ran.as_ref());
    let document = ran?;
    match args.output {
        OutputFormat::Json => terminal::print_json(&document)?,
        OutputFormat::Text => {
            let layout = Layout {
                width: terminal::width(),
                all: args.all,
            };
            terminal::print(&terminal::rerun(&document, layout))?;
        }
    }
    Ok(match document.outcome {
        RerunOutcome::Equal => ExitCode::SUCCESS,
        RerunOutcome::Differs => ExitCode::from(error::NO),
        RerunOutcome::Undecided => ExitCode::from(error::UNDECIDED),
    })
}

/// Leaves the line that the same by the admin port leaves: both services were asked. Whoever cannot write to the store may ask all the
/// same, and is told.
fn leave_line(
    settings: &MirrorSettings,
    mismatch: &Mismatch,
    ran: Result<&RerunDocument, &anyhow::Error>,
) {
    let line = line_of(mismatch, ran);
    let instance = format!("command on {}", host_name());
    let kept = StoreAuditor::start(settings.store.clone(), instance)
        .map_err(|failed| error::line(&failed))
        .and_then(|auditor| auditor.keep(&mut line.clone()));
    if let Err(why) = kept {
        terminal::note(&format!(
            "warning: the record has no line of this request ({why})"
        ));
    }
}

/// The line. It is of the migration of the mismatch, whatever the settings name: whoever asks for the changes of a migration finds it.
fn line_of(mismatch: &Mismatch, ran: Result<&RerunDocument, &anyhow::Error>) -> Audit {
    let (outcome, detail) = match ran {
        Ok(document) => view::audited(document),
        Err(failed) => (AuditOutcome::Failed, error::line(failed)),
    };
    Audit {
        migration: mismatch.identity.migration.clone(),
        outcome,
        subject: mismatch.id.to_string(),
        detail: visible_up_to(&detail, MAX_DETAIL),
        user: std::env::var("USER")
            .map_or_else(|_| String::new(), |user| visible_up_to(&user, MAX_USER)),
        ..audit::line(AuditAction::Rerun, AuditSource::Command)
    }
}

/// Characters of the name of a user that are kept.
const MAX_USER: usize = 64;

/// The settings of a mirror that serves nobody. A rule that has expired no longer applies, as in the mirror.
fn settings(args: &RerunArgs) -> Result<MirrorSettings> {
    let flags = args.flags.settings();
    let layers = Layers::load_here(args.file.config.as_deref(), &flags);
    Ok(layers.mirror_to_ask()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_of_the_migration_of_its_mismatch() {
        let mut mismatch = Mismatch::default();
        "payments".clone_into(&mut mismatch.identity.migration);
        let failed = anyhow!("it is away");
        let line = line_of(&mismatch, Err(&failed));
        assert_eq!(line.migration, "payments");
        assert_eq!(line.subject, mismatch.id.to_string());
        assert_eq!(
            (line.outcome, &*line.detail),
            (AuditOutcome::Failed, "it is away")
        );
    }
}
