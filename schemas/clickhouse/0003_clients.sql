-- What became of the clients, counted apart from the verdicts. Rows that an older program wrote, or writes, do not tell.
-- Times to the head of the answer, beside those to its end.

ALTER TABLE @name:tallies@ @on_cluster@
    ADD COLUMN IF NOT EXISTS clients Map(LowCardinality(String), UInt64)
        DEFAULT if(received > 0, map('not_recorded', received), map()),
    ADD COLUMN IF NOT EXISTS legacy_head_latency Map(UInt16, UInt64),
    ADD COLUMN IF NOT EXISTS candidate_head_latency Map(UInt16, UInt64);

@over_shards:tallies@
    ADD COLUMN IF NOT EXISTS clients Map(LowCardinality(String), UInt64)
        DEFAULT if(received > 0, map('not_recorded', received), map()),
    ADD COLUMN IF NOT EXISTS legacy_head_latency Map(UInt16, UInt64),
    ADD COLUMN IF NOT EXISTS candidate_head_latency Map(UInt16, UInt64);

-- The columns of a view are those that its table had when it was made.
CREATE OR REPLACE VIEW tallies_final @on_cluster@ AS SELECT * FROM tallies FINAL;
