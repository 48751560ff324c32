//! What grows under a steady load, as one HTML file that stands alone: charts over time and tables, without a script.
//!
//! Names and texts of services are escaped by askama, with their invisible characters as escapes before that.

use askama::Template;
use parity_comparator::metrics::shown;
use parity_schemas::metrics::Unit;
use parity_schemas::soak::{Grows, SoakDocument, SoakSide, SoakTrend};
use parity_schemas::visible::visible;

use super::load_chart::{Chart, Dots, Point, Range};
use super::told::told;
use crate::view::{growth, stress as told};

/// How parity itself is called.
const OWN: &str = "parity itself";

#[derive(Template)]
#[template(path = "soak.html")]
struct SoakPage<'a> {
    document: &'a SoakDocument,
    charts: Vec<Chart>,
    /// It is ours, and the only text that is not escaped.
    style: &'a str,
}

/// The result as a page.
pub fn soak(document: &SoakDocument) -> askama::Result<String> {
    let style = super::asset("style.css").unwrap_or_default();
    let charts = [
        (Grows::Rss, "Resident memory over time"),
        (
            Grows::Anon,
            "Resident memory without pages of files over time",
        ),
        (Grows::Descriptors, "Open files and sockets over time"),
        (Grows::Threads, "Threads over time"),
    ];
    let charts = charts.map(|(of, title)| chart(document, of, title));
    SoakPage {
        document,
        charts: charts.into_iter().flatten().collect(),
        style: &String::from_utf8_lossy(&style),
    }
    .render()
}

impl SoakPage<'_> {
    fn sides(&self) -> [(&'static str, &SoakSide); 2] {
        [
            ("legacy", &self.document.legacy),
            ("candidate", &self.document.candidate),
        ]
    }

    fn seconds(&self) -> String {
        time(self.document.seconds)
    }

    fn words(&self, trend: &SoakTrend) -> growth::Told {
        growth::told(trend, self.document.allowed)
    }

    fn all(&self) -> [(&'static str, &[SoakTrend]); 3] {
        let [legacy, candidate] = self.sides().map(|(name, side)| (name, &*side.trends));
        [legacy, candidate, (OWN, &self.document.own)]
    }
}

/// One measure of both services over the time after the warm-up.
fn chart(document: &SoakDocument, of: Grows, title: &'static str) -> Option<Chart> {
    let sides = [
        ("legacy", &document.legacy),
        ("candidate", &document.candidate),
    ];
    let unit = growth::unit(of);
    let lines = sides.into_iter().filter_map(|(name, side)| {
        let trend = side.trends.iter().find(|trend| trend.of == of)?;
        let points = trend.blocks.iter().map(|[at, value]| Point {
            x: *at,
            y: [*value; 3],
            title: format!("{name} after {}: {}", time(*at), shown(*value, unit)),
        });
        Some(Dots {
            // As the line that is drawn through.
            class: format!("of-{name} p50"),
            name: name.to_owned(),
            points: points.collect(),
        })
    });
    Chart::of(title, lines.collect(), [Unit::Seconds, unit], Range::Moves)
}

fn time(seconds: f64) -> String {
    shown(seconds, Unit::Seconds)
}

#[cfg(test)]
mod tests;
