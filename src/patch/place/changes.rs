//! From a hunk and the place where it stands to changes of lines.

use super::index::{Level, Place, spaces};
use crate::patch::lines::{BOM, Base, Change, Ending};
use crate::patch::reading::{BodyLine, Tag};

/// Why a hunk can't be written where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unwritable {
    /// It says that the file ends where it does not.
    #[error("it says that the file ends here, and it does not")]
    NotTheEnd,
    /// The indentation of what it adds would be a guess.
    #[error("its lines are indented otherwise than the file's, and how the added lines should be is open")]
    Indentation,
}

/// The changes that `lines`, which hold no gaps, make at `place`.
pub(super) fn at(base: &Base<'_>, lines: &[BodyLine], place: Place, level: Level) -> Result<Vec<Change>, Unwritable> {
    if level == Level::Shift && !keeps_its_indentation(lines) {
        return Err(Unwritable::Indentation);
    }
    let old_marker = lines.iter().rev().find(|line| line.tag.is_old()).is_some_and(|line| line.no_newline);
    let mut changes = Vec::new();
    let mut open: Option<(usize, usize, Vec<&BodyLine>)> = None;
    let mut at = place.at;
    for line in lines {
        match line.tag {
            Tag::Old => {
                open.get_or_insert((at, at, Vec::new())).1 = at + 1;
                at += 1;
            }
            Tag::New => open.get_or_insert((at, at, Vec::new())).2.push(line),
            Tag::Context | Tag::Bare | Tag::Gap => {
                changes.extend(open.take());
                at += 1;
            }
        }
    }
    changes.extend(open);
    changes
        .into_iter()
        .map(|(start, end, new)| {
            let last = new.len().saturating_sub(1);
            let at_end = end == base.len();
            let new = new
                .iter()
                .enumerate()
                .map(|(index, line)| {
                    if line.no_newline && !(at_end && index == last) {
                        return Err(Unwritable::NotTheEnd);
                    }
                    if level == Level::Exact {
                        return Ok(format!("{}{}", line.text, if line.no_newline { "" } else { "\n" }));
                    }
                    let mut text = shifted(line, if level == Level::Shift { place.shift } else { 0 })?;
                    if start == 0 && index == 0 && base.has_bom() && !text.starts_with(BOM) {
                        text.insert(0, BOM);
                    }
                    let ending = if at_end && index == last {
                        final_ending(base, old_marker, line.no_newline, end)
                    } else {
                        paired_ending(base, start + index, end)
                    };
                    text.push_str(ending.as_str());
                    Ok(text)
                })
                .collect::<Result<Vec<String>, Unwritable>>()?;
            Ok(Change { old: start..end, new })
        })
        .collect()
}

/// A new line ends like the one whose place it takes, or like its neighbours.
fn paired_ending(base: &Base<'_>, at: usize, end: usize) -> Ending {
    let replaced = base.lines.get(at).filter(|_| at < end).map(|line| line.ending);
    replaced.filter(|ending| *ending != Ending::None).unwrap_or_else(|| base.ending_near(end))
}

/// The file's end stays as it is unless the patch speaks of it.
fn final_ending(base: &Base<'_>, old_marker: bool, new_marker: bool, at: usize) -> Ending {
    let newline = if old_marker == new_marker { base.has_final_newline() } else { !new_marker };
    if newline { base.ending_near(at) } else { Ending::None }
}

fn shifted(line: &BodyLine, by: isize) -> Result<String, Unwritable> {
    let text = line.text.strip_suffix('\r').unwrap_or(&line.text);
    if by == 0 || text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let indent = spaces(text).and_then(|indent| indent.checked_add_signed(by)).ok_or(Unwritable::Indentation)?;
    Ok(format!("{}{}", " ".repeat(indent), text.trim_start_matches(' ')))
}

/// Whether old and new lines begin at the same column, so that one shift is right for both. A block whose
/// searched lines lost their indentation and whose new lines did not would be shifted twice.
fn keeps_its_indentation(lines: &[BodyLine]) -> bool {
    let least = |side: fn(Tag) -> bool| {
        lines.iter().filter(|line| side(line.tag) && !line.text.trim().is_empty()).map(|line| spaces(&line.text)).min()
    };
    match (least(Tag::is_old), least(Tag::is_new)) {
        (Some(Some(old)), Some(Some(new))) => old == new,
        (Some(Some(_)), None) => true,
        _ => false,
    }
}
