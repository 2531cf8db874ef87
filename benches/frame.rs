//! How long a key takes to become a frame: a run of 10,000 steps with 30,000 edges, at 120x40 and at 200x60.
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
use reweave::step::{Chunk, Kind, Reason, Status, StepId, Stream, VersionNumber};
use reweave::ui::app::{Effect, Keymap, Message, Model, update};
use reweave::ui::theme::Theme;
use reweave::ui::view::view;
use reweave::workbench::{Command, Edge, EdgeKind, Event, Snapshot, StepRow};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
                id: id(at),
                kind: Kind::Step,
                status,
                reasons,
                version: VersionNumber(1),
                summary: None,
                agent: None,
                duration_us: Some(random(&mut state) % 3_000_000),
                error: (status == Status::Failed).then(|| "KeyError: 'plan'".to_owned()),
                caused_by: None,
                recorded: false,
                recording: false,
                nondeterministic: Vec::new(),
                reads: Vec::new(),
                writes: vec![format!("v{at}").into()],
                syntax_error: None,
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
    Snapshot { generation, dir: "runs/long".into(), steps, edges, ..Snapshot::default() }
}

fn id(at: usize) -> StepId {
    #[allow(clippy::unwrap_used, reason = "the name is made here")]
    format!("{at:05}_step").parse().unwrap()
}

/// Takes a message, and answers what the interface asks for as the runtime would, without threads.
fn take(model: &mut Model, message: Message) {
    let mut waiting = vec![message];
    while let Some(message) = waiting.pop() {
        for effect in update(model, message) {
            match effect {
                Effect::Lay(job) => waiting.push(Message::Laid { serial: job.serial, lanes: job.run().into() }),
                Effect::Ask(Command::Source { step }) => {
                    let text: Arc<str> = "def f(x):\n    return x + 1  # one more\n".repeat(1000).into();
                    waiting.push(Message::Run(Event::Source { step, version: VersionNumber(1), text, executed: None }));
                }
                _ => {}
            }
        }
    }
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

fn main() -> ExitCode {
    let mut held = true;
    for (columns, rows) in [(120, 40), (200, 60)] {
        println!("{columns}x{rows}, {STEPS} steps");
        held &= measure(columns, rows);
    }
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(columns: u16, rows: u16) -> bool {
    let theme = Theme::built_in("dark");
    let mut model = Model::new((columns, rows), Keymap::default());
    let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, columns, rows)) };
    let written = Rc::new(Cell::new(0));
    let backend = CrosstermBackend::new(Count(Rc::clone(&written)));
    let Ok(mut terminal) = Terminal::with_options(backend, options) else { return false };
    let began = Instant::now();
    take(&mut model, Message::Run(Event::Snapshot(Arc::new(long_run(1)))));
    println!("{:<28} {:.2?}", "taking the run in", began.elapsed());

    let mut frame = |model: &mut Model, message: Message| {
        let began = Instant::now();
        take(model, message);
        let drawn = terminal.draw(|frame| drop(view(model, &theme, frame))).is_ok();
        let time = began.elapsed();
        let bytes = written.replace(0);
        assert!(drawn && bytes < 1 << 20, "a frame of {bytes} bytes");
        time
    };
    let key = |text: &str| text.parse().map(Message::Key);
    let mut times = |what, model: &mut Model, count: usize, make: &dyn Fn(usize) -> Option<Message>| {
        let all = (0..count).filter_map(make).map(|message| frame(model, message)).collect();
        Times { what, all }.report()
    };
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
        times("down, step by step", &mut model, 1000, &cycle(&["j"])),
        times("pages, ends", &mut model, 300, &cycle(&["ctrl-d", "ctrl-d", "G", "ctrl-u", "g", "g"])),
        times("from panel to panel", &mut model, 300, &cycle(&["tab", "j", "j"])),
        times("a search as it is typed", &mut model, 300, &cycle(&["/", "7", "7", "enter", "n", "N", "esc"])),
        times("a step prints", &mut model, 500, &chunk),
        times("steps settle", &mut model, 500, &settled),
        times("the run changes", &mut model, 20, &|at| {
            let generation = 2 + u64::try_from(at).unwrap_or(0);
            Some(Message::Run(Event::Snapshot(Arc::new(long_run(generation)))))
        }),
    ]
    .into_iter()
    .all(|held| held)
}
