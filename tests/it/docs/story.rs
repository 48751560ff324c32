//! docs/story.md beside what `examples/payments/story` prints: the story runs once, and each block that the page shows of it must be in it,
//! in this order.
//!
//! Figures, times and ids are others in each run and on each machine, so they are not compared. What the story rests on is: verdicts,
//! reasons and names, exit codes, the percent of the rollout, and every 0.

use super::page::{Check, Step, blocks};
use super::shown::{lines, matches};
use crate::examples::{Ran, tell};

const PAGE: &str = "docs/story.md";
/// The addresses of the page, by the variable that chooses another one.
const ADDRESSES: [(&str, &str); 5] = [
    ("LEGACY", "127.0.0.1:7001"),
    ("CANDIDATE", "127.0.0.1:7002"),
    ("AGAIN", "127.0.0.1:7003"),
    ("LISTEN", "127.0.0.1:8080"),
    ("ADMIN", "127.0.0.1:9900"),
];
/// Times as short as they may be for an answer: the page was printed with longer ones.
const SHORT: [(&str, &str); 2] = [("WINDOW", "2"), ("PAUSE", "0.2")];
const UNITS: [&str; 8] = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB"];
/// Lines that begin with these words are compared with their figures, and so is how many percent the candidate serves.
const EXACT: [&str; 3] = ["exit code ", "fell back from ", "parity rollout set "];
const SERVED: &str = " % of clients served by the candidate";
/// On a machine that is too busy for a load, `parity stress` and `parity soak` say so, and nothing else of what they say is steady.
const TOO_BUSY: [&str; 2] = [
    "the generator itself was late",
    " requests were not sent in time",
];
/// What stands for a figure, a time or an id.
const ANY: &str = "#";

#[test]
fn the_story_is_what_its_commands_print() {
    let ran = tell(&SHORT);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let mut printed = steps(&ran).into_iter();
    let mut shown = 0;
    for block in blocks(PAGE) {
        if block.check() != Check::Story {
            continue;
        }
        for Step { command, output } in block.steps() {
            let wanted = settled(&command);
            let said = printed.find(|step| settled(&step.command) == wanted);
            let said = said.unwrap_or_else(|| {
                panic!(
                    "{block}: the story does not run `{command}` here:\n{}",
                    ran.stdout
                )
            });
            if said.output.iter().any(|line| is_too_busy(line)) {
                tell_busy(&command);
                continue;
            }
            let of = |lines: &[String]| lines.iter().map(|line| settled(line)).collect::<Vec<_>>();
            // A command without an output is shown because it was given.
            assert!(
                output.is_empty() || matches(&of(&output), &of(&said.output)),
                "{block}: `{command}` says something else:\n{}\n\n{}",
                said.output.join("\n"),
                of(&said.output).join("\n"),
            );
            shown += 1;
        }
    }
    assert!(shown > 20, "only {shown} commands of the story are shown");
}

/// Whether this was said of a load that the machine was too busy for.
pub(super) fn is_too_busy(said: &str) -> bool {
    TOO_BUSY.iter().any(|words| said.contains(words))
}

#[expect(clippy::print_stderr, reason = "what is not compared is said")]
pub(super) fn tell_busy(command: &str) {
    eprintln!("not compared, as this machine is too busy for a load: {command}");
}

/// The commands that were printed, with what they said.
fn steps(ran: &Ran) -> Vec<Step> {
    let mut text = ran.stdout.clone();
    for (variable, printed) in ADDRESSES {
        let own = ran.addresses.iter().find(|(name, _)| *name == variable);
        let (_, own) = own.expect("each has one");
        text = text.replace(own, printed);
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut is_output = false;
    for line in lines(&text) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                output: Vec::new(),
            });
            is_output = true;
        } else if line.starts_with("== ") {
            is_output = false;
        } else if let Some(step) = steps.last_mut()
            && is_output
        {
            step.output.push(line);
        }
    }
    for step in &mut steps {
        // Before the next command is an empty line.
        while step.output.last().is_some_and(String::is_empty) {
            step.output.pop();
        }
    }
    steps
}

