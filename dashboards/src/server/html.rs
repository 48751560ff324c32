//! The HTTP handlers of the pages: read what a page shows, and render it.

use std::sync::Arc;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use parity_schemas::history::History;
use parity_schemas::record::Mismatch;
use parity_schemas::time::Timestamp;
use parity_sink::{Known, MismatchFilter, Reader, StoreError};
use uuid::Uuid;

use super::answer::{ErrorAnswer, find_mismatch, read};
use super::parameters::Asked;
use super::question::ScreenAsking;
use super::site::Process;
use super::visit::{Visit, Visited};
use crate::pages::shell::{Scope, Screen, Shell};
use crate::pages::{self, ExchangeFound};
use crate::question::Question;
use crate::view::{
    self, AllUnanswered, Browsed, Decided, ExcusedGroups, GroupTimes, Lately, a_day_ago,
};

/// What a screen is asked, or why it cannot be asked that.
pub(super) type Asking = Result<Asked<ScreenAsking>, ErrorAnswer>;

/// What every screen has, and what it shows of the record.
pub(super) struct Read<T> {
    pub(super) shell: Shell,
    pub(super) asked: ScreenAsking,
    pub(super) found: T,
}

/// Reads what a screen shows: `ask` is given the question, and what the store holds is read with it.
pub(super) async fn screen<T: Send + 'static>(
    site: &Visit,
    here: Option<Screen>,
    asking: Asking,
    ask: impl FnOnce(&Reader, &Question) -> Result<T, StoreError> + Send + 'static,
) -> Result<Read<T>, ErrorAnswer> {
    let Asked(mut asked) = asking?;
    let question = asked.question(site);
    let migration = question.selection.migration().to_owned();
    let (found, known) = read(site, move |reader| {
        let known = reader.known(question.selection.migration())?;
        Ok::<_, StoreError>((ask(reader, &question)?, known))
    })
    .await?;
    let is_known = known.migrations.is_empty() || known.migrations.contains(&migration);
    let is_slip = !is_known && !site.is_own(&migration);
    let scope = Scope(std::mem::take(&mut asked.scope));
    let shell = shell(site, here, scope, migration, known);
    if is_slip {
        let told = view::unknown_migration(&shell.migration, &shell.known.migrations);
        let screen = pages::unknown_migration(&shell, &told).map_err(|error| {
            tracing::error!(%error, "a page cannot be rendered");
            ErrorAnswer::broken("the page cannot be rendered; the log has why".to_owned())
        })?;
        return Err(ErrorAnswer::missing(told).on(screen));
    }
    Ok(Read {
        shell,
        asked,
        found,
    })
}

pub(super) fn shell(
    site: &Visit,
    here: Option<Screen>,
    scope: Scope,
    migration: String,
    known: Known,
) -> Shell {
    let register = (site.register)();
    Shell {
        here,
        scope,
        migration,
        known,
        status: site.process.mirror_status(),
        form: site.form(),
        links_elsewhere: site.links.clone(),
        listed: Vec::new(),
        read: register.read,
        refused: register.refused,
    }
}

/// A screen that is drawn from the report alone.
async fn of_report(
    site: &Visit,
    here: Screen,
    asking: Asking,
    draw: impl FnOnce(&Shell, &ScreenAsking, &Decided) -> askama::Result<String>,
) -> Response {
    let found = screen(site, Some(here), asking, view::decided).await;
    match found {
        Ok(read) => html(StatusCode::OK, draw(&read.shell, &read.asked, &read.found)),
        Err(failure) => sorry(&failure, site),
    }
}

