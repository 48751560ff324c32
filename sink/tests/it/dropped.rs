//! A table that is dropped while a writer uses it: reported, and refilled from what is still in memory.

use parity_schemas::clickhouse::Layout;
use parity_sink::write::Retention;
use parity_sink::{Reader, Selection, Writer, WriterOptions, apply_schema};

use crate::servers::ClickHouse;
use crate::support::{PATIENCE, book, matched, route, wait_until, with_tables};

#[test]
#[ignore = "needs ClickHouse: run tests/run"]
fn a_table_of_a_server_is_missed_once_and_gets_the_counts_again_when_it_is_there() {
    let database = ClickHouse::shared().database();
    let store = with_tables(&database);
    let book = book("here");
    let writer = Writer::open(&store, book.clone(), WriterOptions::default()).expect("it opens");
    let (recorder, route) = (book.recorder(book.generation()), route());
    let received = || {
        let reader = Reader::open(&store).ok()?;
        let report = reader.report(&Selection::default()).ok()?;
        Some(report.counts.received)
    };
    (0..7).for_each(|_| matched(&recorder, &route));
    wait_until("the counts are there", || received() == Some(7));
    database.sql("DROP TABLE tallies SYNC");
    (0..3).for_each(|_| matched(&recorder, &route));
    wait_until("it is missed", || writer.health().loss.is_some());
    wait_until("it is named", || {
        let failure = writer.health().failure;
        failure.is_some_and(|failure| failure.message.contains("its table tallies is not there"))
    });
    let loss = writer.health().loss;
    assert!(Reader::open(&store).is_err_and(|error| error.may_come()));
    apply_schema(&store, &Layout::Single, &Retention::default()).expect("it is made anew");
    wait_until("all counts are there", || received() == Some(10));
    // One loss, however often the table was checked.
    assert_eq!(writer.health().loss, loss);
    let report = writer.finish(PATIENCE).expect("it ends");
    assert_eq!((report.failure, report.unwritten_tallies), (None, 0));
}
