//! Copying: through the terminal (OSC 52) or through a program that knows the clipboard.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::caps::{Capabilities, Multiplexer};

/// Many terminals take no longer sequence than this (xterm's own limit on OSC 52, in characters of base64).
const TERMINAL_LIMIT: usize = 74_994;

/// One way to the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The terminal itself: works over ssh.
    Terminal(Option<Multiplexer>),
    /// A program that reads the text from its standard input.
    Program(&'static [&'static str]),
}

/// What became of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// How many bytes.
    pub bytes: usize,
    /// Through what, for people.
    pub through: &'static str,
    /// Whether the terminal may have refused it for its length; it doesn't say.
    pub may_be_cut: bool,
}

/// The ways to try, in order. Over ssh a program would reach the wrong machine's clipboard.
pub fn ways(caps: &Capabilities, variable: impl Fn(&str) -> Option<String>) -> Vec<Way> {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let mut ways = Vec::new();
    if !caps.ssh {
        if set("WAYLAND_DISPLAY") {
            ways.push(Way::Program(&["wl-copy"]));
        }
        if set("DISPLAY") {
            ways.push(Way::Program(&["xclip", "-selection", "clipboard"]));
            ways.push(Way::Program(&["xsel", "--clipboard", "--input"]));
        }
        if set("WSL_DISTRO_NAME") || cfg!(windows) {
            ways.push(Way::Program(&["clip.exe"]));
        }
        if cfg!(target_os = "macos") {
            ways.push(Way::Program(&["pbcopy"]));
        }
        if set("TERMUX_VERSION") {
            ways.push(Way::Program(&["termux-clipboard-set"]));
        }
    }
    if caps.multiplexer == Some(Multiplexer::Tmux) {
        // With -w tmux hands it on to the terminal that it runs in.
        ways.push(Way::Program(&["tmux", "load-buffer", "-w", "-"]));
    }
    ways.push(Way::Terminal(caps.multiplexer));
    ways
}

/// Copies by the first way that works. Blocks as long as a program takes.
pub fn copy(text: &str, ways: &[Way]) -> io::Result<Copied> {
    copy_with(text, ways, &mut super::out::send, &mut feed)
}

fn copy_with(
    text: &str,
    ways: &[Way],
    send: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    feed: &mut dyn FnMut(&[&str], &str) -> io::Result<()>,
) -> io::Result<Copied> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "there is no way to the clipboard");
    for way in ways {
        let bytes = text.len();
        let tried = match way {
            Way::Terminal(multiplexer) => {
                let sequence = osc52(text, *multiplexer);
                let may_be_cut = sequence.len() > TERMINAL_LIMIT;
                send(&sequence).map(|()| Copied { bytes, through: "the terminal", may_be_cut })
            }
            Way::Program(words) => {
                let through = words.first().copied().unwrap_or_default();
                feed(words, text).map(|()| Copied { bytes, through, may_be_cut: false })
            }
        };
        match tried {
            Ok(copied) => return Ok(copied),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Runs a program with the text as its input.
fn feed(words: &[&str], text: &str) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        // A clipboard program may live on; it must not hold the terminal.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = match child.stdin.take() {
        Some(mut input) => input.write_all(text.as_bytes()),
        None => Ok(()),
    };
    let status = child.wait()?;
    written?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{program} failed: {status}"))) }
}

/// "Set the clipboard" (xterm control sequences, OSC 52), wrapped where something stands between.
fn osc52(text: &str, multiplexer: Option<Multiplexer>) -> Vec<u8> {
    let inner = format!("\x1b]52;c;{}\x07", STANDARD.encode(text));
    match multiplexer {
        None => inner.into_bytes(),
        // tmux hands on what stands in its own string, with escapes doubled, if `allow-passthrough` is on.
        Some(Multiplexer::Tmux) => format!("\x1bPtmux;{}\x1b\\", inner.replace('\x1b', "\x1b\x1b")).into_bytes(),
        // screen's strings hold 768 bytes at most; it sends them on one after another.
        Some(Multiplexer::Screen) => {
            let pieces = inner.as_bytes().chunks(500);
            pieces.flat_map(|piece| [b"\x1bP".as_slice(), piece, b"\x1b\\"].concat()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::Depth;

    fn caps(ssh: bool, multiplexer: Option<Multiplexer>) -> Capabilities {
        Capabilities { depth: Depth::True, unicode: true, ssh, multiplexer, underline_colors: true, answers: true }
    }

    fn ways_of(ssh: bool, multiplexer: Option<Multiplexer>, names: &[&str]) -> Vec<Way> {
        ways(&caps(ssh, multiplexer), |name| names.contains(&name).then(|| ":0".to_owned()))
    }

    #[test]
    fn over_ssh_only_the_terminal_knows_the_persons_clipboard() {
        assert_eq!(ways_of(true, None, &["DISPLAY", "WAYLAND_DISPLAY"]), [Way::Terminal(None)]);
    }

    #[test]
    fn at_home_programs_come_first() {
        let found = ways_of(false, None, &["WAYLAND_DISPLAY"]);
        assert_eq!(found.first(), Some(&Way::Program(&["wl-copy"])));
        assert_eq!(found.last(), Some(&Way::Terminal(None)));
    }

    #[test]
    fn tmux_is_asked_itself_before_it_is_passed_through() {
        let tmux = Some(Multiplexer::Tmux);
        assert_eq!(ways_of(true, tmux, &[]), [Way::Program(&["tmux", "load-buffer", "-w", "-"]), Way::Terminal(tmux)]);
    }

    #[test]
    fn the_sequence_is_wrapped_for_what_stands_between() {
        assert_eq!(osc52("hi", None), b"\x1b]52;c;aGk=\x07");
        assert_eq!(osc52("hi", Some(Multiplexer::Tmux)), b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\");
        let long = osc52(&"x".repeat(1000), Some(Multiplexer::Screen));
        assert!(long.starts_with(b"\x1bP\x1b]52;c;") && long.ends_with(b"\x07\x1b\\"));
        assert!(String::from_utf8(long).unwrap().split("\x1b\\").all(|piece| piece.len() < 768));
    }

    #[test]
    fn the_next_way_is_tried_when_one_fails() {
        let mut sent = Vec::new();
        let ways = [Way::Program(&["nothing"]), Way::Terminal(None)];
        let copied = copy_with(
            "hi",
            &ways,
            &mut |bytes| {
                sent.extend_from_slice(bytes);
                Ok(())
            },
            &mut |_, _| Err(io::ErrorKind::NotFound.into()),
        );
        assert_eq!(copied.unwrap(), Copied { bytes: 2, through: "the terminal", may_be_cut: false });
        assert_eq!(sent, b"\x1b]52;c;aGk=\x07");
        assert!(copy_with("hi", &[], &mut |_| Ok(()), &mut |_, _| Ok(())).is_err());
    }

    #[test]
    fn a_long_text_may_be_too_much_for_the_terminal() {
        let copied = copy_with(&"x".repeat(60_000), &[Way::Terminal(None)], &mut |_| Ok(()), &mut |_, _| Ok(()));
        assert!(copied.unwrap().may_be_cut);
    }
}
