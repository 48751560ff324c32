//! Parts of a report on the API, a page at a time: causes, groups, one group, routes, noise, rules, known differences, and how
//! far the record is complete.
//!
//! They are read as the screens are, from the same models, so no number differs between the two.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use parity_schemas::lists::{
    CAUSES_SCHEMA, CausePage, GROUP_SCHEMA, GROUPS_SCHEMA, GroupDocument, GroupLine, GroupPage,
    HEALTH_SCHEMA, HealthDocument, NOISE_SCHEMA, NoisePage, ROUTES_SCHEMA, RULES_SCHEMA, RouteLine,
    RoutePage, RulesDocument,
};
use parity_schemas::report::CauseReport;
use parity_schemas::tally::set_id;
use parity_schemas::time::Timestamp;
use parity_sink::{Reader, StoreError};

use super::answer::{self, ErrorAnswer, read};
use super::parameters::Asked;
use super::place::Place;
use super::question::{After, Asking, GroupAsking, GroupsAsking, ListAsking};
use super::site::Site;
use crate::question::Question;
use crate::view::{self, Absent, Browsed, BrowsedGroup, Decided, ExcusedGroups, LeftOut};

/// A page of a list that is whole in memory.
struct Page<T> {
    total: u64,
    rows: Vec<T>,
    next: Option<String>,
}

impl<T> Page<T> {
    /// So many behind `after`. `name` says what of an entry is the same on every page.
    fn of(list: Vec<T>, after: &After, limit: usize, name: impl Fn(&T) -> String) -> Self {
        let total = list.len();
        let first = after.first(list.iter().map(&name));
        let end = first.saturating_add(limit);
        let rows: Vec<T> = list.into_iter().skip(first).take(limit).collect();
        let last = rows.last().filter(|_| end < total);
        Self {
            next: last.map(|last| format!("{end}_{}", name(last))),
            total: total as u64,
            rows,
        }
    }
}

/// What a cause is called in an address: by what its groups share.
fn of_cause(cause: &CauseReport) -> String {
    let shared = [
        cause.explanation.map(|one| one.to_string()),
        cause.part.map(|one| one.to_string()),
        cause.pattern.clone(),
        cause.kind.map(|one| one.to_string()),
        cause.legacy_status.map(|one| one.to_string()),
        cause.candidate_status.map(|one| one.to_string()),
    ];
    set_id(shared.iter().map(|one| one.as_deref().unwrap_or_default()))
}

/// What a group is called in an address: several routes may have one of a name.
fn of_group(route: &str, fingerprint: &str) -> String {
    set_id([route, fingerprint])
}

/// Reads a report and what else `ask` reads beside it. A migration that is misspelt has none.
pub(super) async fn decided_and<T: Send + 'static>(
    site: &Site,
    question: Question,
    ask: impl FnOnce(&Reader, &Decided) -> Result<T, StoreError> + Send + 'static,
) -> Result<(Decided, T), ErrorAnswer> {
    let is_own = site.is_own(question.selection.migration());
    let found = read(site, move |reader| {
        let decided = view::decided(reader, &question)?;
        let more = ask(reader, &decided)?;
        Ok::<_, StoreError>((decided, more))
    });
    let (decided, more) = found.await?;
    match decided.absent {
        Some(absent) if absent.is_unknown_migration && !is_own => {
            Err(ErrorAnswer::missing(absent.sentence))
        }
        _ => Ok((decided, more)),
    }
}

async fn decided(site: &Site, question: Question) -> Result<Decided, ErrorAnswer> {
    let (decided, ()) = decided_and(site, question, |_, _| Ok(())).await?;
    Ok(decided)
}

/// `parity.causes/v1`.
pub(super) async fn causes(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<ListAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, after, limit) = asking.of(&site);
    let Decided { report, .. } = decided(&site, question).await?;
    let page = Page::of(report.causes, &after, limit, of_cause);
    let document = CausePage {
        schema: CAUSES_SCHEMA.to_owned(),
        migration: report.migration,
        total: page.total,
        causes: page.rows,
        next: page.next,
    };
    Ok(answer::page(&uri, &document, document.next.as_deref()))
}

