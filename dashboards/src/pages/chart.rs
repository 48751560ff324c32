//! Charts as SVG, drawn on the server: shapes with classes, no style and no script, because the policy of the pages allows
//! neither. What a chart shows is in a table beside it, too.
//!
//! Numbers are all that is drawn; the few texts are of the model, and askama escapes them.

use std::fmt::Write as _;

use parity_schemas::history::{History, HistoryBucket, RouteHistory};

use super::group_address;
use super::shell::{Screen, Shell};
use crate::view::words::{grouped, percent, plural};
use crate::view::{ChartView, HistoryChange, Stretch, Told};

/// The sizes of a drawing, in its own units. It is stretched to the width of the page, with its texts, which nobody could read
/// if a wide one were shrunk to a narrow screen. So there are two, and the style sheet shows the one that fits.
const SIZES: [Size; 2] = [
    Size {
        name: "wide",
        width: 1_000.0,
        left: 64.0,
        every: 1,
    },
    Size {
        name: "narrow",
        width: 380.0,
        left: 54.0,
        every: 2,
    },
];
const HEIGHT: f64 = 190.0;
/// What is left free at the right.
const MARGIN: f64 = 8.0;
/// Where the bars are in it.
const TOP: f64 = 22.0;
const BOTTOM: f64 = 160.0;
/// The height of a bar of almost nothing: it must be seen that something differs.
const LEAST: f64 = 2.0;
/// The room that the numbers of marks need beside each other: two of two digits, with what stands between them.
const NUMBER: f64 = 44.0;
/// Changes that are listed beside a chart, the latest; the others are unfolded.
const MAX_CHANGES: usize = 6;
/// The width of a bar: one that is alone is no wall.
const MOST_WIDE: f64 = 48.0;
/// The height of a sparkline; its width is one for each bucket.
const SPARK: u64 = 16;

/// The rate over time, for `chart.html`.
pub(super) struct Chart<'a> {
    pub(super) view: ChartView<'a>,
    /// Since when the services differ. They are not visible yet.
    pub(super) told: Told,
    shell: &'a Shell,
}

/// Where a bar is.
pub(super) struct Shape {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) width: String,
    pub(super) height: String,
    pub(super) class: &'static str,
    pub(super) title: String,
}

/// A text at a place.
pub(super) struct Label {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) text: String,
}

/// A route that differs.
pub(super) struct RouteLine<'a> {
    pub(super) route: &'a RouteHistory,
    /// Since when, if that is known.
    pub(super) since: String,
    pub(super) spark: Sparkline,
}

/// Routes that are listed with the chart; the table of routes has all.
const MAX_ROUTES: usize = 20;

/// A row of the table.
pub(super) struct Line<'a> {
    pub(super) time: String,
    pub(super) bucket: &'a HistoryBucket,
    pub(super) rate: String,
    /// Of which versions that is, where several counted.
    pub(super) of: Option<String>,
    /// How many were received in an earlier step than that in which they were compared, at the least.
    pub(super) earlier: u64,
    pub(super) is_high: bool,
    pub(super) legacy: String,
    pub(super) candidate: String,
}

fn unit(number: f64) -> String {
    format!("{number:.1}")
}

impl<'a> Chart<'a> {
    /// Of a history, with what is told of it; `None` if it has nothing.
    pub(super) fn of(shell: &'a Shell, history: &'a History, told: Told) -> Option<Self> {
        Some(Self {
            shell,
            view: ChartView::of(history)?,
            told,
        })
    }

    /// Of one group of differences.
    pub(super) fn of_group(shell: &'a Shell, history: &'a History) -> Option<Self> {
        Some(Self {
            shell,
            view: ChartView::of_group(history)?,
            told: Told::default(),
        })
    }

    /// Where it is told what differs on a route.
    pub(super) fn route(&self, route: &str) -> String {
        let of = [("of_route", route)];
        self.shell.scope.with(Screen::Groups.path(), &of)
    }

    /// Where it is told of a group.
    pub(super) fn group(&self, (name, route): &(String, String)) -> String {
        group_address(self.shell, name, route)
    }

    /// Where all routes that differ are told of.
    pub(super) fn all(&self) -> String {
        self.shell.scope.to(Screen::Routes.path())
    }

    /// What changed, in order of time: what is unfolded, and the latest.
    pub(super) fn changes(&self) -> (&[HistoryChange], &[HistoryChange]) {
        let all = &self.view.changes[..];
        all.split_at(all.len().saturating_sub(MAX_CHANGES))
    }

