//! The rules and dashboards for Prometheus: by `promtool`, and by a real server that scrapes real processes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use super::expand::{Range, Variables, link, percent};
use super::{boards, file, links, list, text, word, yaml};
use crate::servers::{ClickHouse, Kafka, Process, free_port, tail, tool};
use crate::support::client;
use crate::support::process::{Mirror, Place};
use crate::support::service::{Answer, Request, Service};
use crate::support::{PATIENCE, wait_for, wait_or_tell};

fn promtool(arguments: &[&str], folder: &Path) {
    let output = Command::new(tool("promtool"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("promtool runs");
    assert!(
        output.status.success(),
        "promtool {arguments:?}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "needs Prometheus: run tests/run"]
fn promtool_accepts_the_files_and_each_rule_fires_when_it_should() {
    let folder = file("prometheus");
    promtool(&["check", "config", "prometheus.yml"], &folder);
    promtool(&["check", "rules", "parity.rules.yml"], &folder);
    promtool(&["test", "rules", "parity.test.yml"], &folder);
}

/// A real Prometheus that scrapes every second.
struct Prometheus {
    address: SocketAddr,
    process: Process,
    folder: TempDir,
}

impl Prometheus {
    /// Scrapes these targets by job, with our rules; what must hold for a while must hold for a second.
    fn start(jobs: &[(&str, &[SocketAddr])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let rules = text("prometheus/parity.rules.yml");
        let hasty: Vec<String> = rules
            .lines()
            .map(|line| match line.split_once("for: ") {
                Some((indent, _)) if indent.trim().is_empty() => format!("{indent}for: 1s"),
                _ => line.to_owned(),
            })
            .collect();
        std::fs::write(folder.path().join("parity.rules.yml"), hasty.join("\n")).expect("written");
        let mut config = text("prometheus/prometheus.yml").replace(": 15s", ": 1s");
        config.truncate(config.find("scrape_configs:").expect("jobs"));
        config.push_str("scrape_configs:\n");
        for (job, targets) in jobs {
            let targets: Vec<String> = targets.iter().map(|one| format!("\"{one}\"")).collect();
            let targets = targets.join(", ");
            config.extend([
                "  - job_name: ",
                job,
                "\n    static_configs:\n      - targets: [",
                &targets,
                "]\n",
            ]);
        }
        std::fs::write(folder.path().join("prometheus.yml"), config).expect("written");
        promtool(&["check", "config", "prometheus.yml"], folder.path());
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let log = folder.path().join("log");
        let command = [
            tool("prometheus").display().to_string(),
            format!(
                "--config.file={}",
                folder.path().join("prometheus.yml").display()
            ),
            format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ),
            format!("--web.listen-address={address}"),
        ];
        let mut process = Process::start(&log, &command);
        wait_for("Prometheus", || {
            assert!(!process.has_ended(), "Prometheus ended:\n{}", tail(&log));
            std::net::TcpStream::connect(address).ok()?;
            (client::get(address, "/-/ready").status == 200).then_some(())
        });
        Self {
            address,
            process,
            folder,
        }
    }

    fn ask(&mut self, path: &str) -> Value {
        let log = self.folder.path().join("log");
        assert!(!self.process.has_ended(), "it ended:\n{}", tail(&log));
        let answer = client::get(self.address, path).json();
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// The series of an expression now.
    fn series(&mut self, expression: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", percent(expression));
        list(&self.ask(&path), "/result").to_vec()
    }

    /// The names of the alerts that fire.
    fn firing(&mut self) -> BTreeSet<String> {
        let data = self.ask("/api/v1/alerts");
        let alerts = list(&data, "/alerts").iter();
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        firing
            .map(|alert| word(alert, "/labels/alertname").to_owned())
            .collect()
    }
}

#[test]
#[ignore = "needs Prometheus: run tests/run"]
fn a_candidate_that_is_down_fires_its_alert_until_it_is_back() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let legacy = Service::json("{\"a\":1}");
    let candidate = Service::raw(move |stream, _| {
        let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
        while let Some(request) = Request::read(&mut reader) {
            if is_down.load(Ordering::SeqCst) {
                return;
            }
            let answer = Answer::json("{\"a\":1}");
            if answer.write(stream, request.method == "HEAD").is_err() {
                return;
            }
        }
    });
    let place = Place::new();
    let mirror = place.mirror(&legacy.url(), &candidate.url(), &[]);
    let mut prometheus = Prometheus::start(&[("parity-mirror", &[mirror.admin])]);
    let up = "parity_upstream_up{upstream=\"candidate\"}";
    let value = |series: &[Value]| Some(series.first()?["value"][1].as_str()?.to_owned());
    let get = |mirror: &Mirror<'_>| assert_eq!(mirror.get("/items/1").status, 200);

    get(&mirror);
    wait_for("a scrape", || {
        (value(&prometheus.series(up))? == "1").then_some(())
    });
    assert_eq!(prometheus.firing(), BTreeSet::new());

    down.store(true, Ordering::SeqCst);
    // Clients go on meanwhile, as the mirror is there for.
    let mut fired = BTreeSet::new();
    wait_or_tell(
        || {
            get(&mirror);
            fired.extend(prometheus.firing());
            fired.contains("ParityCandidateDown").then_some(())
        },
        || mirror.ask("/metrics").text(),
    );
    // What it fails at counts against it, and while it is left alone nothing is compared. Of clients nothing is told.
    for name in &fired {
        let follows = [
            "ParityBroken",
            "ParityRouteDiffers",
            "ParityDrops",
            "ParityNoComparisons",
        ];
        let expected = name == "ParityCandidateDown" || follows.contains(&name.as_str());
        assert!(expected, "{fired:?}");
    }

    down.store(false, Ordering::SeqCst);
    wait_for("the end of the alert", || {
        get(&mirror);
        let firing = prometheus.firing();
        (!firing.contains("ParityCandidateDown")).then_some(())
    });
    assert_eq!(value(&prometheus.series(up)).as_deref(), Some("1"));

    // A process that is gone is another alert.
    assert_eq!(mirror.stop().0, 0);
    wait_for("the alert of the mirror", || {
        prometheus
            .firing()
            .contains("ParityMirrorDown")
            .then_some(())
    });
}

/// The expressions of the dashboards, each with the panel that it is of.
fn expressions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for board in boards("prometheus") {
        for panel in board.panels() {
            for target in list(panel, "/targets") {
                let expression = word(target, "/expr")
                    .replace("$__rate_interval", "1m")
                    .replace("$instance", ".*");
                assert!(!expression.contains('$'), "{expression}");
                found.push((board.at(panel), expression));
            }
        }
        for variable in board.variables() {
            if let Some(query) = variable["query"]["query"].as_str() {
                let rest = query.strip_prefix("label_values(").expect(query);
                let (metric, label) = rest.split_once(", ").expect(query);
                let place = format!("{}: {query}", board.name);
                let label = label.trim_end_matches(')');
                found.push((place, format!("count by ({label}) ({metric})")));
            }
        }
    }
    found
}

/// The names of metrics of ours in an expression.
fn names(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    let ours = words.filter(|word| word.starts_with("parity_"));
    ours.map(str::to_owned).collect()
}

/// Each name that a process exports, with the labels of its series.
fn exported(metrics: &str, into: &mut BTreeMap<String, BTreeSet<String>>) {
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_once(['{', ' ']).expect("a series");
        let labels = rest.split_once('}').map_or("", |(labels, _)| labels);
        let labels = labels
            .split("\",")
            .filter_map(|label| label.split('=').next());
        let known = into.entry(name.to_owned()).or_default();
        known.extend(labels.filter(|label| !label.is_empty()).map(str::to_owned));
    }
}

/// The labels by which an expression selects or groups.
fn labels(expression: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for inside in expression.split('{').skip(1) {
        let inside = inside.split('}').next().unwrap_or_default();
        let selectors = inside.split(',').filter(|part| part.contains('='));
        found.extend(selectors.map(|part| part.split(['=', '!']).next().unwrap_or("").to_owned()));
    }
    for (word, _) in [("by (", ""), ("on (", "")] {
        for inside in expression.split(word).skip(1) {
            let inside = inside.split(')').next().unwrap_or_default();
            found.extend(inside.split(',').map(|label| label.trim().to_owned()));
        }
    }
    found
}

#[test]
#[ignore = "needs Prometheus, Kafka and ClickHouse: run tests/run"]
fn every_metric_that_is_named_is_exported_and_every_panel_shows_something() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let place = Place::new();
    let url = database.url();
    let ended = place.run(&["schema", "apply", "--clickhouse", &url]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let topic = kafka.url(&kafka.topic(3));
    let (legacy, candidate) = (Service::json("{\"a\":1}"), Service::json("{\"a\":2}"));
    let produces = ["--store", &topic, "--instance", "one", "--spool", "spool"];
    let producer = place.mirror(&legacy.url(), &candidate.url(), &produces);
    let records = ["--record", "recording.ndjson"];
    let mirror = place.mirror_with(&legacy.url(), &candidate.url(), &records, |command| {
        command.env("PARITY_RECHECK_RATE", "100")
    });
    let sink = place.sink(&topic, &url, &[]);
    let mut prometheus = Prometheus::start(&[
        ("parity-mirror", &[producer.admin, mirror.admin]),
        ("parity-sink", &[sink.admin]),
    ]);
    let send = || {
        for path in ["/items/1", "/quotes"] {
            producer.get(path);
            mirror.get(path);
        }
    };

    let mut empty = expressions();
    let until = Instant::now() + PATIENCE;
    while !empty.is_empty() {
        assert!(
            Instant::now() < until,
            "panels that show nothing: {empty:#?}"
        );
        send();
        empty.retain(|(_, expression)| prometheus.series(expression).is_empty());
    }

    let mut known = BTreeMap::new();
    for process in [&producer, &mirror, &sink] {
        exported(&process.ask("/metrics").text(), &mut known);
    }
    let rules = yaml("prometheus/parity.rules.yml");
    let groups = list(&rules, "/groups").iter();
    let rules = groups.flat_map(|group| list(group, "/rules"));
    let of_rules = rules.map(|rule| {
        (
            word(rule, "/alert").to_owned(),
            word(rule, "/expr").to_owned(),
        )
    });
    let mut checked = BTreeSet::new();
    for (at, expression) in expressions().into_iter().chain(of_rules) {
        let names = names(&expression);
        let mut own: BTreeSet<&str> = ["job", "instance"].into();
        for name in &names {
            let labels = known.get(name);
            let labels = labels.unwrap_or_else(|| panic!("{at}: nothing exports {name}"));
            own.extend(labels.iter().map(String::as_str));
        }
        for label in labels(&expression) {
            assert!(
                own.contains(label.as_str()),
                "{at}: no {label} at {names:?}"
            );
        }
        checked.extend(names);
    }
    assert!(checked.len() > 50, "{checked:?}");
    links_lead_to_the_process(&mirror, &sink);
}

fn links_lead_to_the_process(mirror: &Mirror<'_>, sink: &Mirror<'_>) {
    let range = Range::now();
    let mut followed = 0;
    for board in boards("prometheus") {
        let process = if board.uid() == "parity-sink" {
            sink
        } else {
            mirror
        };
        for panel in board.panels() {
            let shown = list(panel, "/targets").iter();
            let mut shown = shown.map(|target| word(target, "/legendFormat"));
            if links(panel).is_empty() {
                continue;
            }
            assert!(
                shown.any(|legend| legend.contains("{{instance}}")),
                "{}: a link by an instance that is not there",
                board.at(panel)
            );
            for one in links(panel) {
                let url = link(word(one, "/url"), range, &Variables::default(), |label| {
                    assert_eq!(label, "instance");
                    process.admin.to_string()
                });
                let target = url.strip_prefix(&format!("http://{}", process.admin));
                let answer = process.ask(target.expect("the process"));
                assert_eq!(answer.status, 200, "{url}: {}", answer.text());
                followed += 1;
            }
        }
    }
    assert!(followed > 10, "{followed}");
}
