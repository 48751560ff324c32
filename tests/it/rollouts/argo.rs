//! Argo Rollouts' side: the web provider, the conditions, and how measurements become an outcome.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use super::wire::{Call, example, text};

/// What a measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Successful,
    Failed,
    Inconclusive,
    Error,
}

/// examples/rollout/argo.yaml with its arguments.
pub(super) struct Template {
    metric: Value,
    arguments: Vec<(String, String)>,
}

impl Template {
    pub(super) fn with(arguments: &[(&str, &str)]) -> Self {
        let file = example("argo.yaml");
        assert_eq!(text(&file, "/apiVersion"), "argoproj.io/v1alpha1");
        assert_eq!(text(&file, "/kind"), "AnalysisTemplate");
        let metrics = file.pointer("/spec/metrics").and_then(Value::as_array);
        let [metric] = metrics.expect("metrics").as_slice() else {
            panic!("one metric")
        };
        let declared = file.pointer("/spec/args").and_then(Value::as_array);
        let mut given = Vec::new();
        for argument in declared.expect("arguments") {
            let name = text(argument, "/name");
            let by_caller = arguments.iter().find(|(known, _)| *known == name);
            let value = match by_caller {
                Some((_, value)) => value,
                None => text(argument, "/value"),
            };
            given.push((name.to_owned(), value.to_owned()));
        }
        Self {
            metric: metric.clone(),
            arguments: given,
        }
    }

    /// The text at a place, with the arguments in it.
    fn text(&self, pointer: &str) -> String {
        let mut text = text(&self.metric, pointer).to_owned();
        for (name, value) in &self.arguments {
            text = text.replace(&format!("{{{{args.{name}}}}}"), value);
        }
        assert!(!text.contains("{{"), "an argument is not declared: {text}");
        text
    }

    /// The provider's measurement: its value and what it is.
    pub(super) fn measure(&self, port: SocketAddr) -> (String, Phase) {
        let web = |name: &str| format!("/provider/web/{name}");
        let seconds = self.metric.pointer(&web("timeoutSeconds"));
        let method = self.metric.pointer(&web("method"));
        let url = self.text(&web("url"));
        let call = Call {
            method: method.map_or("GET", |method| method.as_str().expect("a text")),
            url: &url,
            headers: vec![(
                self.text(&web("headers/0/key")),
                self.text(&web("headers/0/value")),
            )],
            body: String::new(),
            timeout: Duration::from_secs(seconds.and_then(Value::as_u64).unwrap_or(10)),
        };
        let (status, body) = match call.send(port) {
            Ok(answer) => answer,
            Err(error) => return (error, Phase::Error),
        };
        if !(200..300).contains(&status) {
            return (format!("{status}: {body}"), Phase::Error);
        }
        // A body that is no JSON is its own value, and successful without a condition: it must never come.
        let Ok(data) = serde_json::from_str::<Value>(&body) else {
            return (body, Phase::Successful);
        };
        // Only the first result counts; a path that finds none is an error.
        let path = self.text(&web("jsonPath"));
        let path = path
            .strip_prefix("{$")
            .and_then(|path| path.strip_suffix('}'));
        let pointer = path.expect("a JSONPath").replace('.', "/");
        let Some(result) = data.pointer(&pointer) else {
            return (format!("{pointer} is not found"), Phase::Error);
        };
        let value = result.to_string();
        let phase = match (
            holds(&self.text("/successCondition"), result),
            holds(&self.text("/failureCondition"), result),
        ) {
            (_, true) => Phase::Failed,
            (true, false) => Phase::Successful,
            (false, false) => Phase::Inconclusive,
        };
        (value, phase)
    }

    /// What the metric becomes after these measurements; `None` while it goes on.
    pub(super) fn assess(&self, measured: &[Phase]) -> Option<Phase> {
        let limit = |name: &str| {
            self.metric
                .get(name)
                .and_then(Value::as_u64)
                .and_then(|limit| usize::try_from(limit).ok())
                .expect(name)
        };
        let mut errors = 0;
        for (at, last) in measured.iter().enumerate() {
            let so_far = &measured[..=at];
            let count = |phase| so_far.iter().filter(|&&measured| measured == phase).count();
            errors = if *last == Phase::Error { errors + 1 } else { 0 };
            if errors > limit("consecutiveErrorLimit") {
                return Some(Phase::Error);
            }
            if count(Phase::Inconclusive) > limit("inconclusiveLimit") {
                return Some(Phase::Inconclusive);
            }
            if count(Phase::Failed) > limit("failureLimit") {
                return Some(Phase::Failed);
            }
            // Errors do not count. What counted before is not looked at again.
            if so_far.len() - count(Phase::Error) >= limit("count") {
                return Some(Phase::Successful);
            }
        }
        None
    }
}

/// A condition of the form `result.member == "text"`: the only one that the file uses.
fn holds(condition: &str, result: &Value) -> bool {
    let (member, word) = condition.split_once(" == ").expect(condition);
    let member = member.strip_prefix("result.").expect(condition);
    let word: String = serde_json::from_str(word).expect(condition);
    // A member that is not there is null, which equals no text.
    result.get(member).and_then(Value::as_str) == Some(&word)
}
