//! Pictures of screens are exact to the cell.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod support;

use support::picture::{Look, svg};

fn picture(bytes: &[u8]) -> String {
    let mut parser = vt100::Parser::new(2, 10, 0);
    parser.process(bytes);
    svg(parser.screen(), "a <run>", &Look::DARK)
}

#[test]
fn each_character_has_its_own_place() {
    let found = picture("a\x1b[1;31m世b\x1b[0m".as_bytes());
    assert!(found.contains("<text x=\"0\" y=\"14.2\" fill=\"#d5dae8\">a</text>"), "{found}");
    assert!(found.contains("<text x=\"9\" y=\"14.2\" fill=\"#f07178\" font-weight=\"700\">世</text>"), "{found}");
    assert!(found.contains("<text x=\"27\" y=\"14.2\" fill=\"#f07178\" font-weight=\"700\">b</text>"), "{found}");
    assert!(found.contains("a &lt;run&gt;"));
}

#[test]
fn grounds_and_reversed_cells_are_drawn() {
    let found = picture(b"\x1b[48;2;1;2;3mxx\x1b[0m\x1b[7my");
    assert!(found.contains("<rect x=\"0\" y=\"0\" width=\"18.2\" height=\"19.2\" fill=\"#010203\"/>"), "{found}");
    assert!(found.contains("<rect x=\"18\" y=\"0\" width=\"9.2\" height=\"19.2\" fill=\"#d5dae8\"/>"), "{found}");
}

#[test]
fn lines_are_shapes() {
    let found = picture("┌─┐▄╭".as_bytes());
    assert!(!found.contains("┌") && found.contains("<path d=\"M"), "{found}");
    assert!(found.contains("Q40.5 9.5 45 9.5"), "{found}");
}
