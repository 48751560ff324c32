-- How often one group was found over time: without this index, all groups of that time are read for the rows of one.

CREATE INDEX IF NOT EXISTS group_tallies_by_group ON group_tallies (migration, fingerprint, interval_start);
