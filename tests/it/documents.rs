//! The JSON documents: each has a schema under schemas/json, which is made from the types and nothing else.

use parity_schemas::audit::AuditPage;
use parity_schemas::check::CheckDocument;
use parity_schemas::decisions::{DecisionExport, DecisionPage, Verification};
use parity_schemas::documents::{
    CONFIG_SCHEMA, ConfigDocument, ErrorDocument, GateBriefDocument, KnownList, MismatchPage,
};
use parity_schemas::evidence::Decision;
use parity_schemas::history::History;
use parity_schemas::metrics::MetricsDocument;
use parity_schemas::record::Mismatch;
use parity_schemas::recording::RecordedExchange;
use parity_schemas::report::Report;
use parity_schemas::rerun::RerunDocument;
use parity_schemas::rollout::RolloutDocument;
use parity_schemas::soak::SoakDocument;
use parity_schemas::stress::StressDocument;
use parity_schemas::stub::StubDocument;
use parity_schemas::suggested::Suggestions;
use parity_schemas::tally::{GroupTally, SetTally, Tally};
use parity_schemas::terms::Terms;
use parity_schemas::trial::RulesTrial;
use parity_schemas::watermark::Watermark;
use serde_json::Value;

use crate::support::process::Place;
use crate::support::root;

/// Compares with the committed file; `UPDATE_SCHEMAS=1` writes it.
fn check(name: &str, actual: &Value) {
    let path = root().join("schemas/json").join(name);
    let actual = serde_json::to_string_pretty(actual).expect("a schema is JSON") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, &actual).expect("writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == actual,
        "{} is not what the types say; run with UPDATE_SCHEMAS=1",
        path.display()
    );
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    check("report.v1.json", &schemars::schema_for!(Report).to_value());
    check(
        "history.v1.json",
        &schemars::schema_for!(History).to_value(),
    );
    check("gate.v1.json", &schemars::schema_for!(Decision).to_value());
    check(
        "gate_brief.v1.json",
        &schemars::schema_for!(GateBriefDocument).to_value(),
    );
    check(
        "mismatch.v1.json",
        &schemars::schema_for!(Mismatch).to_value(),
    );
    check("tally.v1.json", &schemars::schema_for!(Tally).to_value());
    check(
        "group_tally.v1.json",
        &schemars::schema_for!(GroupTally).to_value(),
    );
    check(
        "set_tally.v1.json",
        &schemars::schema_for!(SetTally).to_value(),
    );
    check(
        "decisions.v1.json",
        &schemars::schema_for!(DecisionPage).to_value(),
    );
    check(
        "decision_export.v1.json",
        &schemars::schema_for!(DecisionExport).to_value(),
    );
    check(
        "verification.v1.json",
        &schemars::schema_for!(Verification).to_value(),
    );
    check(
        "known.v1.json",
        &schemars::schema_for!(KnownList).to_value(),
    );
    check(
        "suggested.v1.json",
        &schemars::schema_for!(Suggestions).to_value(),
    );
    check(
        "rules_test.v1.json",
        &schemars::schema_for!(RulesTrial).to_value(),
    );
    check(
        "audit.v1.json",
        &schemars::schema_for!(AuditPage).to_value(),
    );
    check(
        "error.v1.json",
        &schemars::schema_for!(ErrorDocument).to_value(),
    );
    check("terms.v1.json", &schemars::schema_for!(Terms).to_value());
    check(
        "watermark.v1.json",
        &schemars::schema_for!(Watermark).to_value(),
    );
    check(
        "diff.v1.json",
        &schemars::schema_for!(parity_comparator::document::DiffDocument).to_value(),
    );
    check(
        "exchange.v1.json",
        &schemars::schema_for!(RecordedExchange).to_value(),
    );
    check(
        "check.v1.json",
        &schemars::schema_for!(CheckDocument).to_value(),
    );
    check(
        "stub.v1.json",
        &schemars::schema_for!(StubDocument).to_value(),
    );
    check(
        "metrics.v1.json",
        &schemars::schema_for!(MetricsDocument).to_value(),
    );
    check(
        "soak.v1.json",
        &schemars::schema_for!(SoakDocument).to_value(),
    );
    check(
        "stress.v1.json",
        &schemars::schema_for!(StressDocument).to_value(),
    );
    check(
        "rerun.v1.json",
        &schemars::schema_for!(RerunDocument).to_value(),
    );
    check(
        "rollout.v1.json",
        &schemars::schema_for!(RolloutDocument).to_value(),
    );
    check(
        "mismatches.v1.json",
        &schemars::schema_for!(MismatchPage).to_value(),
    );
    check(
        "config_show.v1.json",
        &schemars::schema_for!(ConfigDocument).to_value(),
    );
    check(
        "config.v1.json",
        &Place::new().run(&["config", "schema"]).json(),
    );
}

#[test]
fn the_settings_that_are_shown_are_a_document_of_their_schema() {
    let shown = Place::new().run(&["config", "show", "--output", "json"]);
    let document: ConfigDocument = serde_json::from_value(shown.json()).expect("of this type");
    assert_eq!(document.schema, CONFIG_SCHEMA);
    assert!(document.settings.len() > 50, "{}", shown.stdout);
}
