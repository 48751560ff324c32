//! What is said of instances that were not heard of, and which time leaves them out.

use parity_schemas::watermark::{InstanceWatermark, RunState, Standing};

use super::*;

fn instance(state: RunState, started: i64, last_heard: i64) -> InstanceWatermark {
    InstanceWatermark {
        instance: "one".to_owned(),
        started: Some(Timestamp::from_micros(started)),
        complete_until: None,
        last_heard: Some(Timestamp::from_micros(last_heard)),
        under_way: 0,
        state,
        rules_hash: None,
    }
}

fn doubts(watermarks: Vec<InstanceWatermark>) -> Vec<String> {
    let standing = Standing {
        complete_until: None,
        watermarks,
    };
    super::super::standing::doubts(&standing, "rules")
}

#[test]
fn who_is_gone_is_left_out_from_the_next_whole_minute_on() {
    for state in [RunState::Silent, RunState::Replaced] {
        let said = doubts(vec![instance(state, 0, 90_000_001)]);
        assert!(
            said[0].ends_with("on nothing before: --since 1970-01-01T00:02:00.000000Z"),
            "{said:?}"
        );
    }
}

#[test]
fn who_was_replaced_is_left_out_from_the_start_of_the_next_process_on() {
    let said = doubts(vec![
        instance(RunState::Replaced, 0, 61_000_000),
        instance(RunState::Complete, 62_500_000, 70_000_000),
    ]);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].ends_with("--since 1970-01-01T00:01:02.500000Z"),
        "{said:?}"
    );
}
