//! The API as it is registered, and its OpenAPI document.
//!
//! An endpoint is registered once, with its path, its handler, the type that reads its parameters and the type of its answer.
//! The router and the document are both made of that, so neither has a path or a parameter that the other lacks. What a
//! registration does not name as a parameter is refused before the handler.

mod named;

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
use named::{Named, of_name};

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

fn value(kind: &str, text: &str) -> Value {
    match kind {
        "string" => json!(text),
        _ => serde_json::from_str(text).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
