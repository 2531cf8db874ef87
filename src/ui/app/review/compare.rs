//! Two texts as lines that stay, go and come, those that were written anew beside one another; and the hunks in them.

use std::ops::Range;

use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use super::{Choice, Hunk, Line, Tag};

/// Files of more lines than this are shown as one whole change: comparing them would hold up a key.
const COMPARED: usize = 30_000;
/// Blocks of more pairs than this are paired in order, not by likeness.
const PAIRED: usize = 400;
/// Lines longer than this have no words marked.
const WORDED: usize = 2_000;

/// Two texts as the lines of both.
pub(super) fn compare(old: &str, new: &str) -> Vec<Line> {
    let olds: Vec<&str> = old.split_inclusive('\n').collect();
    let news: Vec<&str> = new.split_inclusive('\n').collect();
    let operations = if olds.len().max(news.len()) > COMPARED {
        vec![DiffOp::Replace { old_index: 0, old_len: olds.len(), new_index: 0, new_len: news.len() }]
    } else {
        TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&olds, &news).ops().to_vec()
    };
    let mut lines = Vec::with_capacity(olds.len().max(news.len()));
    let mut gone: Range<usize> = 0..0;
    let mut come: Range<usize> = 0..0;
    for operation in operations {
        let (from, to) = (operation.old_range(), operation.new_range());
        if operation.tag() == similar::DiffTag::Equal {
            block(&olds, &news, &mut gone, &mut come, &mut lines);
            for (old, new) in from.zip(to) {
                lines.push(line(Tag::Same, Some(old), Some(new), olds.get(old).copied().unwrap_or_default()));
            }
        } else {
            gone = if gone.is_empty() { from.clone() } else { gone.start..from.end.max(gone.end) };
            come = if come.is_empty() { to.clone() } else { come.start..to.end.max(come.end) };
        }
    }
    block(&olds, &news, &mut gone, &mut come, &mut lines);
    lines
}

fn line(tag: Tag, old: Option<usize>, new: Option<usize>, text: &str) -> Line {
    let number = |at: Option<usize>| at.and_then(|at| u32::try_from(at + 1).ok());
    Line { tag, old: number(old), new: number(new), text: text.into(), words: Vec::new(), choice: Choice::Undecided }
}

/// Lines that go and lines that come between two that stay: pairs beside one another, the rest between them.
fn block(olds: &[&str], news: &[&str], gone: &mut Range<usize>, come: &mut Range<usize>, lines: &mut Vec<Line>) {
    let (from, to) = (std::mem::take(gone), std::mem::take(come));
    let text = |texts: &[&str], at: usize| texts.get(at).copied().unwrap_or_default().to_owned();
    let (mut old, mut new) = (from.start, to.start);
    let pairs = pairs(olds.get(from.clone()).unwrap_or_default(), news.get(to.clone()).unwrap_or_default());
    let ends = pairs.into_iter().map(|(a, b)| (from.start + a, to.start + b, true));
    for (a, b, paired) in ends.chain([(from.end, to.end, false)]) {
        lines.extend((old..a).map(|at| line(Tag::Removed, Some(at), None, &text(olds, at))));
        lines.extend((new..b).map(|at| line(Tag::Added, None, Some(at), &text(news, at))));
        if paired {
            let mut gone = line(Tag::Removed, Some(a), None, &text(olds, a));
            let mut come = line(Tag::Added, None, Some(b), &text(news, b));
            (gone.words, come.words) = words(gone.content(), come.content());
            lines.extend([gone, come]);
        }
        (old, new) = (a + 1, b + 1);
    }
}

