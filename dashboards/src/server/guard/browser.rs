//! Whether a request that changes something comes from a page, and from which.
//!
//! A page of somebody else can make a browser send requests here, and the browser adds the password that its user typed once.
//! Browsers of today say where a request comes from; older ones do not. So what looks as if it came from any browser must carry
//! what only our own forms have. A program looks like none, and needs no form: no page can make a browser look like that.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{self, HeaderName, HeaderValue};

use super::super::answer::ErrorAnswer;

/// Bytes of a form: ours have one short field.
const MOST_BYTES: usize = 4 << 10;
/// Time for the body of a form, so that nobody keeps a connection by sending none.
const BODY_WITHIN: Duration = Duration::from_secs(1);
/// The field that our forms have.
const FIELD: &str = "form";
/// Types of bodies that a page of any origin can make a browser send without being asked first.
const FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];
/// Fields that browsers send and programs do not. No page can keep its browser from sending all of them.
const OF_BROWSERS: [HeaderName; 4] = [
    header::ORIGIN,
    header::REFERER,
    header::COOKIE,
    header::ACCEPT_LANGUAGE,
];
/// How the fields begin by which browsers say what is asked for, and from where.
const FETCH_METADATA: &str = "sec-fetch-";
/// How the names of browsers begin: all since the nineties call themselves the first, but for the rest.
const BROWSERS: [&str; 5] = ["mozilla/", "opera/", "lynx/", "w3m/", "elinks"];

/// Programs send no Origin; browsers send theirs with every request that can change something.
pub(in crate::server) fn same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return headers
            .get("sec-fetch-site")
            .is_none_or(|site| site == "same-origin" || site == "none");
    };
    let origin = origin.to_str().unwrap_or_default();
    origin
        .split_once("://")
        .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host(headers)))
}

fn host(headers: &HeaderMap) -> &str {
    headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Whether a request looks as if a browser had sent it.
pub(super) fn is_of_browser(headers: &HeaderMap) -> bool {
    let agent = text(headers, header::USER_AGENT).to_ascii_lowercase();
    OF_BROWSERS.iter().any(|field| headers.contains_key(field))
        || headers
            .keys()
            .any(|field| field.as_str().starts_with(FETCH_METADATA))
        || BROWSERS.iter().any(|name| agent.starts_with(name))
        || wants_page(headers)
}

/// Whether somebody wants to see a page.
pub(in crate::server) fn wants_page(headers: &HeaderMap) -> bool {
    text(headers, header::ACCEPT).contains("text/html")
}

/// Whether the body is of a type that a form has.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let kind = text(headers, header::CONTENT_TYPE).to_ascii_lowercase();
    FORMS.iter().any(|form| kind.trim_start().starts_with(form))
}

fn text(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).map(HeaderValue::to_str);
    value.and_then(Result::ok).unwrap_or_default()
}

/// Reads a form: what it carries to show that it is ours, if anything. The request has its body as before.
pub(super) async fn form_of(request: Request) -> Result<(Request, Option<String>), ErrorAnswer> {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY_WITHIN, to_bytes(body, MOST_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return Err(ErrorAnswer::bad(format!(
                "the body is not complete, or has more than {MOST_BYTES} bytes"
            )));
        }
        Err(_) => {
            return Err(ErrorAnswer::bad(format!(
                "the body did not come within {} s",
                BODY_WITHIN.as_secs()
            )));
        }
    };
    let given = field(&body);
    Ok((Request::from_parts(head, Body::from(body)), given))
}

/// The field of a form that shows that it is ours. What it carries has only letters and digits, so nothing is decoded.
fn field(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let mut pairs = text.trim_ascii_end().split('&');
    let found = pairs.find_map(|pair| pair.strip_prefix(FIELD)?.strip_prefix('='));
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn a_foreign_page_is_told_from_a_program() {
        assert!(same_origin(&headers(&[("host", "localhost:9900")])));
        assert!(same_origin(&headers(&[
            ("host", "localhost:9900"),
            ("origin", "http://localhost:9900")
        ])));
        for origin in ["http://evil.example", "null", "http://localhost:9901"] {
            assert!(
                !same_origin(&headers(&[("host", "localhost:9900"), ("origin", origin)])),
                "{origin}"
            );
        }
        assert!(!same_origin(&headers(&[
            ("host", "localhost"),
            ("sec-fetch-site", "cross-site")
        ])));
    }

    #[test]
    fn a_browser_of_any_age_is_told_from_a_program() {
        for fields in [
            &[("user-agent", "Mozilla/4.0 (compatible; MSIE 6.0)")][..],
            &[("user-agent", "Opera/9.80 (X11; Linux)")],
            &[("user-agent", "Lynx/2.8.9rel.1 libwww-FM/2.14")],
            &[("accept", "text/html,application/xhtml+xml")],
            &[("accept-language", "en")],
            &[("referer", "")],
            &[("cookie", "a=1")],
            &[("origin", "null")],
            &[("sec-fetch-mode", "no-cors")],
        ] {
            assert!(is_of_browser(&headers(fields)), "{fields:?}");
        }
        for fields in [
            &[][..],
            &[("user-agent", "curl/8.5.0"), ("accept", "*/*")],
            &[
                ("user-agent", "Go-http-client/1.1"),
                ("content-type", "application/json"),
            ],
            &[("authorization", "Basic dTpw")],
        ] {
            assert!(!is_of_browser(&headers(fields)), "{fields:?}");
            assert!(!is_form(&headers(fields)), "{fields:?}");
        }
        for kind in [
            "application/x-www-form-urlencoded",
            "Multipart/Form-Data; boundary=x",
            "text/plain;charset=UTF-8",
        ] {
            assert!(is_form(&headers(&[("content-type", kind)])), "{kind}");
        }
    }

    #[test]
    fn the_field_of_a_form_is_found_as_it_is() {
        for (body, found) in [
            (&b"form=abc"[..], Some("abc")),
            (b"x=1&form=abc&y=2", Some("abc")),
            // As `text/plain`, with a line break behind.
            (b"form=abc\r\n", Some("abc")),
            (b"form=", Some("")),
            (b"forms=abc", None),
            (b"xform=abc", None),
            (b"", None),
            (b"form=\xff", None),
        ] {
            assert_eq!(field(body).as_deref(), found, "{body:?}");
        }
    }
}