    /// How many are unfolded, in words.
    pub(super) fn more_changes(&self) -> String {
        let (earlier, _) = self.changes();
        plural(earlier.len() as u64, "earlier change", "earlier changes")
    }

    /// What a gap in it means.
    pub(super) fn gaps(&self) -> &'static str {
        let mut gaps = self.view.gaps.iter().map(|gap| gap.told);
        let first = gaps.next().unwrap_or("nothing is recorded");
        if gaps.all(|told| told == first) {
            return first;
        }
        "nothing is recorded: no process ran, or nothing was received"
    }

    /// The chart in each size.
    pub(super) fn drawings(&self) -> [Drawing<'_>; 2] {
        SIZES.map(|size| Drawing {
            view: &self.view,
            size,
        })
    }

    /// Routes that differ, the worst first.
    pub(super) fn routes(&self) -> Vec<RouteLine<'_>> {
        let routes = self.view.routes().filter(|route| route.differing > 0);
        let lines = routes.take(MAX_ROUTES).map(|route| RouteLine {
            route,
            since: self.view.since(route),
            spark: Sparkline::of(&route.differing_by_bucket, "differ"),
        });
        lines.collect()
    }

    /// The same numbers, the latest first.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.view.bars.iter().rev().map(|bar| Line {
            time: self.view.time(bar.bucket),
            bucket: bar.bucket,
            rate: bar.rate.map_or_else(|| "–".to_owned(), percent),
            of: bar.of(),
            earlier: bar.bucket.compared.saturating_sub(bar.bucket.received),
            is_high: bar.is_high,
            legacy: super::latency(&bar.bucket.legacy_head_us),
            candidate: super::latency(&bar.bucket.candidate_head_us),
        })
    }
}

/// How large a drawing is.
#[derive(Clone, Copy)]
struct Size {
    /// Its class in the style sheet.
    name: &'static str,
    width: f64,
    /// Where the bars begin.
    left: f64,
    /// Of how many times below it one is told.
    every: usize,
}

/// A chart in one size.
pub(super) struct Drawing<'a> {
    view: &'a ChartView<'a>,
    size: Size,
}

