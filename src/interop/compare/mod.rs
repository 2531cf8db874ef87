//! A replay beside its recording: where they differ, by meaning.
//!
//! # Architecture
//!
//! - [`compare`]: two executions of one step to a [`Comparison`]: a [`Verdict`], the [`Difference`]s, and how much
//!   was other without meaning anything ([`Volatile`]).
//! - [`Tolerance`]: what counts: how near numbers must be, and which volatile things are asked for after all.
//! - [`first_divergence`]: over a whole run, the first step that differs and the step that caused it.
//! - `text`: what a terminal would show, line by line; `token`: a line cut into words, numbers, times…;
//!   `lines`: two texts laid side by side.
//!
//! All of it is pure.

mod divergence;
mod lines;
mod text;
mod token;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::step::{Display, Execution, StepError, StepId, Stream};

pub use divergence::{Divergence, first_divergence};

/// What counts as a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// How far numbers may be apart, relative to the larger.
    pub relative: f64,
    /// How far numbers near zero may be apart.
    pub absolute: f64,
    /// Volatile things that are asked for: they count as differences.
    pub strict: Vec<Volatile>,
}

impl Default for Tolerance {
    /// Numbers equal to about six digits; nothing volatile counts.
    fn default() -> Self {
        Self { relative: 1e-6, absolute: 1e-9, strict: Vec::new() }
    }
}

impl Tolerance {
    /// Everything counts.
    pub fn exact() -> Self {
        use Volatile::*;
        let strict = vec![
            Number, Address, Time, Duration, SetOrder, Progress, Path, Identifier, Spacing, Picture, Quoting, Notation,
        ];
        Self { relative: 0.0, absolute: 0.0, strict }
    }
}

/// What changes from run to run without meaning anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Volatile {
    /// Numbers that are near enough.
    Number,
    /// Addresses of objects: `<Axes at 0x7f…>`.
    Address,
    /// Dates and times of day.
    Time,
    /// Lengths of time: `1.2 ms`.
    Duration,
    /// The order of a set.
    SetOrder,
    /// Progress bars.
    Progress,
    /// Temporary paths, and where a package is installed.
    Path,
    /// Ids made at random.
    Identifier,
    /// The width of gaps between words.
    Spacing,
    /// The bytes of a picture of the same size.
    Picture,
    /// How a text is quoted: `'a'` and `a`.
    Quoting,
    /// How a value is written: `1.0` and, since numpy 2, `np.float64(1.0)`.
    Notation,
}

/// Where in an execution a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What it printed.
    Stdout,
    /// What it printed as errors and warnings.
    Stderr,
    /// What it showed.
    Display,
    /// How it failed.
    Error,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// In which part.
    pub part: Part,
    /// 1-based line in that part of the recording, or number of the display.
    pub line: usize,
    /// What was recorded; `None` if it is new.
    pub recorded: Option<String>,
    /// What the replay gave; `None` if it is missing.
    pub rerun: Option<String>,
}

/// How a replay stands to its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// To the letter.
    Same,
    /// But for what means nothing.
    Alike,
    /// It differs.
    Different,
    /// It differs, and consults what no replay can give again.
    Nondeterministic,
}

/// A replay of one step beside its recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Which step.
    pub step: StepId,
    /// How it stands.
    pub verdict: Verdict,
    /// What differs, in the order of the parts; at most a thousand.
    pub differences: Vec<Difference>,
    /// How often each volatile thing was other without counting.
    pub ignored: BTreeMap<Volatile, usize>,
}

/// Most differences that are listed.
const MOST: usize = 1000;

/// Compares what was recorded of a step with what its replay gave.
///
/// ```
/// use reweave::interop::compare::{Tolerance, Verdict, compare};
/// use reweave::step::{Chunk, Execution, Stream, VersionNumber};
/// let gave = |text: &str| {
///     let mut execution = Execution::new("a".parse().unwrap(), VersionNumber(1), 0);
///     execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: text.to_owned() });
///     execution
/// };
/// let recorded = gave("0.3333333 <Axes at 0x7f01> {1, 2}\n");
/// let rerun = gave("0.33333331 <Axes at 0x7f9c> {2, 1}\n");
/// let found = compare(&recorded, &rerun, &Tolerance::default());
/// assert_eq!(found.verdict, Verdict::Alike);
/// assert_eq!(found.ignored.len(), 3);
/// ```
pub fn compare(recorded: &Execution, rerun: &Execution, tolerance: &Tolerance) -> Comparison {
    let mut found = Found { tolerance, differences: Vec::new(), ignored: BTreeMap::new(), other: false };
    for (part, stream) in [(Part::Stdout, Stream::Stdout), (Part::Stderr, Stream::Stderr)] {
        found.texts(part, &recorded.output.text(stream), &rerun.output.text(stream));
    }
    found.displays(&recorded.displays, &rerun.displays);
    found.errors(recorded.error.as_ref(), rerun.error.as_ref());
    let verdict = match (found.differences.is_empty(), found.ignored.is_empty() && !found.other) {
        (true, true) => Verdict::Same,
        (true, false) => Verdict::Alike,
        (false, _) if !rerun.observation.nondeterministic.is_empty() => Verdict::Nondeterministic,
        (false, _) => Verdict::Different,
    };
    Comparison { step: recorded.step.clone(), verdict, differences: found.differences, ignored: found.ignored }
}

