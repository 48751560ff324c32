//! What is taken for noise, and what looks like it: with what it rests on, and what is missing.
//!
//! Groups of one place that differ only in their shape are one entry, as in the rest of the report; what is proven and what
//! is not are never added.

use std::collections::HashMap;

use parity_comparator::noise::shape::Shape;
use parity_schemas::noise::{Excused, NoiseGroup, NoiseState, NoiseUse};
use parity_schemas::recheck::{ClassCounts, add_counts};
use parity_schemas::record::MismatchClass;
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::verdict::{Explanation, Kind};
use uuid::Uuid;

use super::difference::{Place, Values};
use super::listing::{self, is_transient};
use super::words::{grouped, percent, plural, sentence, shown};

/// Shapes named in one line; more are counted.
const MAX_SHAPES: usize = 3;

/// Noise, proven or not.
pub(crate) struct NoiseView<'a> {
    /// What is proven.
    pub(crate) proven: NoiseList<'a>,
    /// What is not.
    pub(crate) open: NoiseList<'a>,
}

/// Groups of one state.
pub(crate) struct NoiseList<'a> {
    /// What they are, as a title.
    pub(crate) title: &'static str,
    /// How many there are, and whether they count.
    pub(crate) scope: String,
    /// The most frequent first.
    pub(crate) entries: Vec<NoiseEntry<'a>>,
}

/// Groups of one place that differ only in their shape.
pub(crate) struct NoiseEntry<'a> {
    /// `METHOD /template`.
    pub(crate) route: &'a str,
    /// Where in the answers.
    pub(crate) place: Place<'a>,
    /// How they differ there.
    pub(crate) kind: Kind,
    /// How near they are, perhaps.
    pub(super) explanation: Option<Explanation>,
    /// The groups.
    pub(super) fingerprints: Vec<&'a str>,
    /// Mismatches, by group: one may be in several of them.
    pub(crate) count: u64,
    /// The shapes of the values and their counts, in words.
    pub(crate) shapes: String,
    /// What it rests on, in words.
    pub(crate) evidence: String,
    /// What could hide there, or what is missing, in words.
    pub(crate) verdict: String,
    /// An example; `None` if retention has removed it, and in a decision, which has none.
    pub(crate) values: Option<Values<'a>>,
    /// The mismatch of the example.
    pub(crate) example_id: Option<Uuid>,
}

impl<'a> NoiseView<'a> {
    /// Of a decision, or of a report, which has examples.
    pub(crate) fn of(
        noise: &'a [NoiseGroup],
        report: Option<&'a Report>,
        excused: &Excused,
        usage: NoiseUse,
    ) -> Self {
        let groups = report.map_or(&[][..], |report| &report.groups);
        let examples: HashMap<(&str, &str), Values<'a>> = groups
            .iter()
            .flat_map(GroupReport::members)
            .filter_map(|member| {
                let name = (member.group.route.as_str(), member.fingerprint);
                Some((name, member.example?.into()))
            })
            .collect();
        let mut examples = examples;
        let mut entries = |state| entries(noise, state, &mut examples);
        let (proven, open) = (entries(NoiseState::Proven), entries(NoiseState::Open));
        let counts_all = usage == NoiseUse::Report;
        Self {
            proven: NoiseList {
                title: "Taken for noise",
                scope: match (counts_all, excused.noise) {
                    (true, _) => format!(
                        "{}; they count, because noise is only reported",
                        groups_of(&proven)
                    ),
                    (false, 0) => groups_of(&proven),
                    (false, 1) => format!("{}; 1 mismatch does not count", groups_of(&proven)),
                    (false, noise) => format!(
                        "{}; {} mismatches do not count",
                        groups_of(&proven),
                        grouped(noise)
                    ),
                },
                entries: proven,
            },
            open: NoiseList {
                title: "Looks like noise, not proven yet",
                scope: format!("{}; they count", groups_of(&open)),
                entries: open,
            },
        }
    }

    /// Both lists, without those that are empty.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &NoiseList<'a>> {
        let lists = [&self.proven, &self.open].into_iter();
        lists.filter(|list| !list.entries.is_empty())
    }
}

