//! The addresses of the two services, as the operator writes them.
//!
//! A URL names a host and port only. A path in it is refused rather than added to each request: the mirror would
//! compare something other than what the client asked for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::uri::Authority;
use parity_schemas::secret::without_password;

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamUrl {
    /// `http://host[:port]`, port 80 by default.
    Http(HostPort),
    /// `https://host[:port]`, port 443 by default; the certificate is verified.
    Https(HostPort),
    /// `unix:/path`, HTTP over a Unix socket.
    Unix(PathBuf),
}

/// A host and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Name or IP address; IPv6 without brackets.
    pub host: Box<str>,
    /// TCP port.
    pub port: u16,
}

impl HostPort {
    /// As in a URL or a `Host` field; the port is left out where it is `default`.
    fn write(&self, f: &mut fmt::Formatter<'_>, default: u16) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if self.port == default {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

/// The text is not the address of a service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamUrlError {
    /// No scheme, or one that we do not speak.
    #[error(
        "`{0}` is not the URL of a service; write http://host:port, https://host:port or unix:/path"
    )]
    Scheme(String),
    /// No host, or text that is none.
    #[error("`{0}` has no valid host and port; write for example http://127.0.0.1:7001")]
    Authority(String),
    /// A user name or password.
    #[error(
        "`{url}` has credentials in it; remove `{user}@`, the client's own headers are passed on"
    )]
    UserInfo {
        /// The URL with the credentials left out.
        url: String,
        /// The user name, without the password.
        user: String,
    },
    /// A path, query or fragment.
    #[error(
        "`{url}` ends in `{rest}`; a service is host and port alone, the client's path and query are passed on"
    )]
    Path {
        /// The whole text.
        url: String,
        /// What is too much.
        rest: String,
    },
    /// `unix:` with a path that is not absolute.
    #[error("`{0}` needs an absolute path; write for example unix:/run/legacy.sock")]
    UnixPath(String),
}

impl UpstreamUrl {
    /// Reads `http://host[:port]`, `https://host[:port]` or `unix:/path`.
    pub fn parse(text: &str) -> Result<Self, UpstreamUrlError> {
        if let Some(path) = text.strip_prefix("unix:") {
            // `unix:///run/x` is how URLs would write it.
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.len() < 2 || !path.starts_with('/') || path.contains('\0') {
                return Err(UpstreamUrlError::UnixPath(shown(text)));
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| UpstreamUrlError::Scheme(shown(text)))?;
        let secure = if scheme.eq_ignore_ascii_case("https") {
            true
        } else if scheme.eq_ignore_ascii_case("http") {
            false
        } else {
            return Err(UpstreamUrlError::Scheme(shown(text)));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        if let Some((user, host)) = authority.rsplit_once('@') {
            return Err(UpstreamUrlError::UserInfo {
                url: format!("{scheme}://{host}{tail}"),
                user: user.split(':').next().unwrap_or_default().to_owned(),
            });
        }
        if !tail.is_empty() && tail != "/" {
            return Err(UpstreamUrlError::Path {
                url: shown(text),
                rest: shown_tail(text, tail),
            });
        }
        let place = host_port(authority, if secure { 443 } else { 80 })
            .ok_or_else(|| UpstreamUrlError::Authority(shown(text)))?;
        Ok(if secure {
            Self::Https(place)
        } else {
            Self::Http(place)
        })
    }

    /// What stands in a `Host` field for this service: `host[:port]`, or `localhost` for a Unix socket.
    pub(crate) fn authority(&self) -> String {
        struct Bare<'url>(&'url HostPort, u16);
        impl fmt::Display for Bare<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, self.1)
            }
        }
        match self {
            Self::Http(place) => Bare(place, 80).to_string(),
            Self::Https(place) => Bare(place, 443).to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

/// The text for a message.
fn shown(text: &str) -> String {
    without_password(text).into_owned()
}

/// The part that must be removed. With a slash in a password, that part cannot be determined.
fn shown_tail(text: &str, tail: &str) -> String {
    let shown = without_password(text);
    if shown.ends_with(tail) {
        tail.to_owned()
    } else {
        "…".to_owned()
    }
}

fn host_port(text: &str, default: u16) -> Option<HostPort> {
    let authority: Authority = text.parse().ok()?;
    let host = authority.host();
    // `Authority` reads `h:` and `h:99999` as a host without a port.
    let port = match text.strip_prefix(host)? {
        "" => default,
        port => port
            .strip_prefix(':')?
            .parse()
            .ok()
            .filter(|port| *port != 0)?,
    };
    let host = host
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(host);
    (!host.is_empty()).then(|| HostPort {
        host: host.into(),
        port,
    })
}

impl FromStr for UpstreamUrl {
    type Err = UpstreamUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(place) => {
                f.write_str("http://")?;
                place.write(f, 80)
            }
            Self::Https(place) => {
                f.write_str("https://")?;
                place.write(f, 443)
            }
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_and_prints_back() {
        for (text, printed) in [
            ("http://127.0.0.1:7001", "http://127.0.0.1:7001"),
            ("http://legacy/", "http://legacy"),
            ("HTTPS://payments-new:8443", "https://payments-new:8443"),
            ("https://[::1]", "https://[::1]"),
            ("http://[::1]:80", "http://[::1]"),
            ("unix:/run/legacy.sock", "unix:/run/legacy.sock"),
            ("unix:///run/legacy.sock", "unix:/run/legacy.sock"),
        ] {
            let url = UpstreamUrl::parse(text).expect(text);
            assert_eq!(url.to_string(), printed);
            assert_eq!(UpstreamUrl::parse(printed).expect(printed), url);
        }
    }

    #[test]
    fn what_is_no_place_is_refused_and_a_password_is_not_repeated() {
        for text in [
            "",
            "127.0.0.1:7001",
            "ftp://host",
            "http://",
            "http://:80",
            "http://host:",
            "http://host:0",
            "http://host:99999",
            "http://host/api",
            "http://host?x=1",
            "http://host#x",
            "http://ho st",
            "http://user:hunter2@host",
            "http://user:a?hunter2@host",
            "http://user:a/hunter2@host/x",
            "user:hunter2@host:7001",
            "ftp://user:hunter2@host",
            "unix:",
            "unix:run/legacy.sock",
        ] {
            let error = UpstreamUrl::parse(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
            assert!(error.contains('`'), "{error}");
        }
    }
}
