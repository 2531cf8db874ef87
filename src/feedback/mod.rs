//! A failed execution to a diagnosis: cause, root step, what to do.
