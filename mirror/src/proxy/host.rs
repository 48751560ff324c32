//! Checks that a request names exactly one host.
//!
//! The caller refuses the request and answers the client.

use http::header::{HOST, HeaderValue};
use http::uri::Scheme;
use http::{Method, Version, request};

/// Why a request does not name exactly one host (RFC 9112 §3.2, RFC 9113 §8.3.1). Two servers could disagree about
/// which host is meant, so it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostFault {
    Missing,
    Repeated,
    Malformed,
    Conflict,
}

/// Checks that a request names exactly one host.
pub(crate) fn check(head: &request::Parts) -> Result<(), HostFault> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(HostFault::Repeated);
    }
    let authority = head
        .uri
        .authority()
        .filter(|_| head.method != Method::CONNECT);
    if let Some(host) = host
        && !host.as_bytes().iter().all(|byte| in_host(*byte))
    {
        return Err(HostFault::Malformed);
    }
    match (authority, host) {
        (Some(authority), _) if authority.as_str().contains('@') => Err(HostFault::Malformed),
        (Some(authority), Some(host)) => {
            if same_place(authority.as_str(), host, head.uri.scheme()) {
                Ok(())
            } else {
                Err(HostFault::Conflict)
            }
        }
        (None, None) if head.version == Version::HTTP_11 => Err(HostFault::Missing),
        _ => Ok(()),
    }
}

/// `uri-host [":" port]` of RFC 3986, without commas: those occur only where two `Host` headers were joined.
fn in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=:%[]".contains(&byte)
}

fn same_place(authority: &str, host: &HeaderValue, scheme: Option<&Scheme>) -> bool {
    let bare = |text: &str| {
        let port = if scheme == Some(&Scheme::HTTPS) {
            ":443"
        } else {
            ":80"
        };
        text.strip_suffix(port).unwrap_or(text).to_ascii_lowercase()
    };
    // Byte equality is by far the most common case.
    host.as_bytes() == authority.as_bytes()
        || host
            .to_str()
            .is_ok_and(|host| bare(host) == bare(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_for_one_place() {
        use HostFault::{Conflict, Malformed, Missing, Repeated};
        for (version, uri, hosts, expected) in [
            (Version::HTTP_11, "/", &["a"][..], Ok(())),
            (Version::HTTP_11, "/", &[""][..], Ok(())),
            (Version::HTTP_11, "/", &[][..], Err(Missing)),
            (Version::HTTP_10, "/", &[][..], Ok(())),
            (Version::HTTP_11, "/", &["a", "a"][..], Err(Repeated)),
            (Version::HTTP_11, "/", &["a, b"][..], Err(Malformed)),
            (Version::HTTP_11, "/", &["a/b"][..], Err(Malformed)),
            (Version::HTTP_11, "/", &["u@a"][..], Err(Malformed)),
            (Version::HTTP_11, "http://a/", &["a"][..], Ok(())),
            (Version::HTTP_11, "http://a/", &["A:80"][..], Ok(())),
            (Version::HTTP_11, "https://a:443/", &["a"][..], Ok(())),
            (Version::HTTP_11, "https://a:80/", &["a"][..], Err(Conflict)),
            (Version::HTTP_11, "http://a/", &["b"][..], Err(Conflict)),
            (
                Version::HTTP_11,
                "http://u:p@a/",
                &["a"][..],
                Err(Malformed),
            ),
            (Version::HTTP_2, "http://a/", &[][..], Ok(())),
            (Version::HTTP_2, "http://a/", &["b"][..], Err(Conflict)),
        ] {
            let mut request = http::Request::builder().version(version).uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            let (head, ()) = request.body(()).expect("a request").into_parts();
            assert_eq!(check(&head), expected, "{version:?} {uri} {hosts:?}");
        }
    }
}
