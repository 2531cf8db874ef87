//! When a burst of file events is over: a debouncer without a clock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What an event says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A writer is done with it, or it came by a rename.
    Whole,
    /// It is being written; whoever does so closes it later.
    Open,
    /// Its mode or times changed: nothing new of a file that is being written.
    Touched,
    /// It went.
    Gone,
}

/// How long to wait. Each is a time without a further event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// After the last of the files that are whole.
    pub whole: Duration,
    /// Where one is gone: editors that save by renaming bring it back at once.
    pub gone: Duration,
    /// For a writer that pauses with its file open.
    pub open: Duration,
    /// The longest that a burst without a pause is held back.
    pub most: Duration,
}

impl Waits {
    /// Where the kernel tells when a file was closed.
    pub const CLOSES_TOLD: Self = Self {
        whole: Duration::from_millis(8),
        gone: Duration::from_millis(30),
        open: Duration::from_millis(400),
        most: Duration::from_millis(250),
    };
    /// Where it does not, so that a pause must do.
    pub const CLOSES_NOT_TOLD: Self = Self { whole: Duration::from_millis(30), ..Self::CLOSES_TOLD };
}

/// The paths of a burst, until it is over.
#[derive(Debug)]
pub(super) struct Quiet {
    waits: Waits,
    pending: BTreeMap<PathBuf, Pending>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    sign: Sign,
    first: Instant,
    last: Instant,
}

impl Quiet {
    pub fn new(waits: Waits) -> Self {
        Self { waits, pending: BTreeMap::new() }
    }

    /// Takes in an event.
    pub fn note(&mut self, path: PathBuf, sign: Sign, now: Instant) {
        if sign == Sign::Touched && self.pending.contains_key(&path) {
            return;
        }
        let pending = self.pending.entry(path).or_insert(Pending { sign, first: now, last: now });
        if pending.sign == Sign::Open && sign != Sign::Open {
            // How long a writer takes does not shorten the time in which others may join.
            pending.first = now;
        }
        (pending.sign, pending.last) = (sign, now);
    }

    /// When to ask [`Quiet::take`] again; `None` while nothing is pending.
    pub fn wake(&self) -> Option<Instant> {
        let open = self.open().map(|(_, pending)| pending.last + self.waits.open).min();
        [self.settled_at(), open].into_iter().flatten().min()
    }

    /// The paths of a burst that is over, if one is.
    pub fn take(&mut self, now: Instant) -> Vec<PathBuf> {
        let settled = self.settled_at().is_some_and(|at| at <= now);
        let waits = self.waits;
        let mut taken = Vec::new();
        self.pending.retain(|path, pending| {
            let over = if pending.sign == Sign::Open { pending.last + waits.open <= now } else { settled };
            if over {
                taken.push(path.clone());
            }
            !over
        });
        taken
    }

    fn settled_at(&self) -> Option<Instant> {
        let settled = || self.pending.values().filter(|pending| pending.sign != Sign::Open);
        let any_gone = settled().any(|pending| pending.sign == Sign::Gone);
        let wait = if any_gone { self.waits.gone } else { self.waits.whole };
        let (last, first) = (settled().map(|p| p.last).max()?, settled().map(|p| p.first).min()?);
        Some((last + wait).min(first + self.waits.most))
    }

    fn open(&self) -> impl Iterator<Item = (&PathBuf, &Pending)> {
        self.pending.iter().filter(|(_, pending)| pending.sign == Sign::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds events (milliseconds, path, sign) and lists what is told, and when.
    fn told(events: &[(u64, &str, Sign)]) -> Vec<(u64, Vec<String>)> {
        let start = Instant::now();
        let mut quiet = Quiet::new(Waits::CLOSES_TOLD);
        let mut told = Vec::new();
        let mut events = events.iter().peekable();
        for now in 0..2000 {
            let at = start + Duration::from_millis(now);
            while let Some((_, path, sign)) = events.next_if(|(when, _, _)| *when == now) {
                quiet.note(path.into(), *sign, at);
            }
            if quiet.wake().is_some_and(|wake| wake <= at) {
                let taken = quiet.take(at);
                assert!(!taken.is_empty(), "a wake is never for nothing");
                told.push((now, taken.iter().map(|path| path.to_string_lossy().into_owned()).collect()));
            }
        }
        assert_eq!(quiet.wake(), None);
        told
    }

    use Sign::{Gone, Open, Touched, Whole};

    #[test]
    fn a_saved_file_is_told_soon_after_it_was_closed() {
        assert_eq!(told(&[(0, "a", Open), (1, "a", Whole)]), [(9, vec!["a".into()])]);
    }

    #[test]
    fn a_save_by_renaming_is_one_change() {
        let vim = [(0, "a", Gone), (0, "a~", Whole), (1, "a", Open), (2, "a", Whole), (3, "a~", Gone)];
        assert_eq!(told(&vim), [(33, vec!["a".into(), "a~".into()])]);
        assert_eq!(told(&[(0, "tmp", Open), (1, "tmp", Whole), (1, "tmp", Gone), (1, "a", Whole)]).len(), 1);
    }

    #[test]
    fn a_partial_write_waits_for_its_end_and_holds_nothing_back() {
        let events =
            [(0, "slow", Open), (50, "slow", Touched), (100, "b", Whole), (300, "slow", Open), (600, "slow", Whole)];
        assert_eq!(told(&events), [(108, vec!["b".into()]), (608, vec!["slow".into()])]);
    }

    #[test]
    fn a_writer_that_never_closes_is_told_at_last() {
        assert_eq!(told(&[(0, "log", Open)]), [(400, vec!["log".into()])]);
    }

    #[test]
    fn a_burst_is_told_once_and_a_stream_now_and_then() {
        let names: Vec<String> = (0..500).map(|n| format!("{n}")).collect();
        let burst: Vec<_> = names.iter().enumerate().map(|(n, name)| (n as u64 / 10, name.as_str(), Whole)).collect();
        let one = told(&burst);
        assert_eq!((one.len(), one.first().map(|(_, paths)| paths.len())), (1, Some(500)));
        let stream: Vec<_> = (0..1000).map(|n| (n, "s", Whole)).collect();
        assert_eq!(told(&stream).iter().map(|(at, _)| *at).collect::<Vec<_>>(), [250, 501, 752, 1003]);
    }
}
