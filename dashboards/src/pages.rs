//! The pages: the report, and one mismatch.
//!
//! Rendered on the server by askama, which escapes every value; recorded text also has its invisible characters
//! spelt out first, because HTML escaping does not show them. No script is needed, and none is sent.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use parity_schemas::clients;
use parity_schemas::evidence::{Decision, Outcome};
use parity_schemas::record::{Mismatch, RecordedFinding, RecordedMessage};
use parity_schemas::report::{CauseReport, Report};
use parity_schemas::time::Timestamp;
use parity_schemas::verdict::{NOT_COMPARED, Reason};
use parity_schemas::visible::{visible, visible_value};
use parity_schemas::watermark::RunState;
use rust_embed::RustEmbed;

use crate::api::{self, Failure, Question};
use crate::{Site, Status, deciding};

/// Longest value in a table cell; the page of the mismatch shows all that was recorded.
const CELL_CHARS: usize = 160;

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage {
    report: Report,
    decision: Decision,
    status: Option<Status>,
}

impl ReportPage {
    fn outcome(&self) -> &'static str {
        match self.decision.outcome {
            _ if self.report.window.is_none() => "nothing recorded",
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Undecided => "undecided",
        }
    }

    fn percent(part: u64, whole: u64) -> String {
        if whole == 0 {
            "–".to_owned()
        } else {
            format!("{:.2} %", part as f64 / whole as f64 * 100.0)
        }
    }

    fn name(cause: &CauseReport) -> String {
        cause.pattern.as_deref().map(visible).unwrap_or_default()
    }

    /// What ended without a verdict: where the candidate failed, which is counted as differing, apart from the rest.
    fn without_verdict(&self) -> Vec<(&'static str, Vec<(Reason, u64)>)> {
        let counts = self.report.counts.not_compared.iter();
        let (failed, rest): (Vec<_>, Vec<_>) = counts
            .map(|(reason, count)| (*reason, *count))
            .partition(|(reason, _)| reason.is_candidate_failure());
        [("The candidate failed", failed), ("Not compared", rest)]
            .into_iter()
            .filter(|(_, reasons)| !reasons.is_empty())
            .collect()
    }

    /// Whether the record is whole as far as it shows, and who keeps it from being.
    fn watermark(&self) -> String {
        let until = self.report.complete_until.as_ref();
        let mut text = until.map_or_else(
            || "not known how far it is complete".to_owned(),
            |until| format!("complete up to {}", moment(until)),
        );
        for watermark in &self.report.watermarks {
            if !matches!(watermark.state, RunState::Complete | RunState::Ended) {
                let since = watermark
                    .last_heard
                    .as_ref()
                    .map_or_else(String::new, moment);
                let (name, state) = (visible(&watermark.instance), watermark.state.as_str());
                text.extend([" · ", &name, ": ", state]);
                if let Some(rules) = &watermark.rules_hash {
                    text.extend([" ", rules]);
                }
                text.extend([", last heard of at ", &since]);
            }
        }
        text
    }

    /// Median and 99th percentile.
    fn millis(quantiles: &std::collections::BTreeMap<String, u64>) -> String {
        let of = |name| quantiles.get(name).map(|us| *us as f64 / 1e3);
        match (of("p50"), of("p99")) {
            (Some(median), Some(most)) => format!("{median:.1} / {most:.1} ms"),
            _ => "–".to_owned(),
        }
    }

    /// What became of the clients, in one sentence.
    fn clients(&self) -> String {
        let counts = &self.report.counts;
        clients::told(counts.received, &counts.clients, |count| count.to_string())
    }
}

/// To the second, which is what a person compares with other clocks; the API has microseconds.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "askama passes fields by reference"
)]
fn moment(time: &Timestamp) -> String {
    let text = time.to_string();
    let second = text.split('.').next().unwrap_or(&text);
    format!("{}Z", second.replace('T', " "))
}

/// A value of one side, or that it has none.
fn side(value: Option<&String>) -> String {
    value.map_or_else(
        || "(absent)".to_owned(),
        |value| visible_value(value, CELL_CHARS),
    )
}

#[derive(Template)]
#[template(path = "mismatch.html")]
struct MismatchPage {
    mismatch: Mismatch,
}

impl MismatchPage {
    fn value(value: Option<&String>) -> String {
        value.map_or_else(|| "(absent)".to_owned(), |value| visible(value))
    }

    fn diff(finding: &RecordedFinding) -> String {
        finding.text_diff.as_deref().map(lines).unwrap_or_default()
    }

    /// Why nothing is said of the bodies, where that is so.
    fn not_compared(&self) -> Option<String> {
        let mut tolerated = self.mismatch.tolerated.iter();
        let reason = tolerated.find_map(|tolerated| tolerated.why.strip_prefix(NOT_COMPARED));
        reason.map(visible)
    }

    fn messages(&self) -> Vec<(&'static str, &RecordedMessage)> {
        self.mismatch
            .sample
            .iter()
            .flat_map(|sample| {
                [
                    ("Request", &sample.request),
                    ("Legacy", &sample.legacy),
                    ("Candidate", &sample.candidate),
                ]
            })
            .collect()
    }

    fn body(message: &RecordedMessage) -> String {
        lines(&message.body)
    }
}

/// Text of several lines, each made visible, the line breaks kept.
fn lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    message: &'a str,
    /// A mirror is controlled also while its record cannot be read here.
    status: Option<Status>,
}

fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn sorry(failure: &Failure, site: &Site) -> Response {
    page(
        failure.status(),
        &ErrorPage {
            message: failure.message(),
            status: site.process.mirror_status(),
        },
    )
}

/// The report page.
pub(crate) async fn report(
    State(site): State<Arc<Site>>,
    Query(question): Query<Question>,
) -> Response {
    let read = async {
        let selection = question.selection(&site)?;
        let thresholds = question.thresholds()?;
        api::read(&site, move |reader| {
            let report = reader.report(&selection)?;
            let evidence = reader.evidence(&selection)?;
            let mut decision =
                deciding::glance(selection.migration(), evidence.as_ref(), &thresholds);
            if evidence.is_none() {
                let known = reader.known(selection.migration())?;
                decision.reasons = vec![deciding::absent(&known, &selection)];
            }
            Ok((report, decision))
        })
        .await
    };
    match read.await {
        Ok((report, decision)) => {
            let status = site.process.mirror_status();
            page(
                StatusCode::OK,
                &ReportPage {
                    report,
                    decision,
                    status,
                },
            )
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// One mismatch with all that was recorded of it.
pub(crate) async fn mismatch(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    match api::find_mismatch(&site, &id).await {
        Ok(mismatch) => page(StatusCode::OK, &MismatchPage { mismatch }),
        Err(failure) => sorry(&failure, &site),
    }
}

/// The style sheet.
pub(crate) async fn style() -> Response {
    match Assets::get("style.css") {
        Some(file) => (
            [(header::CONTENT_TYPE, "text/css; charset=utf-8")],
            file.data.into_owned(),
        )
            .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