/// `parity.groups/v1`.
pub(super) async fn groups(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<GroupsAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, browsing, after, limit) = asking.of(&site);
    let decided = decided(&site, question).await?;
    let left_out = LeftOut::of(&decided.report, decided.decision.thresholds.noise);
    let list = Browsed::whole(&decided, &left_out, &browsing);
    let tabs = list.tabs.iter();
    let tabs = tabs.map(|(tab, count)| (tab.as_str().to_owned(), *count as u64));
    let tabs = tabs.collect();
    let page = Page::of(list.rows, &after, limit, |row| {
        let report = row.group.report;
        of_group(&report.route, &report.fingerprint)
    });
    let document = GroupPage {
        schema: GROUPS_SCHEMA.to_owned(),
        migration: decided.report.migration.clone(),
        tabs,
        total: page.total,
        groups: page.rows.iter().map(line).collect(),
        next: page.next,
    };
    Ok(answer::page(&uri, &document, document.next.as_deref()))
}

fn line(row: &BrowsedGroup<'_>) -> GroupLine {
    let group = row.group.report;
    let bounds = row.bounds();
    GroupLine {
        group: group.clone(),
        compared: row.compared,
        rate: bounds.map(|_| group.count as f64 / row.compared as f64),
        lower: bounds.map(|(lower, _)| lower),
        upper: bounds.map(|(_, upper)| upper),
    }
}

/// `parity.group/v1`.
pub(super) async fn group(
    State(site): State<Arc<Site>>,
    Path(fingerprint): Path<String>,
    Asked(asking): Asked<GroupAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, route) = asking.of(&site);
    let name = fingerprint.clone();
    // The page of the group looks for it in the same way.
    let found = read(&site, move |reader| {
        let place = Place::find(reader, &question, &name, route.as_deref())?;
        let counts = place.uncounted.is_none();
        let suggestions = if counts {
            view::suggested(reader, &place.decided, &view::expires(Timestamp::now()))?.rules
        } else {
            Vec::new()
        };
        Ok::<_, StoreError>((place, suggestions, route))
    });
    let (place, suggestions, route) = found.await?;
    let report = &place.decided.report;
    let Some(row) = place.row(&fingerprint, route.as_deref()) else {
        let absent = place.decided.absent.as_ref();
        let is_slip =
            |absent: &&Absent| absent.is_unknown_migration && !site.is_own(&report.migration);
        let told = absent.filter(is_slip).map(|absent| absent.sentence.clone());
        return Err(ErrorAnswer::missing(told.unwrap_or_else(|| {
            format!("no group `{fingerprint}` was counted here; /api/v1/groups has those that were")
        })));
    };
    let names = &row.group.report.fingerprint;
    let suggested = suggestions.into_iter();
    let suggested = suggested.filter(|rule| rule.fingerprints.contains(names));
    let uncounted = place.uncounted.as_ref();
    Ok(answer::document(&GroupDocument {
        schema: GROUP_SCHEMA.to_owned(),
        migration: report.migration.clone(),
        group: line(&row),
        suggested: suggested.collect(),
        candidate_version: report.candidate_version.clone(),
        rules_hash: report.rules_hash.clone(),
        uncounted: uncounted.map(|uncounted| uncounted.document(|time| time.to_string())),
    }))
}

/// `parity.routes/v1`.
pub(super) async fn routes(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<ListAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, after, limit) = asking.of(&site);
    let Decided {
        report, decision, ..
    } = decided(&site, question).await?;
    let page = Page::of(report.routes, &after, limit, |route| {
        set_id([route.route.as_str()])
    });
    let routes = page.rows.into_iter().map(|counted| {
        let mut decisions = decision.routes.iter();
        RouteLine {
            decision: decisions
                .find(|decision| decision.route == counted.route)
                .cloned(),
            counted,
        }
    });
    let document = RoutePage {
        schema: ROUTES_SCHEMA.to_owned(),
        migration: report.migration,
        total: page.total,
        routes: routes.collect(),
        next: page.next,
    };
    Ok(answer::page(&uri, &document, document.next.as_deref()))
}

