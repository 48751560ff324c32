//! What a suggested rule says, and its id, which follows from that.

use parity_schemas::report::GroupReport;
use parity_schemas::verdict::{Explanation, Kind, Part};
use sha2::{Digest, Sha256};

use super::nature::Nature;
use crate::rules::{RuleConfig, factor_of};

/// Bytes of the hash in an id: enough to tell the rules of one file apart, short enough to be read out.
const ID_HASH_BYTES: usize = 3;
/// Longest piece of a path in an id.
const MAX_ID_PLACE: usize = 40;

/// What a rule says, but for its route: the order keeps suggestions stable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Draft {
    pub(super) part: Part,
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) explanation: Option<Explanation>,
    /// The name that the candidate has instead of the last one of the path.
    pub(super) to: Option<String>,
}

impl Draft {
    /// For just the place of a group.
    pub(super) fn at(group: &GroupReport) -> Self {
        Self {
            part: group.part,
            path: group.pattern.clone(),
            kind: group.kind,
            explanation: group.explanation,
            to: None,
        }
    }

    /// The factor of a `scale` rule that says the same; `None` if there is none. Not between values of two types: that one of them
    /// became a text is more than another unit.
    pub(super) fn factor(&self) -> Option<String> {
        let is_number = self.kind == Kind::Value && self.to.is_none();
        let near = self.explanation.filter(|_| is_number);
        near.and_then(factor_of)
    }

    /// `factor` if it is to be a `scale` rule.
    pub(super) fn config(&self, route: Option<&str>, factor: Option<&str>) -> RuleConfig {
        let action = match (&self.to, self.explanation) {
            (Some(_), _) => "rename",
            (None, Some(_)) if factor.is_some() => "scale",
            (None, Some(_)) => "accept",
            (None, None) => "unordered",
        };
        let words = self.explanation.filter(|_| action == "accept");
        let words = words.map(|word| word.as_str().to_owned());
        let mut config = RuleConfig {
            route: route.map(str::to_owned),
            part: (self.part != Part::Body).then(|| self.part.to_string()),
            kind: words.as_ref().map(|_| self.kind.to_string()),
            explanations: words.into_iter().collect(),
            factor: factor.map(str::to_owned),
            to: self.to.clone(),
            ..RuleConfig::new("", &self.path, action)
        };
        config.id = self.id(&config);
        config
    }

    /// Follows from what the rule says, so that it is never suggested twice under two names.
    fn id(&self, config: &RuleConfig) -> String {
        let hash = Sha256::digest(config.to_toml().as_bytes());
        let what = self.explanation.map_or("any_order", Explanation::as_str);
        let mut place: String = self
            .path
            .rsplit('/')
            .find(|segment| !segment.is_empty() && !segment.starts_with('*'))
            .unwrap_or("anywhere")
            .chars()
            .map(|character| match character {
                'a'..='z' | '0'..='9' => character,
                'A'..='Z' => character.to_ascii_lowercase(),
                _ => '-',
            })
            .take(MAX_ID_PLACE)
            .collect();
        if self.path.is_empty() {
            "body".clone_into(&mut place);
        }
        let hash = crate::hex::encode(&hash[..ID_HASH_BYTES]);
        format!("{}-{place}-{hash}", what.replace('_', "-"))
    }

    pub(super) fn nature(&self) -> Nature {
        Nature::of(self.kind, self.explanation)
    }

    /// What a rule excuses from now on, and what that puts at risk.
    pub(super) fn reach(&self, route: Option<&str>, factor: Option<&str>) -> String {
        let path = &self.path;
        let place = match self.part {
            Part::Body => match (path.strip_prefix("/**"), path.as_str()) {
                (_, "") => "the whole body".to_owned(),
                (Some(""), _) => "any place of a body".to_owned(),
                (Some(end), _) => format!("any place of a body that ends in {end}"),
                (None, _) => format!("{path} of a body"),
            },
            part => format!("the {part} {path}"),
        };
        let route = route.map_or_else(
            || "on any route, also those that come later".to_owned(),
            |route| format!("on {route} only"),
        );
        let what = match (self.explanation, self.kind) {
            (None, _) => "every order of elements that are otherwise equal",
            (_, Kind::Missing) => {
                "every field that the candidate lacks and that is near in this way"
            }
            (_, Kind::Extra) => {
                "every field that only the candidate has and that is near in this way"
            }
            (_, Kind::Type) => "every two values of different types that are near in this way",
            _ => "every two values of one type that are near in this way",
        };
        let whatever = match self.explanation {
            Some(near) if near.is_scale() => ", whatever they are, and in no other direction",
            Some(_) => ", whatever they are and whichever service has which",
            None => "",
        };
        if let Some(to) = &self.to {
            return format!(
                "at {place}, {route}: that the candidate calls it {to} and nothing else, where the two values are equal; a value that \
                 differs stays a difference, under both names. At risk: {}",
                self.nature().risk
            );
        }
        if let Some(factor) = factor {
            return format!(
                "at {place}, {route}: a number of the candidate that is exactly {factor} times the legacy's, also one too short to be \
                 told from chance, and one in a text; any other stays a difference. `accept` with {} would leave the short ones. At \
                 risk: {}; and a number that was left in the former unit is equal, by either rule",
                self.explanation.map_or("", Explanation::as_str),
                self.nature().risk
            );
        }
        format!(
            "at {place}, {route}: {what}{whatever}. At risk: {}",
            self.nature().risk
        )
    }
}
