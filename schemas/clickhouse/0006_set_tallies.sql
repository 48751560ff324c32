-- How many mismatches had exactly the same groups: one row for each tally and set. Which sets are noise is decided when
-- they are read.

CREATE TABLE IF NOT EXISTS @name:set_tallies@ @on_cluster@
(
    tally_id          UUID,
    revision          UInt32,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    interval_start    DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    run               UUID CODEC(ZSTD(1)),
    route             LowCardinality(String),
    set_id            String,
    fingerprints      Array(String) CODEC(ZSTD(1)),
    classes           Map(LowCardinality(String), UInt64)
)
ENGINE = @replacing:set_tallies:revision@
PARTITION BY toYYYYMM(interval_start)
ORDER BY (migration, legacy_version, candidate_version, rules_hash, interval_start, tally_id, set_id)
TTL toDateTime(interval_start) + INTERVAL 400 DAY
SETTINGS @settings@;

@distributed:set_tallies:cityHash64(tally_id)@;

CREATE VIEW IF NOT EXISTS set_tallies_final @on_cluster@ AS SELECT * FROM set_tallies FINAL;