struct Found<'t> {
    tolerance: &'t Tolerance,
    differences: Vec<Difference>,
    ignored: BTreeMap<Volatile, usize>,
    /// Whether something was other that is not even volatile: colours, say.
    other: bool,
}

impl Found<'_> {
    fn differ(&mut self, part: Part, line: usize, recorded: Option<String>, rerun: Option<String>) {
        if self.differences.len() < MOST {
            self.differences.push(Difference { part, line, recorded, rerun });
        }
    }

    /// Notes something volatile; says whether it counts.
    fn volatile(&mut self, what: Volatile, times: usize) -> bool {
        if self.tolerance.strict.contains(&what) {
            return true;
        }
        *self.ignored.entry(what).or_default() += times;
        false
    }

    /// Compares two texts; says whether they differ.
    fn texts(&mut self, part: Part, recorded: &str, rerun: &str) {
        if recorded == rerun {
            return;
        }
        let (old, new) = (text::shown(recorded), text::shown(rerun));
        self.other |= old.lines == new.lines;
        if old.progress != new.progress && self.volatile(Volatile::Progress, 1) {
            let bar = |shown: &text::Shown| shown.progress.last().cloned();
            self.differ(part, 1, bar(&old), bar(&new));
        }
        for pair in lines::pairs(&old.lines, &new.lines, self.tolerance) {
            match pair {
                lines::Pair::Alike(volatile) => {
                    for (what, times) in volatile {
                        *self.ignored.entry(what).or_default() += times;
                    }
                }
                lines::Pair::Different { line, old, new } => self.differ(part, line, old, new),
            }
        }
    }

    /// Values are compared with values and pictures with pictures: a notebook shows its figures when a cell has ended, and
    /// where it does so unasked, a replay shows none.
    fn displays(&mut self, recorded: &[Display], rerun: &[Display]) {
        let apart = |all: &[Display]| -> (Vec<Display>, Vec<Display>) {
            all.iter().cloned().partition(|display| !values::is_figure(display))
        };
        let ((old, old_figures), (new, new_figures)) = (apart(recorded), apart(rerun));
        self.in_order(&old, &new);
        if new_figures.is_empty() && !old_figures.is_empty() && !self.volatile(Volatile::Picture, old_figures.len()) {
            return;
        }
        self.in_order(&old_figures, &new_figures);
    }

    fn in_order(&mut self, recorded: &[Display], rerun: &[Display]) {
        for number in 0..recorded.len().max(rerun.len()) {
            match (recorded.get(number), rerun.get(number)) {
                (Some(old), Some(new)) => self.display(number + 1, old, new),
                (old, new) => {
                    let told = |display: &Display| values::told(display);
                    self.differ(Part::Display, number + 1, old.map(told), new.map(told));
                }
            }
        }
    }

    fn display(&mut self, number: usize, old: &Display, new: &Display) {
        if let Some(what) = values::picture(old, new) {
            let counts = match what {
                values::Picture::Same => false,
                values::Picture::OtherBytes => self.volatile(Volatile::Picture, 1),
                // How many dots an inch has is a setting of whoever shows a figure.
                values::Picture::OtherSize if values::is_figure(old) && values::is_figure(new) => {
                    self.volatile(Volatile::Picture, 1)
                }
                values::Picture::OtherSize => true,
            };
            if counts {
                self.differ(Part::Display, number, Some(values::told(old)), Some(values::told(new)));
            }
            return;
        }
        let (recorded, rerun) = values::texts(old, new);
        if recorded == rerun {
            return;
        }
        if values::unquoted(recorded) == values::unquoted(rerun) {
            if self.volatile(Volatile::Quoting, 1) {
                self.differ(Part::Display, number, Some(recorded.to_owned()), Some(rerun.to_owned()));
            }
            return;
        }
        if let Some(volatile) = values::on_one_line(recorded, rerun, self.tolerance) {
            for what in volatile {
                *self.ignored.entry(what).or_default() += 1;
            }
            return;
        }
        let before = self.differences.len();
        self.texts(Part::Display, recorded, rerun);
        // The place of a display is its number, not a line in it.
        for difference in self.differences.iter_mut().skip(before) {
            difference.line = number;
        }
    }

    fn errors(&mut self, recorded: Option<&StepError>, rerun: Option<&StepError>) {
        let told = |error: &StepError| format!("{}: {}", error.type_name, error.message);
        match (recorded, rerun) {
            (None, None) => {}
            (Some(old), Some(new)) if old.type_name == new.type_name => {
                self.texts(Part::Error, &old.message, &new.message);
            }
            (old, new) => self.differ(Part::Error, 1, old.map(told), new.map(told)),
        }
    }
}

#[cfg(test)]
mod tests;
