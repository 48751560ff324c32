//! Known differences: what each entry of the register says, how it stands, and how often it was seen; and which groups an
//! entry for what counts today would name.

use std::collections::{BTreeMap, HashMap, HashSet};

use parity_comparator::known::{ends_soon, rate};
use parity_schemas::documents::{KNOWN_SCHEMA, KnownList, KnownListed};
use parity_schemas::evidence::Thresholds;
use parity_schemas::json_text::escaped;
use parity_schemas::known::{KnownEntry, KnownState, KnownUse, NewGroup};
use parity_schemas::noise::{NoiseGroup, NoiseState, NoiseUse};
use parity_schemas::record::MismatchClass;
use parity_schemas::report::{GroupReport, Report};
use parity_schemas::tally::Group;
use parity_schemas::time::Timestamp;

use super::Decided;
use super::listing::Place;
use super::noise::missing;
use super::words::{grouped, plural, shown};
use crate::question::Question;

/// Entries of the register that mean something here.
pub(crate) struct KnownView<'a> {
    /// How many, and what does not count by them.
    pub(crate) scope: String,
    /// In the order of the register.
    pub(crate) entries: Vec<KnownRow<'a>>,
}

/// One entry.
pub(crate) struct KnownRow<'a> {
    /// By which it is named.
    pub(crate) id: String,
    /// How it stands.
    pub(crate) state: KnownState,
    /// Mismatches with one of its groups.
    pub(crate) count: u64,
    /// Whether it blocks, who answers for it, why, and until when, in words.
    pub(crate) about: String,
    /// Its groups.
    pub(crate) groups: &'a [parity_schemas::known::KnownGroup],
}

/// An entry of the register that means nothing of what was counted.
pub(crate) struct UnusedEntry {
    /// By which it is named.
    pub(crate) id: String,
    /// Which groups it would mean.
    pub(crate) means: String,
    /// Whether it blocks, who answers for it, why, and until when, in words.
    pub(crate) about: String,
}

/// The entries of a register that mean none of these groups, in the order of the register.
pub(crate) fn unused(
    register: &[KnownEntry],
    known: &[KnownUse],
    now: Timestamp,
) -> Vec<UnusedEntry> {
    let used: HashSet<&str> = known.iter().map(|one| one.entry.id.as_str()).collect();
    let unused = register.iter();
    let unused = unused.filter(|entry| !used.contains(entry.id.as_str()));
    unused
        .map(|entry| UnusedEntry {
            id: shown(&entry.id),
            means: means(entry),
            about: about(entry, now),
        })
        .collect()
}

