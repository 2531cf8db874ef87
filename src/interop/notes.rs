//! What stands between steps, as a page to read.

use super::{Note, NoteKind};

/// The longest text of one note, in bytes.
const LONGEST: usize = 1 << 20;

/// The text with its middle left out if it is over 1 MiB, and whether it was.
pub fn bounded(text: String) -> (String, bool) {
    if text.len() <= LONGEST {
        return (text, false);
    }
    let head = (0..=LONGEST / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
    let tail = (text.len() - LONGEST / 2..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    (format!("{start}\n\n[… {} bytes left out …]\n\n{end}", tail - head), true)
}

/// The notes as markdown: one section each; what the agent said last, alone, stands without a title.
pub fn page(notes: &[Note]) -> String {
    if let [Note { kind: NoteKind::Thought | NoteKind::Markdown, text, result: None, .. }] = notes {
        return format!("{}\n", text.trim_end());
    }
    let sections: Vec<String> = notes.iter().map(section).collect();
    sections.join("\n")
}

fn section(note: &Note) -> String {
    let title = match note.kind {
        NoteKind::Markdown => String::new(),
        NoteKind::Message => format!("## {} said\n\n", note.by),
        NoteKind::Thought => format!("## {} thought\n\n", note.by),
        NoteKind::Tool => format!("## {} was called\n\n", note.by),
        NoteKind::Other => format!("## {}\n\n", note.by),
    };
    let mut section = if note.kind == NoteKind::Tool {
        format!("{title}{}", fenced(&note.text))
    } else {
        format!("{title}{}\n", note.text.trim_end())
    };
    if let Some(result) = &note.result {
        section.push_str(&format!("\n### It gave\n\n{}", fenced(result)));
    }
    section
}

/// Text in a fence that nothing in it can close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: NoteKind, text: &str, result: Option<&str>) -> Note {
        Note { kind, by: "x".to_owned(), text: text.to_owned(), result: result.map(str::to_owned) }
    }

    #[test]
    fn a_page_reads_as_what_happened() {
        assert_eq!(page(&[note(NoteKind::Thought, "All done.\n", None)]), "All done.\n");
        assert_eq!(
            page(&[note(NoteKind::Message, "hi", None), note(NoteKind::Tool, "{}", Some("a ``` b"))]),
            "## x said\n\nhi\n\n## x was called\n\n```\n{}\n```\n\n### It gave\n\n````\na ``` b\n````\n"
        );
    }

    #[test]
    fn a_long_text_keeps_its_ends() {
        let (text, cut) = bounded(format!("start{}end", "é".repeat(LONGEST)));
        assert!(cut && text.starts_with("start") && text.ends_with("end") && text.len() < LONGEST + 100);
    }
}
