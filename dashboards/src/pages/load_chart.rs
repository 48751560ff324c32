//! A chart of a page that stands alone: lines of what was measured of both services, drawn as the charts of the other pages are, by shapes
//! with classes and without a script.

use parity_comparator::metrics::shown;
use parity_schemas::metrics::Unit;

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 992.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 226.0;
/// Steps of the scale.
const STEPS: u32 = 4;
/// Above and below what moves, by a share of how much it moves.
const MARGIN: f64 = 0.1;

/// What a line is drawn from.
pub(super) struct Dots {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// One value.
pub(super) struct Point {
    pub(super) x: f64,
    /// Lowest, median, highest.
    pub(super) y: [f64; 3],
    pub(super) title: String,
}

/// What the height of a chart stands for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Range {
    /// From nothing to the most.
    FromZero,
    /// Equal steps for equal ratios.
    Ratios,
    /// What it moves in: a little growth of much is seen.
    Moves,
}

/// A line as it is drawn.
pub(super) struct Line {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) points: String,
    pub(super) dots: Vec<Dot>,
}

/// A median with its spread.
pub(super) struct Dot {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) low: String,
    pub(super) high: String,
    pub(super) title: String,
}

/// A text at a place.
pub(super) struct Label {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) text: String,
}

/// A chart as it is drawn.
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line>,
    pub(super) scale: Vec<Label>,
    pub(super) ticks: Vec<Label>,
}

fn unit(number: f64) -> String {
    format!("{number:.1}")
}

impl Chart {
    /// Lines over what is below them, in these units; `None` if there is no point.
    pub(super) fn of(
        title: &'static str,
        mut lines: Vec<Dots>,
        [below, beside]: [Unit; 2],
        range: Range,
    ) -> Option<Self> {
        lines.retain(|line| !line.points.is_empty());
        let points = || lines.iter().flat_map(|line| &line.points);
        let farthest = points().map(|point| point.x).reduce(f64::max)?;
        let highest = points().map(|point| point.y[2]).reduce(f64::max)?;
        let lows = points().map(|point| point.y[0]);
        let lowest = if range == Range::Moves {
            lows.reduce(f64::min)
        } else {
            lows.filter(|low| *low > 0.0).reduce(f64::min)
        };
        let scale = Scale::of(lowest.unwrap_or(highest), highest, range);
        let across = |x: f64| LEFT + x / farthest.max(f64::MIN_POSITIVE) * (RIGHT - LEFT);
        let drawn = lines.into_iter().map(|line| {
            let dots = line.points.into_iter().map(|point| {
                let [low, median, high] = point.y.map(|y| unit(scale.height(y)));
                Dot {
                    x: unit(across(point.x)),
                    y: median,
                    low,
                    high,
                    title: point.title,
                }
            });
            let dots: Vec<Dot> = dots.collect();
            let points = dots.iter().map(|dot| format!("{},{}", dot.x, dot.y));
            Line {
                class: line.class,
                name: line.name,
                points: points.collect::<Vec<_>>().join(" "),
                dots,
            }
        });
        let steps = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let at_left = steps.clone().map(|share| Label {
            x: unit(LEFT - 8.0),
            y: unit(BOTTOM - share * (BOTTOM - TOP) + 4.0),
            text: shown(scale.value(share), beside),
        });
        let under = steps.map(|share| Label {
            x: unit(across(share * farthest)),
            y: unit(BOTTOM + 20.0),
            text: shown(share * farthest, below),
        });
        Some(Self {
            title,
            lines: drawn.collect(),
            scale: at_left.collect(),
            ticks: under.collect(),
        })
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    pub(super) fn frame(&self) -> [String; 4] {
        [LEFT, RIGHT, TOP, BOTTOM].map(unit)
    }

    #[expect(clippy::unused_self, reason = "askama calls methods of fields")]
    pub(super) fn size(&self) -> String {
        format!("0 0 {WIDTH} {HEIGHT}")
    }
}

/// From values to heights.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    fn of(lowest: f64, highest: f64, range: Range) -> Self {
        let high = if highest > 0.0 { highest } else { 1.0 };
        let is_log = range == Range::Ratios;
        let [low, high] = match range {
            Range::FromZero => [0.0, high],
            Range::Ratios => [lowest.min(high / 2.0), high],
            Range::Moves => {
                // What does not move at all is in the middle.
                let moves = (highest - lowest).max(high * MARGIN) * MARGIN;
                [(lowest - moves).max(0.0), high + moves]
            }
        };
        Self { low, high, is_log }
    }

    fn share(self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    fn height(self, value: f64) -> f64 {
        BOTTOM - self.share(value) * (BOTTOM - TOP)
    }

    fn value(self, share: f64) -> f64 {
        if self.is_log {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, values: &[f64]) -> Dots {
        let points = values.iter().enumerate().map(|(at, value)| Point {
            x: at as f64,
            y: [*value; 3],
            title: String::new(),
        });
        Dots {
            class: String::new(),
            name: name.to_owned(),
            points: points.collect(),
        }
    }

    #[test]
    fn a_line_is_within_the_frame_and_what_has_no_point_is_not_drawn() {
        let units = [Unit::Seconds, Unit::Bytes];
        for range in [Range::FromZero, Range::Ratios, Range::Moves] {
            let lines = vec![line("a", &[100.0, 101.0, 102.0]), line("b", &[])];
            let chart = Chart::of("x", lines, units, range).expect("a chart");
            assert_eq!(chart.lines.len(), 1);
            for dot in &chart.lines[0].dots {
                let [x, y] = [&dot.x, &dot.y].map(|text| text.parse::<f64>().expect("a number"));
                assert!((LEFT..=RIGHT).contains(&x) && (TOP..=BOTTOM).contains(&y));
            }
            assert_eq!(chart.lines[0].dots[2].x, unit(RIGHT));
        }
        assert!(Chart::of("x", vec![line("a", &[])], units, Range::Moves).is_none());
        // One value alone is no range, and nothing at all none either.
        let scale = Scale::of(1.0, 1.0, Range::Ratios);
        assert!((scale.height(1.0) - TOP).abs() < 1e-9);
        for values in [[0.0, 0.0], [5.0, 5.0]] {
            let chart = Chart::of("x", vec![line("a", &values)], units, Range::Moves);
            let chart = chart.expect("a chart");
            assert!(chart.lines[0].dots.iter().all(|dot| !dot.y.contains("NaN")));
        }
    }

    #[test]
    fn a_little_growth_of_much_is_seen() {
        let lines = vec![line("a", &[200.0, 201.0])];
        let chart = Chart::of("x", lines, [Unit::Seconds; 2], Range::Moves).expect("a chart");
        let heights = chart.lines[0].dots.iter().map(|dot| dot.y.parse::<f64>());
        let heights: Vec<f64> = heights.map(|height| height.expect("a number")).collect();
        assert!(heights[0] - heights[1] > 20.0, "{heights:?}");
    }
}
