//! The one clock of the workbench.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::step::Millis;

/// Now, in milliseconds since the Unix epoch; 0 for a clock that stands before it.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
