//! The thread that finds out which bytes of the shown source are what.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use super::app::Message;
use super::app::source::HighlightJob;
use super::view::highlight::Highlighter;

/// Lines that are looked at between two looks at whether the person went on to another text.
const SLICE: usize = 400;

/// Starts the thread; jobs go in, [`Message::Highlighted`] comes out through `tell`. It ends with the last sender.
///
/// # Errors
/// When the system has no thread left.
pub fn start(tell: impl Fn(Message) + Send + 'static) -> std::io::Result<Sender<HighlightJob>> {
    let (jobs, queue) = mpsc::channel();
    std::thread::Builder::new().name("colours".to_owned()).spawn(move || work(&queue, &tell))?;
    Ok(jobs)
}

fn work(queue: &Receiver<HighlightJob>, tell: &dyn Fn(Message)) {
    let mut last: Option<(HighlightJob, Highlighter)> = None;
    let mut next = queue.recv().ok();
    while let Some(mut job) = next.take() {
        // Only the newest text matters.
        while let Ok(newer) = queue.try_recv() {
            job = newer;
        }
        let mut highlighter = match last.take() {
            Some((before, mut highlighter)) if before.step == job.step && before.language == job.language => {
                highlighter.edit(job.text.clone());
                highlighter
            }
            _ => Highlighter::new(job.language, job.text.clone()),
        };
        let told = |highlighter: &Highlighter, first: usize, end: usize| {
            let lines: Vec<Arc<_>> = (first..end).map_while(|at| highlighter.line(at).cloned()).collect();
            if !lines.is_empty() {
                tell(Message::Highlighted { serial: job.serial, first, lines });
            }
        };
        // What is seen comes first, then the rest in slices.
        let seen = job.seen.clone();
        highlighter.show(seen.clone());
        told(&highlighter, seen.start, seen.end);
        let mut first = 0;
        loop {
            let more = highlighter.work(SLICE);
            told(&highlighter, first, highlighter.sure());
            first = highlighter.sure();
            if !more {
                break;
            }
            if let Ok(newer) = queue.try_recv() {
                next = Some(newer);
                break;
            }
        }
        last = Some((job, highlighter));
        if next.is_none() {
            next = queue.recv().ok();
        }
    }
}
