//! Patches: formats, locating, applying, hunks, the life of a proposal.
