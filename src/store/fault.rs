//! Points at which a test may kill the process: around every write of the store and to step files.
//!
//! `REWEAVE_DIE_AT=n` makes the process die by SIGKILL when it passes the n-th point. Without the variable a
//! point costs one load of an atomic.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static DIE_AT: OnceLock<Option<u64>> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Passes a point. `_name` says which, for those who read the code.
#[inline]
pub fn point(_name: &str) {
    let wanted = DIE_AT.get_or_init(|| std::env::var("REWEAVE_DIE_AT").ok().and_then(|text| text.parse().ok()));
    if let Some(wanted) = wanted
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *wanted
    {
        die();
    }
}

/// Ends the process as a kill from outside would: nothing is flushed, nothing unwound.
fn die() {
    #[cfg(unix)]
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::thread::park();
    }
    #[cfg(not(unix))]
    std::process::abort();
}
