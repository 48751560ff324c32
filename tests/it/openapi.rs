//! The OpenAPI document and the API that it describes: what one has, the other has, and real answers are as it says.

use serde_json::{Map, Value};

use crate::support::client::{self, Answer};
use crate::support::process::{Mirror, Place};
use crate::support::service::{self, Service};
use crate::support::{root, schema};

/// The document that is served, which is the committed one.
fn document() -> Value {
    parity_dashboards::server::openapi()
}

/// Each operation: its method, its path and what the document says of it.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let each = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, told)| (method.to_ascii_uppercase(), path.clone(), told.clone()))
    });
    each.collect()
}

#[test]
fn the_committed_document_is_that_of_the_handlers() {
    let path = root().join("docs/openapi.json");
    let text = serde_json::to_string_pretty(&document()).expect("JSON") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &text).expect("writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{} is not what the handlers say; run with UPDATE_SCHEMAS=1",
        path.display()
    );
}

/// Services that differ in many places of a few routes.
fn services() -> [Service; 2] {
    [0, 1].map(|side| {
        Service::start(move |request| {
            let route = request.target.split('/').nth(1).unwrap_or_default();
            let body = match route {
                "prices" => serde_json::json!({"price": 100 + side, "currency": "EUR"}),
                "names" => {
                    serde_json::json!({"name": if side == 0 { "a" } else { "b" }, "tags": [side]})
                }
                _ => serde_json::json!({"a": 1}),
            };
            service::Answer::json(body.to_string())
        })
    })
}

struct Stage<'a> {
    mirror: Mirror<'a>,
    document: Value,
    /// What stands for the parts of paths.
    named: Map<String, Value>,
}

impl<'a> Stage<'a> {
    fn new(place: &'a Place, services: &[Service; 2]) -> Self {
        place.write(
            "parity.toml",
            "[rollout]\ncandidate_percent = 0\n[[rule]]\nid = \"currency\"\npath = \"/currency\"\naction = \"ignore\"\n\
             [[rule]]\nid = \"idle\"\npath = \"/none\"\naction = \"ignore\"\n\
             [[rule]]\nid = \"still\"\npath = \"/nothing\"\naction = \"ignore\"\n",
        );
        let mirror = place.mirror(&services[0].url(), &services[1].url(), &[]);
        for number in 0..5 {
            mirror.get(&format!("/prices/{number}"));
            mirror.get(&format!("/names/{number}"));
            mirror.get(&format!("/equal/{number}"));
        }
        let report = mirror.settled(15);
        let mut named = Map::new();
        let group = &report.0["groups"][0];
        named.insert("fingerprint".to_owned(), group["fingerprint"].clone());
        named.insert("id".to_owned(), group["example_id"].clone());
        let route = encoded(group["route"].as_str().expect("a route"));
        named.insert("route".to_owned(), Value::from(route));
        named.insert("state".to_owned(), Value::from("off"));
        named.insert("to".to_owned(), Value::from("0"));
        Self {
            document: document(),
            mirror,
            named,
        }
    }

    /// The address of an operation, with its parts filled in.
    fn address(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for (name, value) in &self.named {
            path = path.replace(&format!("{{{name}}}"), value.as_str().expect("a text"));
        }
        path
    }

    fn ask(&self, method: &str, target: &str) -> Answer {
        client::send(self.mirror.admin, method, target, &[], b"")
    }

    /// Whether an answer is as the document says for its status.
    fn is_as_told(&self, told: &Value, target: &str, answer: &Answer) {
        let content = if answer.status == 200 {
            &told["responses"]["200"]["content"]
        } else {
            assert_eq!(
                told["responses"]["default"]["$ref"],
                "#/components/responses/Error"
            );
            &self.document["components"]["responses"]["Error"]["content"]
        };
        let schema = &content["application/json"]["schema"];
        assert!(schema.is_object(), "{target}: {told}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/json"),
            "{target}"
        );
        let wrong = schema::wrong(&self.document, schema, &answer.json());
        assert!(wrong.is_empty(), "{target}: {wrong:#?}");
    }
}

fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    });
    bytes.collect()
}

/// A value of a parameter, as the document shows it.
fn example(parameter: &Value) -> String {
    let example = &parameter["example"];
    let one = example.as_array().map_or(example, |all| &all[0]);
    one.as_str().map_or_else(|| one.to_string(), str::to_owned)
}

#[test]
fn real_answers_are_as_the_document_says() {
    let (place, services) = (Place::new(), services());
    let mut stage = Stage::new(&place, &services);
    let stored = stage.ask("POST", "/api/v1/gate").json();
    let mut checked = 0;
    for (method, path, told) in operations(&stage.document) {
        if told["responses"]["200"]["content"]["text/event-stream"].is_object() {
            continue;
        }
        if path.starts_with("/api/v1/decisions/") {
            stage.named["id"] = stored["decision_id"].clone();
        } else if path.starts_with("/api/v1/mismatches/") {
            let page = stage.ask("GET", "/api/v1/mismatches").json();
            stage.named["id"] = page["mismatches"][0]["id"].clone();
        }
        let target = stage.address(&path);
        let answer = stage.ask(&method, &target);
        assert_eq!(answer.status, 200, "{method} {target}: {}", answer.text());
        stage.is_as_told(&told, &target, &answer);
        checked += 1;
    }
    assert!(checked >= 20, "{checked}");
    // The short answer of the gate has the other form.
    let gate = stage.document["paths"]["/api/v1/gate"]["get"].clone();
    let brief = stage.ask("GET", "/api/v1/gate?brief=true");
    stage.is_as_told(&gate, "brief", &brief);
    // Something of each kind was in the answers, so that they were not right because they were empty.
    let ask = |target: &str| stage.ask("GET", target).json();
    let len = |of: &Value| of.as_array().map_or(0, Vec::len);
    assert!(len(&ask("/api/v1/causes")["causes"]) + len(&ask("/api/v1/groups")["groups"]) >= 2);
    assert_eq!(len(&ask("/api/v1/routes")["routes"]), 3);
    assert_eq!(ask("/api/v1/rules")["text"]["rules"][0]["id"], "currency");
    assert_eq!(len(&ask("/api/v1/health")["watermarks"]), 1);
    assert!(len(&ask("/api/v1/audit")["changes"]) >= 2);
    assert_eq!(ask("/api/v1/openapi.json"), stage.document);
    stage.mirror.stop();
}

