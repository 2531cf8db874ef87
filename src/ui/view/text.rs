//! The only place that turns hostile text into cells.
//!
//! # Architecture
//!
//! Everything that a run holds is hostile: sources, outputs, names, reprs, patches. What is drawn comes
//! through here, so that no byte of it can act on the terminal or break a column.
//!
//! - [`Cell`] (`cell.rs`): one unit that is drawn whole or not at all, with its width; [`cells`] gives those of
//!   a line, lazily. Control characters become glyphs, tabs blanks, and what hides or turns text its name.
//! - `fit.rs`: [`width`], [`cut`], [`pad`], [`window`] and [`safe_line`] for one row.
//! - `wrap.rs`: [`wrap`], a line in several rows.
//! - `paint.rs`: [`Painted`], a line with styles over its parts; [`Ruler`], places in a very long line.
//!
//! Text keeps its logical order: right-to-left letters stand in cells from left to right, as the terminals
//! that reweave asks for by switching their reordering off.

mod cell;
mod fit;
mod paint;
mod wrap;

pub use cell::{Cell, CellKind, Cells, Tab, cells, cells_from};
pub use fit::{ELLIPSIS, cut, cut_start, pad, pad_start, safe_line, width, window};
pub use paint::{Painted, Ruler, Run};
pub use wrap::{Row, Rows, indent, rows, wrap, wrap_with};

#[cfg(test)]
mod properties {
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    /// Text as an adversary would write it: any characters, with those that matter here made likely.
    fn hostile() -> impl Strategy<Value = String> {
        let likely = prop::sample::select(vec![
            "\x1b",
            "\x1b[31m",
            "\x1b]52;c;aGk=\x07",
            "\u{9b}",
            "\r",
            "\n",
            "\t",
            "\u{202e}",
            "\u{2066}",
            "\u{200d}",
            "\u{200b}",
            "\u{fe0f}",
            "\u{fe0e}",
            "\u{301}",
            "\u{20e3}",
            "👨\u{200d}👩\u{200d}👧",
            "👍🏽",
            "🏽",
            "🇩",
            "🇪",
            "世",
            "ل",
            "ا",
            "ش",
            "क\u{94d}ष\u{93f}",
            "ᄀ",
            "ᅡ",
            "ᆨ",
            "\u{17d8}",
            "\u{17d2}\u{1780}",
            "\u{3164}",
            "\u{e0041}",
            "\u{600}",
            "a",
            " ",
            "1",
            "#",
            "e",
            "\0",
            "\u{7f}",
            "\u{64b}",
            "\u{1a15}\u{1a17}\u{200d}\u{1a10}",
        ])
        .prop_map(str::to_owned);
        let other = any::<char>().prop_map(String::from);
        let bytes = prop::collection::vec(any::<u8>(), 0..8).prop_map(|b| String::from_utf8_lossy(&b).into_owned());
        prop::collection::vec(prop_oneof![6 => likely, 2 => other, 1 => bytes], 0..24).prop_map(|parts| parts.concat())
    }

    fn acts_on_a_terminal(text: &str) -> bool {
        text.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    }

    /// Columns that ratatui gives it.
    fn drawn(text: &str) -> usize {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 2000, 1));
        usize::from(buffer.set_stringn(0, 0, text, 2000, Style::new()).0)
    }

    proptest! {
        #[test]
        fn nothing_passes_that_acts_on_a_terminal(line in hostile(), w in 0..40usize) {
            prop_assert!(!acts_on_a_terminal(&safe_line(&line)));
            prop_assert!(!acts_on_a_terminal(&cut(&line, w)));
            prop_assert!(!acts_on_a_terminal(&window(&line, w, w, Tab::SOURCE)));
            prop_assert!(wrap(&line, w).all(|row| !acts_on_a_terminal(&row.text)));
        }

        #[test]
        fn no_result_is_wider_than_asked(line in hostile(), from in 0..20usize, w in 0..40usize) {
            prop_assert!(drawn(&cut(&line, w)) <= w);
            prop_assert!(drawn(&cut_start(&line, w)) <= w);
            prop_assert_eq!(drawn(&pad(&line, w)), w);
            prop_assert_eq!(drawn(&pad_start(&line, w)), w);
            prop_assert!(drawn(&window(&line, from, w, Tab::SOURCE)) <= w);
            prop_assert!(wrap(&line, w).all(|row| drawn(&row.text) <= w));
        }

        #[test]
        fn a_width_is_what_ratatui_draws(line in hostile()) {
            prop_assert_eq!(drawn(&safe_line(&line)), width(&line));
        }

        #[test]
        fn a_safe_line_is_safe_already(line in hostile()) {
            let once = safe_line(&line).into_owned();
            prop_assert_eq!(safe_line(&once), once.as_str());
        }

        #[test]
        fn cells_cover_the_line_in_order(line in hostile()) {
            let mut at = 0;
            for cell in cells(&line, Tab::SOURCE) {
                prop_assert_eq!(cell.bytes.start, at);
                at = cell.bytes.end;
            }
            prop_assert_eq!(at, line.len());
        }

        #[test]
        fn rows_cover_the_line_in_order(line in hostile(), w in 1..40usize) {
            let mut at = 0;
            for row in wrap(&line, w) {
                prop_assert_eq!(row.bytes.start, at);
                at = row.bytes.end;
            }
            prop_assert_eq!(at, line.len());
        }
    }
}
