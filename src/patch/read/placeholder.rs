//! Lines that stand for code that is not shown: `...` and "rest of the code stays the same".

/// Whether a line is only an ellipsis: a gap, or Python's own `...`.
pub(in crate::patch) fn is_elision(line: &str) -> bool {
    matches!(line.trim(), "..." | "…" | "....")
}

/// Words that tell a placeholder from a comment where an ellipsis comes first.
const WORDS: [&str; 17] = [
    "existing",
    "rest",
    "unchanged",
    "remain",
    "same",
    "omitted",
    "previous",
    "other",
    "code",
    "here",
    "keep",
    "above",
    "below",
    "before",
    "elided",
    "snip",
    "as is",
];

/// Words that do where it only comes last, as in any comment that trails off.
const STRONG: [&str; 9] =
    ["existing code", "rest of", "remaining", "unchanged", "the same", "same as before", "omitted", "elided", "as is"];

/// Comments that are placeholders without an ellipsis.
const PHRASES: [&str; 14] = [
    "rest of the code",
    "rest of the file",
    "rest of code",
    "rest of file",
    "rest of the function",
    "rest of the class",
    "rest unchanged",
    "existing code",
    "existing code here",
    "remaining code",
    "remaining code unchanged",
    "code unchanged",
    "unchanged code",
    "same as before",
];

/// Whether a line is a comment that stands for code left out.
pub(in crate::patch) fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    let Some(comment) = ["#", "//", "/*", "<!--", "--"].iter().find_map(|mark| line.strip_prefix(mark)) else {
        return false;
    };
    let text = comment.trim_end_matches("*/").trim_end_matches("-->").trim_start_matches('#').trim().to_lowercase();
    let elided = text.contains("...") || text.contains('…');
    let bare = text.trim_matches(|c: char| matches!(c, '.' | '…' | '(' | ')' | '[' | ']' | ' ' | ':'));
    if elided {
        let words: &[&str] =
            if text.trim_start_matches(['(', '[', ' ']).starts_with(['.', '…']) { &WORDS } else { &STRONG };
        return bare.is_empty() || (text.len() < 100 && words.iter().any(|word| bare.contains(word)));
    }
    let phrase = bare
        .trim_end_matches(" stays the same")
        .trim_end_matches(" remains the same")
        .trim_end_matches(" remains unchanged")
        .trim_end_matches(" goes here");
    PHRASES.contains(&phrase) || (phrase.len() < bare.len() && PHRASES.iter().any(|known| phrase.ends_with(known)))
}

/// The first added line of a new text that stands for code left out and is not a line of the old text, as
/// `known` tells. `lines` are those of the new text in order, each with whether it is added.
///
/// A lone `...` is Python where a body or a list may hold it, and a placeholder elsewhere.
pub(in crate::patch) fn find<'t>(
    lines: impl IntoIterator<Item = (&'t str, bool)>,
    known: impl Fn(&str) -> bool,
) -> Option<&'t str> {
    let mut before = "";
    for (line, added) in lines {
        let suspicious = added && (is_placeholder(line) || (is_elision(line) && !may_hold_ellipsis(before)));
        if suspicious && !known(line.trim()) {
            return Some(line);
        }
        if !line.trim().is_empty() {
            before = line.trim();
        }
    }
    None
}

/// Whether `...` may be code after this line: the body of something, an item of a list, after a docstring.
fn may_hold_ellipsis(before: &str) -> bool {
    let code = before.split('#').next().unwrap_or_default().trim_end();
    [":", ",", "(", "[", "\"\"\"", "'''", "="].iter().any(|end| code.ends_with(end)) || code.starts_with('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_known_and_comments_are_not() {
        for line in [
            "# ... existing code ...",
            "    # ... rest of the code stays the same ...",
            "# ...",
            "# … unchanged …",
            "// ... other functions remain unchanged",
            "# (rest of the file unchanged...)",
            "# Rest of the code",
            "# existing code here",
            "# rest of the function remains the same",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
        for line in [
            "# existing code paths rely on this",
            "# the same as before, but sorted",
            "# wait for it...",
            "# handle the other cases...",
            "x = 1  # ...",
            "# rest",
            "print('...')",
            "...",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn a_lone_ellipsis_is_code_in_a_body_and_a_gap_elsewhere() {
        let added = |lines: &[&'static str]| lines.iter().map(|line| (*line, true)).collect::<Vec<_>>();
        assert_eq!(find(added(&["def f():", "    ..."]), |_| false), None);
        assert_eq!(find(added(&["x = 1", "...", "y = 2"]), |_| false), Some("..."));
        assert_eq!(find(added(&["x = 1", "...", "y = 2"]), |line| line == "..."), None);
        assert_eq!(find([("x = 1", false), ("...", false)], |_| false), None);
    }
}