fn groups_of(entries: &[NoiseEntry<'_>]) -> String {
    plural(entries.len() as u64, "place", "places")
}

/// What is added up of the groups of one place.
struct Sums<'a> {
    /// The most frequent one.
    first: &'a NoiseGroup,
    shapes: Vec<(&'a str, u64)>,
    fingerprints: Vec<&'a str>,
    count: u64,
    rechecks: u64,
    hidden: f64,
    classes: ClassCounts,
    example: Option<(&'a NoiseGroup, Values<'a>)>,
}

fn entries<'a>(
    noise: &'a [NoiseGroup],
    state: NoiseState,
    examples: &mut HashMap<(&'a str, &'a str), Values<'a>>,
) -> Vec<NoiseEntry<'a>> {
    let mut sums: Vec<Sums<'a>> = Vec::new();
    let mut index_of: HashMap<listing::Place, usize> = HashMap::new();
    for group in noise.iter().filter(|group| group.state == state) {
        // It does not count, whatever its proof lacks.
        if state == NoiseState::Open && is_transient(&group.classes, group.count) {
            continue;
        }
        let place = listing::Place::of_noise(group);
        let index = *index_of.entry(place).or_insert(sums.len());
        if index == sums.len() {
            sums.push(Sums {
                first: group,
                shapes: Vec::new(),
                fingerprints: Vec::new(),
                count: 0,
                rechecks: 0,
                hidden: 0.0,
                classes: ClassCounts::new(),
                example: None,
            });
        }
        let sum = &mut sums[index];
        sum.shapes.push((&group.group.shape, group.count));
        sum.fingerprints.push(&group.group.fingerprint);
        sum.count += group.count;
        sum.rechecks += group.rechecks;
        sum.hidden += group.hidden;
        add_counts(&mut sum.classes, &group.classes);
        if sum.example.is_none() {
            let name = (group.route.as_str(), group.group.fingerprint.as_str());
            sum.example = examples.remove(&name).map(|values| (group, values));
        }
    }
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.count));
    sums.into_iter().map(NoiseEntry::from).collect()
}

impl<'a> From<Sums<'a>> for NoiseEntry<'a> {
    fn from(sums: Sums<'a>) -> Self {
        let group = &sums.first.group;
        let moved = |class| sums.classes.get(&class).copied().unwrap_or(0);
        let (noise, transient) = (moved(MismatchClass::Noise), moved(MismatchClass::Transient));
        let rechecks = plural(sums.rechecks, "recheck", "rechecks");
        let mut evidence = format!("{rechecks}, noise in {}", grouped(noise));
        if transient > 0 {
            evidence.extend([", transient in ", &grouped(transient)]);
        }
        let (example_id, values) = match sums.example {
            Some((group, values)) => (group.example_id, Some(values)),
            None => (None, None),
        };
        Self {
            route: &sums.first.route,
            place: Place {
                part: group.part,
                path: &group.pattern,
            },
            kind: group.kind,
            explanation: group.explanation,
            fingerprints: sums.fingerprints,
            count: sums.count,
            shapes: shapes(&sums.shapes),
            evidence,
            verdict: match sums.first.state {
                NoiseState::Proven => format!(
                    "at most {} of the route's requests could hide a difference there",
                    percent((sums.hidden.min(1.0) * 1e5).ceil() / 1e5)
                ),
                NoiseState::Open => missing(&sums.first.against),
            },
            values,
            example_id,
        }
    }
}

/// What is missing to a proof, the first of it: most often more rechecks settle all of it. It quotes shapes, so it is made
/// visible.
pub(super) fn missing(against: &[String]) -> String {
    let Some((first, rest)) = against.split_first() else {
        return "nothing is missing".to_owned();
    };
    let mut text = format!("missing: {}", sentence(first));
    if !rest.is_empty() {
        text.extend(["; and ", &grouped(rest.len() as u64), " more"]);
    }
    text
}

/// Shapes in words, with their counts if there are several.
pub(crate) fn shapes<T: AsRef<str>>(shapes: &[(T, u64)]) -> String {
    let words = |label: &str| match label.parse::<Shape>() {
        Ok(shape) => shape.words(),
        // Of a store that another program wrote.
        Err(_) if label.is_empty() => "of unknown shape".to_owned(),
        Err(_) => shown(label),
    };
    if let [(only, _)] = shapes {
        return words(only.as_ref());
    }
    let named = shapes.iter().take(MAX_SHAPES);
    let mut told: Vec<String> = named
        .map(|(label, count)| format!("{} ({})", words(label.as_ref()), grouped(*count)))
        .collect();
    if shapes.len() > MAX_SHAPES {
        let more = (shapes.len() - MAX_SHAPES) as u64;
        told.push(plural(more, "more shape", "more shapes"));
    }
    told.join(", ")
}

/// A column: its title, and which number it shows.
type Column = (&'static str, fn(&Excused) -> u64);

/// Columns of a table of routes for mismatches that do not count, or may not: only those with a number in some row.
pub(crate) struct ExcusedColumns(Vec<Column>);

impl ExcusedColumns {
    /// For a table with this total.
    pub(crate) fn of(total: &Excused) -> Self {
        const ALL: [Column; 4] = [
            ("Transient", |excused| excused.transient),
            ("Noise", |excused| excused.noise),
            ("Known", |excused| excused.known),
            ("Open", |excused| excused.open),
        ];
        let used = ALL.into_iter().filter(|(_, number)| number(total) > 0);
        Self(used.collect())
    }

    /// The titles.
    pub(crate) fn titles(&self) -> Vec<String> {
        let titles = self.0.iter().map(|(title, _)| *title);
        titles.map(str::to_owned).collect()
    }

    /// The cells of a row.
    pub(crate) fn cells(&self, row: &Excused) -> Vec<String> {
        let numbers = self.0.iter().map(|(_, number)| number(row));
        numbers.map(grouped).collect()
    }
}
