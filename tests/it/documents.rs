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
use schemars::JsonSchema;
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

fn of<T: JsonSchema>(name: &str) {
    check(name, &schemars::schema_for!(T).to_value());
}

#[test]
fn committed_schemas_are_those_of_the_types() {
    of::<Report>("report.v1.json");
    of::<History>("history.v1.json");
    of::<Decision>("gate.v1.json");
    of::<GateBriefDocument>("gate_brief.v1.json");
    of::<Mismatch>("mismatch.v1.json");
    of::<Tally>("tally.v1.json");
    of::<GroupTally>("group_tally.v1.json");
    of::<SetTally>("set_tally.v1.json");
    of::<DecisionPage>("decisions.v1.json");
    of::<DecisionExport>("decision_export.v1.json");
    of::<Verification>("verification.v1.json");
    of::<KnownList>("known.v1.json");
    of::<Suggestions>("suggested.v1.json");
    of::<RulesTrial>("rules_test.v1.json");
    of::<AuditPage>("audit.v1.json");
    of::<ErrorDocument>("error.v1.json");
    of::<Terms>("terms.v1.json");
    of::<Watermark>("watermark.v1.json");
    of::<parity_comparator::document::DiffDocument>("diff.v1.json");
    of::<RecordedExchange>("exchange.v1.json");
    of::<CheckDocument>("check.v1.json");
    of::<StubDocument>("stub.v1.json");
    of::<MetricsDocument>("metrics.v1.json");
    of::<SoakDocument>("soak.v1.json");
    of::<StressDocument>("stress.v1.json");
    of::<RerunDocument>("rerun.v1.json");
    of::<RolloutDocument>("rollout.v1.json");
    of::<MismatchPage>("mismatches.v1.json");
    of::<ConfigDocument>("config_show.v1.json");
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
