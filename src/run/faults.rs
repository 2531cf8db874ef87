//! Places where a test makes a write fail, or the whole process die.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

type Hook = dyn Fn(&'static str) -> io::Result<()> + Send + Sync;

/// Asked before each thing that a write does to the disk. Outside tests it answers nothing and costs nothing.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<Hook>>);

impl Faults {
    /// No faults.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Asks `hook` at each point, by the point's name; what it answers happens there.
    pub fn new(hook: impl Fn(&'static str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Kills this process with SIGKILL, as a crash or `kill -9` would, at the `n`th point from now (0 is the next).
    #[cfg(unix)]
    pub fn kill_at(n: u64) -> Self {
        let passed = AtomicU64::new(0);
        Self::new(move |_| {
            if passed.fetch_add(1, Ordering::SeqCst) == n {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
            }
            Ok(())
        })
    }

    /// Passes a point.
    ///
    /// # Errors
    /// Whatever the test wants.
    pub fn at(&self, point: &'static str) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |hook| hook(point))
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Faults(planted)" } else { "Faults(none)" })
    }
}
