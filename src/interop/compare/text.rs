//! What a terminal would show of a text: colours gone, overwritten lines gone, progress bars apart.

use crate::interop::plain::uncoloured;

/// A text as it would be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its lines without spaces at their ends; without empty ones at the end.
    pub lines: Vec<String>,
    /// Progress bars, in their last state.
    pub progress: Vec<String>,
}

/// Most lines that are compared; of longer texts the ends are.
const MOST_LINES: usize = 20_000;

/// The text as a terminal would show it.
pub fn shown(text: &str) -> Shown {
    let plain = uncoloured(text);
    let mut shown = Shown::default();
    for line in plain.split('\n') {
        let line = overwritten(line.strip_suffix('\r').unwrap_or(line));
        let line = line.trim_end();
        if is_progress(line) {
            shown.progress.push(line.to_owned());
        } else {
            shown.lines.push(line.to_owned());
        }
    }
    while shown.lines.last().is_some_and(String::is_empty) {
        shown.lines.pop();
    }
    if shown.lines.len() > MOST_LINES {
        let half = MOST_LINES / 2;
        let left_out = shown.lines.len() - MOST_LINES;
        shown.lines.splice(half..half + left_out, []);
    }
    shown
}

/// What is left of a line in which carriage returns begin anew and backspaces go back.
fn overwritten(line: &str) -> String {
    if !line.contains(['\r', '\u{8}']) {
        return line.to_owned();
    }
    let mut cells: Vec<char> = Vec::new();
    let mut at = 0_usize;
    for c in line.chars() {
        match c {
            '\r' => at = 0,
            '\u{8}' => at = at.saturating_sub(1),
            c => {
                match cells.get_mut(at) {
                    Some(cell) => *cell = c,
                    None => cells.push(c),
                }
                at += 1;
            }
        }
    }
    cells.into_iter().collect()
}

/// Whether a line is a progress bar: a percentage with a bar, or a bar in brackets.
fn is_progress(line: &str) -> bool {
    let bar = |c: char| {
        matches!(c, '#' | '=' | '>' | '-' | '.' | ' ' | '*' | '█' | '▉'..='▏' | '━' | '╺' | '╸' | '░' | '▒' | '▓')
    };
    let percent =
        line.split_once("%|").is_some_and(|(before, _)| before.trim_end().ends_with(|c: char| c.is_ascii_digit()));
    let bracketed = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).is_some_and(|(inner, _)| {
        inner.chars().count() >= 10 && inner.chars().all(bar) && inner.contains(['#', '=', '>', '█', '*'])
    });
    let solid = line.chars().filter(|c| matches!(c, '█' | '━')).count() >= 8;
    percent || bracketed || solid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_a_terminal_shows_it() {
        let shown = shown("\u{1b}[31mred\u{1b}[0m  \r\nab\rX\nc\u{8}d\n\n\n");
        assert_eq!(shown.lines, ["red", "Xb", "d"]);
    }

    #[test]
    fn progress_bars_stand_apart_in_their_last_state() {
        let shown =
            shown("start\n 10%|█   | 1/10 [00:00<00:01]\r100%|████| 10/10 [00:01<00:00]\n[=====>     ]\nx = [1, 2]\n");
        assert_eq!(shown.lines, ["start", "x = [1, 2]"]);
        assert_eq!(shown.progress, ["100%|████| 10/10 [00:01<00:00]", "[=====>     ]"]);
    }
}
