//! Whether another process of the same name writes into the same file.
//!
//! Each process has runs of its own, so what two count is added up and nothing is lost. But readers know processes by their name: if one of
//! the two is killed, the other one does not tell them so. A mirror that takes over from another one has its name, too, while that one
//! drains, and so has one that is started again, for seconds. Both of these find each other meanwhile. So nothing is refused, and it is told
//! once: when each look has found one for longer than any handover takes.

use std::time::{Duration, Instant};

use parity_schemas::watermark::{SILENT_AFTER_MICROS, Watermark};
use rusqlite::{Connection, OptionalExtension as _, params};

/// How often it is looked at, and when first.
const PERIOD: Duration = Duration::from_mins(1);

const SELECT: &str = "SELECT 1 FROM watermarks WHERE migration = ?1 AND legacy_version = ?2 AND candidate_version = ?3 \
     AND rules_hash = ?4 AND instance = ?5 AND ended = 0 AND written > ?6 AND written <> ?7 AND id <> ?8 LIMIT 1";

/// Looks for it.
pub(super) struct Namesake {
    due: Instant,
    /// How long a process that leaves may write beside the next one.
    handover: Duration,
    /// Since when each look has found one.
    found: Option<Instant>,
    told: bool,
}

impl Namesake {
    /// First a while from now.
    pub(super) fn from(now: Instant, handover: Duration) -> Self {
        Self {
            due: now + PERIOD,
            handover,
            found: None,
            told: false,
        }
    }

    /// Looks, if it is due, and tells it if it is so. These watermarks are ours, and have just been written.
    pub(super) fn look(&mut self, connection: &Connection, own: &[Watermark], now: Instant) {
        if self.told || now < self.due {
            return;
        }
        self.due = now + PERIOD;
        let mut own = own.iter().filter(|run| !run.ended);
        let Some(run) = own.find(|run| has_namesake(connection, run).unwrap_or(false)) else {
            self.found = None;
            return;
        };
        let since = *self.found.get_or_insert(now);
        if now.saturating_duration_since(since) > self.handover {
            self.told = true;
            tracing::warn!(
                instance = %run.instance,
                "another process of this name writes into this store; both are counted, but if one is killed nobody is told: \
                 give each its own --instance"
            );
        }
    }
}

/// Whether another process of its name wrote lately for the same. All runs of one process have the same time.
fn has_namesake(connection: &Connection, own: &Watermark) -> rusqlite::Result<bool> {
    let written = own.written.as_micros();
    let values = params![
        own.identity.migration,
        own.identity.legacy_version,
        own.identity.candidate_version,
        own.identity.rules_hash,
        own.instance,
        written.saturating_sub(SILENT_AFTER_MICROS),
        written,
        own.id.to_string(),
    ];
    let found = connection.query_row(SELECT, values, |_| Ok(()));
    Ok(found.optional()?.is_some())
}

#[cfg(test)]
mod tests {
    use parity_schemas::id::new_id;
    use parity_schemas::tally::Identity;
    use parity_schemas::time::Timestamp;

    use super::*;

    #[test]
    fn another_process_of_the_name_is_found_and_neither_oneself_nor_one_that_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("parity.db");
        let mut connection = crate::sqlite::open_or_create(&path, Duration::ZERO).expect("a file");
        let now = Timestamp::now();
        let run = |instance: &str, written: i64, ended| Watermark {
            id: new_id(),
            revision: 1,
            instance: instance.to_owned(),
            written: now.saturating_add_micros(written),
            ended,
            ..Watermark::begun(now)
        };
        let write = |connection: &mut Connection, run: &Watermark| {
            let transaction = connection.transaction().expect("it begins");
            let row = super::super::Row::watermark(run);
            let statements = super::super::Statements::new();
            row.insert(&transaction, &statements).expect("a row");
            transaction.commit().expect("it is written");
        };
        let own = run("one", 0, false);
        let other = Watermark {
            identity: Identity {
                rules_hash: "others".to_owned(),
                ..Identity::default()
            },
            ..run("one", -1_000, false)
        };
        // Another run of this process, one under other rules, another name, one that ended, and one that was killed.
        for beside in [
            own.clone(),
            run("one", 0, false),
            other,
            run("two", -1_000, false),
            run("one", -1_000, true),
            run("one", -5_000_000, false),
        ] {
            write(&mut connection, &beside);
        }
        let found = |connection: &Connection| has_namesake(connection, &own).expect("it is asked");
        assert!(!found(&connection));
        write(&mut connection, &run("one", -1_000, false));
        assert!(found(&connection));
        let begun = Instant::now();
        let runs = [own.clone()];
        let at = |minutes| begun + PERIOD * minutes;
        // What is told after each look, of which each finds one or does not.
        let told = |handover: Duration, looks: &[(u32, bool)]| {
            let mut namesake = Namesake::from(begun, handover);
            let looks = looks.iter().map(|(minute, is_there)| {
                let runs = if *is_there { &runs[..] } else { &[] };
                namesake.look(&connection, runs, at(*minute));
                namesake.told
            });
            looks.collect::<Vec<_>>()
        };
        let drain = Duration::from_secs(30);
        // It has just begun; one look may be in a handover; two that are further apart are not.
        let all = told(drain, &[(0, true), (1, true), (2, true)]);
        assert_eq!(all, [false, false, true]);
        // It drains longer than from one look to the next.
        let long = told(PERIOD * 2, &[(1, true), (2, true), (3, true), (4, true)]);
        assert_eq!(long, [false, false, false, true]);
        // It took over once and hands over now: these are two handovers.
        let two = told(drain, &[(1, true), (2, false), (9, true)]);
        assert_eq!(two, [false; 3]);
    }
}