/// `parity.noise/v1`.
pub(super) async fn noise(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<ListAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, after, limit) = asking.of(&site);
    let Decided { report, .. } = decided(&site, question).await?;
    let page = Page::of(report.noise, &after, limit, |noise| {
        of_group(&noise.route, &noise.group.fingerprint)
    });
    let document = NoisePage {
        schema: NOISE_SCHEMA.to_owned(),
        migration: report.migration,
        total: page.total,
        noise: page.rows,
        next: page.next,
    };
    Ok(answer::page(&uri, &document, document.next.as_deref()))
}

/// `parity.rules/v1`.
pub(super) async fn rules(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let of = question.clone();
    let found = decided_and(&site, question, move |reader, decided| {
        let report = &decided.report;
        let text = reader.rule_text(&report.migration, &report.rules_hash)?;
        Ok((text, ExcusedGroups::read(reader, &of, report)?))
    });
    let (Decided { report, .. }, (text, excused)) = found.await?;
    Ok(answer::document(&RulesDocument {
        schema: RULES_SCHEMA.to_owned(),
        migration: report.migration,
        rules_hash: report.rules_hash,
        text,
        hits: report.rules,
        idle: report.idle_rules,
        excused: excused.listed,
        excused_left_out: excused.more,
    }))
}

/// `parity.known/v1`.
pub(super) async fn known(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let register = Arc::clone(&question.known);
    let decided = decided(&site, question).await?;
    let list = view::known_list(&decided, &register, Timestamp::now());
    Ok(answer::document(&list))
}

/// `parity.health/v1`.
pub(super) async fn health(
    State(site): State<Arc<Site>>,
    Asked(asking): Asked<Asking>,
) -> Result<Response, ErrorAnswer> {
    let question = asking.of(&site);
    let migration = question.selection.migration().to_owned();
    let found = decided_and(&site, question, move |reader, _| {
        let runs = reader.run_times(&migration)?;
        view::rollouts_recorded(reader, &migration, &runs, Timestamp::now())
    });
    let (Decided { report, .. }, rollouts) = found.await?;
    Ok(answer::document(&HealthDocument {
        schema: HEALTH_SCHEMA.to_owned(),
        migration: report.migration,
        complete_until: report.complete_until,
        watermarks: report.watermarks,
        rollouts,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::parameters::{Parameters, asked_of};

    /// The next page of a list of names, as it is by now.
    fn page(list: &[&str], next: Option<&str>) -> Page<String> {
        let given = next.map(|next| ("after".to_owned(), next.to_owned()));
        let given: Vec<(String, String)> = given.into_iter().collect();
        let asking: ListAsking = asked_of(&given).expect("it is right");
        let list = list.iter().map(|name| (*name).to_owned()).collect();
        Page::of(list, &asking.into_after(), 2, Clone::clone)
    }

    #[test]
    fn what_comes_before_a_page_meanwhile_moves_none_of_the_rest() {
        let first = page(&["a", "b", "c", "d"], None);
        assert_eq!(first.rows, ["a", "b"]);
        let next = first.next.as_deref();
        // Graver ones came; one of the first page is gone; nothing has changed; the last of the page is gone.
        for (list, rows) in [
            (&["x", "y", "a", "b", "c", "d"][..], ["c", "d"]),
            (&["b", "c", "d"], ["c", "d"]),
            (&["a", "b", "c", "d"], ["c", "d"]),
            (&["a", "x", "c", "d"], ["c", "d"]),
        ] {
            let second = page(list, next);
            assert_eq!(second.rows, rows, "{list:?}");
            assert_eq!(second.next, None);
        }
        assert_eq!(page(&["a", "b", "c"], Some("2")).rows, ["c"]);
        let mut asking = ListAsking::default();
        for wrong in ["", "x", "-1", "_a", "x_a"] {
            assert!(asking.read("after", wrong).is_err(), "{wrong}");
        }
    }
}
