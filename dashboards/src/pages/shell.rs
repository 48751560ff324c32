//! What stands on every screen: where one can go, and of what the screen is.
//!
//! The whole state of a screen is in its address. [`Scope`] is the part that all screens share (migration, versions, time
//! range, terms of the decision), so that a link from one screen to another keeps it.

use parity_schemas::time::Timestamp;
use parity_schemas::visible::visible;
use parity_sink::Known;

use crate::links::{Elsewhere, Known as KnownHere, Links, escaped};
use crate::view::Status;

/// Time ranges to choose from, as the parameter `since` has them.
const RANGES: [(&str, &str); 6] = [
    ("", "all time"),
    ("15m", "last 15 minutes"),
    ("1h", "last hour"),
    ("6h", "last 6 hours"),
    ("1d", "last day"),
    ("7d", "last 7 days"),
];

/// The parameters that all screens share, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope(pub(crate) Vec<(String, String)>);

impl Scope {
    /// The address of a screen of the same scope.
    pub(crate) fn to(&self, path: &str) -> String {
        self.with(path, &[])
    }

    /// The same with parameters of that screen. Those with an empty value are left out.
    pub(crate) fn with(&self, path: &str, more: &[(&str, &str)]) -> String {
        let shared = self.0.iter();
        let shared = shared.map(|(name, value)| (name.as_str(), value.as_str()));
        let all = shared.chain(more.iter().copied());
        let all = all.filter(|(_, value)| !value.is_empty());
        let query: Vec<String> = all
            .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
            .collect();
        if query.is_empty() {
            return path.to_owned();
        }
        format!("{path}?{}", query.join("&"))
    }

    /// The address of the page of a route.
    pub(crate) fn route(&self, route: &str) -> String {
        self.with(Screen::Routes.path(), &[("of_route", route)])
    }

    /// Only these of what is shared.
    pub(crate) fn only(&self, names: &[&str]) -> Self {
        let shared = self.0.iter();
        let shared = shared.filter(|(name, _)| names.contains(&name.as_str()));
        Self(shared.cloned().collect())
    }

    fn value(&self, name: &str) -> &str {
        let mut given = self.0.iter();
        let found = given.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A screen that the navigation leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Overview,
    History,
    Causes,
    Groups,
    Routes,
    Noise,
    Rules,
    Decisions,
    Changes,
    Report,
    Health,
}

impl Screen {
    const ALL: [Self; 11] = [
        Self::Overview,
        Self::History,
        Self::Causes,
        Self::Groups,
        Self::Routes,
        Self::Noise,
        Self::Rules,
        Self::Decisions,
        Self::Changes,
        Self::Report,
        Self::Health,
    ];

    /// Its address.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::History => "/history",
            Self::Causes => "/causes",
            Self::Groups => "/groups",
            Self::Routes => "/routes",
            Self::Noise => "/noise",
            Self::Rules => "/rules",
            Self::Decisions => "/decisions",
            Self::Changes => "/audit",
            Self::Report => "/report",
            Self::Health => "/health",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::History => "Over time",
            Self::Causes => "Causes",
            Self::Groups => "Groups",
            Self::Routes => "Routes",
            Self::Noise => "Noise",
            Self::Rules => "Rules",
            Self::Decisions => "Decisions",
            Self::Changes => "Changes",
            Self::Report => "Whole report",
            Self::Health => "Health",
        }
    }
}

/// A link of the navigation.
pub(crate) struct Link {
    pub(crate) to: String,
    pub(crate) name: &'static str,
    pub(crate) is_here: bool,
}

/// Something to choose.
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) name: String,
    pub(crate) is_chosen: bool,
}

/// What stands on every screen.
pub(crate) struct Shell {
    /// Which screen it is; `None` for one that the navigation does not lead to.
    pub(crate) here: Option<Screen>,
    /// What the links keep.
    pub(crate) scope: Scope,
    /// The migration that is shown.
    pub(crate) migration: String,
    /// What the store holds, to choose from.
    pub(crate) known: Known,
    /// The mirror that serves the page, if one does.
    pub(crate) status: Option<Status>,
    /// What the forms carry that change something; `None` for who may only look.
    pub(crate) form: Option<String>,
    /// Where links lead that leave our pages.
    pub(crate) links_elsewhere: Links,
    /// What a screen was asked besides the scope, which its next page and the choice of the scope keep.
    pub(crate) listed: Vec<(String, String)>,
    /// When the known differences were read that the pages judge by.
    pub(crate) read: Timestamp,
    /// Why they were not read again although the configuration changed; a sentence without a full stop, not made visible.
    pub(crate) refused: Option<String>,
}

impl Shell {
    /// Where the navigation leads.
    pub(crate) fn links(&self) -> Vec<Link> {
        let links = Screen::ALL.into_iter().map(|screen| Link {
            to: match screen {
                // What is stored by itself is not counted, so it is asked for by no more than that.
                Screen::Decisions => self.chosen(&["candidate_version", "since"], screen),
                Screen::Changes => self.chosen(&["since"], screen),
                _ => self.scope.to(screen.path()),
            },
            name: screen.name(),
            is_here: self.here == Some(screen),
        });
        links.collect()
    }

