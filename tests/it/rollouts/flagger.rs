//! Flagger's side: webhooks by their type, and metrics by a query of Prometheus.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::wire::{Call, duration, example, text};

/// What Flagger makes of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    /// It goes on; for a rollback, it rolls back.
    Yes,
    /// It does not, and shows this.
    No(String),
}

/// examples/rollout/flagger.yaml.
pub(super) struct Canary(Value);

impl Canary {
    pub(super) fn read() -> Self {
        let file = example("flagger.yaml");
        assert_eq!(text(&file, "/apiVersion"), "flagger.app/v1beta1");
        assert_eq!(text(&file, "/kind"), "Canary");
        let canary = Self(file);
        let timeouts: Duration = canary
            .hooks()
            .iter()
            .map(|hook| duration(text(hook, "/timeout")))
            .sum();
        assert!(timeouts < duration(text(&canary.0, "/spec/analysis/interval")));
        canary
    }

    /// The same with other metadata.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        let hooks = self.0.pointer_mut("/spec/analysis/webhooks");
        for hook in hooks.and_then(Value::as_array_mut).expect("webhooks") {
            hook["metadata"][name] = json!(value);
        }
        self
    }

    fn hooks(&self) -> &[Value] {
        let hooks = self.0.pointer("/spec/analysis/webhooks");
        hooks.and_then(Value::as_array).expect("webhooks")
    }

    /// Whether Flagger may begin, may promote, and rolls back.
    pub(super) fn ask(&self, port: SocketAddr) -> [Hook; 3] {
        ["confirm-rollout", "confirm-promotion", "rollback"].map(|kind| self.call(kind, port))
    }

    pub(super) fn call(&self, kind: &str, port: SocketAddr) -> Hook {
        let hook = self.hooks().iter().find(|hook| hook["type"] == kind);
        let hook = hook.expect(kind);
        let payload = json!({
            "name": text(&self.0, "/metadata/name"),
            "namespace": text(&self.0, "/metadata/namespace"),
            "phase": "Progressing",
            "checksum": "85d557f47b",
            "metadata": hook["metadata"],
        });
        let call = Call {
            method: "POST",
            url: text(hook, "/url"),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: payload.to_string(),
            timeout: duration(text(hook, "/timeout")),
        };
        match call.send(port) {
            Err(error) => Hook::No(error),
            Ok((status, body)) => {
                // Its client tries these again, and then throws the body away.
                assert!(status != 429 && status < 500, "{status}: {body}");
                // It shows the body in an event.
                assert!(
                    body.ends_with('\n') && body.lines().count() == 1 && body.len() < 1024,
                    "{body}"
                );
                if status <= 202 {
                    assert_eq!(status, 200);
                    Hook::Yes
                } else {
                    Hook::No(body)
                }
            }
        }
    }

    /// Whether the metric lets the canary go on, by what Prometheus has of a scrape.
    pub(super) fn measure(&self, scrape: &str) -> Result<f64, String> {
        let metric = &self.0["spec"]["analysis"]["metrics"][0];
        let template = example("flagger-metric.yaml");
        assert_eq!(text(&template, "/kind"), "MetricTemplate");
        for name in ["name", "namespace"] {
            assert_eq!(metric["templateRef"][name], template["metadata"][name]);
        }
        let found = query(text(&template, "/spec/query").trim(), scrape);
        let value = found.ok_or("no values found")?;
        if value.is_nan() {
            return Err("no values found".to_owned());
        }
        let range = &metric["thresholdRange"];
        let low = range["min"].as_f64().is_some_and(|min| value < min);
        let high = range["max"].as_f64().is_some_and(|max| value > max);
        if low || high {
            return Err(format!("{value} is outside of {range}"));
        }
        Ok(value)
    }
}

/// `min(name{label="value",…})` over the samples of a scrape.
pub(super) fn query(query: &str, scrape: &str) -> Option<f64> {
    let inner = query
        .strip_prefix("min(")
        .and_then(|query| query.strip_suffix("})"));
    let (name, matchers) = inner.and_then(|inner| inner.split_once('{')).expect(query);
    let series = scrape.lines().filter_map(|line| {
        let (labels, value) = line
            .strip_prefix(name)?
            .strip_prefix('{')?
            .split_once("} ")?;
        let labels: Vec<&str> = labels.split(',').collect();
        let mut wanted = matchers.split(',');
        let all = wanted.all(|wanted| labels.contains(&wanted));
        all.then(|| value.parse::<f64>().expect(line))
    });
    series.reduce(f64::min)
}
