-- Groups say which exchanges they counted, so that those with the same ones are reported as one. 0 is unknown: rows that
-- were written before this column was there coincide with nothing.

ALTER TABLE group_tallies ADD COLUMN exchange_digest INTEGER NOT NULL DEFAULT 0;
