//! File names for steps, made from what they hold.

use crate::step::StepId;

/// Most characters of a slug: long enough to tell steps apart, short enough for a list.
const LONGEST: usize = 32;

/// Lower-case ASCII words of `text` joined by `_`, at most 32 characters, cut between words; empty if none.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let room = LONGEST.saturating_sub(slug.len() + usize::from(!slug.is_empty()));
        if room < word.len() && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('_');
        }
        slug.extend(word.chars().take(room).map(|c| c.to_ascii_lowercase()));
    }
    slug
}

/// The id of the `number`th step: `007_load_data`.
pub fn numbered(number: usize, name: &str) -> StepId {
    let name = if name.is_empty() { "step" } else { name };
    let text = format!("{number:03}_{}", slug(name));
    text.parse().unwrap_or_else(|_| unreachable!("digits and ASCII words are an id: {text}"))
}

/// The text of the first heading of a piece of markdown, links without where they lead.
pub fn heading(markdown: &str) -> Option<String> {
    markdown.lines().find_map(|line| {
        let text = line.trim_start().strip_prefix('#')?.trim_start_matches('#');
        text.starts_with(' ').then(|| without_targets(text.trim())).filter(|text| !text.is_empty())
    })
}

/// `[text](target)` as `text`.
fn without_targets(markdown: &str) -> String {
    let mut out = String::new();
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        out.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

/// A slug for Python or shell source: what its first telling line defines, binds, imports or calls.
pub fn source_slug(source: &str) -> String {
    let line = source
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('@') && !line.starts_with("\"\"\""))
        .find(|line| !line.starts_with(['#', '%']))
        .or_else(|| source.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#!")))
        .unwrap_or_default();
    let telling = ["def ", "async def ", "class "]
        .iter()
        .find_map(|word| line.strip_prefix(word))
        .map(|rest| rest.split(['(', ':']).next().unwrap_or(rest))
        .or_else(|| bound_name(line))
        .unwrap_or(line);
    slug(telling)
}

/// `x` of `x = …`, `a, b` of `a, b = …`.
fn bound_name(line: &str) -> Option<&str> {
    let (left, right) = line.split_once('=')?;
    let plain = left.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | ',' | '.'));
    (plain && !right.starts_with('=') && !left.trim().is_empty()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_says_what_the_source_does() {
        for (source, want) in [
            ("import numpy as np\n", "import_numpy_as_np"),
            ("\n# a comment\ndf = pd.read_csv('x')\n", "df"),
            ("def fit(model, x):\n  pass", "fit"),
            ("@cache\nclass Net(Module): ...", "net"),
            ("x == 3", "x_3"),
            ("%%timeit -n100\nf()", "f"),
            ("%matplotlib inline", "matplotlib_inline"),
            ("# only\n# comments", "only"),
            ("", ""),
            ("über = 1", "ber"),
            ("print('../../etc/passwd')", "print_etc_passwd"),
        ] {
            assert_eq!(source_slug(source), want, "{source}");
        }
    }

    #[test]
    fn a_slug_is_short_and_cut_between_words() {
        assert_eq!(slug("the quick brown fox jumps over the lazy dog"), "the_quick_brown_fox_jumps_over");
        assert_eq!(slug(&"x".repeat(100)).len(), 32);
    }

    #[test]
    fn a_heading_is_found_in_markdown() {
        assert_eq!(heading("text\n\n## Load the data\nmore"), Some("Load the data".to_owned()));
        assert_eq!(heading("# [Problem 1](https://x.org/1): sums"), Some("[Problem 1: sums".to_owned()));
        assert_eq!(heading("#!shebang\n#\n"), None);
    }
}
