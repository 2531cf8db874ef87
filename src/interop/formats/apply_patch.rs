//! Codex's patch format, `*** Begin Patch`, as changes to files.

use crate::interop::workspace::Change;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The patch in a shell command that does nothing but apply one.
pub fn in_command(command: &str) -> Option<String> {
    let start = command.find(BEGIN)?;
    let before = command.get(..start)?;
    let applies = before.contains("apply_patch") || before.trim().is_empty();
    let end = command.rfind(END)? + END.len();
    // After the patch there is only what ends a here-document.
    let after = command.get(end..)?.trim().trim_matches(['\'', '"']).trim();
    let ended = after.is_empty() || after.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (applies && ended).then(|| command.get(start..end).unwrap_or_default().to_owned())
}

/// The changes of a patch, one a file. A section that is not understood changes nothing.
pub fn changes(patch: &str) -> Vec<Change<'_>> {
    let mut sections: Vec<Vec<&str>> = Vec::new();
    for line in patch.lines().filter(|line| *line != BEGIN && *line != END) {
        if STARTS.iter().any(|start| line.starts_with(start)) {
            sections.push(vec![line]);
        } else if let Some(section) = sections.last_mut() {
            section.push(line);
        }
    }
    sections.iter().filter_map(|section| change(section)).collect()
}

const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const STARTS: [&str; 3] = [ADD, UPDATE, DELETE];

/// The change that a section makes: its first line names the file.
fn change<'a>(section: &[&'a str]) -> Option<Change<'a>> {
    let (head, lines) = section.split_first()?;
    let path = STARTS.iter().find_map(|start| head.strip_prefix(start))?.trim();
    let text = Some(format!("{BEGIN}\n{}\n{END}\n", section.join("\n")));
    let mut change = Change { path, text, ..Change::default() };
    if head.starts_with(ADD) {
        change.created = true;
        let added = lines.iter().filter_map(|line| line.strip_prefix('+'));
        change.after = Some(added.map(|line| format!("{line}\n")).collect());
    } else if head.starts_with(DELETE) {
        change.deleted = true;
    } else {
        change.replaced = lines.split(|line| line.starts_with("@@")).filter_map(hunk).collect();
    }
    Some(change)
}

/// The lines before and after a hunk; `None` for one that changes nothing.
fn hunk(lines: &[&str]) -> Option<(String, String, bool)> {
    let side = |other: char| -> String {
        lines
            .iter()
            .filter(|line| !line.starts_with(other) && !line.starts_with("***"))
            .map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
            .collect()
    };
    let (old, new) = (side('+'), side('-'));
    (old != new).then_some((old, new, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n+y = 2\n*** Update File: b.py\n@@ def f\n one\n-two\n+TWO\n@@\n-four\n\
                         +FOUR\n*** Delete File: c.py\n*** End Patch";

    #[test]
    fn each_section_is_a_change() {
        let changes = changes(PATCH);
        assert_eq!(changes.len(), 3);
        assert_eq!(
            (changes[0].path, changes[0].after.as_deref(), changes[0].created),
            ("a.py", Some("x = 1\ny = 2\n"), true)
        );
        assert_eq!(
            changes[1].replaced,
            [("one\ntwo\n".into(), "one\nTWO\n".into(), false), ("four\n".into(), "FOUR\n".into(), false)]
        );
        assert_eq!(
            changes[1].text.as_deref(),
            Some(
                "*** Begin Patch\n*** Update File: b.py\n@@ def f\n one\n-two\n+TWO\n@@\n-four\n+FOUR\n*** End Patch\n"
            )
        );
        assert!(changes[2].deleted);
    }

    #[test]
    fn a_patch_in_a_command_is_found_only_where_it_is_all_of_it() {
        let command = format!("cd src && apply_patch <<'EOF'\n{PATCH}\nEOF\n");
        assert_eq!(in_command(&command).as_deref(), Some(PATCH));
        assert_eq!(in_command(&format!("apply_patch '{PATCH}'")).as_deref(), Some(PATCH));
        assert_eq!(in_command(&format!("apply_patch <<'EOF'\n{PATCH}\nEOF\npytest -q")), None);
        assert_eq!(in_command("ls"), None);
    }
}
