//! The API as it is registered, and its OpenAPI document.
//!
//! An endpoint is registered once, with its path, its handler, the type that reads its parameters and the type of its answer.
//! The router and the document are both made of that, so neither has a path or a parameter that the other lacks. What a
//! registration does not name as a parameter is refused before the handler.

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use parity_schemas::documents::ErrorDocument;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::answer::ErrorAnswer;
use super::parameters::{Parameters, asked, asked_of};
use crate::question::{Form, PARTS};

/// Where the document is served.
pub(super) const PATH: &str = "/api/v1/openapi.json";

/// What an endpoint answers.
#[derive(Clone, Copy)]
enum Answer {
    Json(fn(&mut SchemaGenerator) -> Schema),
    Events,
}

/// One endpoint.
pub(super) struct Operation {
    method: Method,
    path: &'static str,
    about: &'static str,
    parameters: Vec<Parameter>,
    answer: Answer,
}

/// A parameter of the query.
struct Parameter {
    name: String,
    is_repeated: bool,
    named: Named,
}

/// The type of a parameter, what it means, and a value that it takes.
type Named = (&'static str, &'static str, &'static str);

/// Endpoints, as routes and as operations of the document.
pub(super) struct Api<S> {
    router: Router<S>,
    operations: Vec<Operation>,
}

/// An endpoint without parameters.
#[derive(Debug, Default)]
pub(super) struct Nothing;

impl Parameters for Nothing {
    fn known() -> Vec<String> {
        Vec::new()
    }

    fn read(&mut self, _name: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Refuses what is no parameter, or wrong.
async fn only<P: Parameters>(request: Request, next: Next) -> Response {
    let wrong = asked::<P>(request.uri()).err();
    match wrong {
        None => next.run(request).await,
        Some(wrong) => ErrorAnswer::bad(wrong).into_response(),
    }
}

impl<S: Clone + Send + Sync + 'static> Api<S> {
    pub(super) fn new() -> Self {
        Self {
            router: Router::new(),
            operations: Vec::new(),
        }
    }

    /// `GET`, with parameters of this type, answered by a document of that type.
    pub(super) fn get<P: Parameters + 'static, A: JsonSchema, T: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        let answer = Answer::Json(schemars::SchemaGenerator::subschema_for::<A>);
        self.add::<P, T>(
            (MethodFilter::GET, Method::GET),
            path,
            about,
            answer,
            handler,
        )
    }

    /// The same by `POST`, which changes something.
    pub(super) fn post<P: Parameters + 'static, A: JsonSchema, T: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        let answer = Answer::Json(schemars::SchemaGenerator::subschema_for::<A>);
        self.add::<P, T>(
            (MethodFilter::POST, Method::POST),
            path,
            about,
            answer,
            handler,
        )
    }

    /// `GET`, answered by a stream of events.
    pub(super) fn events<T: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: impl Handler<T, S>,
    ) -> Self {
        let method = (MethodFilter::GET, Method::GET);
        self.add::<Nothing, T>(method, path, about, Answer::Events, handler)
    }

    fn add<P: Parameters + 'static, T: 'static>(
        mut self,
        (filter, method): (MethodFilter, Method),
        path: &'static str,
        about: &'static str,
        answer: Answer,
        handler: impl Handler<T, S>,
    ) -> Self {
        let known = P::known().into_iter();
        self.operations.push(Operation {
            method,
            path,
            about,
            parameters: known.map(parameter::<P>).collect(),
            answer,
        });
        let route = on(filter, handler).layer(from_fn(only::<P>));
        self.router = self.router.route(path, route);
        self
    }

    /// The routes.
    pub(super) fn into_router(self) -> Router<S> {
        self.router
    }

    /// What they are in the document.
    pub(super) fn into_operations(self) -> Vec<Operation> {
        self.operations
    }
}

fn parameter<P: Parameters>(name: String) -> Parameter {
    // The place in a list is another text for each kind of list.
    let all = of_name(&name);
    let taken = all.iter().find(|(_, _, example)| {
        let given = [(name.clone(), (*example).to_owned())];
        asked_of::<P>(&given).is_ok()
    });
    Parameter {
        named: taken.copied().unwrap_or(("string", "", "")),
        is_repeated: P::is_repeated(&name),
        name,
    }
}

