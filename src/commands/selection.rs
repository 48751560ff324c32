//! Which evidence `report` and `gate` read.

use anyhow::{Result, anyhow};
use parity_schemas::evidence::LeftOutSpan;
use parity_schemas::time::Timestamp;
use parity_sink::{Selection, StoreConfig};

use crate::cli::SelectionArgs;
use crate::config::{Layers, value};

/// The store, and the evidence to read from it.
pub(crate) fn resolve(args: &SelectionArgs) -> Result<(StoreConfig, Selection)> {
    let settings =
        Layers::load_here(args.file.config.as_deref(), &args.flags.settings()).reader()?;
    let since = args.since.as_deref().map(since).transpose()?;
    let left_out = args.leave_out.iter().map(|text| left_out(text));
    let left_out = left_out.collect::<Result<Vec<_>>>()?;
    let selection = Selection {
        migration: Some(settings.migration),
        candidate_version: args.candidate_version.clone(),
        since,
        left_out,
        strict_rules: args.strict_rules,
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

/// A span that is not counted, and why.
fn left_out(text: &str) -> Result<LeftOutSpan> {
    let wrong = |what: String| {
        anyhow!(
            "--leave-out `{text}`: {what}; write for example 2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=restart"
        )
    };
    let (span, reason) = text
        .split_once('=')
        .ok_or_else(|| wrong("it has no =REASON".to_owned()))?;
    let (from, to) = span
        .split_once("..")
        .ok_or_else(|| wrong("it is not FROM..TO=REASON".to_owned()))?;
    let time = |text: &str| {
        let parsed: Result<Timestamp, _> = text.trim().parse();
        parsed.map_err(|_| wrong(format!("`{text}` is not a time with an offset")))
    };
    let (from, to, reason) = (time(from)?, time(to)?, reason.trim());
    if from >= to {
        return Err(wrong(format!("{to} is not after {from}")));
    }
    if reason.is_empty() || reason.len() > LeftOutSpan::MAX_REASON {
        return Err(wrong(format!(
            "the reason has {} bytes, and may have 1 to {}",
            reason.len(),
            LeftOutSpan::MAX_REASON
        )));
    }
    Ok(LeftOutSpan {
        from,
        to,
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_two_times_in_order_and_a_reason() {
        let span = left_out(
            "2026-01-01T00:00:00Z..2026-01-01T00:05:00+00:00= restart of = the candidate ",
        )
        .expect("a span");
        assert_eq!(span.reason, "restart of = the candidate");
        assert_eq!(span.to.as_micros() - span.from.as_micros(), 300_000_000);
        let long = format!(
            "2026-01-01T00:00:00Z..2026-01-02T00:00:00Z={}",
            "x".repeat(201)
        );
        for (text, wrong) in [
            ("2026-01-01T00:00:00Z..2026-01-01T00:05:00Z", "no =REASON"),
            ("2026-01-01T00:00:00Z..2026-01-01T00:05:00Z=", "has 0 bytes"),
            ("2026-01-01T00:00:00Z=x", "FROM..TO=REASON"),
            (
                "2026-01-01T00:05:00Z..2026-01-01T00:00:00Z=x",
                "is not after",
            ),
            ("noon..2026-01-01T00:00:00Z=x", "`noon` is not a time"),
            (&long, "has 201 bytes"),
        ] {
            let error = left_out(text).expect_err(text).to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

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
