//! Hunks and lines named on the command line, to what is taken of a patch.

use std::ops::RangeInclusive;

use super::super::CliError;
use crate::patch::review::{At, Review};
use crate::step::{FileChange, Patch, PatchId};

/// A hunk: `3.2` is the second of patch 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkRef {
    /// The patch.
    pub patch: PatchId,
    /// The hunk, from 1, counted over all files of the patch.
    pub hunk: usize,
}

/// Lines of a hunk: `3.2:1-3,5`, by the numbers that `show` gives the lines that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesRef {
    /// The hunk.
    pub hunk: HunkRef,
    /// The lines, from 1.
    pub lines: Vec<RangeInclusive<usize>>,
}

impl std::str::FromStr for HunkRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no hunk: a hunk is PATCH.N, as `3.2`");
        let (patch, hunk) = text.split_once('.').ok_or_else(wrong)?;
        let hunk = hunk.parse().ok().filter(|hunk| *hunk > 0).ok_or_else(wrong)?;
        Ok(Self { patch: super::number(patch)?, hunk })
    }
}

impl std::str::FromStr for LinesRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} names no lines: write PATCH.N:FROM-TO, as `3.2:1-3,5`");
        let (hunk, lines) = text.split_once(':').ok_or_else(wrong)?;
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (usize, usize) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            (0 < from && from <= to).then_some(from..=to)
        };
        let lines = lines.split(',').map(range).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        Ok(Self { hunk: hunk.parse()?, lines })
    }
}

/// What is taken of patches.
#[derive(Debug, clap::Args)]
pub struct Chosen {
    /// Only this hunk of a patch (more than one may be named)
    #[arg(long, value_name = "ID.N")]
    pub hunk: Vec<HunkRef>,

    /// Only these changed lines of a hunk, as `3.2:1-3,5`
    #[arg(long, value_name = "ID.N:LINES")]
    pub lines: Vec<LinesRef>,
}

impl Chosen {
    /// The patches that are named, by themselves or by a hunk, in order and each once.
    pub fn patches(&self, named: &[PatchId]) -> Result<Vec<PatchId>, CliError> {
        let hunks = self.hunk.iter().map(|hunk| hunk.patch).chain(self.lines.iter().map(|lines| lines.hunk.patch));
        let mut all: Vec<PatchId> = Vec::new();
        for id in named.iter().copied().chain(hunks) {
            if !all.contains(&id) {
                all.push(id);
            }
        }
        if all.is_empty() {
            let hint = "name one by its number; `reweave patch list` lists them";
            return Err(CliError::new("no patch is named").hint(hint));
        }
        Ok(all)
    }

    /// What is taken of one patch: nothing named means all of it, which is an empty choice.
    pub fn of(&self, patch: &Patch) -> Result<Vec<FileChange>, CliError> {
        let hunks: Vec<usize> = self.hunk.iter().filter(|hunk| hunk.patch == patch.id).map(|hunk| hunk.hunk).collect();
        let lines: Vec<&LinesRef> = self.lines.iter().filter(|lines| lines.hunk.patch == patch.id).collect();
        if hunks.is_empty() && lines.is_empty() {
            return Ok(Vec::new());
        }
        let mut review = Review::new(&patch.files);
        let places = places(&review);
        let find = |hunk: usize| {
            places.get(hunk - 1).copied().ok_or_else(|| {
                let many = places.len();
                let has = if many == 1 { "1 hunk".to_owned() } else { format!("{many} hunks") };
                let hint = format!("`reweave patch show DIR {}` numbers them", patch.id.0);
                CliError::new(format!("{} has {has}, and no hunk {hunk}", patch.id)).hint(hint)
            })
        };
        review.set(At::Patch, false);
        for hunk in hunks {
            let (file, hunk) = find(hunk)?;
            review.set(At::Hunk(file, hunk), true);
        }
        for named in lines {
            let (file, hunk) = find(named.hunk.hunk)?;
            let changed = changed(&review, file, hunk);
            for range in &named.lines {
                if *range.end() > changed.len() {
                    let what = format!("hunk {}.{} changes {} lines", patch.id.0, named.hunk.hunk, changed.len());
                    let hint = format!("`reweave patch show DIR {}` numbers them", patch.id.0);
                    return Err(CliError::new(format!("{what}, and has no line {}", range.end())).hint(hint));
                }
                for line in range.clone() {
                    if let Some(at) = changed.get(line - 1) {
                        review.set(*at, true);
                    }
                }
            }
        }
        let selection = review.selection();
        if selection.is_empty() {
            return Err(CliError::new(format!("what is named of {} changes nothing", patch.id)).status(1));
        }
        Ok(selection)
    }
}

/// The hunks of a review in order: file and hunk.
pub(super) fn places(review: &Review) -> Vec<(usize, usize)> {
    let files = review.files.iter().enumerate();
    files.flat_map(|(at, file)| (0..file.hunks.len()).map(move |hunk| (at, hunk))).collect()
}

/// The lines of a hunk that change, in the order in which they are shown.
fn changed(review: &Review, file: usize, hunk: usize) -> Vec<At> {
    let runs = review.files.get(file).and_then(|file| file.hunks.get(hunk)).map(|hunk| hunk.runs.as_slice());
    let mut all = Vec::new();
    for (run, lines) in runs.unwrap_or_default().iter().enumerate() {
        let at = |added, line| At::Line { file, hunk, run, added, line };
        all.extend((0..lines.old.len()).map(|line| at(false, line)));
        all.extend((0..lines.new.len()).map(|line| at(true, line)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_and_lines_are_named_as_people_type_them() {
        let hunk = |text: &str| text.parse::<HunkRef>().map(|hunk| (hunk.patch.0, hunk.hunk));
        assert_eq!(hunk("3.2"), Ok((3, 2)));
        assert_eq!(hunk("#12.1"), Ok((12, 1)));
        for wrong in ["3", "3.", "3.0", "a.1", ".1", "3.-1"] {
            assert!(hunk(wrong).is_err(), "{wrong}");
        }
        let lines = "3.2:1-3,5".parse::<LinesRef>().unwrap();
        assert_eq!(lines.lines, [1..=3, 5..=5]);
        for wrong in ["3.2", "3.2:", "3.2:0", "3.2:3-1", "3.2:a"] {
            assert!(wrong.parse::<LinesRef>().is_err(), "{wrong}");
        }
    }
}
