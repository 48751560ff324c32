//! Under which terms requests were counted: the text of the rules, and what of the traffic was compared.
//!
//! Tallies and decisions only carry the hash of the rules. [`Terms`] hold the text that has this hash, so that what was
//! accepted can be read as long as the record exists. A mirror writes them when it starts and whenever a reload changes
//! them. The id follows from the content, so a mirror that starts again under the same terms adds nothing.
//!
//! All of it comes from the operator's configuration, and nothing from traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::tally::Identity;
use crate::time::Timestamp;

/// What stands for a text that looks like a secret.
pub const HIDDEN: &str = "(hidden)";

/// One rule, with the keys and words of a `[[rule]]`; what it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuleText {
    /// Under which hits are counted.
    pub id: String,
    /// `METHOD /template`; every route without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// `status`, `header`, `trailer` or `body`; the body without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Where it applies.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Only in this line of a text, by its number or by an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Only in this column of each line of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Only these characters of each line of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<String>,
    /// Only in the start tags of a page that this selector names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<String>,
    /// The attribute of these whose value is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// What it does.
    pub action: String,
    /// `accept`: what counts as equal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<String>,
    /// `accept`: only findings of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `key`: the field that tells elements apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// `key`: the fields that together tell elements apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// `tolerance`: the largest difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute: Option<String>,
    /// `tolerance`: the largest difference as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<String>,
    /// `tolerance`: how far apart two times may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// `scale`: what the legacy's number is multiplied by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// `parts`: the expression whose groups capture what may differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// `as`: what both sides are read as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// `rename`: what the candidate calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why it is right to have it. Not part of the hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who answers for it. Not part of the hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// From when on it no longer applies. Not part of the hash of a mirror, which counts under another one from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

impl RuleText {
    /// Whether a part of it looked like a secret, so that it is no longer what was hashed.
    pub fn is_hidden(&self) -> bool {
        [
            &self.field,
            &self.pattern,
            &self.line,
            &self.element,
            &self.attribute,
            &self.to,
        ]
        .into_iter()
        .flatten()
        .chain(&self.fields)
        .chain([&self.path])
        .any(|text| text == HIDDEN)
    }
}

/// The rules in force, in their order, without those that only hide values. It is everything that the hash of the rules
/// covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RulesText {
    /// The version of what is equal without any rule; part of the hash.
    pub equality: u32,
    /// The rules.
    pub rules: Vec<RuleText>,
    /// The text was longer than [`MAX_TEXT_BYTES`], so the rules are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Longest text of rules that is recorded: far more than people can review, and less than a broker takes as one message.
pub const MAX_TEXT_BYTES: usize = 512 << 10;

/// Which requests the candidate got, and which of them were asked again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Coverage {
    /// Share of the requests, or of the users, that is shadowed, 0..=1.
    pub sample: f64,
    /// What the share is of: `request`, `header:NAME` or `cookie:NAME`.
    pub sample_by: String,
    /// Longest body that is compared, in bytes.
    pub body_bytes: u64,
    /// Most requests a second that are asked again; 0 is none.
    pub recheck_rate: u64,
    /// Share of the matching requests that the legacy is asked again, 0..=1.
    pub recheck_control: f64,
    /// Routes with terms of their own, in the order in which they are tried.
    pub routes: Vec<RouteCoverage>,
}

/// What a `[[route]]` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RouteCoverage {
    /// `METHOD /template`.
    pub route: String,
    /// Whether they are shadowed whatever their method, or never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// Share of them that is shadowed, 0..=1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<f64>,
    /// Whether they may be asked again whatever their method, or never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck: Option<bool>,
    /// Whether they are GraphQL, counted by operation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub graphql: bool,
    /// Whether GraphQL requests that only read are shadowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shadow_queries: bool,
    /// Of a GraphQL mutation: it is for no requests that ask for other fields of the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// Under which terms requests of one identity were counted; there is one of these for each change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// Follows from everything but `rank` and `time`.
    pub id: Uuid,
    /// The higher, the earlier it was written: of several writes, the first one stays.
    pub rank: u32,
    /// What was counted under them.
    #[serde(flatten)]
    pub identity: Identity,
    /// When a mirror first counted under them.
    pub time: Timestamp,
    /// The program that counted, with its version.
    pub program: String,
    /// The text whose hash is `rules_hash`.
    pub rules: RulesText,
    /// What of the traffic was compared.
    pub coverage: Coverage,
}

