//! What a person should know: shown for a while without blocking anything, and kept to be read later.

use std::collections::VecDeque;

use crate::step::Millis;
use crate::workbench::Level;

/// How many are kept.
const KEPT: usize = 500;

/// For how long no lesser message takes the place of one, in milliseconds.
const SEEN: Millis = 4_000;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How grave.
    pub level: Level,
    /// What; may hold what comes from outside.
    pub text: String,
    /// When.
    pub at: Millis,
    /// Until when it is shown.
    pub until: Millis,
}

/// The messages so far.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    list: VecDeque<Notice>,
}

impl Notices {
    /// Adds a message: news is shown for 6 seconds, a warning for 12, an error for 20.
    pub fn add(&mut self, level: Level, text: impl Into<String>, now: Millis) {
        let shown = match level {
            Level::Hint | Level::Info => 6_000,
            Level::Warning => 12_000,
            Level::Error => 20_000,
        };
        if self.list.len() == KEPT {
            self.list.pop_front();
        }
        self.list.push_back(Notice { level, text: text.into(), at: now, until: now.saturating_add(shown) });
    }

    /// The one to show now: the newest of those not over, unless a graver one has not been seen for long. A hint answers
    /// the key that was just pressed, and always shows.
    pub fn current(&self, now: Millis) -> Option<&Notice> {
        let shown = |notice: &&Notice| notice.until > now;
        let newest = self.list.iter().rev().take(20).find(shown)?;
        if newest.level == Level::Hint {
            return Some(newest);
        }
        let fresh = self.list.iter().rev().take(20).filter(shown).filter(|notice| notice.at.saturating_add(SEEN) > now);
        Some(fresh.fold(newest, |best, other| if other.level > best.level { other } else { best }))
    }

    /// Takes back what is shown.
    pub fn dismiss(&mut self, now: Millis) {
        for notice in self.list.iter_mut().filter(|notice| notice.until > now) {
            notice.until = now;
        }
    }

    /// Takes back what was said to the keys before: it is old with the next one.
    pub fn dismiss_hints(&mut self, now: Millis) {
        for notice in self.list.iter_mut().rev().take(20).filter(|notice| notice.level == Level::Hint) {
            notice.until = notice.until.min(now);
        }
    }

    /// All, newest first.
    pub fn all(&self) -> impl Iterator<Item = &Notice> {
        self.list.iter().rev()
    }

    /// When what is shown changes by itself.
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        let moments = |notice: &Notice| [notice.until, notice.at.saturating_add(SEEN).min(notice.until)];
        self.list.iter().rev().take(20).flat_map(moments).filter(|&moment| moment > now).min()
    }
}
