//! How long a key takes to become a frame: a run of 10,000 steps with 30,000 edges, and 100 MB of output from one step
//! with lines of megabytes among it, at 120x40 and at 200x60.
//!
//! ```sh
//! cargo bench --bench frame
//! ```
//!
//! A key must be answered within 16 ms in 99 of 100 cases; the bench fails if it is not. What is measured is everything
//! between a key and the bytes for the terminal: state, view, the difference to the frame before, and encoding it.

use std::cell::Cell;
use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};
use reweave::step::{Chunk, Reason, Status, StepId, Stream, VersionNumber};
use reweave::ui::app::{Effect, Keymap, Message, Model, update};
use reweave::ui::theme::Theme;
use reweave::ui::view::view;
use reweave::workbench::{Command, Edge, EdgeKind, Event, Snapshot, StepRow};

/// The promise: the time of a frame on a screen of 60 pictures a second.
const BUDGET: Duration = Duration::from_millis(16);

const STEPS: usize = 10_000;

/// Pseudo-random numbers that are the same every time (Steele and others, "splitmix64").
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A long run: each step reads from three of the twelve before it; of a hundred one failed and ten are stale.
fn long_run(generation: u64) -> Snapshot {
    let mut state = 7;
    let steps: Vec<Arc<StepRow>> = (0..STEPS)
        .map(|at| {
            let (status, reasons) = match random(&mut state) % 100 {
                0 => (Status::Failed, Vec::new()),
                1..=10 => (Status::Stale, vec![Reason::SourceChanged]),
                _ => (Status::Fresh, Vec::new()),
            };
            Arc::new(StepRow {
                status,
                reasons,
                duration_us: Some(random(&mut state) % 3_000_000),
                error: (status == Status::Failed).then(|| "KeyError: 'plan'".to_owned()),
                writes: vec![format!("v{at}").into()],
                ..StepRow::fresh(id(at))
            })
        })
        .collect();
    let mut edges = Vec::new();
    for to in 1..STEPS {
        for _ in 0..3 {
            let back = 1 + usize::try_from(random(&mut state) % 12).unwrap_or(0);
            if let Some(from) = to.checked_sub(back) {
                edges.push(Edge { from, to, names: [format!("v{from}").into()].into(), kind: EdgeKind::Data });
            }
        }
    }
    Snapshot { generation, dir: "runs/long".into(), steps, edges: edges.into(), ..Snapshot::default() }
}

fn id(at: usize) -> StepId {
    #[allow(clippy::unwrap_used, reason = "the name is made here")]
    format!("{at:05}_step").parse().unwrap()
}

/// Takes a message, and answers what the interface asks for as the runtime would, without threads. Says whether a search
/// goes on: that takes its turn between other messages.
fn take(model: &mut Model, message: Message) -> bool {
    let mut hunting = false;
    let mut waiting = vec![message];
    while let Some(message) = waiting.pop() {
        for effect in update(model, message) {
            match effect {
                Effect::Lay(job) => waiting.push(Message::Laid { serial: job.serial, lanes: job.run().into() }),
                Effect::Ask(Command::Source { step }) => {
                    let text: Arc<str> = "def f(x):\n    return x + 1  # one more\n".repeat(1000).into();
                    waiting.push(Message::Run(Event::Source { step, version: VersionNumber(1), text, executed: None }));
                }
                Effect::Hunt => hunting = true,
                _ => {}
            }
        }
    }
    hunting
}

/// Counts the bytes that a terminal would be sent.
struct Count(Rc<Cell<usize>>);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Times of one kind of frame.
struct Times {
    what: &'static str,
    all: Vec<Duration>,
}

impl Times {
    fn at(&self, part: f64) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a short list"
        )]
        let place = (part * (sorted.len().saturating_sub(1)) as f64) as usize;
        sorted.get(place).copied().unwrap_or_default()
    }

    /// Prints one line; whether the promise held.
    fn report(&self) -> bool {
        let held = self.at(0.99) <= BUDGET;
        println!(
            "{:<28} {:>6} frames   p50 {:>9.2?}   p99 {:>9.2?}   most {:>9.2?}   {}",
            self.what,
            self.all.len(),
            self.at(0.5),
            self.at(0.99),
            self.at(1.0),
            if held { "held" } else { "TOO SLOW" }
        );
        held
    }
}

/// A terminal of which it is measured how soon it shows what comes of a message.
struct Watch {
    terminal: Terminal<CrosstermBackend<Count>>,
    written: Rc<Cell<usize>>,
    theme: Theme,
}

impl Watch {
    fn new(columns: u16, rows: u16) -> Option<Self> {
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, columns, rows)) };
        let written = Rc::new(Cell::new(0));
        let backend = CrosstermBackend::new(Count(Rc::clone(&written)));
        let terminal = Terminal::with_options(backend, options).ok()?;
        Some(Self { terminal, written, theme: Theme::built_in("dark") })
    }

    fn frame(&mut self, model: &mut Model, message: Message) -> (Duration, bool) {
        let began = Instant::now();
        let hunting = take(model, message);
        let theme = &self.theme;
        let drawn = self.terminal.draw(|frame| drop(view(model, theme, frame))).is_ok();
        let time = began.elapsed();
        let bytes = self.written.replace(0);
        assert!(drawn && bytes < 1 << 20, "a frame of {bytes} bytes");
        (time, hunting)
    }

    fn times(
        &mut self,
        what: &'static str,
        model: &mut Model,
        count: usize,
        make: &dyn Fn(usize) -> Option<Message>,
    ) -> bool {
        let mut all = Vec::new();
        for message in (0..count).filter_map(make) {
            let (time, mut hunting) = self.frame(model, message);
            all.push(time);
            while hunting {
                let (time, more) = self.frame(model, Message::Hunt);
                all.push(time);
                hunting = more;
            }
        }
        Times { what, all }.report()
    }
}

