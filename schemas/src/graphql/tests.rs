//! What is read of requests, and above all what is never taken for a query.

use proptest::prelude::*;

use super::*;

const JSON: &[u8] = b"application/json";

/// The label and the access of a POST with this JSON.
fn posted(body: &str) -> (String, Access) {
    let operation = Operation::of_body(JSON, None, body.as_bytes());
    (operation.label().to_owned(), operation.access())
}

/// Those of a document alone.
fn document(text: &str) -> (String, Access) {
    posted(&serde_json::json!({ "query": text }).to_string())
}

fn told(label: &str, access: Access) -> (String, Access) {
    (label.to_owned(), access)
}

#[test]
fn the_operation_that_is_asked_for_is_named() {
    for (text, label, access) in [
        ("{ a }", "query", Access::Reads),
        ("query { a }", "query", Access::Reads),
        (
            "query Orders($n: Int = 3 @d(x: {a: [1]})) @live { a(n: $n) }",
            "query Orders",
            Access::Reads,
        ),
        (
            "\u{feff}# mutation\r\nquery Orders{a}",
            "query Orders",
            Access::Reads,
        ),
        (
            "fragment F on T { b } query Orders { ...F }",
            "query Orders",
            Access::Reads,
        ),
        (
            "\"\"\"what \\\"\"\" it does }\"\"\" query Orders { a(t: \"} mutation {\") }",
            "query Orders",
            Access::Reads,
        ),
        (
            "mutation Pay { pay { id } }",
            "mutation Pay",
            Access::Writes,
        ),
        ("subscription { a }", "subscription", Access::Streams),
        ("query query { query }", "query query", Access::Reads),
        // Names that hold values.
        ("query Order_20260131 { a }", "query {name}", Access::Reads),
        (
            "mutation M_3fa85f6457174562b3fc2c963f66afa6 { a }",
            "mutation {name}",
            Access::Writes,
        ),
        ("query OrdersV2 { a }", "query OrdersV2", Access::Reads),
    ] {
        assert_eq!(document(text), told(label, access), "{text}");
    }
    let long = format!("query {} {{ a }}", "N".repeat(5_000));
    assert_eq!(document(&long), told("query {name}", Access::Reads));
    let named = r#"{"query":"query A { a } query B { b }","operationName":"B","variables":{"query":"mutation"}}"#;
    assert_eq!(posted(named), told("query B", Access::Reads));
}

