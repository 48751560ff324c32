//! The document has what is registered, and nothing is registered past it.

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
        include_str!("../../server.rs"),
        include_str!("../gate.rs"),
        include_str!("../events.rs"),
        include_str!("../api.rs"),
    ];
    for source in sources {
        let mut past = source
            .lines()
            .filter(|line| line.contains(".route(\"/api/"));
        assert_eq!(past.next(), None);
    }
}
