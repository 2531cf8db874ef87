//! The events of systems whose console crossterm reads for us.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind};

use super::input::{Input, Pointer, PointerKind};
use crate::ui::app::key::{Chord, Key};

/// An event as an input. Releases of keys, movement of the mouse and other buttons are nothing.
pub(super) fn from_event(event: Event) -> Option<Input> {
    match event {
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Key(event) if event.kind != KeyEventKind::Release => {
            let has = |modifier| event.modifiers.contains(modifier);
            let (ctrl, alt, shift) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT), has(KeyModifiers::SHIFT));
            let key = match event.code {
                KeyCode::Char(c) => Key::Char(c),
                KeyCode::Enter => Key::Enter,
                KeyCode::Esc => Key::Esc,
                KeyCode::Tab => Key::Tab,
                KeyCode::BackTab => Key::BackTab,
                KeyCode::Backspace => Key::Backspace,
                KeyCode::Delete => Key::Delete,
                KeyCode::Up => Key::Up,
                KeyCode::Down => Key::Down,
                KeyCode::Left => Key::Left,
                KeyCode::Right => Key::Right,
                KeyCode::Home => Key::Home,
                KeyCode::End => Key::End,
                KeyCode::PageUp => Key::PageUp,
                KeyCode::PageDown => Key::PageDown,
                KeyCode::F(number) => Key::F(number),
                _ => return None,
            };
            let shift = shift && !matches!(key, Key::Char(_) | Key::BackTab);
            Some(Input::Key(Chord { ctrl, alt, shift, key }))
        }
        Event::Mouse(event) => {
            let kind = match event.kind {
                MouseEventKind::Down(MouseButton::Left) => PointerKind::Press,
                MouseEventKind::Up(MouseButton::Left) => PointerKind::Release,
                MouseEventKind::Drag(MouseButton::Left) => PointerKind::Drag,
                MouseEventKind::ScrollUp => PointerKind::WheelUp,
                MouseEventKind::ScrollDown => PointerKind::WheelDown,
                _ => return None,
            };
            Some(Input::Pointer(Pointer { kind, x: event.column, y: event.row }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyEvent, MouseEvent};

    use super::*;

    #[test]
    fn keys_and_the_mouse_mean_what_bytes_mean_elsewhere() {
        let key = |code, modifiers| from_event(Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), Some(Input::Key(Chord::char('G'))));
        assert_eq!(key(KeyCode::Char('d'), KeyModifiers::CONTROL), Some(Input::Key(Chord::ctrl('d'))));
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Input::Key(Chord::plain(Key::BackTab))));
        let release = KeyEvent { kind: KeyEventKind::Release, ..KeyEvent::from(KeyCode::Enter) };
        assert_eq!(from_event(Event::Key(release)), None);
        let mouse = MouseEvent { kind: MouseEventKind::ScrollUp, column: 3, row: 4, modifiers: KeyModifiers::NONE };
        let expected = Pointer { kind: PointerKind::WheelUp, x: 3, y: 4 };
        assert_eq!(from_event(Event::Mouse(mouse)), Some(Input::Pointer(expected)));
        assert_eq!(from_event(Event::FocusLost), None);
    }
}
