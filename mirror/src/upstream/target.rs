//! One of the two services as the operator configures it: its URL, its protocol, and the changes to its requests.
//!
//! By default nothing is changed: the service gets the client's path, its `Host` and its fields, so that it answers as
//! it would without the mirror. Each change applies to one side only, because a migration often moves a service to
//! another host name, path prefix or credential.

use http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Uri};

use crate::upstream::url::UpstreamUrl;

/// A service, and the changes to the requests that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub url: UpstreamUrl,
    /// What it speaks.
    pub protocol: Protocol,
    /// Replaces the client's `Host`.
    pub host: Option<HeaderValue>,
    /// Replaces the start of the path.
    pub rewrite: Option<PathRewrite>,
    /// Headers that are removed, before others are set.
    pub remove: Vec<HeaderName>,
    /// Headers that are set; they replace all that the client sent under the same name.
    pub set: Vec<(HeaderName, HeaderValue)>,
}

impl Target {
    /// A service that gets what the client sent.
    pub fn new(url: UpstreamUrl) -> Self {
        Self {
            url,
            protocol: Protocol::default(),
            host: None,
            rewrite: None,
            remove: Vec::new(),
            set: Vec::new(),
        }
    }

    /// Changes the fields of a request for this service.
    pub(crate) fn change(&self, headers: &mut HeaderMap) {
        for name in &self.remove {
            headers.remove(name);
        }
        if let Some(host) = &self.host {
            headers.insert(HOST, host.clone());
        }
        for (name, value) in &self.set {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// The target of a request, in origin form, for this service.
    pub(crate) fn target(&self, uri: &Uri) -> Uri {
        let origin = origin_form(uri);
        match &self.rewrite {
            Some(rewrite) => rewrite.apply(&origin).unwrap_or(origin),
            None => origin,
        }
    }
}

/// The HTTP version of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// `https://`: what it chooses in the handshake (ALPN). Otherwise HTTP/1.1, and HTTP/2 for gRPC, which has no
    /// other.
    #[default]
    Auto,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; without TLS by prior knowledge (h2c).
    Http2,
}

/// Replaces the start of a path, by whole segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRewrite {
    from: Box<str>,
    to: Box<str>,
}

/// The text is not a path prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no prefix of a path; write for example /api/v1: it begins with a slash and has no query, no space and no `..`"
)]
pub struct PathRewriteError(String);

impl PathRewrite {
    /// Paths under `from` are sent as paths under `to`; `/` is the root.
    pub fn new(from: &str, to: &str) -> Result<Self, PathRewriteError> {
        let read = |text: &str| {
            let valid = text.starts_with('/')
                && !text.split('/').any(|segment| segment == "..")
                && !text.contains(['?', '#'])
                && text.parse::<PathAndQuery>().is_ok();
            if valid {
                Ok(Box::from(text.trim_end_matches('/')))
            } else {
                Err(PathRewriteError(text.to_owned()))
            }
        };
        Ok(Self {
            from: read(from)?,
            to: read(to)?,
        })
    }

    fn apply(&self, uri: &Uri) -> Option<Uri> {
        let rest = uri.path().strip_prefix(&*self.from)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let path = if rest.is_empty() && self.to.is_empty() {
            "/"
        } else {
            rest
        };
        let query = uri.query().map(|query| ["?", query]).unwrap_or_default();
        let [mark, query] = query;
        format!("{}{path}{mark}{query}", self.to).parse().ok()
    }
}

/// The target in origin form: what a service gets, whatever form the client used.
fn origin_form(uri: &Uri) -> Uri {
    if uri.scheme().is_none() && uri.authority().is_none() {
        return uri.clone();
    }
    uri.path_and_query()
        .cloned()
        .unwrap_or_else(|| PathAndQuery::from_static("/"))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_replaced_by_whole_segments() {
        for (from, to, path, expected) in [
            ("/api", "/v2", "/api/users?x=1", "/v2/users?x=1"),
            ("/api/", "/v2/", "/api", "/v2"),
            ("/api", "/", "/api", "/"),
            ("/api", "/", "/api/", "/"),
            ("/api", "/", "/api?x", "/?x"),
            ("/api", "/v2", "/apiary", "/apiary"),
            ("/", "/new", "/users", "/new/users"),
            ("/", "/new", "*", "*"),
            ("/api", "/v2", "/other/api", "/other/api"),
        ] {
            let mut target = Target::new(UpstreamUrl::parse("http://h").expect("a URL"));
            target.rewrite = Some(PathRewrite::new(from, to).expect("a prefix"));
            let uri: Uri = path.parse().expect("a target");
            assert_eq!(target.target(&uri), expected, "{from} {to} {path}");
        }
        for text in ["", "api", "/a b", "/a?b", "/a#b", "/../a"] {
            PathRewrite::new(text, "/").expect_err(text);
        }
    }

    #[test]
    fn the_authority_never_leaves_in_the_target() {
        let uri = Uri::from_static("http://asked.example:81/a?b=c");
        assert_eq!(origin_form(&uri), Uri::from_static("/a?b=c"));
        assert_eq!(origin_form(&Uri::from_static("*")), Uri::from_static("*"));
    }

    #[test]
    fn fields_are_removed_then_set() {
        let mut target = Target::new(UpstreamUrl::parse("http://h").expect("a URL"));
        target.host = Some(HeaderValue::from_static("new.example"));
        target.remove = vec![
            HeaderName::from_static("x-a"),
            HeaderName::from_static("x-b"),
        ];
        target.set = vec![(
            HeaderName::from_static("x-b"),
            HeaderValue::from_static("2"),
        )];
        let mut headers = HeaderMap::new();
        for name in ["host", "x-a", "x-b", "x-b", "x-c"] {
            headers.append(name, HeaderValue::from_static("1"));
        }
        target.change(&mut headers);
        let mut seen: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        seen.sort();
        assert_eq!(seen, ["host: new.example", "x-b: 2", "x-c: 1"]);
    }
}
