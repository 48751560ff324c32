//! The page of a request that was run again. Where something was kept back, it asks the second question.

use askama::Template;
use parity_schemas::rerun::RerunDocument;

use super::ROOM;
use crate::view::{Allowed, RerunView, Tone, Weight};

#[derive(Template)]
#[template(path = "rerun.html")]
struct RerunPage<'a> {
    view: RerunView<'a>,
    /// Where the same request is run once more, with what has been said yes to.
    again: String,
    /// What its form carries; `None` for who may only look.
    form: Option<String>,
}

/// What came of running a request again.
pub(crate) fn page(
    document: &RerunDocument,
    allowed: Allowed,
    form: Option<String>,
) -> askama::Result<String> {
    let view = RerunView { document };
    let again = Allowed {
        unsafe_methods: allowed.unsafe_methods || view.is_unsafe(),
        hidden: allowed.hidden || view.is_kept_back(),
        left_out: allowed.left_out || view.is_open(),
    };
    RerunPage {
        view,
        again: address(document, again),
        form,
    }
    .render()
}

fn address(document: &RerunDocument, allowed: Allowed) -> String {
    format!(
        "/mismatches/{}/rerun?allow_unsafe={}&accept_hidden={}&accept_left_out={}",
        document.mismatch, allowed.unsafe_methods, allowed.hidden, allowed.left_out
    )
}

/// The class of a tone in the style sheet.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "pass",
        Tone::Bad => "fail",
        Tone::Open => "undecided",
        Tone::Plain => "",
    }
}

/// Text of several lines, each made visible, the line breaks kept.
fn lines(text: &str) -> String {
    super::lines(text)
}

fn visible(text: &str) -> String {
    super::visible(text)
}
