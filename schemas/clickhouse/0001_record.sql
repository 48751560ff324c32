-- The record at scale: mismatches, tallies, group tallies and decisions, with the columns of the SQLite record under the same names.
--
-- Written once for one server and for a cluster. What stands between at-signs is filled in by
-- parity_schemas::clickhouse: @name:T@ the table that holds rows, @replacing:T:V@ its engine, @on_cluster@, @settings@,
-- and each @distributed:T:K@ statement is dropped for one server. A statement ends with a semicolon at the end of a line.
--
-- An insert that is repeated must change nothing. So every table is a ReplacingMergeTree whose sorting and
-- partitioning columns all come from the record and never change between two writes of one id; the highest revision
-- of a tally wins. A reader uses FINAL, or the views named *_final.

CREATE TABLE IF NOT EXISTS @name:mismatches@ @on_cluster@
(
    id                UUID,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    time              DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    instance          LowCardinality(String),
    route             LowCardinality(String),
    method            LowCardinality(String),
    path              String CODEC(ZSTD(1)),
    query             String CODEC(ZSTD(1)),
    -- Plain texts in lists: dictionaries there cost the server five times the whole rest of an insert, and save nothing
    -- that ZSTD does not.
    fingerprints      Array(String) CODEC(ZSTD(1)),
    findings          Array(Tuple(
                          fingerprint String,
                          part String,
                          path String,
                          candidate_path Nullable(String),
                          pattern String,
                          kind String,
                          legacy Nullable(String),
                          candidate Nullable(String),
                          explanation String,
                          text_diff Nullable(String))) CODEC(ZSTD(1)),
    findings_cut      Bool,
    tolerated         Array(Tuple(
                          part String,
                          path String,
                          why String)) CODEC(ZSTD(1)),
    legacy_status     UInt16,
    candidate_status  UInt16,
    legacy_us         UInt64 CODEC(T64, ZSTD(1)),
    candidate_us      UInt64 CODEC(T64, ZSTD(1)),
    trace_id          String CODEC(ZSTD(1)),
    class             LowCardinality(String),
    -- Request and both answers as JSON; empty without, and once its time is over.
    sample            String CODEC(ZSTD(1)) TTL toDateTime(time) + INTERVAL 14 DAY,
    INDEX by_id id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_fingerprint fingerprints TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = @replacing:mismatches:@
PARTITION BY toYYYYMM(time)
ORDER BY (migration, time, id)
TTL toDateTime(time) + INTERVAL 90 DAY
SETTINGS @settings@;

CREATE TABLE IF NOT EXISTS @name:tallies@ @on_cluster@
(
    id                UUID,
    revision          UInt32,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    instance          LowCardinality(String),
    interval_start    DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    interval_us       Int64 CODEC(T64, ZSTD(1)),
    route             LowCardinality(String),
    received          UInt64 CODEC(T64, ZSTD(1)),
    match             UInt64 CODEC(T64, ZSTD(1)),
    mismatch          UInt64 CODEC(T64, ZSTD(1)),
    not_compared      Map(LowCardinality(String), UInt64),
    rule_hits         Map(LowCardinality(String), UInt64),
    legacy_latency    Map(UInt16, UInt64),
    candidate_latency Map(UInt16, UInt64)
)
ENGINE = @replacing:tallies:revision@
PARTITION BY toYYYYMM(interval_start)
ORDER BY (migration, legacy_version, candidate_version, rules_hash, interval_start, id)
TTL toDateTime(interval_start) + INTERVAL 400 DAY
SETTINGS @settings@;

CREATE TABLE IF NOT EXISTS @name:group_tallies@ @on_cluster@
(
    tally_id          UUID,
    revision          UInt32,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    interval_start    DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    route             LowCardinality(String),
    fingerprint       String,
    part              LowCardinality(String),
    pattern           LowCardinality(String),
    kind              LowCardinality(String),
    explanation       LowCardinality(String),
    legacy_status     UInt16,
    candidate_status  UInt16,
    count             UInt64 CODEC(T64, ZSTD(1)),
    first_seen        DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    last_seen         DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    example_id        UUID
)
ENGINE = @replacing:group_tallies:revision@
PARTITION BY toYYYYMM(interval_start)
ORDER BY (migration, legacy_version, candidate_version, rules_hash, interval_start, tally_id, fingerprint)
TTL toDateTime(interval_start) + INTERVAL 400 DAY
SETTINGS @settings@;

CREATE TABLE IF NOT EXISTS @name:decisions@ @on_cluster@
(
    id                UUID,
    migration         LowCardinality(String),
    time              DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    outcome           LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    thresholds        String CODEC(ZSTD(1)),
    -- The whole parity.gate/v1 document: reasons, evidence, routes.
    document          String CODEC(ZSTD(3))
)
ENGINE = @replacing:decisions:@
PARTITION BY toYear(time)
ORDER BY (migration, time, id)
SETTINGS @settings@;

@distributed:mismatches:cityHash64(id)@;
@distributed:tallies:cityHash64(id)@;
@distributed:group_tallies:cityHash64(tally_id)@;
@distributed:decisions:cityHash64(id)@;

CREATE VIEW IF NOT EXISTS mismatches_final @on_cluster@ AS SELECT * FROM mismatches FINAL;
CREATE VIEW IF NOT EXISTS tallies_final @on_cluster@ AS SELECT * FROM tallies FINAL;
CREATE VIEW IF NOT EXISTS group_tallies_final @on_cluster@ AS SELECT * FROM group_tallies FINAL;
CREATE VIEW IF NOT EXISTS decisions_final @on_cluster@ AS SELECT * FROM decisions FINAL;
