-- How far the record of each process is complete: one row for each run, replaced at least once a second while it lives.
-- A tally says which run counted it; the nil id is a program without watermarks.

CREATE TABLE IF NOT EXISTS @name:watermarks@ @on_cluster@
(
    id                UUID,
    revision          UInt32,
    migration         LowCardinality(String),
    legacy_version    LowCardinality(String),
    candidate_version LowCardinality(String),
    rules_hash        LowCardinality(String),
    instance          LowCardinality(String),
    started           DateTime64(6, 'UTC'),
    written           DateTime64(6, 'UTC'),
    complete_until    DateTime64(6, 'UTC'),
    ended             Bool,
    -- JSON: when they were received, and how many.
    under_way         String CODEC(ZSTD(1)),
    counted_from      DateTime64(6, 'UTC'),
    open_from         DateTime64(6, 'UTC'),
    tallies           UInt64,
    received          UInt64,
    settled           UInt64,
    -- JSON: id and revision of each tally of the interval at hand.
    open              String CODEC(ZSTD(1))
)
ENGINE = @replacing:watermarks:revision@
ORDER BY (migration, id)
TTL toDateTime(written) + INTERVAL 400 DAY
SETTINGS @settings@;

@distributed:watermarks:cityHash64(id)@;

CREATE VIEW IF NOT EXISTS watermarks_final @on_cluster@ AS SELECT * FROM watermarks FINAL;

ALTER TABLE @name:tallies@ @on_cluster@
    ADD COLUMN IF NOT EXISTS run UUID CODEC(ZSTD(1));

@over_shards:tallies@ ADD COLUMN IF NOT EXISTS run UUID;

-- The columns of a view are those that its table had when it was made.
CREATE OR REPLACE VIEW tallies_final @on_cluster@ AS SELECT * FROM tallies FINAL;