    fn chosen(&self, names: &[&str], screen: Screen) -> String {
        let Scope(mut chosen) = self.scope.only(names);
        chosen.insert(0, ("migration".to_owned(), self.migration.clone()));
        Scope(chosen).to(screen.path())
    }

    /// Links of a page on which this is known.
    pub(crate) fn elsewhere(&self, known: &KnownHere<'_>) -> Vec<Elsewhere> {
        self.links_elsewhere.at(known)
    }

    /// Where the choice of the scope leads: to the same screen, or to the overview.
    pub(crate) fn action(&self) -> &'static str {
        self.here.unwrap_or(Screen::Overview).path()
    }

    /// The time over which groups are counted: that which was asked for, or else the last day.
    pub(crate) fn span(&self) -> String {
        let chosen = self.scope.value("since");
        let range = RANGES.iter().find(|(known, _)| *known == chosen);
        match range {
            _ if chosen.is_empty() => "last day".to_owned(),
            Some((_, name)) => (*name).to_owned(),
            None => visible(&format!("since {chosen}")),
        }
    }

    /// Whether a version can be chosen. What somebody changed in a process is of none.
    pub(crate) fn has_versions(&self) -> bool {
        self.here != Some(Screen::Changes)
    }

    /// Whether less than all of a migration is listed.
    pub(crate) fn is_part(&self) -> bool {
        let chosen = ["candidate_version", "since"];
        let mut chosen = chosen.iter().map(|name| self.scope.value(name));
        !self.listed.is_empty() || chosen.any(|value| !value.is_empty())
    }

    /// The next page of a list, with everything else that was asked.
    pub(crate) fn older(&self, path: &str, next: &str) -> String {
        let listed = self.listed.iter();
        let listed = listed.map(|(name, value)| (name.as_str(), value.as_str()));
        let more: Vec<(&str, &str)> = listed.chain([("after", next)]).collect();
        self.scope.with(path, &more)
    }

    /// Migrations to choose from.
    pub(crate) fn migrations(&self) -> Vec<Choice> {
        choices(&self.known.migrations, &self.migration, |name| {
            name.to_owned()
        })
    }

    /// Versions of the candidate to choose from.
    pub(crate) fn candidates(&self) -> Vec<Choice> {
        let chosen = self.scope.value("candidate_version");
        let named = self.known.candidate_versions.iter();
        let mut all = vec![String::new()];
        all.extend(named.filter(|name| !name.is_empty()).cloned());
        choices(&all, chosen, |name| match name {
            // A decision stays, whatever came after it.
            "" if self.here == Some(Screen::Decisions) => "all".to_owned(),
            "" => "newest".to_owned(),
            name => name.to_owned(),
        })
    }

    /// Time ranges to choose from.
    pub(crate) fn ranges(&self) -> Vec<Choice> {
        let chosen = self.scope.value("since");
        let all: Vec<String> = RANGES
            .iter()
            .map(|(value, _)| (*value).to_owned())
            .collect();
        choices(&all, chosen, |value| {
            let range = RANGES.iter().find(|(known, _)| *known == value);
            range.map_or_else(|| format!("since {value}"), |(_, name)| (*name).to_owned())
        })
    }

    /// What the choice keeps besides what can be chosen.
    pub(crate) fn kept(&self) -> Vec<(&str, &str)> {
        let given = self.scope.0.iter().chain(&self.listed);
        given
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| !["migration", "candidate_version", "since"].contains(name))
            .collect()
    }
}

/// What can be chosen, and what is chosen although it is not among it.
fn choices(all: &[String], chosen: &str, name: impl Fn(&str) -> String) -> Vec<Choice> {
    let is_known = all.iter().any(|value| value == chosen);
    let other = (!is_known).then(|| chosen.to_owned());
    other
        .iter()
        .chain(all)
        .map(|value| Choice {
            name: name(value),
            is_chosen: value == chosen,
            value: value.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_keeps_what_was_asked_and_escapes_it() {
        let scope = Scope(vec![
            ("migration".to_owned(), "a&b=\"<c>".to_owned()),
            ("since".to_owned(), String::new()),
        ]);
        assert_eq!(scope.to("/groups"), "/groups?migration=a%26b%3D%22%3Cc%3E");
        assert_eq!(
            scope.with("/groups", &[("tab", "new"), ("find", "")]),
            "/groups?migration=a%26b%3D%22%3Cc%3E&tab=new"
        );
        assert_eq!(Scope::default().to("/"), "/");
    }

    #[test]
    fn what_is_chosen_can_be_chosen_again() {
        let values = |choices: Vec<Choice>| -> Vec<(String, bool)> {
            let each = choices.into_iter();
            each.map(|choice| (choice.value, choice.is_chosen))
                .collect()
        };
        let all = ["1".to_owned(), "2".to_owned()];
        let of = |chosen| values(choices(&all, chosen, str::to_owned));
        assert_eq!(of("2"), [("1".to_owned(), false), ("2".to_owned(), true)]);
        assert_eq!(
            of("3"),
            [
                ("3".to_owned(), true),
                ("1".to_owned(), false),
                ("2".to_owned(), false)
            ]
        );
    }
}
