//! Takes the terminal and shows what comes from it. For trying a terminal by hand, and for the tests that drive the
//! session through a pseudo-terminal.
//!
//! `q` quits, `p` panics, `w` panics on another thread, `e` edits the file that was given, `c` copies, `m` switches the
//! mouse, Ctrl-Z goes to the background.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};

use ratatui::widgets::Paragraph;
use reweave::ui::app::key::{Chord, Key};
use reweave::ui::term::crash::{self, Crashed};
use reweave::ui::term::{Capabilities, Editor, Input, Listener, Modes, Screen, Session, Signal, clipboard, listen};
use reweave::ui::theme::{Role, Theme};
use reweave::ui::view::text::cut;

enum Happened {
    Came(Input),
    Told(Signal),
    Crashed(Crashed),
}

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("terminal: {error}");
            ExitCode::from(2)
        }
    }
}

fn sender<T: Send + 'static>(to: &Sender<Happened>, wrap: fn(T) -> Happened) -> impl Fn(T) + Send + Sync + use<T> {
    let to = std::sync::Mutex::new(to.clone());
    move |what| {
        if let Ok(to) = to.lock() {
            // When nobody listens the program is ending.
            let _ = to.send(wrap(what));
        }
    }
}

fn run() -> io::Result<u8> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let reports = std::env::var_os("REPORTS").map_or_else(std::env::temp_dir, PathBuf::from);
    let (to, from) = mpsc::channel();
    crash::install(reports, sender(&to, Happened::Crashed));
    let caps = Capabilities::of_process();
    let mut session = Session::enter(Modes { mouse: true, keyboard: false })?;
    let answers = if caps.answers { session.ask()? } else { Default::default() };
    listen(sender(&to, Happened::Told))?;
    let input = Listener::start(sender(&to, Happened::Came))?;
    let mut screen = Screen::new(&session, !caps.unicode)?;
    let mut lines = vec![format!("ready: background {:?}, keyboard {}", answers.background, answers.keyboard)];
    let status = show(&mut session, &mut screen, &input, &from, &mut lines, file, &caps)?;
    Ok(status)
}

fn show(
    session: &mut Session,
    screen: &mut Screen,
    input: &Listener,
    from: &Receiver<Happened>,
    lines: &mut Vec<String>,
    file: Option<PathBuf>,
    caps: &Capabilities,
) -> io::Result<u8> {
    let theme = Theme::default().at_depth(caps.depth);
    loop {
        screen.draw(|frame| {
            let area = frame.area();
            let seen = lines.len().saturating_sub(usize::from(area.height));
            let text: Vec<String> = lines.iter().skip(seen).map(|line| cut(line, usize::from(area.width))).collect();
            frame.render_widget(Paragraph::new(text.join("\n")).style(theme.style(Role::Text)), area);
        })?;
        let happened = from.recv().map_err(io::Error::other)?;
        match happened {
            Happened::Told(Signal::End(status)) => return Ok(u8::try_from(status).unwrap_or(1)),
            Happened::Told(Signal::Suspend) => suspend(session, screen, input, lines)?,
            Happened::Told(Signal::Continued) => {
                session.retake()?;
                screen.forget()?;
                lines.push("continued".into());
            }
            Happened::Told(Signal::Resized) => {
                let size = screen.size()?;
                lines.push(format!("size {}x{}", size.width, size.height));
            }
            Happened::Crashed(crashed) => lines.push(format!("crashed: {} in {}", crashed.message, crashed.thread)),
            Happened::Came(Input::Ended) => return Ok(1),
            Happened::Came(Input::Key(chord)) => match (chord.to_string().as_str(), chord.key) {
                ("q", _) => return Ok(0),
                ("p", _) => return panic_now(),
                ("w", _) => {
                    let panics = std::thread::Builder::new().name("worker".into());
                    drop(panics.spawn(panic_now)?.join());
                }
                ("e", _) => {
                    let Some(file) = &file else { continue };
                    input.pause()?;
                    let editor = Editor::of_person().ok_or_else(|| io::Error::other("no editor"))?;
                    let status = session.lend(|| editor.run(file, Some(3)))?;
                    input.resume()?;
                    screen.forget()?;
                    lines.push(format!("edited: {:?}", status?.code()));
                }
                ("c", _) => {
                    let ways = clipboard::ways(caps, |name| std::env::var(name).ok());
                    let copied = clipboard::copy("hello", &ways)?;
                    lines.push(format!("copied {} bytes through {}", copied.bytes, copied.through));
                }
                ("m", _) => {
                    let on = !session.has_mouse();
                    session.switch_mouse(on)?;
                    lines.push(format!("mouse {on}"));
                }
                _ if chord == Chord::ctrl('z') => suspend(session, screen, input, lines)?,
                (name, Key::Char('l')) if chord.ctrl => {
                    screen.forget()?;
                    lines.push(name.to_owned());
                }
                (name, _) => lines.push(format!("key {name}")),
            },
            Happened::Came(other) => lines.push(format!("{other:?}")),
        }
    }
}

fn suspend(session: &mut Session, screen: &mut Screen, input: &Listener, lines: &mut Vec<String>) -> io::Result<()> {
    input.pause()?;
    let stopped = session.suspend()?;
    input.resume()?;
    screen.forget()?;
    lines.push(if stopped { "back".into() } else { "no shell to come back from".into() });
    Ok(())
}

#[allow(clippy::panic, reason = "that panics are survived is what is tried here")]
fn panic_now() -> io::Result<u8> {
    panic!("as asked \x1b]0;for\x07")
}