/// The document of these endpoints.
pub(super) fn document(operations: &[Operation]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut schemas = SchemaGenerator::new(settings);
    let error = schemas.subschema_for::<ErrorDocument>();
    let mut paths = Map::new();
    for operation in operations {
        let method = operation.method.as_str().to_ascii_lowercase();
        let told = told(operation, &mut schemas);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(method, told);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "parity",
            "version": "1",
            "description": "The admin port of `parity mirror`, `parity sink` and `parity ui`. docs/api.md has examples. \
                Members are only added within a version.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/", "description": "The admin port, http://127.0.0.1:9900 by default"}],
        "security": [{}, {"token": []}, {"password": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "responses": {"Error": {
                "description": "Why it is not answered; the status says the same as the code",
                "content": {"application/json": {"schema": error}},
            }},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of the port; the second one may only look",
                },
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "Any user with the token as password",
                },
            },
        },
    })
}

fn told(operation: &Operation, schemas: &mut SchemaGenerator) -> Value {
    let in_path = in_path(operation.path).map(|name| {
        let named = of_name(name);
        let (_, about, example) = named.first().copied().unwrap_or_default();
        json!({
            "name": name, "in": "path", "required": true, "description": about,
            "schema": {"type": "string"}, "example": example,
        })
    });
    let in_query = operation.parameters.iter().map(|parameter| {
        let Parameter {
            name,
            is_repeated,
            named: (kind, about, example),
        } = parameter;
        let (one, example) = (json!({"type": kind}), value(kind, example));
        let (schema, example) = if *is_repeated {
            (json!({"type": "array", "items": one}), json!([example]))
        } else {
            (one, example)
        };
        json!({
            "name": name, "in": "query", "required": false, "description": about,
            "schema": schema, "example": example,
        })
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let (kind, schema) = match operation.answer {
        Answer::Json(schema) => ("application/json", schema(schemas).to_value()),
        Answer::Events => ("text/event-stream", json!({"type": "string"})),
    };
    json!({
        "operationId": id(operation),
        "description": operation.about,
        "parameters": parameters,
        "responses": {
            "200": {"description": operation.about, "content": {kind: {"schema": schema}}},
            "default": {"$ref": "#/components/responses/Error"},
        },
    })
}

/// Names of the parts of a path that stand for something.
fn in_path(path: &'static str) -> impl Iterator<Item = &'static str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// The name of an operation: the method and the words of the path.
fn id(operation: &Operation) -> String {
    let words = operation.path.trim_start_matches("/api/v1/");
    let words: String = words
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let words: Vec<&str> = words.split('_').filter(|word| !word.is_empty()).collect();
    let method = operation.method.as_str().to_ascii_lowercase();
    format!("{method}_{}", words.join("_"))
}

/// What a parameter of this name may be.
fn of_name(name: &str) -> Vec<Named> {
    let named = NAMED.iter().filter(|(known, ..)| *known == name);
    let mut all: Vec<Named> = named
        .map(|(_, kind, about, example)| (*kind, *about, *example))
        .collect();
    if let Some(part) = PARTS.iter().find(|part| part.parameter() == name) {
        let example = OF_PARTS.iter().find(|(known, ..)| *known == name);
        match example {
            Some((_, kind, example)) => all.push((kind, part.about, example)),
            None if part.form == Form::Switch => all.push(("boolean", part.about, "true")),
            None => {}
        }
    }
    all
}

fn value(kind: &str, text: &str) -> Value {
    match kind {
        "string" => json!(text),
        _ => serde_json::from_str(text).unwrap_or_default(),
    }
}

/// Parameters that are no parts of a question: name, type, meaning, example.
const NAMED: [(&str, &str, &str, &str); 27] = [
    (
        "id",
        "string",
        "The id of the record",
        "01900000-0000-7000-8000-000000000000",
    ),
    ("state", "string", "`on` or `off`", "off"),
    ("to", "string", "A percent from 0 to 100, or `back`", "30"),
    (
        "migration",
        "string",
        "Of which effort; that of this process by default",
        "default",
    ),
    (
        "brief",
        "boolean",
        "Only the short form of the decision",
        "true",
    ),
    (
        "route",
        "string",
        "Only of this route, as the report writes it",
        "GET /users/{id}",
    ),
    (
        "fingerprint",
        "string",
        "Only of this group, as the report names it",
        "0123456789abcdef",
    ),
    (
        "class",
        "string",
        "Only mismatches of this class",
        "confirmed",
    ),
    (
        "outcome",
        "string",
        "Only decisions with this outcome",
        "fail",
    ),
    (
        "action",
        "string",
        "Only changes of this kind",
        "shadowing_off",
    ),
    (
        "until",
        "string",
        "Only what began before this: a time or an age, as `since`",
        "1m",
    ),
    (
        "count_excused",
        "boolean",
        "Noise and known differences count, too",
        "true",
    ),
    ("limit", "integer", "How many at most", "50"),
    (
        "after",
        "string",
        "The `next` of the page before, unchanged",
        "50",
    ),
    (
        "after",
        "string",
        "The `next` of the page before, unchanged",
        "2026-01-31T09:30:00.000000Z_01900000-0000-7000-8000-000000000000",
    ),
    (
        "tab",
        "string",
        "Which groups; those that count by default",
        "new",
    ),
    (
        "order",
        "string",
        "In which order; the gravest first by default",
        "count",
    ),
    (
        "find",
        "string",
        "Only groups whose route, place or words contain this text",
        "price",
    ),
    (
        "kind",
        "string",
        "Only groups of this kind of difference",
        "value",
    ),
    (
        "allow_unsafe",
        "boolean",
        "Also a method that may change something is sent",
        "true",
    ),
    (
        "accept_hidden",
        "boolean",
        "Also without what the record hides of the request",
        "true",
    ),
    (
        "accept_left_out",
        "boolean",
        "What was sent is taken for the whole request, whatever was left out of it",
        "true",
    ),
    // Those of the lists of records; a question has parts of these names, too, which mean the same.
    (
        "since",
        "string",
        "Only what began at this or later: a time (2026-01-31T09:30:00Z) or an age (15m, 2h, 7d)",
        "1h",
    ),
    (
        "candidate_version",
        "string",
        "Only of this version of the candidate",
        "1.7.0",
    ),
    (
        "gone",
        "string",
        "An instance that is not waited for",
        "mirror-1",
    ),
    (
        "expect_instance",
        "string",
        "An instance that must have counted",
        "mirror-1",
    ),
    (
        "noise",
        "string",
        "What becomes of noise: use, report or off",
        "use",
    ),
];

/// Parts of a question that have a value: name, type, example.
const OF_PARTS: [(&str, &str, &str); 16] = [
    (
        "leave_out",
        "string",
        "2026-01-31T09:30:00Z..2026-01-31T09:35:00Z=restart",
    ),
    ("max_mismatch_rate", "number", "0.001"),
    ("confidence", "number", "0.95"),
    ("min_requests", "integer", "300"),
    ("max_dropped", "number", "0.05"),
    ("max_uncomparable", "number", "0.05"),
    ("max_errors", "number", "0.01"),
    ("require_route", "string", "GET /users/{id}"),
    ("min_duration", "string", "1h"),
    ("max_not_compared", "string", "stream=0.01"),
    ("max_candidate_errors", "number", "0.01"),
    ("max_latency", "string", "p99=1.5x"),
    ("min_distinct", "integer", "10"),
    ("min_fields", "number", "0.5"),
    ("max_transient", "number", "0.1"),
    ("max_hidden", "number", "0.1"),
];

#[cfg(test)]
mod tests {
    use super::super::{api, events, gate, openapi};
    use super::*;

    fn operations() -> Vec<Operation> {
        let mut all = api::api().into_operations();
        all.extend(gate::api().into_operations());
        all.extend(events::api().into_operations());
        all
    }

    #[test]
    fn each_parameter_is_told_with_a_value_that_it_takes() {
        let mut seen = 0;
        for operation in operations() {
            for parameter in &operation.parameters {
                let (_, about, _) = parameter.named;
                let of = (operation.path, &parameter.name);
                assert!(
                    !about.is_empty(),
                    "{of:?} has no meaning, or no example that it takes"
                );
                seen += 1;
            }
            for name in in_path(operation.path) {
                assert!(!of_name(name).is_empty(), "{name}");
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn each_operation_is_in_the_document_once() {
        let document = openapi();
        let paths = document["paths"].as_object().expect("an object");
        let told: usize = paths
            .values()
            .filter_map(Value::as_object)
            .map(Map::len)
            .sum();
        let all = operations();
        assert_eq!(told, all.len());
        let ids: std::collections::BTreeSet<String> = all.iter().map(id).collect();
        assert_eq!(ids.len(), all.len(), "{ids:?}");
    }

    #[test]
    fn nothing_of_the_api_is_registered_past_the_document() {
        let sources = [
            include_str!("../server.rs"),
            include_str!("gate.rs"),
            include_str!("events.rs"),
            include_str!("api.rs"),
        ];
        for source in sources {
            let mut past = source
                .lines()
                .filter(|line| line.contains(".route(\"/api/"));
            assert_eq!(past.next(), None);
        }
    }
}