#[test]
fn each_parameter_of_the_document_is_taken_and_no_other() {
    let (place, services) = (Place::new(), services());
    let stage = Stage::new(&place, &services);
    let mut taken = 0;
    for (method, path, told) in operations(&stage.document) {
        let target = stage.address(&path);
        let is_stream = told["responses"]["200"]["content"]["text/event-stream"].is_object();
        let unknown = stage.ask(&method, &format!("{target}?nonsense=1"));
        assert_eq!(unknown.status, 400, "{method} {target}");
        assert_eq!(unknown.json()["code"], "bad_request");
        stage.is_as_told(&told, &target, &unknown);
        // Reading is asked; what changes something says no to what is unknown before that.
        if method != "GET" || is_stream {
            continue;
        }
        let parameters = told["parameters"].as_array().expect("a list");
        let in_query = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query");
        for parameter in in_query {
            let name = parameter["name"].as_str().expect("a name");
            let query = format!("{target}?{name}={}", encoded(&example(parameter)));
            let answer = stage.ask("GET", &query);
            assert!(
                answer.status == 200 || answer.status == 404,
                "{query}: {}",
                answer.text()
            );
            stage.is_as_told(&told, &query, &answer);
            taken += 1;
        }
    }
    assert!(taken > 100, "{taken}");
    // A path that the document does not have is none, nor is another method.
    for (method, target, status, code) in [
        ("GET", "/api/v1/group", 404, "not_found"),
        ("POST", "/api/v1/report", 405, "method_not_allowed"),
        ("GET", "/api/v1/shadowing/off", 405, "method_not_allowed"),
        ("POST", "/api/v1/shadowing/half", 404, "not_found"),
        ("GET", "/api/v1/groups/none", 404, "not_found"),
        ("GET", "/api/v1/routes/GET%20%2Fnone", 404, "not_found"),
        ("GET", "/api/v1/rules?limit=0", 400, "bad_request"),
        ("GET", "/api/v1/known?after=x", 400, "bad_request"),
        ("GET", "/api/v1/causes?migration=none", 404, "not_found"),
        ("GET", "/api/v1/groups?page=2", 400, "bad_request"),
        ("GET", "/api/v1/groups?limit=1001", 400, "bad_request"),
        ("GET", "/api/v1/groups?kind=odd", 400, "bad_request"),
    ] {
        let answer = stage.ask(method, target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert_eq!(answer.json()["code"], code, "{target}");
    }
    stage.mirror.stop();
}

#[test]
fn lists_are_read_to_their_end_by_the_link_of_each_page() {
    let (place, services) = (Place::new(), services());
    let stage = Stage::new(&place, &services);
    stage.ask("POST", "/api/v1/gate");
    stage.ask("POST", "/api/v1/shadowing/off");
    for (path, list) in [
        ("/api/v1/groups?tab=all", "groups"),
        ("/api/v1/routes?", "routes"),
        ("/api/v1/causes?", "causes"),
        ("/api/v1/noise?", "noise"),
        ("/api/v1/rules?", "idle"),
        ("/api/v1/known?", "not_known"),
        ("/api/v1/mismatches?", "mismatches"),
        ("/api/v1/decisions?", "decisions"),
        ("/api/v1/audit?", "changes"),
    ] {
        let whole = stage.ask("GET", path).json()[list].clone();
        let whole = whole.as_array().expect("a list");
        let mut read = Vec::new();
        let mut next = Some(format!("{path}&limit=2"));
        while let Some(target) = next {
            assert!(read.len() <= whole.len(), "{path} has no end");
            let answer = stage.ask("GET", &target);
            assert_eq!(answer.status, 200, "{target}: {}", answer.text());
            let page = answer.json();
            read.extend(page[list].as_array().expect("a list").iter().cloned());
            let link = answer.header("link");
            assert_eq!(link.is_some(), page["next"].is_string(), "{target}");
            next = link.map(|link| {
                let to = link
                    .strip_prefix('<')
                    .and_then(|link| link.strip_suffix(">; rel=\"next\""));
                to.expect(link).to_owned()
            });
        }
        let ids = |of: &[Value]| of.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
        assert_eq!(read.len(), whole.len(), "{path}");
        assert_eq!(ids(&read), ids(whole), "{path}");
    }
    // All that is told of a rule is on one page.
    let ask = |target: &str| stage.ask("GET", target).json();
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = ask(&format!("/api/v1/rules?limit=1{after}"));
        assert_eq!(page["total"], 3);
        let rules = page["text"]["rules"].as_array().expect("a list");
        assert_eq!(rules.len(), 1, "{page}");
        let (hits, idle) = (&page["hits"][0]["id"], &page["idle"][0]["id"]);
        let told = [hits, idle].into_iter().find(|id| id.is_string());
        assert_eq!(told, Some(&rules[0]["id"]), "{page}");
        seen.push(rules[0]["id"].as_str().expect("an id").to_owned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["currency", "idle", "still"]);
    let known = ask("/api/v1/known?limit=1");
    assert_eq!(
        (known["not_known"].as_array().map(Vec::len), &known["total"]),
        (Some(1), &3.into())
    );
    // Filters are those of the screen.
    let groups = |query: &str| {
        let page = stage.ask("GET", &format!("/api/v1/groups?{query}")).json();
        page["total"].as_u64().expect("a count")
    };
    let all = groups("tab=all");
    assert!(all >= 2, "{all}");
    assert_eq!(groups("route=GET%20/prices/%7Bid%7D"), 1);
    assert_eq!(groups("find=/price"), 1);
    assert_eq!(groups("kind=value"), all);
    assert_eq!(groups("kind=order"), 0);
    assert_eq!(groups("tab=known"), 0);
    stage.mirror.stop();
}