/// Each spelling of each name that a server with names of any case reads, wherever it may stand.
#[test]
fn a_member_in_a_spelling_that_only_some_servers_read_makes_a_body_unknown() {
    const HASH: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let stored =
        |outer: &str, inner: &str| format!(r#"{{"{outer}":{{"version":1,"{inner}":"{HASH}"}}}}"#);
    let exact = format!(r#""extensions":{}"#, stored("persistedQuery", "sha256Hash"));
    let mut members = Vec::new();
    for (name, value) in [
        ("query", r#""mutation Pay { pay }""#.to_owned()),
        ("operationName", r#""Pay""#.to_owned()),
        ("documentId", r#""1""#.to_owned()),
        ("extensions", stored("persistedQuery", "sha256Hash")),
    ] {
        let each = spellings(name).into_iter();
        members.extend(each.map(|name| format!(r#""{name}":{value}"#)));
    }
    for outer in spellings("persistedQuery") {
        members.push(format!(r#""extensions":{}"#, stored(&outer, "sha256Hash")));
    }
    for inner in spellings("sha256Hash") {
        members.push(format!(
            r#""extensions":{}"#,
            stored("persistedQuery", &inner)
        ));
    }
    assert!(members.len() > 30);
    for member in &members {
        let mut bodies = vec![
            format!("{{{member}}}"),
            format!(r#"{{"query":"query A {{ a }}",{member}}}"#),
            format!(r#"{{{member},"query":"query A {{ a }}"}}"#),
            format!(r#"[{{"query":"query A {{ a }}"}},{{{member}}}]"#),
        ];
        if !member.starts_with(r#""extensions""#) {
            bodies.push(format!("{{{exact},{member}}}"));
        }
        for body in bodies {
            assert_eq!(posted(&body).1, Access::Unknown, "{body}");
        }
    }
    // What is told in one way only stays what it is.
    for (body, access) in [
        (
            r#"{"query":"query A { a }","variables":{"Query":"mutation"},"extensions":{"client":{"Query":1}}}"#,
            Access::Reads,
        ),
        (
            r#"{"query":"query A { a }","extensions":{"persistedQuery":null}}"#,
            Access::Reads,
        ),
        (&format!("{{{exact}}}"), Access::Untold),
        (&format!(r#"{{{exact},"docId":"2"}}"#), Access::Unknown),
        (
            r#"{"query":"query A { a }","Variables":{}}"#,
            Access::Unknown,
        ),
    ] {
        assert_eq!(posted(body).1, access, "{body}");
    }
}

/// Other spellings of a name, which some servers take for it.
fn spellings(name: &str) -> Vec<String> {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let title: String = first.into_iter().chain(letters).collect();
    let parted = |sign: &str| {
        let mut out = String::new();
        for letter in name.chars() {
            if letter.is_ascii_uppercase() {
                out.push_str(sign);
            }
            out.push(letter.to_ascii_lowercase());
        }
        out
    };
    let all = [
        title,
        name.to_uppercase(),
        name.to_lowercase(),
        parted("_"),
        parted("-"),
        name.replace('s', "\u{17f}"),
        format!("{name}\\u0000"),
        format!("{name} "),
    ];
    all.into_iter().filter(|other| other != name).collect()
}

#[test]
fn what_could_be_a_mutation_is_never_said_to_read() {
    for body in [
        // A mutation beside what is asked for.
        r#"{"query":"query A { a } mutation B { b }","operationName":"A"}"#,
        r#"{"query":"query A { a } mutation A { b }","operationName":"A"}"#,
        // Which one is asked for is open.
        r#"{"query":"query A { a } query B { b }"}"#,
        r#"{"query":"query A { a }","operationName":"B"}"#,
        r#"{"query":"{ a }","operationName":7}"#,
        // A member twice, also under an escape.
        r#"{"query":"{ a }","query":"mutation { b }"}"#,
        r#"{"query":"mutation { b }","qu\u0065ry":"{ a }"}"#,
        // Another member may name another document.
        r#"{"query":"{ a }","doc_id":"1"}"#,
        r#"{"query":"{ a }","documentId":"1"}"#,
        r#"{"query":"{ a }","documentId":"1","extensions":{"persistedQuery":{"sha256Hash":"2"}}}"#,
        r#"{"query":"{ a }","extensions":{"persistedQuery":{"sha256Hash":"deadbeef"}}}"#,
        r#"{"query":"{ a }","extensions":7}"#,
        r#"{"doc_id":"1"}"#,
        r#"{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}}"#,
        // Escapes of JSON.
        r#"{"query":"mut\u0061tion { b }"}"#,
        r#"{"query":"\ud800"}"#,
        r#"{"query":["{ a }"]}"#,
        r#"{"query":"{ a }"} {"query":"mutation { b }"}"#,
        r#"[{"query":"{ a }"},{"query":"mutation { b }"}]"#,
        r#"[{"query":"{ a }"},["mutation { b }"]]"#,
        "[]",
        "[[[[",
        "{",
        "null",
        "",
        "\u{0}\u{1}",
        "query=mutation",
    ] {
        assert_ne!(posted(body).1, Access::Reads, "{body}");
    }
    for text in [
        "",
        "query",
        "query A",
        "query A {",
        "query A { a ) }",
        "query A { a } }",
        "query A [ { a } ]",
        "Mutation { a }",
        "mutation{ a }",
        "query A { a } extend type T { a: Int }",
        "type T { a: Int }",
        "fragment F on T { a }",
        "fragment on on T { a } { a }",
        "{ a(t: \"x) }",
        "{ a(t: \"x\ny\") } mutation { b }",
        "{ a(t: \"\"\"x) }",
        "{ a .. b }",
        "{ a; }",
        "{ ä }",
        // Where a comment ends depends on who reads it.
        "{ a } #\rmutation { b }",
        "{ a } #\u{2028}mutation { b }",
        "{ a } #\u{85}mutation { b }",
        "{ a }\u{a0}{ b }",
    ] {
        let (_, access) = document(text);
        assert!(access > Access::Untold, "{text}: {access:?}");
    }
}

#[test]
fn stored_documents_are_told_apart_by_their_hash() {
    let text = "query Orders { orders { id } }";
    let hash = format!("1a2b3c4d5e6f{:052x}", 7);
    let by_hash = |more: &str| {
        posted(&format!(
            r#"{{{more}"extensions":{{"clientLibrary":{{}},"persistedQuery":{{"version":1,"sha256Hash":"{hash}"}}}}}}"#
        ))
    };
    assert_eq!(by_hash(""), told("persisted 1a2b3c4d5e6f", Access::Untold));
    assert_eq!(
        by_hash(r#""operationName":"Orders","#),
        told("persisted Orders 1a2b3c4d5e6f", Access::Untold)
    );
    assert_eq!(
        by_hash(r#""operationName":"<script>","#),
        told("persisted 1a2b3c4d5e6f", Access::Untold)
    );
    let id = format!(r#"{{"documentId":"sha256:{hash}"}}"#);
    assert_eq!(posted(&id), told("persisted 1a2b3c4d5e6f", Access::Untold));
    // With the text of that hash, it is that text.
    let own: Vec<String> = Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    for (hash, access) in [(own.concat(), Access::Reads), (hash, Access::Unknown)] {
        let body = serde_json::json!({"query": text, "extensions": {"persistedQuery": {"sha256Hash": hash}}});
        assert_eq!(posted(&body.to_string()), told("query Orders", access));
    }
}

#[test]
fn a_batch_is_as_grave_as_its_gravest() {
    for (body, label, access) in [
        (
            r#"[{"query":"{ a }"},{"query":"query B { b }"}]"#,
            "query batch",
            Access::Reads,
        ),
        (
            r#"[{"query":"{ a }"},{"query":"mutation { b }"}]"#,
            "mutation batch",
            Access::Writes,
        ),
        (
            r#"[{"query":"subscription { a }"},{"query":"mutation { b }"}]"#,
            "subscription batch",
            Access::Streams,
        ),
        (r#"[{"query":"{ a }"},{}]"#, "unknown batch", Access::Untold),
    ] {
        assert_eq!(posted(body), told(label, access), "{body}");
    }
    let many = format!(
        "[{}]",
        vec![r#"{"query":"{ a }"}"#; MAX_BATCH + 1].join(",")
    );
    assert_eq!(posted(&many), told("unknown", Access::Unknown));
}

#[test]
fn queries_in_the_address() {
    for (query, label, access) in [
        ("query=%7B+a+%7D", "query", Access::Reads),
        (
            "query=query%20Orders%7Ba%7D&operationName=Orders&variables=%7B%7D",
            "query Orders",
            Access::Reads,
        ),
        ("query=mutation%7Ba%7D", "mutation", Access::Writes),
        ("query={a}&query=mutation{b}", "unknown", Access::Unknown),
        ("%71uery=mutation{b}", "mutation", Access::Writes),
        ("query=%ff", "unknown", Access::Unknown),
        ("query={a}&extensions=%7B", "unknown", Access::Unknown),
        ("", "unknown", Access::Untold),
        ("id=7", "unknown", Access::Untold),
        ("query={a}&id=7", "query", Access::Unknown),
        // Some servers read the second one.
        ("query={a}&Query=mutation{b}", "unknown", Access::Unknown),
        ("query={a}&query[]=mutation{b}", "unknown", Access::Unknown),
        ("v=1;query=mutation{b}", "unknown", Access::Unknown),
        ("query={a}&+query=mutation{b}", "unknown", Access::Unknown),
    ] {
        let operation = Operation::of_query(Some(query));
        assert_eq!(
            (operation.label(), operation.access()),
            (label, access),
            "{query}"
        );
    }
    let body = br#"{"query":"query Orders { a }"}"#;
    for (query, access) in [
        ("operationName=Orders", Access::Reads),
        ("v=2", Access::Reads),
        ("operationName=Other", Access::Unknown),
        ("query=mutation{b}", Access::Unknown),
        ("Query=mutation{b}", Access::Unknown),
        ("a=1;query=mutation{b}", Access::Unknown),
        ("id=7", Access::Unknown),
    ] {
        assert_eq!(
            Operation::of_body(JSON, Some(query), body).access(),
            access,
            "{query}"
        );
    }
}

/// Names that are another one for some server: one that tells a document.
const DOUBTFUL: &str = "query QUERY Query qUERY %51uery query%00 query%00x %00query query%0a query%09 +query query+ query%20 query%C2%A0 query[] \
    query[0] query[a][b] query%5B%5D query[ query] [query] []query query. .query query.a ?query %3Fquery $query query: \
    %22query%22 'query' query%3D query%26 query%23 query%3B query/ query%2500 %2571uery qu%2565ry %25u0071uery \
    query%E2%80%8B %EF%BB%BFquery %EF%BD%91uery que%CC%88ry q%C3%BCery operationname operationName[] operation_name \
    operationName%00 documentid documentId[] document.id document_id extensions[persistedQuery][sha256Hash] Extensions x%26query x%3Bquery x%3D1 \
    exten%C5%BFions ID id[] i.d doc.id doc+id docid doc-id query.id queryid hash[] HASH hash%00";
/// Names that nobody takes for another one.
const CLEAR: &str = "variables variables[query] variables[id] v utm_source user.id user[id] query_hash queries requery x-query cache-id _ \
    a%20b";

/// Beside a query that is read as one, each of these is a mutation for some server.
#[test]
fn a_parameter_that_some_server_takes_for_another_one_makes_the_address_unreadable() {
    for name in DOUBTFUL.split_ascii_whitespace() {
        for query in [
            format!("query={{a}}&{name}=mutation{{b}}"),
            format!("{name}=mutation{{b}}&query={{a}}"),
            format!("{name}=&query={{a}}"),
            format!("query={{a}}&{name}"),
        ] {
            let operation = Operation::of_query(Some(&query));
            assert!(operation.access() > Access::Untold, "{query}");
        }
        // With a body that is a query, too.
        let body = br#"{"query":"{ a }"}"#;
        let query = format!("{name}=mutation{{b}}");
        let operation = Operation::of_body(JSON, Some(&query), body);
        assert!(operation.access() > Access::Untold, "{query}");
    }
    for name in CLEAR.split_ascii_whitespace().chain([""]) {
        let query = format!("query={{a}}&{name}=mutation{{b}}");
        let operation = Operation::of_query(Some(&query));
        assert_eq!(operation.access(), Access::Reads, "{query}");
    }
}

#[test]
fn a_value_that_may_be_decoded_once_more_or_cut_is_not_read() {
    for value in [
        // A comment for who decodes once; its end for who decodes twice.
        "%23%250Amutation{b}%250Afragment+F+on+T%0A{a}",
        "%23%25u000Amutation{b}%0A{a}",
        "{a}%00",
        "{a(t:%22%2541%22)}",
        "mutation{b}%00{a}",
        "%257Ba%257D",
        "{a}%2526query=mutation{b}",
    ] {
        let query = format!("query={value}");
        let operation = Operation::of_query(Some(&query));
        assert!(operation.access() > Access::Untold, "{query}");
    }
    for value in [
        "{a(t:%22100%25%22)}",
        "{a(t:%22%25+b%22)}",
        "{a(t:%22%C3%A9%22)}",
    ] {
        let query = format!("query={value}");
        assert_eq!(
            Operation::of_query(Some(&query)).access(),
            Access::Reads,
            "{query}"
        );
    }
    for query in [
        "query={a}&extensions={}&extensions={}",
        "extensions={}&extensions=%7B%22persistedQuery%22:%7B%22sha256Hash%22:%22aa%22%7D%7D&query={a}",
        "query={a}&operationName=&operationName=B",
        "query={a}&documentId=&documentId=1",
    ] {
        assert_eq!(
            Operation::of_query(Some(query)).access(),
            Access::Unknown,
            "{query}"
        );
    }
}

#[test]
fn only_the_types_of_graphql_are_read() {
    for (media, body, access) in [
        ("application/json", r#"{"query":"{ a }"}"#, Access::Reads),
        (
            "Application/JSON ; Charset=UTF-8",
            r#"{"query":"{ a }"}"#,
            Access::Reads,
        ),
        ("application/graphql", "{ a }", Access::Reads),
        (
            "application/graphql",
            r#"{"query":"{ a }"}"#,
            Access::Unknown,
        ),
        (
            "application/graphql",
            r#"{"query":"mutation { a }"}"#,
            Access::Unknown,
        ),
        ("application/json", "{ a }", Access::Unknown),
        (
            "application/json; charset=utf-16",
            r#"{"query":"{ a }"}"#,
            Access::Unknown,
        ),
        ("text/plain", r#"{"query":"{ a }"}"#, Access::Unknown),
        ("", r#"{"query":"{ a }"}"#, Access::Unknown),
    ] {
        let operation = Operation::of_body(media.as_bytes(), None, body.as_bytes());
        assert_eq!(operation.access(), access, "{media} {body}");
    }
}

#[test]
fn large_and_deep_texts_end_quickly() {
    let aliases = "a1: b ".repeat(10_000);
    assert_eq!(
        document(&format!("query Many {{ {aliases} }}")),
        told("query Many", Access::Reads)
    );
    let deep = format!("{}a{}", "{a".repeat(100_000), "}".repeat(100_000));
    assert_eq!(document(&deep).1, Access::Unknown);
    let megabyte = format!("query Large {{ a(t: \"{}\") }}", "x".repeat(1 << 20));
    assert_eq!(document(&megabyte), told("unknown", Access::Unknown));
    let variables = format!(
        r#"{{"query":"{{ a }}","variables":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(posted(&variables), told("query", Access::Reads));
}

proptest! {
    #[test]
    fn nothing_panics_and_labels_are_bounded_and_plain(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[ -~\\n\"{}()#@$\u{e9}]{0,80}") {
        for operation in [
            Operation::of_body(JSON, None, &bytes),
            Operation::of_body(b"application/graphql", Some(&text), &bytes),
            Operation::of_body(b"application/graphql", None, text.as_bytes()),
            Operation::of_body(JSON, None, serde_json::json!({"query": "{ a }", "operationName": text}).to_string().as_bytes()),
            Operation::of_query(Some(&text)),
        ] {
            let label = operation.label();
            prop_assert!(label.len() <= "subscription".len() + 1 + MAX_NAME_BYTES + 1 + HASH_DIGITS);
            prop_assert!(label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ {}".contains(&byte)), "{}", label);
        }
    }

    #[test]
    fn a_mutation_is_seen_wherever_it_stands(before in "[ \\n,{}a()\"#]{0,20}", after in "[ \\n,{}a()\"#]{0,20}") {
        let text = format!("{before} mutation {{ b }} {after}");
        let is_inside = before.contains(['#', '"', '{', '(']);
        let (_, access) = document(&text);
        prop_assert!(is_inside || access > Access::Untold, "{}", text);
    }
}

#[test]
fn a_document_of_too_many_operations_is_not_taken_for_what_its_first_ones_are() {
    let many = |count: usize| "query A { a } ".repeat(count) + "query B { b }";
    let body = |count| {
        let query = many(count);
        serde_json::json!({ "query": query, "operationName": "B" }).to_string()
    };
    assert_eq!(posted(&body(MAX_BATCH - 1)), told("query B", Access::Reads));
    assert_eq!(posted(&body(MAX_BATCH)), told("query B", Access::Unknown));
    let last = many(10_000) + " mutation C { c }";
    let body = serde_json::json!({ "query": last, "operationName": "B" }).to_string();
    let operation = Operation::of_body(JSON, None, body.as_bytes());
    assert!(operation.parts().len() <= MAX_BATCH + 1);
    assert_eq!(operation.access(), Access::Unknown);
}

#[test]
fn what_a_mutation_asks_for_is_told_only_if_its_text_tells_all_of_it() {
    let asks = |text: &str, fields: &[&str]| {
        let body = serde_json::json!({ "query": text }).to_string();
        let operation = Operation::of_body(JSON, None, body.as_bytes());
        let fields: Vec<Box<str>> = fields.iter().copied().map(Box::from).collect();
        let mut parts = operation.parts().iter();
        parts.all(|part| part.asks_only_for(&fields))
    };
    for text in [
        "mutation { quote }",
        "mutation { pay: quote, quote }",
        "mutation M($a: In = {pay: 1}) @pay { quote(pay: {pay: [$a]}) @pay(if: true) @b { pay: pay } __typename }",
        "mutation { quote # pay\n }",
    ] {
        assert!(asks(text, &["quote"]), "{text}");
        assert!(!asks(text, &["other"]), "{text}");
    }
    for text in [
        "mutation { pay }",
        "mutation { quote: pay }",
        "mutation { quote, pay }",
        "mutation { quote @a pay }",
        "mutation { quote(a: 1) pay }",
        "mutation { quote { a } pay }",
        "mutation { ... { pay } }",
        "mutation { ...quote }",
        "mutation { quote: quote: pay }",
        "mutation { quote : @pay }",
        "mutation { : quote }",
        "mutation { }",
        "query { quote }",
        "mutation { quote } mutation B { pay }",
    ] {
        assert!(!asks(text, &["quote"]), "{text}");
    }
    let long = "quote ".repeat(1_000);
    assert!(!asks(&format!("mutation {{ {long} }}"), &["quote"]));
}

proptest! {
    /// Each label that a request can get names a route, and is written there as it is.
    #[test]
    fn every_label_can_be_named(name in "[_A-Za-z][_A-Za-z0-9]{0,80}", word in "query|mutation|subscription") {
        let (label, _) = document(&format!("{word} {name} {{ a }}"));
        let label_again = operation_label(&label);
        prop_assert_eq!(label_again.as_deref(), Some(&*label));
        let stored = stored(&"1a2B3c4d".repeat(8), Some(&name));
        let label_again = operation_label(stored.label());
        prop_assert_eq!(label_again.as_deref(), Some(stored.label()));
    }
}
