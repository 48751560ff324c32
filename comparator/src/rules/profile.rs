//! Profiles: the rules that a rewrite from one language to another commonly needs.
//!
//! A profile is TOML like everybody's own rules, so that it can be printed, read, and copied in part. It accepts what is
//! near in a named way and nothing else: what a client could stumble over stays a difference, and the comment at its head
//! says what that is.

use super::config::{self, RuleConfig};

/// One profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called in `profiles` and `--profile`; the ids of its rules begin with it.
    pub name: &'static str,
    /// Its rules as TOML, with comments.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal),+) => {
        /// All of them.
        pub const PROFILES: &[Profile] = &[
            $(Profile { name: $name, text: include_str!(concat!("profiles/", $name, ".toml")) }),+
        ];
    };
}
profiles!(
    "go-to-rust",
    "java-to-rust",
    "node-to-rust",
    "python-to-rust"
);

impl Profile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES
            .iter()
            .find(|profile| profile.name == name)
            .copied()
    }

    /// Its first sentence.
    pub fn about(self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches(['#', ' '])
    }

    /// Its rules, to be compiled behind the ones of the user, so that those come first.
    ///
    /// # Panics
    /// Never: the texts are part of the program, and a test reads each of them.
    pub fn rules(self) -> Vec<RuleConfig> {
        config::parse(self.text).expect("a profile is a text of rules")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use parity_schemas::time::Timestamp;

    #[test]
    fn every_profile_compiles_and_says_why() {
        for profile in PROFILES {
            let rules = profile.rules();
            Rules::compile(&rules, Timestamp::default())
                .unwrap_or_else(|errors| panic!("{}: {errors:?}", profile.name));
            let prefix = format!("{}/", profile.name);
            for rule in &rules {
                assert!(rule.id.starts_with(&prefix), "{}", rule.id);
                assert!(rule.reason.is_some(), "{}", rule.id);
                assert!(
                    rule.action != "ignore",
                    "{}: hides what nobody looked at",
                    rule.id
                );
            }
            assert!(profile.about().ends_with('.') && profile.about().len() > 40);
        }
        assert_eq!(Profile::named("go-to-rust"), Some(PROFILES[0]));
        assert_eq!(Profile::named("rust-to-go"), None);
    }
}