/// A line without what is another in each run, and with one blank between two words, as columns are as wide as their figures.
fn settled(line: &str) -> String {
    let is_exact = EXACT.iter().any(|words| line.starts_with(words)) || line.contains(SERVED);
    let mut words: Vec<String> = Vec::new();
    // Whether the word before was a figure, whose unit may follow.
    let mut is_figure = false;
    for word in line.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ')']);
        if is_figure && UNITS.contains(&unit) {
            let last = words.last_mut().expect("a figure");
            // A 0 with a unit is a figure like the others.
            if last.ends_with('0') {
                last.pop();
                last.push_str(ANY);
            }
            last.push_str(word.get(unit.len()..).unwrap_or_default());
            is_figure = false;
            continue;
        }
        let start = word.trim_start_matches(['(', '[', '"', '+', '-']);
        let core = start.trim_end_matches(['(', ')', '[', ']', '"', ',', ';', ':', '%']);
        let (before, behind) = (
            word.get(..word.len() - start.len()).unwrap_or_default(),
            start.get(core.len()..).unwrap_or_default(),
        );
        let number = UNITS.iter().find_map(|unit| core.strip_suffix(unit));
        let number = core.strip_suffix("/s").or(number).unwrap_or(core);
        let is_number = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_digit())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
        };
        is_figure = !is_exact && is_number(number);
        words.push(if is_moment(core) || (is_figure && core != "0") {
            format!("{}{ANY}{behind}", before.trim_end_matches(['+', '-']))
        } else {
            word.to_owned()
        });
    }
    without_bounds(&words.join(" "))
}

/// A time, a day, or the id of something that was recorded.
fn is_moment(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let [year, .., last] = parts.as_slice() else {
        return false;
    };
    let is_day = parts.len() == 3 && year.len() == 4 && year.parse::<u16>().is_ok();
    let is_id = parts.len() == 5 && word.len() == 36 && last.len() == 12;
    is_day || is_id
}

/// Without `(# to #)` and `(at least #)`: whether a figure has bounds depends on how much was measured.
fn without_bounds(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, inner)) = rest.split_once(" (") {
        let (inner, behind) = inner.split_once(')').unwrap_or((inner, ""));
        let is_bound = |word: &str| [ANY, "0", "%", "to", "at", "least", "most"].contains(&word);
        out.push_str(before);
        if !inner.split(' ').all(is_bound) {
            out.extend([" (", inner, ")"]);
        }
        rest = behind;
    }
    out + rest
}

#[test]
fn figures_times_and_ids_are_another_in_each_run() {
    for (line, expected) in [
        (
            "p99   820 µs (at least 349 µs)   0 s (0 s to 2 s)  -80.1 %",
            "p99 # # # %",
        ),
        ("errors  0 % (0 % to 1.21 %)  0 %", "errors 0 % 0 %"),
        (
            "holds 200/s, and 3 of 4,000 differ",
            "holds #, and # of # differ",
        ),
        ("0 of them differ: \"12.50\"", "0 of them differ: \"#\""),
        (
            "$ parity soak --for 15s --candidate-pid 21510",
            "$ parity soak --for # --candidate-pid #",
        ),
        ("exit code 3", "exit code 3"),
        (
            "fell back from 30 % to 0 % at 2026-11-26T23:57:39.552641Z by",
            "fell back from 30 % to 0 % at # by",
        ),
        (
            "decision 01a21a46-21f5-7fc8-a10e-61f314da1c7a of rust-0.9.0 (a word)",
            "decision # of rust-0.9.0 (a word)",
        ),
        ("expires = \"2027-02-24\"", "expires = \"#\""),
    ] {
        assert_eq!(settled(line), expected);
    }
}
