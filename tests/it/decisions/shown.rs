//! Decisions on the API and on pages.

use serde_json::Value;

use super::{counted, decide};

#[test]
fn decisions_are_on_the_api_and_on_pages_and_hostile_text_stays_text() {
    let place = counted();
    let (gate, id) = decide(&place);
    let connection = rusqlite::Connection::open(place.path().join("parity.db")).expect("it opens");
    let hostile = "<script>alert(1)</script>\u{202e}";
    let document = gate.stdout.replace("set on read", hostile);
    let mut document: Value = serde_json::from_str(&document).expect("JSON");
    document["headline"] = hostile.into();
    document["reasons"] = serde_json::json!([hostile]);
    let set = connection.execute("UPDATE decisions SET document = ?1", [document.to_string()]);
    assert_eq!(set.expect("it is set"), 1);
    let set = connection.execute(
        "UPDATE terms SET rules = replace(rules, 'set on read', ?1)",
        [hostile],
    );
    assert_eq!(set.expect("it is set"), 1);
    let ui = place.ui();
    let list = ui.ask("/api/v1/decisions?limit=1");
    assert_eq!(list.json()["schema"], "parity.decisions/v1");
    assert_eq!(list.json()["decisions"][0]["id"], id);
    assert_eq!(ui.ask(&format!("/api/v1/decisions/{id}")).json(), document);
    for (path, status) in [
        ("/api/v1/decisions/nonsense", 400),
        (
            "/api/v1/decisions/0190a0b0-0000-7000-8000-000000000000",
            404,
        ),
        ("/api/v1/decisions?limit=0", 400),
        ("/api/v1/decisions?outcome=passed", 400),
        ("/api/v1/decisions?after=x", 400),
        ("/api/v1/decisions?nonsense=1", 400),
        ("/decisions/0190a0b0-0000-7000-8000-000000000000", 404),
        ("/decisions?after=x", 400),
    ] {
        assert_eq!(ui.ask(path).status, status, "{path}");
    }
    let overview = ui.ask("/report").text();
    assert!(
        overview.contains("href=\"/decisions?migration=default\""),
        "{overview}"
    );
    let list = ui.ask("/decisions").text();
    assert!(
        list.contains(&format!("href=\"/decisions/{id}\"")),
        "{list}"
    );
    let one = ui.ask(&format!("/decisions/{id}")).text();
    assert!(
        one.contains("GET /items/{id}") && one.contains("/**/stamp"),
        "{one}"
    );
    for page in [list, one] {
        assert!(
            !page.contains("<script>") && !page.contains('\u{202e}'),
            "{page}"
        );
        assert!(page.contains("alert(1)"), "{page}");
    }
    let empty = ui.ask("/decisions?migration=other").text();
    assert!(empty.contains("None is stored of other"), "{empty}");
}
