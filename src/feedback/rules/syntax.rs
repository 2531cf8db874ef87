//! SyntaxError: what is no Python, and the one small change that would make it so, if there is just one.

use super::syntax_edits::{self, Edit, only_compiling};
use crate::feedback::case::{Case, Finding, cut};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::suggest;

pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let text = case.step.text;
    let said = format!("{} at {at}: `{}`.", case.message(), cut(case.line_text(), 200));
    if let Some(finding) = elided(case).or_else(|| merge(case)) {
        return Some(finding);
    }
    if case.message().contains("leading zeros") || octal(text, case.line).is_some() {
        return Some(leading_zeros(case));
    }
    let line = usize::try_from(case.line.saturating_sub(1)).unwrap_or(0);
    let mended = syntax_edits::compiling(case, syntax_edits::all(text, line));
    let cut_off = is_cut_off(case);
    let finding = case.here(Cause::Syntax, said);
    match mended.as_slice() {
        [edit] => {
            let safe = !cut_off && edit.certain;
            let finding = finding.and(format!("One change makes it Python: {}.", edit.title));
            let finding = if cut_off { finding.and(CUT_OFF) } else { finding };
            Some(finding.with(suggest(case.step, edit.rule, safe, edit.title.clone(), edit.text.clone())))
        }
        [] => {
            let finding = if cut_off { finding.and(CUT_OFF) } else { finding };
            Some(hint(case, finding))
        }
        several => {
            let finding = finding.and("Several changes would make it Python, and they mean different things.");
            let patches = several.iter().take(4);
            Some(finding.with(
                patches.filter_map(|edit| suggest(case.step, edit.rule, false, edit.title.clone(), edit.text.clone())),
            ))
        }
    }
}

const CUT_OFF: &str = "The text ends in the middle of something: what should follow may be lost.";

/// Whether the error is that the text ends too early, with more than one thing open.
fn is_cut_off(case: &Case<'_>) -> bool {
    let message = case.message();
    let ends =
        message.contains("unexpected EOF") || message.contains("triple-quoted") || message.contains("was never closed");
    let lines = case.step.text.lines().filter(|line| !line.trim().is_empty()).count();
    let last = case.step.text.trim_end();
    let open_end = last.ends_with([',', '(', '[', '{', '=', '+', '\\', '.']);
    (ends && open_end && lines > 0) || message.contains("triple-quoted")
}

/// What can be said where no single change helps.
fn hint(case: &Case<'_>, finding: Finding) -> Finding {
    let message = case.message();
    let line = case.line_text();
    let patch = comparison(case);
    let said = match message {
        m if m.contains("outside function") => {
            "What stands there works only inside a function: the line may be indented too little, or its `def` is lost."
        }
        m if m.contains("outside loop") || m.contains("not properly in loop") => "It works only inside a loop.",
        m if m.contains("positional argument follows keyword") => {
            "Arguments without a name come before those with one."
        }
        m if m.contains("cannot assign") || m.contains("can't assign") => {
            "Only a name, an attribute, an item or a slice can be given a value; `==` compares."
        }
        m if m.contains("forgot a comma") => {
            "A comma, an operator or a quote is missing between two values; which one is a choice."
        }
        m if m.contains("f-string") => {
            "Within the braces of an f-string stands an expression; before Python 3.12 the same quotes can't be used in it."
        }
        m if m.contains("unmatched") || m.contains("does not match") => {
            "Brackets are closed by others than they were opened by."
        }
        _ if line.starts_with("function ")
            || line.starts_with("const ")
            || line.starts_with("let ")
            || line.starts_with("var ") =>
        {
            "This is another language."
        }
        _ if line.starts_with("pip ") || line.starts_with("$ ") => {
            "This is a command of a shell; in a step it is written with `!` before it."
        }
        _ => "No single small change makes it Python.",
    };
    finding.and(said).with(patch)
}

/// `if x = 1` with a comparison.
fn comparison(case: &Case<'_>) -> Option<Suggestion> {
    let text = case.step.text;
    let line = usize::try_from(case.line.saturating_sub(1)).ok()?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let source = lines.get(line)?;
    let word = source.split_whitespace().next()?;
    if !matches!(word, "if" | "elif" | "while" | "assert") {
        return None;
    }
    let at = source.char_indices().find(|(at, c)| {
        *c == '='
            && !source.get(at + 1..).is_some_and(|rest| rest.starts_with('='))
            && !source.get(..*at).is_some_and(|before| before.ends_with(['=', '!', '<', '>', ':']))
    })?;
    let start: usize = lines.get(..line)?.iter().map(|line| line.len()).sum::<usize>() + at.0;
    let new = format!("{}=={}", text.get(..start)?, text.get(start + 1..)?);
    let edit = only_compiling(case, vec![Edit::new(Rule::Comparison, "compare with `==`", new)])?;
    suggest(case.step, edit.rule, false, edit.title, edit.text)
}

