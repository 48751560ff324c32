//! The operations of an OpenAPI description, as routes. Only paths, methods and servers are read. References to other
//! files are not followed. A path that is only such a reference is an error, because its operations are not known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Longest description that is read. The largest that are published have about twelve megabytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Deserialize)]
struct Description {
    openapi: Option<String>,
    swagger: Option<String>,
    #[serde(default)]
    servers: Vec<Server>,
    #[serde(default)]
    paths: BTreeMap<String, PathItem>,
}

#[derive(Deserialize)]
struct Server {
    url: String,
    #[serde(default)]
    variables: BTreeMap<String, Variable>,
}

#[derive(Deserialize)]
struct Variable {
    default: String,
}

#[derive(Deserialize)]
struct PathItem {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    servers: Option<Vec<Server>>,
    get: Option<Operation>,
    put: Option<Operation>,
    post: Option<Operation>,
    delete: Option<Operation>,
    options: Option<Operation>,
    head: Option<Operation>,
    patch: Option<Operation>,
    trace: Option<Operation>,
}

#[derive(Deserialize)]
struct Operation {
    servers: Option<Vec<Server>>,
}

/// What a description says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    /// Each operation, as METHOD /template, sorted.
    pub(super) operations: Vec<String>,
    /// What is taken otherwise than it is written, in sentences that are not safe to print yet.
    pub(super) notes: Vec<String>,
}

/// Reads a description.
pub(super) fn operations(file: &Path) -> Result<Described> {
    let read = || -> Result<Described> {
        let length = std::fs::metadata(file)?.len();
        ensure!(length <= MAX_BYTES, "it is longer than {MAX_BYTES} bytes");
        operations_of(&std::fs::read_to_string(file)?)
    };
    read().with_context(|| format!("--openapi {}", file.display()))
}

fn operations_of(text: &str) -> Result<Described> {
    let description: Description = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).context("this is no OpenAPI description in JSON")?
    } else {
        serde_saphyr::from_str(text).context("this is no OpenAPI description in YAML")?
    };
    match (&description.openapi, &description.swagger) {
        (Some(version), _) if version.starts_with("3.") => {}
        (Some(version), _) => bail!("its version is OpenAPI {version}; only version 3 is read"),
        (None, Some(version)) => bail!("its version is Swagger {version}; only OpenAPI 3 is read"),
        (None, None) => bail!("it has no member `openapi`, so it is no OpenAPI description"),
    }
    let mut operations = BTreeSet::new();
    let mut notes = Vec::new();
    for (written, item) in &description.paths {
        // Routes have no query. One within the braces of a placeholder is part of its name.
        let path = without_query(written);
        if path != written {
            notes.push(format!(
                "--openapi: path `{written}` has a query or fragment, which routes have not: its operations count as those of `{path}`"
            ));
        }
        if let Some(reference) = &item.reference {
            bail!("path `{written}` is a reference to `{reference}`, which is not followed");
        }
        let methods = [
            ("GET", &item.get),
            ("PUT", &item.put),
            ("POST", &item.post),
            ("DELETE", &item.delete),
            ("OPTIONS", &item.options),
            ("HEAD", &item.head),
            ("PATCH", &item.patch),
            ("TRACE", &item.trace),
        ];
        for (method, operation) in methods {
            let Some(operation) = operation else { continue };
            let servers = operation.servers.as_ref().or(item.servers.as_ref());
            let base = base_path(servers.unwrap_or(&description.servers));
            operations.insert(format!("{method} {base}{path}"));
        }
    }
    ensure!(!operations.is_empty(), "it describes no operation");
    Ok(Described {
        operations: operations.into_iter().collect(),
        notes,
    })
}

/// A path up to the first `?` or `#` that is not in braces.
fn without_query(path: &str) -> &str {
    let mut depth = 0_usize;
    let end = path.find(|sign| {
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(sign, '?' | '#')
    });
    path.split_at(end.unwrap_or(path.len())).0
}

/// The path of the first server, which all paths are below, without a slash at its end.
fn base_path(servers: &[Server]) -> String {
    let Some(server) = servers.first() else {
        return String::new();
    };
    let mut url = server.url.clone();
    for (name, variable) in &server.variables {
        url = url.replace(&format!("{{{name}}}"), &variable.default);
    }
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |slash| rest.split_at(slash).1),
        None => url.as_str(),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match path.trim_matches('/') {
        "" => String::new(),
        path => format!("/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "
openapi: 3.1.0
servers:
  - url: https://{host}/v1/
    variables: {host: {default: api.example.org}}
  - url: /other
paths:
  /users/{userId}:
    parameters: []
    get: {responses: {}}
    delete: {responses: {}, servers: [{url: /}]}
  /health:
    servers: [{url: 'http://127.0.0.1'}]
    get: {}
";

    #[test]
    fn operations_are_routes_below_the_path_of_their_server() {
        let expected = [
            "DELETE /users/{userId}",
            "GET /health",
            "GET /v1/users/{userId}",
        ];
        let described = operations_of(YAML).expect("it reads");
        assert_eq!(described.operations, expected);
        assert!(described.notes.is_empty(), "{:?}", described.notes);
        let json = r#"{"openapi":"3.0.0","paths":{"/a":{"post":{"summary":"x"}}}}"#;
        assert_eq!(
            operations_of(json).expect("it reads").operations,
            ["POST /a"]
        );
    }

    #[test]
    fn a_path_with_a_query_counts_as_its_path_and_that_is_said() {
        let text = "openapi: 3.0.0\npaths: {'/age/{id}?x=1': {get: {}}, '/age/{id}': {put: {}}, '/a/{b?}': {get: {}}, '/f#g': {get: {}}}";
        let described = operations_of(text).expect("it reads");
        assert_eq!(
            described.operations,
            ["GET /a/{b?}", "GET /age/{id}", "GET /f", "PUT /age/{id}"]
        );
        let [one, other] = &described.notes[..] else {
            panic!("{:?}", described.notes)
        };
        assert!(
            one.contains("`/age/{id}?x=1` has a query") && one.ends_with("as those of `/age/{id}`"),
            "{one}"
        );
        assert!(other.contains("`/f#g`"), "{other}");
    }

    #[test]
    fn what_is_no_description_is_refused_with_the_reason() {
        for (text, reason) in [
            ("{", "no OpenAPI description in JSON"),
            ("a: [", "no OpenAPI description in YAML"),
            ("a: 1", "has no member `openapi`"),
            ("swagger: '2.0'\npaths: {}", "Swagger 2.0"),
            ("openapi: '4.0'\npaths: {}", "OpenAPI 4.0"),
            ("openapi: 3.0.0\npaths: {}", "describes no operation"),
            (
                "openapi: 3.0.0\npaths: {/a: {$ref: other.yaml}}",
                "`other.yaml`, which is not followed",
            ),
        ] {
            let error = format!("{:#}", operations_of(text).expect_err(text));
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