/// Which groups an entry means, as it says it.
fn means(entry: &KnownEntry) -> String {
    if !entry.fingerprints.is_empty() {
        let names: Vec<String> = entry.fingerprints.iter().map(|name| shown(name)).collect();
        return names.join(", ");
    }
    let words = [
        entry.route.as_deref().map(shown),
        entry.part.map(|part| part.to_string()),
        entry.path.as_deref().map(shown),
        entry.kind.map(|kind| kind.meaning().to_owned()),
        entry.explanation.map(|why| why.to_string()),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(" · ")
}

impl<'a> KnownView<'a> {
    /// Of a decision or a report, of which so many mismatches do not count.
    pub(crate) fn of(known: &'a [KnownUse], excused: u64, now: Timestamp) -> Self {
        let entries: Vec<KnownRow<'a>> = known.iter().map(|one| KnownRow::of(one, now)).collect();
        let scope = format!(
            "{}; {} not count",
            plural(entries.len() as u64, "entry", "entries"),
            plural(excused, "mismatch does", "mismatches do")
        );
        Self { scope, entries }
    }
}

impl<'a> KnownRow<'a> {
    fn of(one: &'a KnownUse, now: Timestamp) -> Self {
        Self {
            id: shown(&one.entry.id),
            state: one.state,
            count: one.mismatches(),
            about: about(&one.entry, now) + &grown(one),
            groups: &one.groups,
        }
    }
}

/// On which route it grows in the last part of the time alone, and how often it was seen there.
fn grown(one: &KnownUse) -> String {
    let mut routes = one.routes.iter();
    let found = routes.find_map(|route| Some((route, route.grown?)));
    found.map_or_else(String::new, |(route, slice)| {
        format!(
            " · grows on {}: {} of {} since {}",
            shown(&route.route),
            grouped(slice.mismatches),
            grouped(slice.compared),
            slice.from
        )
    })
}

/// What an entry says, in one line that can stand in a terminal.
pub fn about(entry: &KnownEntry, now: Timestamp) -> String {
    let mut words = vec![shown(&entry.reason), shown(&entry.owner)];
    words.extend(entry.ticket.as_deref().map(shown));
    words.push(
        if entry.blocks {
            "blocks"
        } else {
            "does not block"
        }
        .to_owned(),
    );
    if let Some(mended) = entry.mended {
        words.push(format!("mended {mended}"));
    }
    if let Some(expires) = entry.expires {
        let soon = if ends_soon(Some(expires), now) {
            ", soon"
        } else {
            ""
        };
        let verb = if expires <= now { "expired" } else { "expires" };
        words.push(format!("{verb} {expires}{soon}"));
    }
    words.join(" · ")
}

/// What the report shows as one difference and counts, and nobody has entered.
pub struct Adoptable {
    /// All groups of it.
    pub fingerprints: Vec<String>,
    /// The most frequent of them, and its route.
    pub route: String,
    /// The same.
    pub group: Group,
    /// Mismatches that have one of them: so many at least.
    pub count: u64,
    /// Compared requests of the route.
    pub compared: u64,
    /// Whether a recheck confirmed one of them.
    pub confirmed: bool,
    /// Why it looks like noise, if it does: rechecks found that the legacy itself differs there, and it counts until that is
    /// proven.
    pub likely_noise: Option<String>,
}

impl Adoptable {
    /// The entry that `parity known add` writes for it, for who answers for it to fill in.
    pub(crate) fn to_toml(&self, id: &str, expires: &str, thresholds: &Thresholds) -> String {
        // TOML reads the escapes of JSON.
        let text = |text: &str| escaped(&serde_json::Value::from(text).to_string()).into_owned();
        let names: Vec<String> = self.fingerprints.iter().map(|name| text(name)).collect();
        format!(
            "[[known]]\nid = {}\nfingerprints = [{}]\nowner = \"NAME\"\nreason = \"TEXT\"\nexpires = {}\nrate = {}\n",
            text(id),
            names.join(", "),
            text(expires),
            self.rate(thresholds),
        )
    }

    /// The rate that an entry for it should name.
    pub fn rate(&self, thresholds: &Thresholds) -> f64 {
        rate(self.count, self.compared, thresholds)
    }

    /// What it is, in words that can stand in a terminal or in a comment.
    pub fn words(&self) -> String {
        let group = &self.group;
        let place = if group.pattern.is_empty() {
            group.part.to_string()
        } else {
            format!("{} {}", group.part, shown(&group.pattern))
        };
        let noise = self.likely_noise.as_deref();
        let noise = noise.map(|why| format!("; looks like noise, {why}"));
        format!(
            "{} {place}, {}: {} of {} compared{}",
            shown(&self.route),
            group.kind.meaning(),
            grouped(self.count),
            grouped(self.compared),
            noise.unwrap_or_default()
        )
    }
}

/// Differences that count and that no entry means: the most frequent first. What looks like noise is never one with what does
/// not.
pub fn adoptable(decided: &Decided) -> Vec<Adoptable> {
    let report = &decided.report;
    let usage = decided.decision.thresholds.noise;
    let noise = report.noise.iter().map(|noise| {
        let name = (noise.route.as_str(), noise.group.fingerprint.as_str());
        (name, noise)
    });
    let noise: HashMap<(&str, &str), &NoiseGroup> = noise.collect();
    let mut of_place: BTreeMap<(Place, bool), Adoptable> = BTreeMap::new();
    for member in report.groups.iter().flat_map(GroupReport::members) {
        let transient = member
            .classes
            .get(&MismatchClass::Transient)
            .copied()
            .unwrap_or(0);
        let count = member.group.count.saturating_sub(transient);
        let is_named = member.fingerprint != parity_schemas::route::OTHER;
        let noise = noise.get(&(member.group.route.as_str(), member.fingerprint));
        let is_excused =
            noise.is_some_and(|noise| noise.state == NoiseState::Proven && usage == NoiseUse::Use);
        if member.state != KnownState::New || count == 0 || !is_named || is_excused {
            continue;
        }
        let confirmed = member.classes.contains_key(&MismatchClass::Confirmed);
        let found = of_place
            .entry((Place::of(&member), noise.is_some()))
            .or_insert_with(|| Adoptable {
                fingerprints: Vec::new(),
                route: member.group.route.clone(),
                group: member.counted().group,
                count: 0,
                compared: compared(report, &member.group.route),
                confirmed: false,
                likely_noise: noise.map(|noise| match noise.state {
                    NoiseState::Proven => "which is proven".to_owned(),
                    NoiseState::Open => missing(&noise.against),
                }),
            });
        found.fingerprints.push(member.fingerprint.to_owned());
        found.confirmed |= confirmed;
        // One mismatch may have several of the shapes.
        found.count = found.count.max(count);
    }
    let mut all: Vec<Adoptable> = of_place.into_values().collect();
    for one in &mut all {
        let sets = report.sets.iter().filter(|set| {
            set.route == one.route
                && set
                    .fingerprints
                    .iter()
                    .any(|name| one.fingerprints.contains(name))
        });
        let in_sets: u64 = sets
            .map(|set| {
                let transient = set
                    .classes
                    .get(&MismatchClass::Transient)
                    .copied()
                    .unwrap_or(0);
                set.classes.values().sum::<u64>() - transient
            })
            .sum();
        one.count = one.count.max(in_sets);
    }
    all.sort_by(|one, two| {
        let order = two.count.cmp(&one.count);
        order
            .then_with(|| one.route.cmp(&two.route))
            .then_with(|| one.fingerprints.cmp(&two.fingerprints))
    });
    all
}

fn compared(report: &Report, route: &str) -> u64 {
    let route = report.routes.iter().find(|one| one.route == route);
    route.map_or(0, |route| route.compared)
}

/// The groups that the entries of another register would mean in the same report.
pub fn would_mean(
    decided: &Decided,
    question: &Question,
    register: &[KnownEntry],
) -> Vec<KnownUse> {
    let evidence = decided.report.evidence();
    let now = decided.decision.time;
    evidence.map_or_else(Vec::new, |evidence| {
        parity_comparator::known::find(register, &evidence, &question.thresholds, now)
    })
}

/// The rate that an entry should name for what it means: that of the route where it is most frequent. `None` if it means
/// nothing.
pub fn rate_of(meant: &KnownUse, thresholds: &Thresholds) -> Option<f64> {
    let routes = meant.routes.iter();
    let rates = routes.map(|route| rate(route.mismatches, route.compared, thresholds));
    rates.max_by(f64::total_cmp)
}

/// The whole register with its state, and what counts and is not in it.
pub fn known_list(decided: &Decided, register: &[KnownEntry], now: Timestamp) -> KnownList {
    let uses = &decided.report.known;
    let entries = register.iter().map(|entry| {
        let seen = uses.iter().find(|one| one.entry.id == entry.id);
        let unseen = match (entry.mended, entry.expires) {
            (Some(_), _) => KnownState::Mended,
            (None, Some(expires)) if expires <= now => KnownState::Expired,
            _ => KnownState::Known,
        };
        KnownListed {
            state: seen.map_or(unseen, |one| one.state),
            mismatches: seen.map_or(0, KnownUse::mismatches),
            groups: seen.map_or(0, |one| one.groups.len() as u64),
            ends_soon: ends_soon(entry.expires, now),
            entry: seen.map_or_else(|| entry.clone(), |one| one.entry.clone()),
        }
    });
    let not_known = adoptable(decided).into_iter().map(|one| NewGroup {
        state: KnownState::New,
        count: one.count,
        confirmed: one.confirmed,
        likely_noise: one.likely_noise,
        route: one.route,
        group: one.group,
    });
    let (entries, not_known): (Vec<_>, Vec<_>) = (entries.collect(), not_known.collect());
    KnownList {
        schema: KNOWN_SCHEMA.to_owned(),
        migration: decided.report.migration.clone(),
        total: (entries.len() + not_known.len()) as u64,
        next: None,
        entries,
        not_known,
        excused: decided.report.excused.known,
    }
}
