-- Who changed what: one row for each change of a running process. Removed when tallies are.

CREATE TABLE IF NOT EXISTS @name:audit@ @on_cluster@
(
    id        UUID,
    migration LowCardinality(String),
    time      DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    instance  LowCardinality(String),
    action    LowCardinality(String),
    outcome   LowCardinality(String),
    source    LowCardinality(String),
    token     LowCardinality(String),
    user      String CODEC(ZSTD(1)),
    address   String CODEC(ZSTD(1)),
    subject   String CODEC(ZSTD(1)),
    detail    String CODEC(ZSTD(1))
)
ENGINE = @replacing:audit:@
PARTITION BY toYear(time)
ORDER BY (migration, time, id)
TTL toDateTime(time) + INTERVAL 400 DAY
SETTINGS @settings@;

@distributed:audit:cityHash64(id)@;

CREATE VIEW IF NOT EXISTS audit_final @on_cluster@ AS SELECT * FROM audit FINAL;