/// The overview, with the history of the time that was asked for, or else of the last day.
pub(super) async fn overview(Visited(site): Visited, asking: Asking) -> Response {
    let handover = site.handover;
    let page = screen(
        &site,
        Some(Screen::Overview),
        asking,
        move |reader, question| {
            let decided = view::decided(reader, question)?;
            let since = question.selection.since.unwrap_or_else(a_day_ago);
            let history = view::history_of(reader, (question, Some(since)), &decided)?;
            let lately = Lately::read(reader, question.selection.migration(), handover)?;
            Ok((decided, history, lately))
        },
    );
    match page.await {
        Ok(mut read) => {
            let (decided, history, lately) = &mut read.found;
            witness(history, &read.shell);
            let page = pages::overview(&read.shell, decided, history, lately);
            html(StatusCode::OK, page)
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// Has outages told as the mirror has seen them that serves the page.
pub(super) fn witness(history: &mut History, shell: &Shell) {
    if let Some(status) = &shell.status {
        view::witness(history, status);
    }
}

/// How parity held over the time that was asked for.
pub(super) async fn history(Visited(site): Visited, asking: Asking) -> Response {
    let page = screen(&site, Some(Screen::History), asking, |reader, question| {
        let decided = view::decided(reader, question)?;
        let since = question.selection.since;
        let history = view::history_of(reader, (question, since), &decided)?;
        Ok((decided, history))
    });
    match page.await {
        Ok(mut read) => {
            let (decided, history) = &mut read.found;
            witness(history, &read.shell);
            html(
                StatusCode::OK,
                pages::history(&read.shell, decided, history),
            )
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// The whole report on one page.
pub(super) async fn report(Visited(site): Visited, asking: Asking) -> Response {
    of_report(&site, Screen::Report, asking, |shell, _, decided| {
        pages::report(shell, decided)
    })
    .await
}

/// What differs, by cause.
pub(super) async fn causes(Visited(site): Visited, asking: Asking) -> Response {
    let found = screen(&site, Some(Screen::Causes), asking, |reader, question| {
        let decided = view::decided(reader, question)?;
        let names = pages::causes_names(&decided);
        let times = GroupTimes::read(reader, question, names, None)?;
        let unanswered = AllUnanswered::read(reader, question, &decided, None)?;
        Ok((decided, times, unanswered))
    });
    match found.await {
        Ok(read) => {
            let (decided, times, unanswered) = &read.found;
            let page = pages::causes(&read.shell, decided, times, unanswered);
            html(StatusCode::OK, page)
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// The list of groups.
pub(super) async fn groups(Visited(site): Visited, asking: Asking) -> Response {
    let browsing = asking
        .as_ref()
        .map(|Asked(asked)| asked.browsing.clone())
        .unwrap_or_default();
    let found = screen(
        &site,
        Some(Screen::Groups),
        asking,
        move |reader, question| {
            let decided = view::decided(reader, question)?;
            let left_out = view::left_out(&decided);
            let names = Browsed::of(&decided, &left_out, &browsing).names();
            let times = GroupTimes::read(reader, question, names, None)?;
            let of_route = browsing.of_route.as_deref();
            let unanswered = AllUnanswered::read(reader, question, &decided, of_route)?;
            Ok((decided, left_out, times, unanswered))
        },
    );
    match found.await {
        Ok(read) => {
            let (decided, left_out, times, unanswered) = &read.found;
            let list = Browsed::of(decided, left_out, &read.asked.browsing);
            html(
                StatusCode::OK,
                pages::groups(&read.shell, &read.asked.browsing, list, times, unanswered),
            )
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// The routes.
pub(super) async fn routes(site: &Visit, asking: Asking) -> Response {
    of_report(site, Screen::Routes, asking, |shell, _, decided| {
        pages::routes(shell, decided)
    })
    .await
}

/// What is noise.
pub(super) async fn noise(Visited(site): Visited, asking: Asking) -> Response {
    of_report(&site, Screen::Noise, asking, |shell, _, decided| {
        pages::noise(shell, decided)
    })
    .await
}

/// What rules excuse.
pub(super) async fn rules(Visited(site): Visited, asking: Asking) -> Response {
    let found = screen(&site, Some(Screen::Rules), asking, |reader, question| {
        let decided = view::decided(reader, question)?;
        let excused = ExcusedGroups::read(reader, question, &decided.report)?;
        Ok((decided, excused, Arc::clone(&question.known)))
    });
    match found.await {
        Ok(read) => {
            let (decided, excused, register) = &read.found;
            let page = pages::rules(&read.shell, decided, excused, register);
            html(StatusCode::OK, page)
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// How the processes do.
pub(super) async fn health(Visited(site): Visited, asking: Asking) -> Response {
    let sink = match &site.process {
        Process::Sink(status) => Some(status()),
        Process::Mirror(_) | Process::Reader => None,
    };
    let found = screen(&site, Some(Screen::Health), asking, |reader, question| {
        let decided = view::decided(reader, question)?;
        let starts = view::starts(reader, question.selection.migration())?;
        Ok((decided, starts))
    });
    match found.await {
        Ok(read) => {
            let (decided, starts) = &read.found;
            let page = pages::health(&read.shell, sink.as_ref(), decided, starts);
            html(StatusCode::OK, page)
        }
        Err(failure) => sorry(&failure, &site),
    }
}

/// One mismatch with all that was recorded of it.
pub(super) async fn mismatch(
    Visited(site): Visited,
    Path(id): Path<String>,
    asking: Asking,
) -> Response {
    let page = async {
        let mismatch = find_mismatch(&site, &id).await?;
        let group = asking
            .as_ref()
            .ok()
            .and_then(|Asked(asked)| asked.group.as_ref());
        let (filter, of) = among(&mismatch, group);
        let Read {
            shell,
            asked,
            found: neighbours,
        } = screen(&site, None, asking, move |reader, question| {
            reader.neighbours(&of_scope(filter, of.0, question), of)
        })
        .await?;
        let found = ExchangeFound {
            mismatch: &mismatch,
            group: asked.group.as_deref(),
            neighbours,
            is_split: asked.is_split,
            reruns: site.reruns.is_some(),
        };
        Ok::<_, ErrorAnswer>(pages::exchange(&shell, &found))
    };
    match page.await {
        Ok(page) => html(StatusCode::OK, page),
        Err(failure) => sorry(&failure, &site),
    }
}

/// Those among which somebody looks at a mismatch: of the group from which they came if it is in that, or else of its first.
fn among(mismatch: &Mismatch, group: Option<&String>) -> (MismatchFilter, (Timestamp, Uuid)) {
    let groups = &mismatch.fingerprints;
    let group = group.filter(|group| groups.contains(group));
    let filter = MismatchFilter {
        migration: Some(mismatch.identity.migration.clone()),
        route: Some(mismatch.route.clone()),
        fingerprint: group.or(groups.first()).cloned(),
        candidate_version: Some(mismatch.identity.candidate_version.clone()),
        ..MismatchFilter::default()
    };
    (filter, (mismatch.time, mismatch.id))
}

/// Them of a scope that has this mismatch. Who asks for an exchange that is not in the scope sees it, and all beside it.
fn of_scope(filter: MismatchFilter, time: Timestamp, question: &Question) -> MismatchFilter {
    let asked = &question.selection;
    let is_of_version =
        asked.candidate_version.is_some() && asked.candidate_version == filter.candidate_version;
    MismatchFilter {
        candidate_version: filter.candidate_version.filter(|_| is_of_version),
        since: asked.since.filter(|since| *since <= time),
        ..filter
    }
}

/// The style sheet, the icon, and the modules of the script.
pub(super) async fn asset(Path(name): Path<String>) -> Response {
    let kind = match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    match pages::asset(&name) {
        Some(asset) => ([(header::CONTENT_TYPE, kind)], asset.into_owned()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

pub(super) fn sorry(failure: &ErrorAnswer, site: &Visit) -> Response {
    if let Some(screen) = failure.screen() {
        // It becomes what was asked for as soon as that is recorded.
        return html(StatusCode::OK, Ok(screen.to_owned()));
    }
    let page = pages::sorry(failure.message(), site.process.mirror_status(), site.form());
    html(failure.status(), page)
}

pub(super) fn html(status: StatusCode, page: askama::Result<String>) -> Response {
    match page {
        Ok(page) => (status, Html(page)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
