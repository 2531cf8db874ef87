//! The loop: take what happened, let the state follow, do what it asks for, draw once if something changed.

use std::io;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::app::key::Chord;
use super::app::{Effect, HitMap, Message, Model, Mouse, MouseKind, update};
use super::errands::Errands;
use super::inbox::Inbox;
use super::options::Options;
use super::term::crash::{self, Crashed};
use super::term::{Capabilities, Input, Listener, Modes, PointerKind, Screen, Session, Signal, listen};
use super::theme::{Background, Glyphs, Theme};
use super::{colours, memory, view};
use crate::step::Millis;
use crate::workbench::{Command, Event, Handle, Level};

/// What can't wait: what a person does and what the system tells.
#[derive(Debug)]
pub enum Happened {
    /// Keys, the mouse, pasted text.
    Came(Input),
    /// A signal.
    Signal(Signal),
    /// A thread other than the interface's panicked.
    Crashed(Crashed),
}

/// Frames are at least this far apart.
const FRAME: Duration = Duration::from_millis(16);

/// How long what the run tells is taken in before a frame is drawn all the same.
const DRAIN: Duration = Duration::from_millis(8);

/// The same where somebody pressed a key and waits for the frame.
const PRESSED: Duration = Duration::from_millis(1);

/// The exit status where the run could not be read, or not any more.
const FAILED: u8 = 2;

/// How long the run is waited for at the end.
const PARTING: Duration = Duration::from_secs(3);

/// Has the terminal until the person quits or the system ends it; gives the exit status.
///
/// # Errors
/// When there is no terminal, or it can't be drawn on any more.
pub fn run(handle: Handle, events: Receiver<Event>, options: Options) -> io::Result<u8> {
    let inbox: Inbox<Happened, Message> = Inbox::default();
    let crashes = inbox.clone();
    crash::install(options.reports.clone(), move |crashed| crashes.urgent(Happened::Crashed(crashed)));
    let capabilities = Capabilities::of_process();
    let mut session = Session::enter(Modes { mouse: options.mouse, keyboard: false })?;
    let answers = if capabilities.answers { session.ask()? } else { Default::default() };
    let signals = inbox.clone();
    listen(move |signal| signals.urgent(Happened::Signal(signal)))?;
    let keys = inbox.clone();
    answers.typed.into_iter().for_each(|input| inbox.urgent(Happened::Came(input)));
    let listener = Listener::start(move |input| keys.urgent(Happened::Came(input)))?;

    let ascii = options.ascii.unwrap_or(!capabilities.unicode);
    let (theme, problems) = theme(&options, &capabilities, answers.background, ascii);
    let (keymap, key_problems) = options.keymap();
    for text in options.problems.iter().cloned().chain(problems).chain(key_problems) {
        inbox.ordinary(Message::Told(Level::Warning, text));
    }

    let (closed, parting) = std::sync::mpsc::channel();
    let told = inbox.clone();
    thread::Builder::new().name("events".to_owned()).spawn(move || {
        let mut ended = false;
        for event in events {
            ended = matches!(event, Event::Closed);
            told.ordinary(Message::Run(event));
        }
        // One that crashed says nothing any more, and a screen that no longer follows the run would deceive.
        if !ended {
            told.ordinary(Message::Run(Event::Closed));
        }
        // Nobody waits if the interface ended on another way.
        let _ = closed.send(());
    })?;

    let screen = Screen::new(&session, ascii)?;
    let highlights = inbox.clone();
    let colours = colours::start(move |message| highlights.ordinary(message))?;
    let mut errands =
        Errands { handle: handle.clone(), inbox: inbox.clone(), session, screen, listener, colours, capabilities };
    let size = errands.screen.size()?;
    let mut model = Model::new((size.width, size.height), keymap);
    model.mouse = options.mouse;
    model.home = std::env::home_dir();
    model.output.cut = !options.wrap;
    if let Some(file) = &options.memory {
        model.recall(memory::read(file));
    }
    let status = attend(&mut model, &theme, &mut errands, &inbox, options.panic_key);
    if let Some(file) = &options.memory
        && let Err(error) = memory::write(file, &model.remember())
    {
        // It is opened as if for the first time then.
        tracing::debug!(%error, "nothing is remembered of the run");
    }
    // An end that nobody asked for is explained where it is still seen.
    let why = if model.closed { model.notices.all().find(|notice| notice.level == Level::Error) } else { None };
    let why = why.map(|notice| crate::step::plain_line(&notice.text));
    // The terminal goes back first: closing may take a moment, and is nothing to look at.
    drop(errands);
    let status = match why {
        Some(why) => {
            eprintln!("reweave: the workbench ended: {why}");
            status.map(|status| if status == 0 { FAILED } else { status })
        }
        None => status,
    };
    handle.send(Command::Close);
    drop(handle);
    let _ = parting.recv_timeout(PARTING);
    status
}

