//! Which evidence `report` and `gate` read.

use anyhow::{Result, anyhow};
use parity_schemas::time::Timestamp;
use parity_sink::{Selection, StoreConfig};

use crate::cli::SelectionArgs;
use crate::config::{Layers, value};

/// The store, and the evidence to read from it.
pub(crate) fn resolve(args: &SelectionArgs) -> Result<(StoreConfig, Selection)> {
    let settings =
        Layers::load_here(args.file.config.as_deref(), &args.flags.settings()).reader()?;
    let since = args.since.as_deref().map(since).transpose()?;
    let selection = Selection {
        migration: Some(settings.migration),
        candidate_version: args.candidate_version.clone(),
        since,
        ..Selection::default()
    };
    Ok((settings.store, selection))
}

/// A time, or an age before now.
fn since(text: &str) -> Result<Timestamp> {
    if let Ok(age) = value::duration(text) {
        let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        return Ok(Timestamp::now().saturating_add_micros(-micros));
    }
    text.parse().map_err(|_| {
        anyhow!("--since `{text}` is neither a time with an offset, such as 2026-01-31T09:30:00Z, nor an age, such as 15m, 2h or 7d")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_or_an_age() {
        assert_eq!(
            since("2026-01-01T00:00:00Z").expect("a time").to_string(),
            "2026-01-01T00:00:00.000000Z"
        );
        assert!(since("15m").expect("an age") < Timestamp::now());
        assert!(
            since("yesterday")
                .expect_err("a word")
                .to_string()
                .contains("yesterday")
        );
    }
}
