//! A stack that is deep enough for the deepest source that is taken.

use std::thread;

/// In bytes. Only what is used of it costs memory. Code that is not optimised needs several times as much.
const STACK: usize = if cfg!(debug_assertions) { 512 << 20 } else { 64 << 20 };

/// Runs `work` on a thread with a deep stack. `None`: no thread could be had, or `work` panicked.
pub(super) fn with_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let started = thread::Builder::new().name("analysis".into()).stack_size(STACK).spawn_scoped(scope, work);
        started.ok()?.join().ok()
    })
}
