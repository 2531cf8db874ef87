//! IndentationError and TabError.

use super::syntax_edits::{Edit, only_compiling};
use crate::feedback::case::{Case, Finding};
use crate::feedback::diagnosis::{Cause, Rule};
use crate::feedback::edit::suggest;

pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let text = case.step.text;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = usize::try_from(case.line.saturating_sub(1)).unwrap_or(0);
    let what = case.message();
    if case.is("TabError") {
        let text = format!(
            "At {at} tabs and spaces are mixed: how wide a tab is decides which block the line is in, and nothing here \
             says how wide it was meant to be."
        );
        return Some(case.here(Cause::Indentation, text));
    }
    if what.contains("does not match any outer") {
        let text = format!(
            "The line at {at} is indented less than the one before it, but as no block around it: it may belong inside \
             or outside, which changes what it does."
        );
        return Some(case.here(Cause::Indentation, text));
    }
    if what.contains("unexpected indent") {
        let whole = dedented(&lines);
        let finding = |text: String| case.here(Cause::Indentation, text);
        if let Some(new) = whole
            && let Some(edit) =
                only_compiling(case, vec![Edit::new(Rule::Dedent, "take the common indentation off", new)])
        {
            let text = format!("The whole step is indented, first at {at}: there is no block that it could be in.");
            return Some(finding(text).with(suggest(case.step, edit.rule, true, edit.title, edit.text)));
        }
        let text = format!(
            "The line at {at} is indented more than the one before it, which opens no block. Either the line that opened \
             the block is lost, or the blanks are too many."
        );
        let alone = as_before(&lines, place)
            .and_then(|new| only_compiling(case, vec![Edit::new(Rule::Dedent, "indent it as the line before", new)]));
        return Some(
            finding(text).with(alone.and_then(|edit| suggest(case.step, edit.rule, false, edit.title, edit.text))),
        );
    }
    // "expected an indented block after 'if' statement on line 1"
    let opener = what.rsplit("on line ").next().and_then(|number| number.trim().parse::<usize>().ok());
    let header = opener.map(|line| line.saturating_sub(1)).or_else(|| header_before(&lines, place))?;
    let body = indented_body(&lines, header);
    let text = format!(
        "Line {} of {} opens a block, and the line after it is not indented, so that the block is empty.",
        header + 1,
        case.step.id
    );
    let Some((new, is_only)) = body else {
        return Some(case.here(Cause::Indentation, text).and("What was to stand in it is not there."));
    };
    let edit = only_compiling(case, vec![Edit::new(Rule::IndentBody, "indent what follows as its body", new)]);
    let finding = case.here(Cause::Indentation, text);
    let finding = if is_only { finding } else { finding.and("How much of what follows belongs in it is a choice.") };
    Some(finding.with(edit.and_then(|edit| suggest(case.step, edit.rule, is_only, edit.title, edit.text))))
}

fn indent(line: &str) -> &str {
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..end).unwrap_or_default()
}

fn is_blank(line: &str) -> bool {
    let bare = line.trim();
    bare.is_empty() || bare.starts_with('#')
}

/// The text without the indentation that all its lines share; nothing if they share none.
fn dedented(lines: &[&str]) -> Option<String> {
    let code = lines.iter().filter(|line| !is_blank(line));
    let least = code.clone().map(|line| indent(line)).min_by_key(|indent| indent.len())?;
    if least.is_empty() || !code.clone().all(|line| line.starts_with(least)) {
        return None;
    }
    Some(
        lines
            .iter()
            .map(|line| line.strip_prefix(least).unwrap_or_else(|| line.trim_start_matches([' ', '\t'])))
            .collect(),
    )
}

/// The text with a line, and what is indented like it after it, brought to the level of the line before.
fn as_before(lines: &[&str], place: usize) -> Option<String> {
    let wrong = indent(lines.get(place)?);
    let before = lines.get(..place)?.iter().rev().find(|line| !is_blank(line)).map_or("", |line| indent(line));
    let rest = wrong.strip_prefix(before)?;
    let block = lines.get(place..)?.iter().take_while(|line| is_blank(line) || line.starts_with(wrong)).count();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let inside = (place..place + block).contains(&at);
        match line.strip_prefix(before).and_then(|line| line.strip_prefix(rest)).filter(|_| inside) {
            Some(bare) => text.push_str(&format!("{before}{bare}")),
            None => text.push_str(line),
        }
    }
    Some(text)
}

/// The line that opens a block, before another.
fn header_before(lines: &[&str], place: usize) -> Option<usize> {
    let at = lines.get(..place.min(lines.len()))?.iter().rposition(|line| !is_blank(line))?;
    lines.get(at).is_some_and(|line| line.trim_end().ends_with(':')).then_some(at)
}

/// The text with what follows a header indented as its body, and whether there was no choice of how much.
fn indented_body(lines: &[&str], header: usize) -> Option<(String, bool)> {
    let outer = indent(lines.get(header)?);
    let unit =
        lines.iter().map(|line| indent(line)).find(|indent| !indent.is_empty() && outer.is_empty()).unwrap_or("    ");
    let unit = if unit.starts_with('\t') { "\t" } else { unit };
    // A header over several lines ends where its brackets do: at the line with the colon.
    let start = (header..lines.len()).find(|at| {
        lines.get(*at).is_some_and(|line| line.split('#').next().unwrap_or_default().trim_end().ends_with(':'))
    })? + 1;
    let first = (start..lines.len()).find(|at| lines.get(*at).is_some_and(|line| !is_blank(line)))?;
    if indent(lines.get(first)?) != outer {
        return None;
    }
    // The first statement: with the lines that its brackets or own block hold.
    let mut end = first + 1;
    let mut depth = depth_of(lines.get(first)?);
    while end < lines.len()
        && (depth > 0 || lines.get(end).is_some_and(|line| !is_blank(line) && indent(line).len() > outer.len()))
    {
        depth += depth_of(lines.get(end)?);
        end += 1;
    }
    let rest = lines.get(end..)?.iter().find(|line| !is_blank(line));
    let is_only = match rest {
        None => true,
        // What stands further out, or goes on with the statement of the header, is not its body.
        Some(line) => {
            let word = line.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            indent(line).len() < outer.len() || matches!(word, "elif" | "else" | "except" | "finally")
        }
    };
    let text = lines.iter().enumerate().map(|(at, line)| {
        if (first..end).contains(&at) && !line.trim().is_empty() { format!("{unit}{line}") } else { (*line).to_owned() }
    });
    Some((text.collect(), is_only))
}

/// How many brackets a line leaves open: as far as can be told without reading texts in it.
fn depth_of(line: &str) -> i64 {
    let bare = line.split('#').next().unwrap_or_default();
    bare.chars()
        .map(|c| match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        })
        .sum()
}
