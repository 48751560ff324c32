//! Whether the pages of metrics say what they are asked for, before a load of half an hour begins and not after it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parity_comparator::metrics::Scrapes;
use parity_schemas::metrics::Subject;
use parity_schemas::visible::visible;

use super::ending::Ending;
use super::one_run::NAMES;
use crate::config::{LoadSettings, ProcessSettings};
use crate::metrics::{LookingAtOne, Time};

/// What a page must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// Anything that the load does not measure by itself.
    Anything,
    /// Of the candidate its memory, where no process tells that.
    Memory,
}

/// Reads each page once. One that cannot be read, or has nothing that is asked for, is an error.
pub(crate) fn refuse_useless(load: &LoadSettings, needed: Needed, ending: &Ending) -> Result<()> {
    let mut wrong = Vec::new();
    let ca_file = load.mirror.mirror.policy.ca_file.as_deref();
    for (side, name) in NAMES.iter().enumerate() {
        let Some(page) = &load.pages[side] else {
            continue;
        };
        ending.tell(format!("reads the page of metrics of the {name}"));
        let once = Time {
            begun: Instant::now(),
            window: Duration::ZERO,
            interval: load.page_interval,
            deadline: load.page_deadline,
        };
        let found = LookingAtOne::start(page.clone(), once, ca_file)?.finish(true)?;
        let is_only_source = load.processes[side] == ProcessSettings::Unknown;
        let needs_memory = needed == Needed::Memory && name == &NAMES[1] && is_only_source;
        wrong.extend(objection(name, &found, needs_memory));
    }
    if wrong.is_empty() || ending.is_ended() {
        return Ok(());
    }
    bail!("{}", visible(&wrong.join("; ")))
}

fn objection(name: &str, found: &Scrapes, needs_memory: bool) -> Option<String> {
    let target = found.target();
    if let Some(why) = found.failure() {
        return Some(format!(
            "the page of metrics of the {name} at {target} cannot be read ({why}); give its address by --{name}-metrics"
        ));
    }
    if needs_memory && !found.says(Subject::Memory) {
        return Some(format!(
            "the page of metrics of the {name} at {target} has no metric of its resident memory, so no growth could be seen; name it by `memory` in [{name}_metrics], or the process by --{name}-pid"
        ));
    }
    (!found.says_anything_else()).then(|| {
        format!(
            "the page of metrics of the {name} at {target} has none of the metrics of CPU, memory, heap, pauses, files and threads that are looked for; is it the right page? [{name}_metrics] names others, and without --{name}-metrics none is read"
        )
    })
}

#[cfg(test)]
mod tests {
    use parity_comparator::metrics::{Format, Names};

    use super::*;

    #[test]
    fn a_page_that_says_nothing_of_what_is_asked_for_is_told_with_what_to_do() {
        let page = |text: &str| {
            let mut found = Scrapes::new("http://a", Names::default(), 0.0).without_pages();
            drop(found.take(0.0, text, Format::Text));
            found
        };
        for (text, needs_memory, words) in [
            ("http_requests_total 1\n", false, "has none of the metrics"),
            (
                "process_open_fds 3\n",
                true,
                "`memory` in [candidate_metrics]",
            ),
            ("<html>\n", false, "cannot be read"),
        ] {
            let told = objection("candidate", &page(text), needs_memory).expect(text);
            assert!(told.contains(words), "{told}");
            assert!(told.contains("http://a"), "{told}");
        }
        for (text, needs_memory) in [
            ("process_open_fds 3\n", false),
            ("process_resident_memory_bytes 3\n", true),
        ] {
            assert_eq!(objection("legacy", &page(text), needs_memory), None);
        }
    }
}
