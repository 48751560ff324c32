-- Groups say which exchanges they counted, so that those with the same ones are reported as one. 0 is unknown: rows that
-- were written before this column was there coincide with nothing.

ALTER TABLE @name:group_tallies@ @on_cluster@
    ADD COLUMN IF NOT EXISTS exchange_digest UInt32 CODEC(NONE);

@over_shards:group_tallies@ ADD COLUMN IF NOT EXISTS exchange_digest UInt32;

-- The columns of a view are those that its table had when it was made.
CREATE OR REPLACE VIEW group_tallies_final @on_cluster@ AS SELECT * FROM group_tallies FINAL;
