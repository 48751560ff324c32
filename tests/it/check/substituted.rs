//! What `[[substitute]]` puts into the requests of a check.

use serde_json::json;

use super::{answer, check, expects, line};
use crate::support::process::Place;
use crate::support::service::{Answer, Service};

/// Gives out a token, and refuses whoever has another one.
fn strict() -> Service {
    Service::start(|request| {
        let bearer = request.header("authorization");
        match &*request.target {
            "/login" => Answer::json(r#"{"token":"MintedXq7"}"#),
            "/me" if bearer == Some("Bearer MintedXq7") => Answer::json(r#"{"me":1}"#),
            "/me" => Answer::new(401, "{}").header("content-type", "application/json"),
            _ => Answer::json("{}"),
        }
    })
}

#[test]
fn a_value_is_set_where_the_file_hides_it() {
    let hash = "hmac:0123456789abcdef0123456789abcdef";
    let login = line(
        "/login",
        &json!({"response": answer(200, &format!("{{\"token\":\"{hash}\"}}"), &["body/token"])}),
    );
    let hidden = json!({
        "headers": [["authorization", hash]],
        "hidden": ["header/authorization"],
        "response": answer(200, r#"{"me":1}"#, &[]),
    });
    let me = line("/me", &hidden);
    let open = expects("/open", "{}");
    let of_file = "[[substitute]]\nput = \"header:authorization\"\nfile = \"key\"\n";
    let minted = "[[substitute]]\nfrom = \"GET /login\"\ntake = \"body:/token\"\nput = \"header:authorization\"\nas = \"Bearer {}\"\n";
    let for_legacy = format!("{of_file}service = \"legacy\"\n");
    for (rules, file, code, asked, told) in [
        ("", format!("{open}{me}"), 3, 1, ""),
        (of_file, format!("{open}{me}"), 0, 2, ""),
        (&*for_legacy, format!("{open}{me}"), 3, 1, ""),
        (minted, format!("{login}{me}"), 0, 2, ""),
        // Before it was given out.
        (
            minted,
            format!("{me}{login}"),
            3,
            1,
            "never applied: no answer before had the value",
        ),
        (
            of_file,
            open.clone(),
            0,
            1,
            "never applied: no request that was asked has this part",
        ),
    ] {
        let place = Place::new();
        let service = strict();
        place.write("key", "Bearer MintedXq7\n");
        place.write("parity.toml", rules);
        place.write("samples.ndjson", &file);
        let (ended, document) = check(&place, &service.url(), &[]);
        assert_eq!(
            ended.code, code,
            "{rules}{file}{} {}",
            ended.stdout, ended.stderr
        );
        let found = document.expect("a document");
        assert_eq!(found.asked, asked, "{rules}{file}");
        let lacks = u64::from(code == 3);
        assert_eq!(
            found
                .needed
                .get("header/authorization")
                .copied()
                .unwrap_or(0),
            lacks
        );
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        let warns = ended.stderr.contains("never applied");
        assert_eq!(warns, !told.is_empty(), "{}", ended.stderr);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains("MintedXq7"), "{all}");
    }
    // A value that is not there is an error before anything is asked.
    let place = Place::new();
    let service = strict();
    place.write("parity.toml", of_file);
    place.write("samples.ndjson", &open);
    let (ended, _) = check(&place, &service.url(), &[]);
    assert_eq!((ended.code, service.seen()), (2, 0), "{}", ended.stderr);
}
