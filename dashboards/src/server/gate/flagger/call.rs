//! What Flagger sends to a webhook: a JSON object with names, a phase and metadata, which are texts by name.
//!
//! Members that are not known are left alone, because a later Flagger may send more. Metadata is what a person wrote, so there a
//! name that means nothing is an error of the parameters. An error here quotes nothing: the body has the token.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::super::super::parameters::Parameters;
use super::super::super::question::TOKEN;

/// A call of a webhook.
#[derive(Deserialize)]
pub(super) struct Call {
    /// The type of the webhook, where Flagger says it.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

impl Call {
    /// Reads a body. What is wrong with it is an error.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let wrong = |line, column| {
            format!(
                "the body is not a JSON object with texts in `metadata`, as Flagger sends it: line {line}, column {column}"
            )
        };
        // A list would be read as the members in their order.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(wrong(1, 1));
        }
        let read: Self =
            serde_json::from_slice(body).map_err(|error| wrong(error.line(), error.column()))?;
        let tokens = read.metadata.0.iter().filter(|(name, _)| name == TOKEN);
        if tokens.count() > 1 {
            return Err("metadata has more than one token".to_owned());
        }
        Ok(read)
    }

    /// The type of the webhook; `None` if it is not said.
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_deref().filter(|kind| !kind.is_empty())
    }

    /// A text of the metadata.
    pub(super) fn metadata(&self, name: &str) -> Option<&str> {
        let mut found = self.metadata.0.iter().filter(|(known, _)| known == name);
        found.next().and_then(|(_, value)| value.text().ok())
    }

    /// What is asked for: the metadata without the token. A name has one text, so one that may be repeated has a value a line.
    /// What is no text is an error, which quotes the name alone.
    pub(super) fn parameters<T: Parameters>(&self) -> Result<Vec<(String, String)>, String> {
        let mut parameters = Vec::new();
        for (name, value) in &self.metadata.0 {
            let text = value.text().map_err(|kind| {
                format!(
                    "metadata.{name} is {kind}, and metadata are texts: write it in quotation marks"
                )
            })?;
            if name == TOKEN {
                continue;
            }
            if T::is_repeated(name) {
                let values = text.lines().filter(|line| !line.trim().is_empty());
                let before = parameters.len();
                parameters.extend(values.map(|value| (name.clone(), value.to_owned())));
                if parameters.len() == before {
                    // A demand without a value is a mistake, and none that is left out.
                    parameters.push((name.clone(), String::new()));
                }
            } else {
                parameters.push((name.clone(), text.to_owned()));
            }
        }
        Ok(parameters)
    }
}

/// A value of the metadata.
#[derive(Deserialize)]
#[serde(transparent)]
struct Given(Value);

impl Given {
    /// The text that it should be, or what it is instead.
    fn text(&self) -> Result<&str, &'static str> {
        match &self.0 {
            Value::String(text) => Ok(text),
            Value::Null => Err("null"),
            Value::Bool(_) => Err("true or false"),
            Value::Number(_) => Err("a number"),
            Value::Array(_) => Err("a list"),
            Value::Object(_) => Err("an object"),
        }
    }
}

/// Values by name, as they came: one that came twice is noticed.
#[derive(Default)]
struct Metadata(Vec<(String, Given)>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("texts by name")
            }

            /// Flagger may send none as null.
            fn visit_unit<E>(self) -> Result<Metadata, E> {
                Ok(Metadata::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Metadata(pairs))
            }
        }
        deserializer.deserialize_any(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::question::HookAsking;
    use super::*;

    fn call(body: &str) -> Call {
        Call::read(body.as_bytes()).unwrap_or_else(|wrong| panic!("{body}: {wrong}"))
    }

    #[test]
    fn a_call_says_what_is_asked_for() {
        let read = call(
            r#"{"name":"payments","namespace":"prod","phase":"Progressing","checksum":"85d557f47b","failedChecks":1,
                "metadata":{"token":"hush","max_mismatch_rate":"0.01","require_route":"GET /a\n\n GET /b \r\n"}}"#,
        );
        assert_eq!(read.metadata(TOKEN), Some("hush"));
        assert_eq!(read.kind(), None);
        let expected = [
            ("max_mismatch_rate", "0.01"),
            ("require_route", "GET /a"),
            ("require_route", " GET /b "),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read.parameters::<HookAsking>(), Ok(expected.into()));
        let empty = call(r#"{"metadata":{"require_route":" \n"}}"#);
        let expected = [("require_route".to_owned(), String::new())];
        assert_eq!(empty.parameters::<HookAsking>(), Ok(expected.into()));
        assert_eq!(call(r#"{"type":"rollback"}"#).kind(), Some("rollback"));
        for none in [r#"{"metadata":null,"type":""}"#, r#"{"metadata":{}}"#, "{}"] {
            let read = call(none);
            let parameters = read.parameters::<HookAsking>();
            assert!(parameters.is_ok_and(|all| all.is_empty()) && read.kind().is_none());
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_a_word_of_the_call() {
        for body in [
            "",
            "hush",
            "null",
            "[]",
            r#"["rollback",{"token":"hush"}]"#,
            "{\"metadata\":{\"token\":\"hush\"}",
            r#"{"metadata":{"token":"hush"}} hush"#,
            r#"{"metadata":"hush"}"#,
            r#"{"metadata":["hush"]}"#,
            r#"{"metadata":{"token":"hush","token":"hush"}}"#,
            r#"{"metadata":{"token":"hush"},"metadata":{}}"#,
            r#"{"type":271828}"#,
            "{\"metadata\":{\"token\":\"hush\u{0}\"}}",
        ] {
            let wrong = Call::read(body.as_bytes()).err().expect(body);
            assert!(
                !wrong.contains("hush") && !wrong.contains("271828"),
                "{wrong}"
            );
        }
        // What is no text is told when the token is known.
        for (body, told) in [
            (
                r#"{"metadata":{"token":{"hush":1}}}"#,
                "metadata.token is an object",
            ),
            (
                r#"{"metadata":{"min_requests":271828}}"#,
                "metadata.min_requests is a number",
            ),
            (r#"{"metadata":{"token":null}}"#, "metadata.token is null"),
            (
                r#"{"metadata":{"brief":true}}"#,
                "metadata.brief is true or false",
            ),
            (
                r#"{"metadata":{"since":["hush"]}}"#,
                "metadata.since is a list",
            ),
        ] {
            let read = call(body);
            assert_eq!(read.metadata(TOKEN), None, "{body}");
            let wrong = read.parameters::<HookAsking>().expect_err(body);
            assert!(
                wrong.starts_with(told) && !wrong.contains("hush"),
                "{wrong}"
            );
        }
        assert!(Call::read(b"{\"metadata\":{\"since\":\"\xff\"}}").is_err());
        let deep = "[".repeat(5_000);
        assert!(Call::read(format!("{{\"x\":{deep}").as_bytes()).is_err());
    }
}