/// Which lines that go are like which that come, in order: the pairing that is most alike in all.
fn pairs(olds: &[&str], news: &[&str]) -> Vec<(usize, usize)> {
    if olds.is_empty() || news.is_empty() {
        return Vec::new();
    }
    if olds.len() * news.len() > PAIRED {
        return if olds.len() == news.len() { (0..olds.len()).map(|at| (at, at)).collect() } else { Vec::new() };
    }
    let width = news.len() + 1;
    let like = |old: usize, new: usize| {
        let (Some(a), Some(b)) = (olds.get(old), news.get(new)) else { return 0.0 };
        likeness(a.trim(), b.trim())
    };
    let mut best = vec![0.0f32; (olds.len() + 1) * width];
    let mut alike = vec![0.0f32; olds.len() * news.len()];
    let at = |old: usize, new: usize| old * width + new;
    let get = |table: &[f32], place: usize| table.get(place).copied().unwrap_or(0.0);
    for old in (0..olds.len()).rev() {
        for new in (0..news.len()).rev() {
            let likeness = like(old, new);
            let paired = if likeness > 0.5 { likeness + get(&best, at(old + 1, new + 1)) } else { 0.0 };
            let value = paired.max(get(&best, at(old + 1, new))).max(get(&best, at(old, new + 1)));
            if let (Some(slot), Some(kept)) = (best.get_mut(at(old, new)), alike.get_mut(old * news.len() + new)) {
                (*slot, *kept) = (value, likeness);
            }
        }
    }
    let (mut old, mut new, mut found) = (0, 0, Vec::new());
    while old < olds.len() && new < news.len() {
        let here = get(&best, at(old, new));
        if get(&best, at(old + 1, new)) == here {
            old += 1;
        } else if get(&best, at(old, new + 1)) == here {
            new += 1;
        } else {
            found.push((old, new));
            (old, new) = (old + 1, new + 1);
        }
    }
    found
}

/// From 0 to 1: how much of two lines is the same, by words.
fn likeness(a: &str, b: &str) -> f32 {
    if a.is_empty() || b.is_empty() || a.len().max(b.len()) > WORDED {
        return 0.0;
    }
    if a == b {
        return 1.0;
    }
    let diff = TextDiff::from_unicode_words(a, b);
    let same: usize = diff
        .iter_all_changes()
        .filter(|change| change.tag() == ChangeTag::Equal)
        .map(|change| change.value().len())
        .sum();
    (2 * same) as f32 / (a.len() + b.len()) as f32
}

/// The bytes of two paired lines that differ.
fn words(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len().max(new.len()) > WORDED {
        return Default::default();
    }
    let diff = TextDiff::from_unicode_words(old, new);
    let mut found = (Vec::<Range<usize>>::new(), Vec::<Range<usize>>::new());
    let (mut from, mut to) = (0, 0);
    let add = |ranges: &mut Vec<Range<usize>>, start: usize, len: usize| match ranges.last_mut() {
        Some(last) if last.end == start => last.end += len,
        _ => ranges.push(start..start + len),
    };
    for change in diff.iter_all_changes() {
        let len = change.value().len();
        match change.tag() {
            ChangeTag::Equal => (from, to) = (from + len, to + len),
            ChangeTag::Delete => {
                add(&mut found.0, from, len);
                from += len;
            }
            ChangeTag::Insert => {
                add(&mut found.1, to, len);
                to += len;
            }
        }
    }
    found
}

/// Runs of changed lines, each with what it stands in.
pub(super) fn hunks(lines: &[Line]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut place = String::new();
    let mut at = 0;
    while let Some(first) = lines.get(at) {
        if first.tag == Tag::Same {
            let content = first.content();
            if let Some(name) = definition(content) {
                place = name;
            } else if !content.trim().is_empty() && !content.starts_with([' ', '\t', ')', ']', '}', '#', '@']) {
                place.clear();
            }
            at += 1;
            continue;
        }
        let len = lines.iter().skip(at).take_while(|line| line.tag != Tag::Same).count();
        let own = lines.iter().skip(at).take(len).find_map(|line| definition(line.content()));
        let inside = lines.iter().skip(at).take(len).any(|line| line.content().starts_with([' ', '\t']));
        let place = own.unwrap_or_else(|| if inside { place.clone() } else { String::new() });
        hunks.push(Hunk { lines: at..at + len, place });
        at += len;
    }
    hunks
}

/// The name that a line defines.
fn definition(line: &str) -> Option<String> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let rest = rest.strip_prefix("def ").or_else(|| rest.strip_prefix("class "))?;
    let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}
