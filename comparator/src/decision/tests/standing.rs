//! The sentences about instances that were not heard of, and which window leaves them out.

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
        succeeded: None,
        rules_hash: None,
        legacy_version: None,
        candidate_version: None,
    }
}

fn doubts(watermarks: Vec<InstanceWatermark>) -> Vec<String> {
    let standing = Standing {
        complete_until: None,
        watermarks,
    };
    super::super::standing::doubts(&standing, None)
}

#[test]
fn who_was_recorded_without_watermarks_is_left_out_from_the_next_whole_minute_on() {
    let said = doubts(vec![instance(RunState::Unknown, 0, 90_000_001)]);
    assert!(
        said[0].ends_with("on nothing before: --since 1970-01-01T00:02:00.000000Z"),
        "{said:?}"
    );
}

#[test]
fn who_is_not_heard_of_and_was_not_replaced_may_be_said_to_be_gone() {
    let said = doubts(vec![instance(RunState::Silent, 0, 90_000_001)]);
    assert!(
        said[0].ends_with("if it is gone for good, say so with --gone one"),
        "{said:?}"
    );
}

#[test]
fn who_was_replaced_is_left_out_from_the_start_of_the_next_process_on() {
    let replaced = InstanceWatermark {
        succeeded: Some(Timestamp::from_micros(62_500_000)),
        ..instance(RunState::Replaced, 0, 61_000_000)
    };
    let said = doubts(vec![
        replaced,
        instance(RunState::Complete, 62_500_000, 70_000_000),
    ]);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].ends_with("--since 1970-01-01T00:01:02.500000Z"),
        "{said:?}"
    );
}
