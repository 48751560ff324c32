//! What people write of differences, on the API, a page at a time: the rules in force, and the register of known differences.
//!
//! Each document has several lists, which are pages of one: an entry stands with all that is told of it on one page. Most
//! configurations have fewer entries than a page, so who asks for no page has all.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use parity_schemas::documents::KnownListed;
use parity_schemas::known::NewGroup;
use parity_schemas::lists::{ExcusedGroup, RULES_SCHEMA, RulesDocument};
use parity_schemas::report::Report;
use parity_schemas::tally::set_id;
use parity_schemas::terms::RulesText;
use parity_schemas::time::Timestamp;

use super::answer::{self, ErrorAnswer};
use super::lists::{Page, decided, decided_and, of_group};
use super::parameters::Asked;
use super::question::ListAsking;
use super::site::Site;
use crate::view::{self, Decided, ExcusedGroups};

/// An entry of the rules: one of them by its id, or a group that they excuse.
enum Ruled {
    Rule(String),
    Excused(Box<ExcusedGroup>),
}

/// The rules of a report: in the order of their text, then those that only counts name.
fn rule_ids(text: Option<&RulesText>, report: &Report) -> Vec<String> {
    let written = text.into_iter().flat_map(|text| &text.rules);
    let written = written.map(|rule| rule.id.as_str());
    let hit = report.rules.iter().map(|rule| rule.id.as_str());
    let idle = report.idle_rules.iter().map(|rule| rule.id.as_str());
    let mut seen = HashSet::new();
    let all = written.chain(hit).chain(idle);
    all.filter(|id| seen.insert(*id))
        .map(str::to_owned)
        .collect()
}

/// `parity.rules/v1`.
pub(super) async fn rules(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<ListAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, after, limit) = asking.of_written(&site);
    let of = question.clone();
    let found = decided_and(&site, question, move |reader, decided| {
        let report = &decided.report;
        let text = reader.rule_text(&report.migration, &report.rules_hash)?;
        Ok((text, ExcusedGroups::read(reader, &of, report)?))
    });
    let (Decided { report, .. }, (text, excused)) = found.await?;
    let rules = rule_ids(text.as_ref(), &report).into_iter();
    let groups = excused.listed.into_iter();
    let groups = groups.map(|group| Ruled::Excused(Box::new(group)));
    let all = rules.map(Ruled::Rule).chain(groups).collect();
    let page = Page::of(all, &after, limit, |one| match one {
        Ruled::Rule(id) => set_id([id.as_str()]),
        Ruled::Excused(group) => of_group(&group.route, &group.group.fingerprint),
    });
    let (mut ids, mut listed) = (HashSet::new(), Vec::new());
    for one in page.rows {
        match one {
            Ruled::Rule(id) => {
                ids.insert(id);
            }
            Ruled::Excused(group) => listed.push(*group),
        }
    }
    let text = text.map(|mut text| {
        text.rules.retain(|rule| ids.contains(&rule.id));
        text
    });
    let (hits, idle) = (report.rules.into_iter(), report.idle_rules.into_iter());
    let document = RulesDocument {
        schema: RULES_SCHEMA.to_owned(),
        migration: report.migration,
        rules_hash: report.rules_hash,
        text,
        hits: hits.filter(|rule| ids.contains(&rule.id)).collect(),
        idle: idle.filter(|rule| ids.contains(&rule.id)).collect(),
        excused: listed,
        excused_left_out: excused.more,
        total: page.total,
        next: page.next,
    };
    Ok(answer::page(&uri, &document, document.next.as_deref()))
}

/// An entry of the register, or a difference that none means.
enum Registered {
    Entry(Box<KnownListed>),
    New(Box<NewGroup>),
}

/// `parity.known/v1`.
pub(super) async fn known(
    State(site): State<Arc<Site>>,
    uri: Uri,
    Asked(asking): Asked<ListAsking>,
) -> Result<Response, ErrorAnswer> {
    let (question, after, limit) = asking.of_written(&site);
    let register = Arc::clone(&question.known);
    let decided = decided(&site, question).await?;
    let mut list = view::known_list(&decided, &register, Timestamp::now());
    let entries = list.entries.drain(..);
    let entries = entries.map(|entry| Registered::Entry(Box::new(entry)));
    let new = list.not_known.drain(..);
    let new = new.map(|group| Registered::New(Box::new(group)));
    let page = Page::of(
        entries.chain(new).collect(),
        &after,
        limit,
        |one| match one {
            Registered::Entry(entry) => set_id([entry.entry.id.as_str()]),
            Registered::New(group) => of_group(&group.route, &group.group.fingerprint),
        },
    );
    for one in page.rows {
        match one {
            Registered::Entry(entry) => list.entries.push(*entry),
            Registered::New(group) => list.not_known.push(*group),
        }
    }
    list.next = page.next;
    Ok(answer::page(&uri, &list, list.next.as_deref()))
}
