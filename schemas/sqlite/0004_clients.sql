-- What became of the clients, counted apart from the verdicts. NULL in rows that an older program wrote: it did not tell.
ALTER TABLE tallies ADD COLUMN clients TEXT;
-- Times to the head of the answer, beside those to its end. Histograms are written as runs of buckets from now on; those
-- that are there stay as they are, JSON maps.
ALTER TABLE tallies ADD COLUMN legacy_head_latency TEXT NOT NULL DEFAULT '';
ALTER TABLE tallies ADD COLUMN candidate_head_latency TEXT NOT NULL DEFAULT '';
