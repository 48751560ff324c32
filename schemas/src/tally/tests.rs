//! Records of older programs are still read.

use super::*;

#[test]
fn counts_of_an_older_program_are_read_and_its_clients_are_not_recorded() {
    let counts = Counts {
        received: 7,
        matched: 7,
        clients: [
            (ClientOutcome::Success, 6),
            (ClientOutcome::LegacyTruncated, 1),
        ]
        .into(),
        ..Counts::default()
    };
    let mut json = serde_json::to_value(&counts).expect("it is JSON");
    let read = |json: &serde_json::Value| {
        serde_json::from_value::<Counts>(json.clone()).expect("it is read")
    };
    assert_eq!(read(&json), counts);
    json.as_object_mut()
        .and_then(|fields| {
            fields
                .remove("clients")
                .and(fields.remove("legacy_answers"))
        })
        .expect("they were there");
    let older = read(&json);
    assert_eq!(older.clients, [(ClientOutcome::NotRecorded, 7)].into());
    assert_eq!((older.clients_settled(), older.clients_failed()), (7, 0));
}

#[test]
fn a_group_of_an_older_program_is_read_and_its_exchanges_are_unknown() {
    let group = GroupTally {
        tally_id: Uuid::nil(),
        revision: 1,
        identity: Identity::default(),
        interval_start: Timestamp::default(),
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: "f00d".to_owned(),
            part: Part::Body,
            pattern: "/a".to_owned(),
            kind: Kind::Value,
            explanation: None,
            legacy_status: 200,
            candidate_status: 200,
        },
        count: 1,
        first_seen: Timestamp::default(),
        last_seen: Timestamp::default(),
        example_id: Uuid::nil(),
        exchange_digest: ExchangeDigest::of(Uuid::nil()),
    };
    let mut json = serde_json::to_value(&group).expect("it is JSON");
    let read = |json: &serde_json::Value| {
        serde_json::from_value::<GroupTally>(json.clone()).expect("it is read")
    };
    assert_eq!(read(&json), group);
    let removed = json
        .as_object_mut()
        .and_then(|fields| fields.remove("exchange_digest"));
    assert!(removed.is_some_and(|digest| digest.is_u64()));
    assert!(!read(&json).exchange_digest.is_known());
}
