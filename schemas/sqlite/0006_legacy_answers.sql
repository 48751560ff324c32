-- What the legacy answered where there is a verdict, by the class of the status. Rows that an older program wrote do not tell.
ALTER TABLE tallies ADD COLUMN legacy_answers TEXT NOT NULL DEFAULT '{}';
