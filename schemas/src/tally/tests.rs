//! Records of older programs are still read.

use super::*;
use crate::digest::ExchangeDigest;
use crate::field_share::{FieldCount, FieldShare};
use crate::verdict::{Kind, Part};

use crate::recheck::RecheckEvidence;
use crate::record::MismatchClass;

#[test]
fn counts_of_an_older_program_are_read_and_its_clients_are_not_recorded() {
    let counts = Counts {
        received: 7,
        matched: 4,
        mismatch: 3,
        classes: [(MismatchClass::Noise, 1), (MismatchClass::Confirmed, 2)].into(),
        rechecks: [(RecheckEvent::Asked, 3)].into(),
        clients: [
            (ClientOutcome::Success, 6),
            (ClientOutcome::LegacyTruncated, 1),
        ]
        .into(),
        fields: [(FieldCount::Sampled, 2), (FieldCount::All, 9)].into(),
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
                .and(fields.remove("classes"))
                .and(fields.remove("rechecks"))
                .and(fields.remove("fields"))
        })
        .expect("they were there");
    let older = read(&json);
    assert_eq!(older.clients, [(ClientOutcome::NotRecorded, 7)].into());
    assert_eq!((older.clients_settled(), older.clients_failed()), (7, 0));
    assert_eq!(older.classes, [(MismatchClass::Unconfirmed, 3)].into());
    assert!(older.rechecks.is_empty());
    assert_eq!(FieldShare::of(&older.fields), None);
}

#[test]
fn a_group_of_an_older_program_is_read_and_its_exchanges_are_unknown() {
    let group = GroupTally {
        revision: 1,
        run: Uuid::max(),
        route: "GET /a".to_owned(),
        group: Group {
            fingerprint: "f00d".to_owned(),
            part: Part::Body,
            pattern: "/a".to_owned(),
            kind: Kind::Value,
            explanation: None,
            shape: "uuid→uuid".to_owned(),
            legacy_status: 200,
            candidate_status: 200,
        },
        count: 1,
        exchange_digest: ExchangeDigest::of(Uuid::nil()),
        classes: [(MismatchClass::Noise, 1)].into(),
        evidence: [(RecheckEvidence::Targets, 1)].into(),
        ..GroupTally::default()
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
    for added in ["run", "shape", "classes", "evidence"] {
        let removed = json.as_object_mut().and_then(|fields| fields.remove(added));
        assert!(removed.is_some(), "{added}");
    }
    let older = read(&json);
    assert!(!older.exchange_digest.is_known());
    assert!(older.run.is_nil() && older.group.shape.is_empty());
    assert!(older.classes.is_empty() && older.evidence.is_empty());
}

#[test]
fn mismatches_without_a_class_are_unconfirmed() {
    let classes = |counts: &[(MismatchClass, u64)]| counts.iter().copied().collect();
    let known = [(MismatchClass::Noise, 2), (MismatchClass::Unconfirmed, 1)];
    assert_eq!(complete_classes(classes(&known), 3), classes(&known));
    let completed = [(MismatchClass::Noise, 2), (MismatchClass::Unconfirmed, 5)];
    assert_eq!(complete_classes(classes(&known), 7), classes(&completed));
    assert_eq!(complete_classes(classes(&[]), 0), classes(&[]));
}

#[test]
fn the_id_of_a_set_never_changes_and_depends_on_where_a_text_ends() {
    assert_eq!(set_id(["ec3f25a334a25070", "f00d"]), "37334136f06c8a41");
    let ids = [
        set_id(["ab", "c"]),
        set_id(["a", "bc"]),
        set_id(["abc"]),
        set_id([]),
    ];
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(id.len(), 16);
        assert!(!ids[..at].contains(id));
    }
}
