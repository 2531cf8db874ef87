//! A program in a pseudo-terminal, with a terminal emulator to see what it shows and asks for.
//!
//! Tests wait for content, never for a time: [`Terminal::wait_for`] returns as soon as the screen shows a text, and fails
//! with the whole screen after [`PATIENCE`].

#![allow(dead_code, reason = "each test uses a part of it")]

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long a screen may take to show what is waited for. The machine may be busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What a program asked of the terminal beside drawing.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// Titles that it set.
    pub titles: Vec<String>,
    /// What it put into the clipboard, in base64.
    pub clipboard: Vec<String>,
    /// Whether it rang.
    pub bells: usize,
    /// Sequences that the emulator doesn't know, in words.
    pub unknown: Vec<String>,
    /// The terminal's background, told when asked; `None` keeps silent.
    pub background: Option<[u8; 3]>,
    /// Whether it knows the keyboard protocol, and how often that was pushed and not popped.
    pub keyboard: Option<usize>,
    /// Whether text is shown in logical order.
    pub logical_order: bool,
    replies: Vec<u8>,
}

impl vt100::Callbacks for Asked {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.titles.push(String::from_utf8_lossy(title).into_owned());
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.titles.push(String::from_utf8_lossy(name).into_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.clipboard.push(String::from_utf8_lossy(data).into_owned());
    }

    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bells += 1;
    }

    fn unhandled_csi(&mut self, _: &mut vt100::Screen, i1: Option<u8>, _: Option<u8>, params: &[&[u16]], c: char) {
        match (i1, params, c) {
            (None, [] | [[0]], 'c') => self.replies.extend_from_slice(b"\x1b[?62;22c"),
            (Some(b'?'), _, 'u') if self.keyboard.is_some() => self.replies.extend_from_slice(b"\x1b[?0u"),
            (Some(b'?'), _, 'u') => {}
            (Some(b'>'), _, 'u') => self.keyboard = self.keyboard.map(|pushed| pushed + 1),
            (Some(b'<'), _, 'u') => self.keyboard = self.keyboard.map(|pushed| pushed.saturating_sub(1)),
            // Synchronized output is known and needs no answer.
            (Some(b'?'), [[2026]], 'h' | 'l') => {}
            // The colour of underlines.
            (None, [[58 | 59, ..], ..], 'm') => {}
            (None, [[8]], 'l') => self.logical_order = true,
            (None, [[8]], 'h') => self.logical_order = false,
            _ => self.unknown.push(format!("CSI {i1:?} {params:?} {c}")),
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        if let ([b"11", b"?"], Some([r, g, b])) = (params, self.background) {
            self.replies.extend_from_slice(
                format!("\x1b]11;rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}\x1b\\").as_bytes(),
            );
        } else if !matches!(params, [b"11", b"?"]) {
            let words: Vec<_> = params.iter().map(|param| String::from_utf8_lossy(param).into_owned()).collect();
            self.unknown.push(format!("OSC {words:?}"));
        }
    }

    fn unhandled_escape(&mut self, _: &mut vt100::Screen, i1: Option<u8>, _: Option<u8>, b: u8) {
        // The end of a string.
        if b != b'\\' {
            self.unknown.push(format!("ESC {i1:?} {}", char::from(b)));
        }
    }

    fn unhandled_control(&mut self, _: &mut vt100::Screen, b: u8) {
        self.unknown.push(format!("control {b:#x}"));
    }
}

/// The modes of a terminal that a program may leave switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    pub alternate_screen: bool,
    pub cursor_hidden: bool,
    pub bracketed_paste: bool,
    pub mouse: bool,
    pub logical_order: bool,
    pub keyboard: bool,
}

impl Modes {
    /// As a shell has them.
    pub const PLAIN: Self = Self {
        alternate_screen: false,
        cursor_hidden: false,
        bracketed_paste: false,
        mouse: false,
        logical_order: false,
        keyboard: false,
    };
}

struct Emulator {
    parser: vt100::Parser<Asked>,
    raw: Vec<u8>,
    ended: bool,
}

