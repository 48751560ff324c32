//! Records that cannot be stored, and rows that a table refuses: they go to the dead-letter topic, and nothing else does.

use super::*;

/// Nothing that a compressor could make small.
fn incompressible(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state as u8)
    };
    std::iter::from_fn(next).take(bytes).collect()
}

/// The reason that it should be refused for, its payload, its headers.
type Poison<'a> = (&'static str, &'a [u8], Vec<(&'static str, &'static str)>);

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn poison_goes_aside_with_its_reason_and_the_rest_goes_on() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    let topic = kafka.topic(1);
    // The topic of dead letters takes less than the other one, as a careless operator may have it.
    kafka.make_topic(
        &format!("{topic}.dead"),
        1,
        &[("max.message.bytes", "100000")],
    );
    let mut good = Vec::new();
    Record::Mismatch(Box::new(mismatch("f00d", Timestamp::now(), 0))).write_json(&mut good);
    let text = String::from_utf8(good.clone()).expect("JSON");
    let shifted = |time: &str| {
        let mut record = mismatch("f00d", Timestamp::now(), 0);
        record.time = time.parse().expect("a time");
        let mut json = Vec::new();
        Record::Mismatch(Box::new(record)).write_json(&mut json);
        json
    };
    let (past, future) = (
        shifted("1970-01-01T00:00:01Z"),
        shifted("2031-01-01T00:00:00Z"),
    );
    let huge = incompressible(900_000);
    let cut = &good[..good.len() - 5];
    let word = text.replace("\"value\"", "\"novelty\"");
    let typed = |word| [(TYPE_HEADER, word), (VERSION_HEADER, "1")];
    let mismatch_headers = typed("mismatch");
    let poison: Vec<Poison<'_>> = vec![
        ("malformed", b"{\"half\":", mismatch_headers.to_vec()),
        ("malformed", b"", mismatch_headers.to_vec()),
        ("malformed", b"\xff\xfe\x00", mismatch_headers.to_vec()),
        ("malformed", cut, mismatch_headers.to_vec()),
        ("malformed", word.as_bytes(), mismatch_headers.to_vec()),
        ("malformed", &good, typed("tally").to_vec()),
        ("malformed", &huge, mismatch_headers.to_vec()),
        ("time_out_of_range", &past, mismatch_headers.to_vec()),
        ("time_out_of_range", &future, mismatch_headers.to_vec()),
        ("no_type", &good, vec![("other", "x")]),
        ("no_type", &good, vec![]),
        ("no_version", &good, vec![(TYPE_HEADER, "mismatch")]),
        (
            "newer_version",
            &good,
            vec![(TYPE_HEADER, "mismatch"), (VERSION_HEADER, "999")],
        ),
        ("unknown_type", &good, typed("gossip").to_vec()),
    ];
    send(kafka, &topic, &mismatches(10));
    kafka.produce(
        &topic,
        poison.iter().map(|(_, payload, headers)| Raw {
            key: "key",
            payload,
            headers,
            partition: None,
        }),
    );
    send(kafka, &topic, &mismatches(10));

    let sink = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 20);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    assert_eq!(sink.handle.health().dead_letters, poison.len() as u64);
    let report = sink.stop();
    assert_eq!(report.dead_letters, poison.len() as u64);

    check_letters(&kafka.read(&format!("{topic}.dead")), &topic, &poison);
}

/// Every poison has its letter, as it was, and with its reason.
fn check_letters(dead: &[OwnedMessage], topic: &str, poison: &[Poison<'_>]) {
    assert_eq!(dead.len(), poison.len());
    for (offset, (reason, payload, headers)) in (10_i64..).zip(poison) {
        let place = format!("{topic}/0@{offset}");
        let letter = dead
            .iter()
            .find(|letter| header(letter, "parity-dead-source").as_ref() == Some(&place))
            .expect("every one has its letter");
        assert_eq!(
            header(letter, "parity-dead-reason").as_deref(),
            Some(*reason)
        );
        assert!(header(letter, "parity-dead-why").is_some_and(|why| !why.is_empty()));
        for (key, value) in headers {
            assert_eq!(header(letter, key).as_deref(), Some(*value));
        }
        let kept = rdkafka::message::Message::payload(letter).unwrap_or_default();
        if payload.len() > 100_000 {
            assert!(kept.is_empty(), "{place}");
            assert_eq!(
                header(letter, "parity-dead-payload-bytes").as_deref(),
                Some("900000")
            );
        } else {
            assert!(
                kept == *payload,
                "{place}: {} of {} bytes, {reason}",
                kept.len(),
                payload.len()
            );
        }
        assert_eq!(rdkafka::message::Message::key(letter), Some(&b"key"[..]));
    }
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_row_that_a_table_refuses_goes_aside_alone() {
    let (kafka, server) = (Kafka::shared(), ClickHouse::shared());
    let database = server.database();
    let target = with_tables(&database);
    database.sql("ALTER TABLE mismatches ADD CONSTRAINT c CHECK path != '/bad'");
    let topic = kafka.topic(1);
    let mut records = mismatches(200);
    for number in [0, 77, 199] {
        if let Record::Mismatch(one) = &mut records[number] {
            "/bad".clone_into(&mut one.path);
        }
    }
    send(kafka, &topic, &records);
    let sink = Running::start(kafka, &topic, &target, options());
    wait_stored(&database, 197);
    wait_until("all is committed", || kafka.lag(&topic) == 0);
    assert_eq!(sink.stop().dead_letters, 3);
    let dead = kafka.read(&format!("{topic}.dead"));
    let reasons: Vec<_> = dead
        .iter()
        .filter_map(|letter| header(letter, "parity-dead-reason"))
        .collect();
    assert_eq!(reasons, ["refused"; 3]);
    // After the cause is mended a sink on the dead letters stores them.
    database.sql("ALTER TABLE mismatches DROP CONSTRAINT c");
    let again = Running::start(kafka, &format!("{topic}.dead"), &target, options());
    wait_stored(&database, 200);
    assert_eq!(again.stop().stored, 3);
}
