//! A report over a month of ten thousand groups, the most that one has: read within little memory.

use super::tables;
use crate::servers::ClickHouse;
use crate::support::process::Place;
use crate::support::report::Report;

const DAYS: u64 = 30;
/// KiB of data that the reader may have. It needs 120 MB, most of it for the document; with one row for each group and day in
/// memory at once, it was 600.
const MEMORY: u32 = 150_000;

/// One tally for each route and day, with one row for each group, all of one process; the newest example is stored.
fn fill(sql: impl Fn(&str), groups: u64) {
    let rows = groups * DAYS;
    let tally = "toUUID(concat('00000000-0000-7000-8000-', leftPad(toString(day * 10 + route_number), 12, '0')))";
    let of = format!(
        "{tally} AS id, 1 AS revision, 'default' AS migration, 'go-1' AS legacy_version, 'rust-1' AS candidate_version, \
         'abc' AS rules_hash, toDateTime64(today() - toUInt32(day), 6, 'UTC') AS interval_start, \
         concat('GET /', toString(route_number)) AS route, toUUID('00000000-0000-7000-8000-000000000001') AS run"
    );
    sql(&format!(
        "INSERT INTO tallies (id, revision, migration, legacy_version, candidate_version, rules_hash, interval_start, \
         route, run, instance, interval_us, received, match, mismatch, classes) \
         SELECT {of}, 'here', 60000000, 1000 * 100, 0, 1000 * 100, map('noise', 20000, 'unconfirmed', 80000) \
         FROM (SELECT intDiv(number, 10) AS day, number % 10 AS route_number FROM numbers({DAYS} * 10))"
    ));
    sql(&format!(
        "INSERT INTO group_tallies (tally_id, revision, migration, legacy_version, candidate_version, rules_hash, \
         interval_start, route, run, fingerprint, part, pattern, kind, explanation, legacy_status, candidate_status, \
         count, first_seen, last_seen, example_id, exchange_digest, shape, classes, evidence) \
         SELECT {of}, leftPad(lower(hex(group_number)), 16, '0'), 'body', concat('/items/*/field_', toString(group_number)), \
         'value', '', 200, 200, 100, interval_start, interval_start + INTERVAL 50 SECOND, \
         toUUID(concat('00000000-0000-7000-8000-', leftPad(toString(number), 12, '0'))), 1 + group_number, 'uuid→uuid', \
         map('noise', 20, 'unconfirmed', 80), \
         map('above', 9, 'below', 11, 'own', 1, 'other', 1, 'candidate_alone', 4, 'legacy_alone', 4, 'never_asked', 3, \
         'silent', day % 3, 'targets', 20) \
         FROM (SELECT number, intDiv(number, {groups}) AS day, number % {groups} AS group_number, number % 10 AS route_number \
         FROM numbers({rows}))"
    ));
    sql(&format!(
        "INSERT INTO mismatches (id, migration, legacy_version, candidate_version, rules_hash, time, route, path) \
         SELECT toUUID(concat('00000000-0000-7000-8000-', leftPad(toString(number), 12, '0'))), \
         'default', 'go-1', 'rust-1', 'abc', toDateTime64(today(), 6, 'UTC'), concat('GET /', toString(number % 10)), '/x' \
         FROM numbers({groups})"
    ));
}

#[test]
#[ignore = "needs Kafka and ClickHouse: run tests/run"]
fn a_month_of_ten_thousand_groups_is_read_in_little_memory() {
    let server = ClickHouse::shared();
    let database = server.database();
    let place = Place::new();
    let url = tables(&place, &database);
    let groups = 10_000;
    fill(
        |sql| {
            database.sql(sql);
        },
        groups,
    );
    let arguments = ["report", "--store", &url, "--output", "json"];
    let mut command = place.command(&arguments);
    let limited = place.under(&format!("ulimit -S -d {MEMORY}"), &mut command);
    let ended = limited.output().expect("parity ends");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{}: {told}", ended.status);
    let report = Report(serde_json::from_slice(&ended.stdout).expect("it is JSON"));
    let of_groups = report.0["groups"].as_array().expect("a list");
    assert_eq!(of_groups.len() as u64, groups);
    assert_eq!(report.grouped(), groups * DAYS * 100);
}