type Shared = Arc<(Mutex<Emulator>, Condvar)>;

/// The program under test: cargo says where it is to tests; beside an example it lies one directory up.
pub fn reweave() -> PathBuf {
    match option_env!("CARGO_BIN_EXE_reweave") {
        Some(path) => path.into(),
        None => std::env::current_exe().unwrap().parent().unwrap().with_file_name("reweave"),
    }
}

/// What to start, and in what kind of terminal.
pub struct Setup {
    program: PathBuf,
    arguments: Vec<OsString>,
    dir: PathBuf,
    environment: Vec<(OsString, OsString)>,
    columns: u16,
    rows: u16,
    background: Option<[u8; 3]>,
    keyboard: bool,
}

impl Setup {
    /// The real program.
    pub fn reweave(dir: &Path) -> Self {
        Self::program(reweave(), dir)
    }

    /// Any program, in `dir`, in a dark terminal of 80x24 with all colours. Of the environment only `PATH` is kept, and
    /// the person's own directories lie in `dir`'s `.home`.
    pub fn program(program: impl Into<PathBuf>, dir: &Path) -> Self {
        let home = dir.join(".home");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment = [
            ("PATH", path),
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join("config").into()),
            ("XDG_STATE_HOME", home.join("state").into()),
            ("XDG_CACHE_HOME", home.join("cache").into()),
            ("XDG_DATA_HOME", home.join("data").into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
            ("COLORTERM", "truecolor".into()),
        ];
        Self {
            program: program.into(),
            arguments: Vec::new(),
            dir: dir.to_owned(),
            environment: environment.map(|(name, value)| (name.into(), value)).into(),
            columns: 80,
            rows: 24,
            background: Some([0x1e, 0x1e, 0x2e]),
            keyboard: false,
        }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        (self.columns, self.rows) = (columns, rows);
        self
    }

    /// What the terminal says when it is asked for its background; `None` for one that says nothing.
    pub fn background(mut self, background: Option<[u8; 3]>) -> Self {
        self.background = background;
        self
    }

    /// A terminal that knows the keyboard protocol.
    pub fn keyboard(mut self) -> Self {
        self.keyboard = true;
        self
    }

    /// The same program in the same surroundings, without a terminal.
    pub fn command(self) -> std::process::Command {
        std::fs::create_dir_all(self.dir.join(".home")).unwrap();
        let mut command = std::process::Command::new(self.program);
        command.args(self.arguments).current_dir(self.dir).env_clear().envs(self.environment);
        command.stdin(std::process::Stdio::null());
        command
    }

    pub fn start(self) -> Terminal {
        std::fs::create_dir_all(self.dir.join(".home")).unwrap();
        let size = PtySize { rows: self.rows, cols: self.columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(self.program);
        command.args(self.arguments);
        command.cwd(self.dir);
        command.env_clear();
        for (name, value) in self.environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);

        let asked = Asked { background: self.background, keyboard: self.keyboard.then_some(0), ..Asked::default() };
        let parser = vt100::Parser::new_with_callbacks(self.rows, self.columns, 0, asked);
        let shared: Shared = Arc::new((Mutex::new(Emulator { parser, raw: Vec::new(), ended: false }), Condvar::new()));
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (to, answers) = (Arc::clone(&shared), Arc::clone(&writer));
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            loop {
                // A pseudo-terminal whose program is gone ends with an error.
                let n = reader.read(&mut bytes).unwrap_or(0);
                let mut emulator = to.0.lock().unwrap_or_else(PoisonError::into_inner);
                if n == 0 {
                    emulator.ended = true;
                    to.1.notify_all();
                    return;
                }
                emulator.raw.extend_from_slice(&bytes[..n]);
                emulator.parser.process(&bytes[..n]);
                let replies = std::mem::take(&mut emulator.parser.callbacks_mut().replies);
                to.1.notify_all();
                drop(emulator);
                if !replies.is_empty() {
                    let mut writer = answers.lock().unwrap();
                    let _ = writer.write_all(&replies).and_then(|()| writer.flush());
                }
            }
        });
        Terminal { shared, writer, master: pair.master, child }
    }
}

