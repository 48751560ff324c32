//! Reading what is said of metrics: where their page is, and what they are called.

use http::Uri;
use parity_comparator::metrics::Source;
use parity_schemas::metrics::Subject;

/// Where clients of Prometheus put the page.
const USUAL_PATH: &str = "/metrics";

/// The address of a page of metrics.
pub(crate) fn page(text: &str) -> Result<Uri, String> {
    // The text is not repeated where it may hold a password.
    if text.contains('@') {
        return Err(
            "credentials do not belong into an address; name their file by `credentials_file`"
                .to_owned(),
        );
    }
    let wrong =
        || format!("`{text}` is no address of a page; write http://HOST:PORT/metrics or https://…");
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or_else(wrong)?;
    let whole = if rest.contains(['/', '?']) {
        text.to_owned()
    } else {
        format!("{text}{USUAL_PATH}")
    };
    let uri: Uri = whole.parse().map_err(|_| wrong())?;
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    has_host.then_some(uri).ok_or_else(wrong)
}

/// A metric of a service.
pub(crate) fn source(text: &str, subject: Subject) -> Result<Source, String> {
    Source::read(text, subject).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_host_and_a_path_and_no_credentials() {
        for (text, expected) in [
            (
                "http://127.0.0.1:9100",
                Some("http://127.0.0.1:9100/metrics"),
            ),
            ("http://[::1]:1/", Some("http://[::1]:1/")),
            ("https://a.example/p?x=1", Some("https://a.example/p?x=1")),
            ("", None),
            ("127.0.0.1:9100", None),
            ("http://", None),
            ("http:///metrics", None),
            ("unix:/run/a.sock", None),
            ("http://user:secret@host:1/", None),
            ("http://ho st/", None),
        ] {
            let found = page(text).map(|uri| uri.to_string());
            assert_eq!(found.as_deref().ok(), expected, "{text}: {found:?}");
        }
        let told = page("http://u:secret@host:1").expect_err("refused");
        assert!(!told.contains("secret"), "{told}");
    }
}
