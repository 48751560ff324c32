-- What the legacy answered where there is a verdict, by the class of the status. Rows that an older program wrote, or writes,
-- do not tell.

ALTER TABLE @name:tallies@ @on_cluster@
    ADD COLUMN IF NOT EXISTS legacy_answers Map(LowCardinality(String), UInt64);

@over_shards:tallies@
    ADD COLUMN IF NOT EXISTS legacy_answers Map(LowCardinality(String), UInt64);

-- The columns of a view are those that its table had when it was made.
CREATE OR REPLACE VIEW tallies_final @on_cluster@ AS SELECT * FROM tallies FINAL;