/// A running program and its screen.
pub struct Terminal {
    shared: Shared,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Terminal {
    fn emulator(&self) -> MutexGuard<'_, Emulator> {
        // A failed wait poisons the lock; what failed then is told by the wait.
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Types. Line breaks are sent as Enter.
    pub fn keys(&mut self, text: &str) -> &mut Self {
        self.bytes(text.replace('\n', "\r").as_bytes())
    }

    /// Sends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(bytes).and_then(|()| writer.flush()).unwrap();
        drop(writer);
        self
    }

    /// Waits until the screen holds a text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("{text:?} to be shown"), |screen| screen.contents().contains(text))
    }

    /// Waits until the screen no longer holds a text.
    #[track_caller]
    pub fn wait_gone(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("{text:?} to be gone"), |screen| !screen.contents().contains(text))
    }

    /// Waits until the screen is as asked.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        let mut emulator = self.emulator();
        while !holds(emulator.parser.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            let over = left.is_zero() || emulator.ended;
            assert!(!over, "waited for {what}; the screen:\n{}", emulator.parser.screen().contents());
            emulator = self.shared.1.wait_timeout(emulator, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(emulator);
        self
    }

    /// Waits until nothing was drawn for a while; for pictures, where what is waited for can't be named.
    #[track_caller]
    pub fn wait_quiet(&mut self, quiet: Duration) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        let mut emulator = self.emulator();
        loop {
            assert!(Instant::now() < until, "it does not come to rest:\n{}", emulator.parser.screen().contents());
            let before = emulator.raw.len();
            let (guard, waited) = self.shared.1.wait_timeout(emulator, quiet).unwrap();
            emulator = guard;
            if (waited.timed_out() && emulator.raw.len() == before) || emulator.ended {
                break;
            }
        }
        drop(emulator);
        self
    }

    /// What is on the screen, without trailing blanks.
    pub fn text(&self) -> String {
        self.emulator().parser.screen().contents()
    }

    /// A copy of the screen.
    pub fn screen(&self) -> vt100::Screen {
        self.emulator().parser.screen().clone()
    }

    /// All bytes that the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.emulator().raw.clone()
    }

    /// What it asked of the terminal beside drawing.
    pub fn asked(&self) -> Asked {
        self.emulator().parser.callbacks().clone()
    }

    pub fn modes(&self) -> Modes {
        let emulator = self.emulator();
        let (screen, asked) = (emulator.parser.screen(), emulator.parser.callbacks());
        Modes {
            alternate_screen: screen.alternate_screen(),
            cursor_hidden: screen.hide_cursor(),
            bracketed_paste: screen.bracketed_paste(),
            mouse: screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
            logical_order: asked.logical_order,
            keyboard: asked.keyboard.is_some_and(|pushed| pushed > 0),
        }
    }

    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.emulator().parser.screen_mut().set_size(rows, columns);
        self.master.resize(size).unwrap();
        self
    }

    /// Sends a signal to the program.
    #[cfg(unix)]
    pub fn signal(&mut self, signal: rustix::process::Signal) -> &mut Self {
        let pid = i32::try_from(self.child.process_id().unwrap()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
        self
    }

    /// The program's process.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the program to end and for all that it wrote; its exit status.
    #[track_caller]
    pub fn wait_exit(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "the program did not end; the screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut emulator = self.emulator();
        while !emulator.ended && Instant::now() < until {
            emulator = self.shared.1.wait_timeout(emulator, Duration::from_millis(100)).unwrap().0;
        }
        drop(emulator);
        status.exit_code()
    }

    /// Whether the pseudo-terminal passes keys on as typed, without waiting for lines and without echo.
    #[cfg(unix)]
    pub fn is_raw(&self) -> bool {
        use rustix::termios::{LocalModes, tcgetattr};
        let tty = std::fs::File::open(self.master.tty_name().unwrap()).unwrap();
        !tcgetattr(&tty).unwrap().local_modes.intersects(LocalModes::ECHO | LocalModes::ICANON)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