/// `... existing code ...` in place of code.
fn elided(case: &Case<'_>) -> Option<Finding> {
    let line = case.line_text();
    let bare = line.trim_start_matches(['#', '/', ' ']).to_ascii_lowercase();
    let dots = bare.starts_with("...") || bare.starts_with('…');
    let words =
        ["existing", "rest of", "remaining", "unchanged", "same as", "previous", "omitted", "code here", "other code"];
    let is_placeholder = (dots && bare.trim_matches(['.', ' ', '…']).chars().any(char::is_alphabetic))
        || (words.iter().any(|word| bare.contains(word)) && (bare.ends_with("...") || bare.ends_with('…')));
    is_placeholder.then(|| {
        let text = format!(
            "At {} stands `{}` in place of code: whoever wrote this version left out what was there. It is not in the text \
             any more; an earlier version of the step may have it.",
            case.at(),
            cut(line, 100)
        );
        case.here(Cause::Syntax, text)
    })
}

/// The marks of a merge that nobody finished.
fn merge(case: &Case<'_>) -> Option<Finding> {
    let text = case.step.text;
    let starts = |mark: &str| text.lines().any(|line| line.starts_with(mark));
    if !(starts("<<<<<<<") && starts(">>>>>>>") && text.lines().any(|line| line.starts_with("======="))) {
        return None;
    }
    let side = |first: bool| {
        let mut kept = String::new();
        // Outside of a conflict, in its first part, in the base of it, in its second part.
        let mut part = 0;
        for line in text.split_inclusive('\n') {
            match line {
                l if l.starts_with("<<<<<<<") => part = 1,
                l if l.starts_with("|||||||") && part == 1 => part = 2,
                l if l.starts_with("=======") && part > 0 => part = 3,
                l if l.starts_with(">>>>>>>") => part = 0,
                l if part == 0 || (part == 1 && first) || (part == 3 && !first) => kept.push_str(l),
                _ => {}
            }
        }
        kept
    };
    let text =
        format!("At {} stand the marks of a merge that was not finished: which side is meant is a choice.", case.at());
    let candidates = [("take the first side", side(true)), ("take the second side", side(false))];
    let patches =
        candidates.into_iter().filter_map(|(title, new)| suggest(case.step, Rule::MergeSide, false, title, new));
    Some(case.here(Cause::Syntax, text).with(patches))
}

/// A number with a zero before it on a line: where, and its digits.
fn octal(text: &str, line: u32) -> Option<(usize, &str)> {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum();
    let source = text.get(start..)?.lines().next()?;
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = source.get(at..).and_then(|rest| rest.chars().next()) {
        if c == '0' && !(before.is_alphanumeric() || before == '_' || before == '.') {
            let digits =
                source.get(at..)?.find(|c: char| !c.is_ascii_digit() && c != '_').map_or(source.len(), |end| at + end);
            let number = source.get(at..digits)?;
            let follows = source.get(digits..)?.chars().next();
            let is_plain = !follows.is_some_and(|c| c.is_alphabetic() || c == '.');
            if is_plain && number.len() > 1 && number.chars().any(|c| ('1'..='9').contains(&c)) {
                return Some((start + at, number));
            }
        }
        before = c;
        at += c.len_utf8();
    }
    None
}

fn leading_zeros(case: &Case<'_>) -> Finding {
    let text = format!(
        "A number at {} begins with a zero: `{}`. In older Pythons that was octal; whether that is meant, or the plain \
         number, or a text such as a code, can't be told.",
        case.at(),
        cut(case.line_text(), 100)
    );
    let source = case.step.text;
    let Some((at, number)) = octal(source, case.line) else { return case.here(Cause::Syntax, text) };
    let with = |new: String| Some(format!("{}{new}{}", source.get(..at)?, source.get(at + number.len()..)?));
    let bare = number.trim_start_matches(['0', '_']);
    let candidates = [
        ("take it as octal", format!("0o{bare}")),
        ("take it as decimal", bare.to_owned()),
        ("take it as text", format!("'{number}'")),
    ];
    let patches = candidates
        .into_iter()
        .filter_map(|(title, new)| suggest(case.step, Rule::LeadingZeros, false, title, with(new)?));
    case.here(Cause::Syntax, text).with(patches)
}
