//! The terms under which a mirror counts, from its settings: the text of the rules, and what of the traffic is compared.

use parity_comparator::redact::rules_text;
use parity_comparator::seal;
use parity_mirror::SampleBy;
use parity_schemas::route::RouteRule;
use parity_schemas::terms::{Coverage, RouteCoverage, Terms};
use parity_schemas::time::Timestamp;

use crate::config::MirrorSettings;

/// The program, as the record names it.
const PROGRAM: &str = concat!("parity ", env!("CARGO_PKG_VERSION"));

/// The terms of these settings, in force from now on.
pub(super) fn terms(settings: &MirrorSettings) -> Terms {
    let policy = &settings.mirror.policy;
    let routes = policy.routes.iter().map(|route| RouteCoverage {
        route: route.label().to_owned(),
        shadow: route.policy().shadow,
        sample: route.policy().sample,
        recheck: route.policy().recheck,
        graphql: route.policy().graphql,
        shadow_queries: route.policy().shadow_queries,
        fields: fields_of(route),
    });
    let coverage = Coverage {
        sample: policy.sampling.share,
        sample_by: sample_by(&policy.sampling.by),
        body_bytes: policy.limits.body as u64,
        recheck_rate: settings.recheck.rate as u64,
        recheck_control: settings.recheck.control,
        routes: routes.collect(),
    };
    Terms::begun(
        settings.identity.clone(),
        PROGRAM.to_owned(),
        rules_text(&settings.rules, &settings.redact),
        coverage,
        Timestamp::now(),
        seal::id_of,
    )
}

fn fields_of(route: &RouteRule) -> Vec<String> {
    let fields = route.fields().unwrap_or_default();
    fields.iter().map(ToString::to_string).collect()
}

fn sample_by(by: &SampleBy) -> String {
    match by {
        SampleBy::Request => "request".to_owned(),
        SampleBy::Header(name) => format!("header:{name}"),
        SampleBy::Cookie(name) => format!("cookie:{name}"),
    }
}
