-- Under which terms requests were counted: the text of the rules, and what of the traffic was compared. One row for each
-- change, without a TTL, because a decision is kept for ever and is worth little without what was accepted. The rank
-- is the higher the earlier a row was written, so the first of several stays.

CREATE TABLE IF NOT EXISTS @name:terms@ @on_cluster@
(
    id                UUID,
    rank              UInt32,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    time              DateTime64(6, 'UTC'),
    program           LowCardinality(String),
    -- JSON, both.
    rules             String CODEC(ZSTD(1)),
    coverage          String CODEC(ZSTD(1))
)
ENGINE = @replacing:terms:rank@
ORDER BY (migration, rules_hash, id)
SETTINGS @settings@;

@distributed:terms:cityHash64(id)@;

CREATE VIEW IF NOT EXISTS terms_final @on_cluster@ AS SELECT * FROM terms FINAL;
