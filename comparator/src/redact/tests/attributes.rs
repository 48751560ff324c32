//! A text in every position of an exchange that is counted as an attribute.

use std::collections::BTreeSet;

use super::*;

/// All that is counted of exchanges that have this text as the name of a parameter, as the client, as a type, in a listed
/// header and as the instance of the candidate, with blanks as such and as a query writes them.
pub(super) fn counted(redactor: &Redactor, text: &[u8]) -> BTreeSet<String> {
    let config = AttributeConfig {
        headers: vec![HeaderName::from_static("x-tenant")],
        candidate_instance: Some(HeaderName::from_static("x-pod")),
    };
    let mut exchange = exchange("/x", &[], b"", answer(&[], b""), answer(&[], b""));
    for name in ["user-agent", "content-type", "x-tenant"] {
        exchange
            .request
            .headers
            .push(HeaderName::from_static(name), text);
    }
    let pod = HeaderName::from_static("x-pod");
    exchange.candidate.headers.push(pod, text);
    let query = String::from_utf8_lossy(text);
    let mut found = BTreeSet::new();
    for target in [
        format!("/x?{query}"),
        format!("/x?{query}=1"),
        format!("/x?a=1&{}=1", query.replace(' ', "+")),
    ] {
        exchange.request.target = target.into();
        config.each(&exchange, |place, value| {
            found.insert(config.shown(redactor, place, value).to_owned());
        });
    }
    found
}

/// Keys of services, cards and the like, which are hidden wherever they stand.
#[test]
fn what_the_record_hides_is_hidden_at_every_position() {
    let redactor = plain();
    for text in [
        "4111-1111-1111-1111",
        "4111 1111 1111 1111",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-SEKAabcdefghijklmnop",
        "AIzaSEKAabcdefghijklmnopqrstuvwxyzabcde",
        "npm_SEKAabcdefghijklmnopqrstuvwxyz",
        "SG.SEKAabcdefghijklmnop.qrstuvwxyz",
        "hvs.SEKAabcdefghijklmnopqrst",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SEKA",
        "DE89 3704 0044 0532 0130 00",
        "DE89370400440532013000",
        "token:SEKAb7",
        "alice:SEKApw",
        "password: SEKApw",
        "password:SEKApw",
        "Bearer SEKAhunter2a",
        "Basic SEKAhunter2a",
        "Your code: 493817",
        "mysql -pSEKApw",
        "curl -u ada:SEKApw",
        "https://ada:SEKApw@example.org/",
        "ada@example.org",
    ] {
        for text in [
            text.to_owned(),
            format!("{text}/1.0"),
            format!("gold {text}"),
            format!("gold, {text}"),
        ] {
            let counted = counted(&redactor, text.as_bytes());
            for part in [
                "SEKA",
                "4111",
                "AKIA",
                "DE89",
                "493817",
                "example.org",
                "eyJ",
            ] {
                assert!(
                    !counted.iter().any(|value| value.contains(part)),
                    "{text}: {counted:?}"
                );
            }
        }
    }
}

#[test]
fn what_is_no_secret_is_counted_at_every_position() {
    let redactor = plain();
    for text in [
        "gold",
        "page",
        "checkout-7d9f8c6b5-x2x9z",
        "user.name",
        "is_new-user",
        "Password",
        "token",
    ] {
        let counted = counted(&redactor, text.as_bytes());
        let mut own: BTreeSet<&str> = counted.iter().map(String::as_str).collect();
        // Of the request itself, and the parameter before it.
        for word in ["GET", "empty", "200", "1.1", "a"] {
            own.remove(word);
        }
        assert_eq!(own, BTreeSet::from([text]));
    }
}
