//! Where a record is kept, as a user writes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A store by its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`: one file (and its `-wal` and `-shm` beside it while it is in use).
    Sqlite(PathBuf),
}

/// The text names no store that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// No known scheme.
    #[error("`{0}` is not a store; write sqlite:PATH, for example sqlite:parity.db")]
    Form(String),
    /// A path without a scheme.
    #[error("`{0}` has no scheme; did you mean `sqlite:{0}`?")]
    NoScheme(String),
    /// `sqlite:` and nothing.
    #[error("`{0}` has no path; write sqlite:PATH, for example sqlite:parity.db")]
    NoPath(String),
    /// `sqlite://name`.
    #[error(
        "`{0}` looks as if it named a host; write sqlite:PATH, or sqlite:/PATH from the root, for example sqlite:parity.db"
    )]
    Host(String),
    /// `sqlite::memory:`.
    #[error(
        "`{0}`: a record in memory could be read by no other command; write sqlite:PATH, for example sqlite:parity.db"
    )]
    Memory(String),
    /// A store of the large setup.
    #[error(
        "`{url}`: this build has no {what} store; use sqlite:PATH, for example sqlite:parity.db"
    )]
    NotBuilt {
        /// As written, without user and password.
        url: String,
        /// The product.
        what: &'static str,
    },
}

impl StoreUrl {
    /// The file of the store, for messages.
    pub fn path(&self) -> &Path {
        match self {
            Self::Sqlite(path) => path,
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let own = || text.to_owned();
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(match text {
                "" => StoreUrlError::Form(own()),
                _ => StoreUrlError::NoScheme(own()),
            });
        };
        match scheme {
            "sqlite" => {}
            "clickhouse" => return Err(not_built(text, "ClickHouse")),
            "kafka" => return Err(not_built(text, "Kafka")),
            _ => return Err(StoreUrlError::Form(own())),
        }
        if rest.is_empty() {
            return Err(StoreUrlError::NoPath(own()));
        }
        if rest == ":memory:" {
            return Err(StoreUrlError::Memory(own()));
        }
        if rest.starts_with("//") && !rest.starts_with("///") {
            return Err(StoreUrlError::Host(own()));
        }
        let path = match rest.strip_prefix("//") {
            Some(absolute) => absolute,
            None => rest,
        };
        Ok(Self::Sqlite(PathBuf::from(path)))
    }
}

/// A password in the URL is not repeated: messages end up in logs.
fn not_built(text: &str, what: &'static str) -> StoreUrlError {
    let url = match (text.split_once("//"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}//…@{host}"),
        _ => text.to_owned(),
    };
    StoreUrlError::NotBuilt { url, what }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<StoreUrl>()
            .expect_err("must be refused")
            .to_string()
    }

    #[test]
    fn paths_are_taken_as_written() {
        for (text, path) in [
            ("sqlite:parity.db", "parity.db"),
            ("sqlite:/var/lib/parity.db", "/var/lib/parity.db"),
            ("sqlite:///var/lib/parity.db", "/var/lib/parity.db"),
            ("sqlite:a b?c#d.db", "a b?c#d.db"),
        ] {
            let url: StoreUrl = text.parse().expect("a store");
            assert_eq!(url, StoreUrl::Sqlite(path.into()));
            assert_eq!(
                url.to_string().parse::<StoreUrl>().expect("own text"),
                url,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_store_is_told_what_is() {
        assert_eq!(
            error("parity.db"),
            "`parity.db` has no scheme; did you mean `sqlite:parity.db`?"
        );
        for text in [
            "",
            "postgres://x",
            "sqlite:",
            "sqlite://host/x",
            "sqlite::memory:",
        ] {
            assert!(error(text).contains("sqlite:parity.db"), "{text}");
        }
        assert_eq!(
            error("clickhouse://me:secret@host:8123/db"),
            "`clickhouse://…@host:8123/db`: this build has no ClickHouse store; use sqlite:PATH, for example sqlite:parity.db"
        );
        assert!(error("kafka://host:9092/topic").contains("this build has no Kafka store"));
    }
}