/// Until the end.
fn attend(
    model: &mut Model,
    theme: &Theme,
    errands: &mut Errands,
    inbox: &Inbox<Happened, Message>,
    panic_key: Option<Chord>,
) -> io::Result<u8> {
    let mut hits = HitMap::default();
    let mut drawn: Option<Instant> = None;
    let (mut waiting, mut pressed) = (false, false);
    loop {
        waiting |= model.take_dirty();
        // Who pressed a key is answered at once; what the run tells comes as often as eyes can follow.
        if waiting && (pressed || drawn.is_none_or(|at| at.elapsed() >= FRAME)) {
            hits = errands.screen.draw(|frame| view::view(model, theme, frame))?;
            drawn = Some(Instant::now());
            waiting = false;
        }
        pressed = false;
        let until = if waiting {
            drawn.map(|at| at + FRAME)
        } else {
            model.wakes_at().map(|at| {
                let left = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
                Instant::now() + Duration::from_millis(left)
            })
        };
        inbox.wait(until);
        update(model, Message::Now(now()));
        let began = Instant::now();
        loop {
            for happened in inbox.take_urgent() {
                pressed |= matches!(happened, Happened::Came(_));
                let message = match happened {
                    Happened::Came(Input::Ended) => return Ok(1),
                    Happened::Came(Input::Key(chord)) if Some(chord) == panic_key => panic_as_asked(),
                    Happened::Came(input) => from_input(input, &hits),
                    Happened::Signal(Signal::End(status)) => return Ok(u8::try_from(status).unwrap_or(1)),
                    Happened::Signal(Signal::Suspend) => {
                        errands.perform(Effect::Suspend, model)?;
                        None
                    }
                    Happened::Signal(Signal::Continued) => {
                        errands.session.retake()?;
                        errands.screen.forget()?;
                        waiting = true;
                        None
                    }
                    Happened::Signal(Signal::Resized) => {
                        let size = errands.screen.size()?;
                        Some(Message::Resized(size.width, size.height))
                    }
                    Happened::Crashed(crashed) => Some(Message::Told(Level::Error, of_crash(&crashed))),
                };
                if let Some(message) = message
                    && take(model, message, errands)?
                {
                    return Ok(0);
                }
            }
            if began.elapsed() >= if pressed { PRESSED } else { DRAIN } {
                break;
            }
            let Some(message) = inbox.next_ordinary() else { break };
            if take(model, message, errands)? {
                return Ok(0);
            }
        }
    }
}

fn take(model: &mut Model, message: Message, errands: &mut Errands) -> io::Result<bool> {
    for effect in update(model, message) {
        if errands.perform(effect, model)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a panic leaves behind can only be tried with one.
#[allow(clippy::panic, reason = "it is asked for by an environment variable that only tests set")]
fn panic_as_asked() -> ! {
    panic!("a panic was asked for by REWEAVE_PANIC_KEY")
}

fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

fn of_crash(crashed: &Crashed) -> String {
    let report = crashed.report.as_ref().map(|path| format!("; a report is in {}", path.display())).unwrap_or_default();
    format!("{} crashed: {}{report}", crashed.thread, crashed.message)
}

fn from_input(input: Input, hits: &HitMap) -> Option<Message> {
    match input {
        Input::Key(chord) => Some(Message::Key(chord)),
        Input::Paste(text) => Some(Message::Paste(text)),
        Input::Pointer(pointer) => {
            let kind = match pointer.kind {
                PointerKind::Press => MouseKind::Press,
                PointerKind::Drag => MouseKind::Drag,
                PointerKind::Release => MouseKind::Release,
                PointerKind::WheelUp => MouseKind::WheelUp,
                PointerKind::WheelDown => MouseKind::WheelDown,
            };
            let (x, y) = (pointer.x, pointer.y);
            Some(Message::Mouse(Mouse { kind, x, y, target: hits.at(x, y), pane: hits.pane_at(x, y) }))
        }
        Input::Answer(_) | Input::Ended => None,
    }
}

/// The theme that was asked for or suits the terminal, and what is wrong with it.
fn theme(
    options: &Options,
    capabilities: &Capabilities,
    background: Option<Background>,
    ascii: bool,
) -> (Theme, Vec<String>) {
    let suited = Theme::suited(background.unwrap_or(Background::Dark), capabilities.depth);
    let (theme, problems) = Theme::find(options.theme.as_deref().unwrap_or(suited), options.themes.as_deref());
    let glyphs = if ascii { Glyphs::ASCII } else { Glyphs::UNICODE };
    let problems = problems.iter().map(ToString::to_string).collect();
    let theme = theme.at_depth(capabilities.depth).with_glyphs(glyphs);
    let theme = if capabilities.underline_colors { theme } else { theme.without_underline_colors() };
    (theme, problems)
}
