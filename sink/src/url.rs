//! The URL of a store, as a user writes it.
//!
//! A URL never carries a password: URLs end up in process lists, shell histories and logs. What a connection needs
//! beyond its URL is in [`crate::StoreConfig`].

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The topic when a Kafka URL names none.
pub const DEFAULT_TOPIC: &str = "parity.records";
/// The database when a `ClickHouse` URL names none.
const DEFAULT_DATABASE: &str = "default";
/// Ports of `ClickHouse`'s HTTP interface, clear and with TLS.
const CLICKHOUSE_PORTS: [u16; 2] = [8123, 8443];
const KAFKA_PORT: u16 = 9092;

/// A store by its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:PATH`: one file (and its `-wal` and `-shm` beside it while it is in use).
    Sqlite(PathBuf),
    /// `clickhouse://[USER@]HOST[:PORT]/DATABASE[?secure=true]`: the HTTP interface of a server.
    ClickHouse(ClickHouseUrl),
    /// `kafka://HOST:PORT[,HOST:PORT…]/TOPIC`: write only; `parity sink` moves the records to `ClickHouse`.
    Kafka(KafkaUrl),
}

/// A database of a `ClickHouse` server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickHouseUrl {
    /// `default` unless named.
    pub user: Option<String>,
    /// Name or address; an IPv6 address in brackets.
    pub host: String,
    /// Of the HTTP interface.
    pub port: u16,
    /// Name of the database.
    pub database: String,
    /// Whether to use TLS.
    pub secure: bool,
}

/// A topic of a Kafka cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaUrl {
    /// `HOST:PORT` of one or more of its brokers, comma-separated, as librdkafka takes them.
    pub brokers: String,
    /// Name of the topic.
    pub topic: String,
}

/// The text names no store that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreUrlError {
    /// No known scheme.
    #[error(
        "`{0}` is not a store; write sqlite:PATH, clickhouse://USER@HOST:8123/DATABASE or kafka://HOST:9092/TOPIC, for example sqlite:parity.db"
    )]
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
    /// `clickhouse://user:secret@host`.
    #[error("`{url}` holds a password, and URLs end up in logs; leave it out and {instead}")]
    Password {
        /// As written, without user and password.
        url: String,
        /// Where the password belongs.
        instead: &'static str,
    },
    /// Something else is wrong with one of the two.
    #[error("`{url}`: {what}; write for example {example}")]
    Part {
        /// As written, without user and password.
        url: String,
        /// Which part, and what is wrong with it.
        what: String,
        /// One that works.
        example: &'static str,
    },
}

const CLICKHOUSE_EXAMPLE: &str = "clickhouse://parity@127.0.0.1:8123/parity";
const KAFKA_EXAMPLE: &str = "kafka://127.0.0.1:9092/parity.records";

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(match text {
                "" => StoreUrlError::Form(text.to_owned()),
                _ => StoreUrlError::NoScheme(text.to_owned()),
            });
        };
        match scheme {
            "sqlite" => sqlite(text, rest),
            "clickhouse" => text.parse().map(Self::ClickHouse),
            "kafka" => text.parse().map(Self::Kafka),
            _ => Err(StoreUrlError::Form(without_credentials(text))),
        }
    }
}

fn sqlite(text: &str, rest: &str) -> Result<StoreUrl, StoreUrlError> {
    let own = || text.to_owned();
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
    Ok(StoreUrl::Sqlite(PathBuf::from(path)))
}

impl FromStr for ClickHouseUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let wrong = |what: &str| StoreUrlError::Part {
            url: without_credentials(text),
            what: what.to_owned(),
            example: CLICKHOUSE_EXAMPLE,
        };
        let rest = text
            .strip_prefix("clickhouse://")
            .ok_or_else(|| wrong("it does not begin with clickhouse://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let secure = match query {
            "" | "secure=false" => false,
            "secure=true" => true,
            _ => return Err(wrong("of options there is only ?secure=true")),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(StoreUrlError::Password {
                url: without_credentials(text),
                instead: "set PARITY_CLICKHOUSE_PASSWORD or name a file as clickhouse.password_file",
            });
        }
        if user == Some("") {
            return Err(wrong("there is no user before the @"));
        }
        let default_port = CLICKHOUSE_PORTS[usize::from(secure)];
        let (host, port) = host_and_port(address, default_port).map_err(|what| wrong(&what))?;
        let database = if database.is_empty() {
            DEFAULT_DATABASE
        } else {
            database
        };
        if database.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) {
            return Err(wrong("the name of the database holds a slash or a blank"));
        }
        Ok(Self {
            user: user.map(str::to_owned),
            host,
            port,
            database: database.to_owned(),
            secure,
        })
    }
}

impl FromStr for KafkaUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let wrong = |what: String| StoreUrlError::Part {
            url: without_credentials(text),
            what,
            example: KAFKA_EXAMPLE,
        };
        let rest = text
            .strip_prefix("kafka://")
            .ok_or_else(|| wrong("it does not begin with kafka://".to_owned()))?;
        let (authority, topic) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(StoreUrlError::Password {
                url: without_credentials(text),
                instead: "set kafka.username, and PARITY_KAFKA_PASSWORD or kafka.password_file",
            });
        }
        let brokers: Vec<String> = authority
            .split(',')
            .map(|broker| {
                host_and_port(broker, KAFKA_PORT).map(|(host, port)| format!("{host}:{port}"))
            })
            .collect::<Result<_, _>>()
            .map_err(wrong)?;
        let topic = if topic.is_empty() {
            DEFAULT_TOPIC
        } else {
            topic
        };
        // Kafka's own rule for names, less the room that the name of the dead-letter topic needs.
        let fits = topic.len() <= MAX_TOPIC_BYTES
            && topic != "."
            && topic != ".."
            && topic
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !fits {
            return Err(wrong(format!(
                "`{topic}` is no name for a topic: letters, digits, dot, underscore and hyphen, {MAX_TOPIC_BYTES} at most"
            )));
        }
        Ok(Self {
            brokers: brokers.join(","),
            topic: topic.to_owned(),
        })
    }
}

/// Kafka takes 249 bytes, of which `.dead` needs five.
const MAX_TOPIC_BYTES: usize = 244;

fn host_and_port(text: &str, default_port: u16) -> Result<(String, u16), String> {
    let (host, port) = match text.rsplit_once(':') {
        // A colon within brackets belongs to an IPv6 address.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    if host.is_empty() {
        return Err("there is no host".to_owned());
    }
    let plain = host
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .map_or_else(
            || {
                host.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
            },
            |inner| inner.parse::<std::net::Ipv6Addr>().is_ok(),
        );
    if !plain {
        return Err(format!("`{host}` is no host"));
    }
    let port = match port {
        None => default_port,
        Some(port) => port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("`{port}` is no port"))?,
    };
    Ok((host.to_owned(), port))
}

/// The URL without user and password, for messages, because they end up in logs.
fn without_credentials(text: &str) -> String {
    match (text.split_once("//"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}//…@{host}"),
        _ => text.to_owned(),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::ClickHouse(url) => url.fmt(f),
            Self::Kafka(url) => url.fmt(f),
        }
    }
}

impl fmt::Display for ClickHouseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("clickhouse://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}:{}/{}", self.host, self.port, self.database)?;
        if self.secure {
            f.write_str("?secure=true")?;
        }
        Ok(())
    }
}

impl fmt::Display for KafkaUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kafka://{}/{}", self.brokers, self.topic)
    }
}

#[cfg(test)]
mod tests;
