-- Schema 5: every row says by itself whether it is as it was written. `mark` is 62 bits of the BLAKE3 of all its other
-- columns, null in a row that an earlier reweave wrote. A bit that flips on a disk can turn a row into another that is
-- just as good for SQLite: another step's number, another execution's record. Contents have their digest, sets of
-- names theirs (`member` is what they say, the other way round), saved values and notes a MAC.
ALTER TABLE event ADD COLUMN mark INTEGER;
ALTER TABLE line ADD COLUMN mark INTEGER;
ALTER TABLE path ADD COLUMN mark INTEGER;
ALTER TABLE version ADD COLUMN mark INTEGER;
ALTER TABLE execution ADD COLUMN mark INTEGER;
ALTER TABLE holds ADD COLUMN mark INTEGER;
ALTER TABLE invalidated ADD COLUMN mark INTEGER;
ALTER TABLE patch ADD COLUMN mark INTEGER;
ALTER TABLE patch_step ADD COLUMN mark INTEGER;
ALTER TABLE patch_change ADD COLUMN mark INTEGER;
ALTER TABLE trial ADD COLUMN mark INTEGER;
ALTER TABLE deed ADD COLUMN mark INTEGER;
ALTER TABLE deed_file ADD COLUMN mark INTEGER;
ALTER TABLE kept_file ADD COLUMN mark INTEGER;
ALTER TABLE hold ADD COLUMN mark INTEGER;
ALTER TABLE call ADD COLUMN mark INTEGER;