/// Gives the columns of `terms` to a macro, see [`crate::table`].
#[macro_export]
macro_rules! terms_columns {
    ($with:ident $($given:tt)*) => {
        $with! {
            [$($given)*]
            Key id: Id = id;
            Fixed rank: Number = rank;
            Fixed migration: Label = identity.migration;
            Fixed legacy_version: Label = identity.legacy_version;
            Fixed candidate_version: Label = identity.candidate_version;
            Fixed rules_hash: Label = identity.rules_hash;
            Fixed time: Time = time;
            Fixed program: Label = program;
            Fixed rules: Document = rules;
            Fixed coverage: Document = coverage;
        }
    };
}

impl Terms {
    /// Terms that begin at `time`. `id_of` makes an id of a text.
    pub fn begun(
        identity: Identity,
        program: String,
        mut rules: RulesText,
        coverage: Coverage,
        time: Timestamp,
        id_of: impl FnOnce(&[u8]) -> Uuid,
    ) -> Self {
        let mut content = content(&identity, &program, &rules, &coverage);
        if content.len() > MAX_TEXT_BYTES {
            rules.rules.clear();
            rules.cut = true;
            content = self::content(&identity, &program, &rules, &coverage);
        }
        Self {
            id: id_of(&content),
            rank: rank(time),
            identity,
            time,
            program,
            rules,
            coverage,
        }
    }

    /// What `id` and `rank` must be, if a program wrote these terms that knows the same fields. `id_of` makes an id of a text.
    pub fn identified(&self, id_of: impl FnOnce(&[u8]) -> Uuid) -> (Uuid, u32) {
        let content = content(&self.identity, &self.program, &self.rules, &self.coverage);
        (id_of(&content), rank(self.time))
    }
}

fn content(identity: &Identity, program: &str, rules: &RulesText, coverage: &Coverage) -> Vec<u8> {
    serde_json::to_vec(&(identity, program, rules, coverage))
        .expect("it is made of strings and numbers")
}

fn rank(time: Timestamp) -> u32 {
    // Seconds fit until 2106; a clock outside of that only decides which of two equal rows stays.
    u32::MAX - u32::try_from(time.as_micros() / 1_000_000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(rules: usize, seconds: i64) -> Terms {
        let text = RulesText {
            equality: 3,
            rules: vec![
                RuleText {
                    id: "x".repeat(100),
                    action: "ignore".to_owned(),
                    ..RuleText::default()
                };
                rules
            ],
            cut: false,
        };
        let time = Timestamp::from_micros(seconds * 1_000_000);
        let id = |text: &[u8]| Uuid::from_u128(text.len() as u128);
        Terms::begun(
            Identity::default(),
            "parity".to_owned(),
            text,
            Coverage::default(),
            time,
            id,
        )
    }

    #[test]
    fn the_id_is_of_the_content_and_the_earlier_rank_is_the_higher() {
        let (first, again) = (terms(1, 10), terms(1, 20));
        assert_eq!(first.id, again.id);
        let id = |text: &[u8]| Uuid::from_u128(text.len() as u128);
        assert_eq!(first.identified(id), (first.id, first.rank));
        assert!(first.rank > again.rank);
        assert_ne!(first.id, terms(2, 10).id);
    }

    #[test]
    fn a_text_that_no_broker_would_take_is_left_out_and_that_is_said() {
        let long = terms(MAX_TEXT_BYTES / 100, 0);
        assert!(long.rules.cut && long.rules.rules.is_empty());
        assert!(!terms(10, 0).rules.cut);
    }

    #[test]
    fn what_a_newer_program_says_of_a_rule_does_not_hinder_reading() {
        let read: RulesText =
            serde_json::from_str(r#"{"equality":4,"rules":[{"id":"a","action":"new","more":1}]}"#)
                .expect("it is read");
        assert_eq!(read.rules[0].action, "new");
        assert!(!read.cut);
    }
}