fn main() -> ExitCode {
    let mut held = true;
    for (columns, rows) in [(120, 40), (200, 60)] {
        println!("{columns}x{rows}, {STEPS} steps");
        held &= measure(columns, rows);
        println!("{columns}x{rows}, {} MB of output", FLOOD >> 20);
        held &= flood(columns, rows);
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How much the step prints that prints much.
const FLOOD: usize = 100 << 20;

/// A step prints 100 MB, most of it in lines of some length, some in lines of megabytes.
fn flood(columns: u16, rows: u16) -> bool {
    let mut model = Model::new((columns, rows), Keymap::default());
    take(&mut model, Message::Run(Event::Snapshot(Arc::new(long_run(1)))));
    let Some(step) = model.chosen().cloned() else { return false };
    take(&mut model, Message::Run(Event::Started { step: step.clone(), why: Vec::new(), rebuilt: false }));
    let mut state = 1;
    let short = |state: &mut u64| {
        let mut text = String::new();
        while text.len() < 1 << 20 {
            let at = random(state) % 100_000;
            text.push_str(&format!("\x1b[3{}mline\x1b[0m {at} of what it prints, and some more of it\n", at % 8));
        }
        text
    };
    let block = short(&mut state);
    let long = "no end of this line \u{4e16}\u{754c} ".repeat(60_000);
    let began = Instant::now();
    let mut printed = 0;
    while printed < FLOOD {
        let text = if (printed >> 20) % 25 == 3 { &long } else { &block };
        printed += text.len();
        let chunk = Chunk { stream: Stream::Stdout, text: text.clone() };
        take(&mut model, Message::Run(Event::Printed { step: step.clone(), chunk }));
    }
    println!("{:<28} {:.2?}", "taking it in", began.elapsed());
    let key = |text: &str| text.parse().map(Message::Key).ok();
    if let Some(message) = key("3") {
        take(&mut model, message);
    }
    let Some(mut watch) = Watch::new(columns, rows) else { return false };
    let cycle = |keys: &'static [&'static str]| move |at: usize| key(keys.get(at % keys.len())?);
    let more = |_: usize| {
        let chunk = Chunk { stream: Stream::Stdout, text: "one more line of it\n".to_owned() };
        Some(Message::Run(Event::Printed { step: step.clone(), chunk }))
    };
    [
        watch.times("more of it", &mut model, 200, &more),
        watch.times("up from its end", &mut model, 200, &cycle(&["k", "k", "ctrl-u"])),
        watch.times("down from its beginning", &mut model, 300, &cycle(&["g", "g", "ctrl-d", "j", "ctrl-d", "ctrl-d"])),
        watch.times("from end to end", &mut model, 100, &cycle(&["G", "g", "g"])),
        watch.times("lines cut or wrapped", &mut model, 40, &cycle(&["w", "G", "w", "ctrl-u"])),
        watch.times("a search for what is not there", &mut model, 4, &cycle(&["/", "~", "enter", "esc"])),
    ]
    .into_iter()
    .all(|held| held)
}

fn measure(columns: u16, rows: u16) -> bool {
    let mut model = Model::new((columns, rows), Keymap::default());
    let began = Instant::now();
    take(&mut model, Message::Run(Event::Snapshot(Arc::new(long_run(1)))));
    println!("{:<28} {:.2?}", "taking the run in", began.elapsed());
    let Some(mut watch) = Watch::new(columns, rows) else { return false };
    let key = |text: &str| text.parse().map(Message::Key);
    let cycle = |keys: &'static [&'static str]| move |at: usize| key(keys.get(at % keys.len())?).ok();
    let chunk = |at: usize| {
        let chunk = Chunk { stream: Stream::Stdout, text: format!("line {at} of a step that prints\n") };
        Some(Message::Run(Event::Printed { step: id(0), chunk }))
    };
    let settled = |at: usize| {
        let status = if at.is_multiple_of(2) { Status::Running } else { Status::Fresh };
        Some(Message::Run(Event::Settled {
            step: id(at % STEPS),
            status,
            ran: true,
            rebuilt: false,
            why: Vec::new(),
            execution: None,
        }))
    };
    [
        watch.times("down, step by step", &mut model, 1000, &cycle(&["j"])),
        watch.times("pages, ends", &mut model, 300, &cycle(&["ctrl-d", "ctrl-d", "G", "ctrl-u", "g", "g"])),
        watch.times("from panel to panel", &mut model, 300, &cycle(&["tab", "j", "j"])),
        watch.times("a search as it is typed", &mut model, 300, &cycle(&["/", "7", "7", "enter", "n", "N", "esc"])),
        watch.times("a step prints", &mut model, 500, &chunk),
        watch.times("steps settle", &mut model, 500, &settled),
        watch.times("the run changes", &mut model, 20, &|at| {
            let generation = 2 + u64::try_from(at).unwrap_or(0);
            Some(Message::Run(Event::Snapshot(Arc::new(long_run(generation)))))
        }),
    ]
    .into_iter()
    .all(|held| held)
}