impl Drawing<'_> {
    pub(super) fn name(&self) -> &'static str {
        self.size.name
    }

    pub(super) fn size(&self) -> String {
        format!("0 0 {} {HEIGHT}", self.size.width)
    }

    fn right(&self) -> f64 {
        self.size.width - MARGIN
    }

    fn across(&self, share: f64) -> f64 {
        self.size.left + share * (self.right() - self.size.left)
    }

    fn width_of(&self, buckets: usize) -> f64 {
        (self.right() - self.size.left) * buckets as f64 / self.view.places.max(1) as f64
    }

    fn height_of(&self, rate: f64) -> f64 {
        (BOTTOM - TOP) * (rate / self.view.scale).min(1.0)
    }

    /// Stretches of which nothing is recorded.
    pub(super) fn gaps(&self) -> impl Iterator<Item = Shape> {
        self.view.gaps.iter().map(|gap| Shape {
            x: unit(self.size.left + self.width_of(gap.place)),
            y: unit(TOP),
            width: unit(self.width_of(gap.count)),
            height: unit(BOTTOM - TOP),
            class: "gap",
            title: gap.told.to_owned(),
        })
    }

    /// Stretches in which the candidate gave no answer, and in which clients got none: as wide as can be seen. What hurts clients lies above
    /// all else, and is no higher than half, so that neither hides the other.
    pub(super) fn outages(&self) -> impl Iterator<Item = Shape> {
        let shape = |outage: &Stretch, class: &'static str, height: f64| {
            let (from, to) = outage.across;
            Shape {
                x: unit(self.across(from)),
                y: unit(TOP),
                width: unit((self.across(to) - self.across(from)).max(LEAST)),
                height: unit(height),
                class,
                title: outage.told.clone(),
            }
        };
        let height = BOTTOM - TOP;
        let candidate = self.view.outages.iter();
        let candidate = candidate.map(move |outage| shape(outage, "outage", height));
        let clients = self.view.hurt.iter();
        let clients = clients.map(move |outage| shape(outage, "hurt", height / 2.0));
        candidate.chain(clients)
    }

    /// One for each bucket in which anything was compared.
    pub(super) fn bars(&self) -> impl Iterator<Item = Shape> {
        self.view.bars.iter().map(|bar| {
            let rate = bar.rate.unwrap_or(0.0);
            let height = if rate > 0.0 {
                self.height_of(rate).max(LEAST)
            } else {
                // So that a bucket in which nothing differs is not one of which nothing is known.
                0.5
            };
            Shape {
                x: unit(self.size.left + self.width_of(bar.place)),
                y: unit(BOTTOM - height),
                width: unit((self.width_of(1) - 1.0).clamp(1.0, MOST_WIDE)),
                height: unit(height),
                class: match (bar.rate, bar.is_high) {
                    (None, _) => "none",
                    (_, true) => "high",
                    (_, false) => "low",
                },
                title: self.view.line(bar),
            }
        })
    }

    /// The height of the allowed rate, if it is in the drawing, with its text.
    pub(super) fn allowed(&self) -> Option<Label> {
        let allowed = self.view.allowed;
        (allowed > 0.0 && allowed <= self.view.scale).then(|| Label {
            x: unit(self.right()),
            y: unit(BOTTOM - self.height_of(allowed)),
            text: format!("{} allowed", percent(allowed)),
        })
    }

    /// The scale at the left.
    pub(super) fn scale(&self) -> [Label; 2] {
        let at = |y: f64, rate: f64| Label {
            x: unit(self.size.left - 8.0),
            y: unit(y),
            text: percent(rate),
        };
        [at(TOP + 4.0, self.view.scale), at(BOTTOM, 0.0)]
    }

    /// Times below.
    pub(super) fn ticks(&self) -> impl Iterator<Item = Label> {
        self.view
            .ticks
            .iter()
            .step_by(self.size.every)
            .map(|(share, text)| Label {
                x: unit(self.across(*share)),
                y: unit(BOTTOM + 18.0),
                text: text.clone(),
            })
    }

    /// When something changed.
    pub(super) fn marks(&self) -> impl Iterator<Item = String> {
        let each = self.view.changes.iter();
        each.map(|change| unit(self.across(change.at)))
    }

    /// The numbers above the marks. Of those that would lie upon each other the first and the last stand above the first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Label> {
        let mut near: Vec<(f64, usize, usize)> = Vec::new();
        for change in &self.view.changes {
            let x = self.across(change.at);
            match near.last_mut() {
                Some((first, _, last)) if x - *first < NUMBER => *last = change.number,
                _ => near.push((x, change.number, change.number)),
            }
        }
        near.into_iter().map(|(x, first, last)| Label {
            x: unit(x),
            y: unit(TOP - 6.0),
            text: if first == last {
                first.to_string()
            } else {
                format!("{first}–{last}")
            },
        })
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    pub(super) fn top(&self) -> String {
        unit(TOP)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    pub(super) fn bottom(&self) -> String {
        unit(BOTTOM)
    }

    pub(super) fn left(&self) -> String {
        unit(self.size.left)
    }

    pub(super) fn end(&self) -> String {
        unit(self.right())
    }
}

/// Counts over time, as small as a word, for `sparkline.html`: one bar for each bucket, the highest as high as the line.
pub(super) struct Sparkline {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) path: String,
    pub(super) label: String,
}

impl Sparkline {
    /// `what` says what is counted, in words of parity's.
    pub(super) fn of(counts: &[u64], what: &str) -> Self {
        let highest = counts.iter().copied().max().unwrap_or(0);
        let all = counts
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count));
        let mut path = String::new();
        for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // At least one: it must be seen that there is something.
            let height = u128::from(*count) * u128::from(SPARK) / u128::from(highest.max(1));
            let height = height.max(1);
            // Writing to a String cannot fail.
            let _infallible = write!(path, "M{place} {SPARK}v-{height}h1v{height}z");
        }
        Self {
            width: counts.len().max(1) as u64,
            height: SPARK,
            path,
            label: format!(
                "{what}: {} in all, {} at most in a step",
                grouped(all),
                grouped(highest)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_has_a_bar_for_each_count_and_none_for_nothing() {
        let drawn = Sparkline::of(&[0, 1, 1_000, 500], "differ");
        assert_eq!(drawn.path, "M1 16v-1h1v1zM2 16v-16h1v16zM3 16v-8h1v8z");
        assert_eq!(drawn.label, "differ: 1,501 in all, 1,000 at most in a step");
        let nothing = Sparkline::of(&[], "differ");
        assert_eq!((nothing.width, nothing.path.as_str()), (1, ""));
        let most = Sparkline::of(&[u64::MAX, 1], "differ");
        assert_eq!(most.path, "M0 16v-16h1v16zM1 16v-1h1v1z");
    }
}
