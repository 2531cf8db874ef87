-- Schema 3: what a decision about a patch was made on: base, patch, choice, trial and overrides, as JSON.
ALTER TABLE deed ADD COLUMN pin TEXT;
