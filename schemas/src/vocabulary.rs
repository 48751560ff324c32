//! Words that are stored and printed, each declared once: its spelling and its meaning.
//!
//! The comment on a member is for readers of the code and the JSON schemas; the meaning is shown to users after the
//! word. The spelling never changes, because it is stored; the meaning may.

/// A word that is not in the vocabulary.
#[derive(Debug, thiserror::Error)]
#[error("`{word}` is not a {vocabulary}")]
pub struct UnknownWord {
    pub(crate) word: String,
    pub(crate) vocabulary: &'static str,
}

/// Declares an enumeration whose members are words: each with the word as it is stored and what it means to a reader.
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident as $label:literal { $($(#[$doc:meta])* $variant:ident = $word:literal => $meaning:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every member, in the order of its definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it is stored and printed.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the word says, to somebody who reads it for the first time.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord { word: word.to_owned(), vocabulary: $label }),
                }
            }
        }
    };
}

pub(crate) use vocabulary;
