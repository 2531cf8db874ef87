//! A workbench in another process: commands and events as JSON lines over a socket.
//!
//! The first line each way is a greeting with the version, since both ends may be of different builds.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::{Deserialize, Serialize};

use super::desk::{ClientId, Input};
use super::open::{Opened, Opener, open_for};
use super::{Command, Event, Failure, Handle, Level, Options, Request, Ticket};

/// The longest line that is read: a request with a step's whole text is far below it.
const LONGEST: u64 = 256 << 20;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Greeting {
    reweave: String,
}

impl Greeting {
    fn own() -> Self {
        Self { reweave: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Serves one client until it goes away. Its requests go to the desk, and the desk's events to it.
pub(super) fn serve(stream: UnixStream, client: ClientId, desk: &Sender<Input>) {
    // A client that can't be spoken to is one that went away.
    let _ = try_to_serve(&stream, client, desk);
    let _ = stream.shutdown(Shutdown::Both);
}

fn try_to_serve(stream: &UnixStream, client: ClientId, desk: &Sender<Input>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = BufWriter::new(stream.try_clone()?);
    let greeting: Option<Greeting> = read(&mut reader)?;
    write(&mut writer, &Greeting::own())?;
    writer.flush()?;
    if greeting != Some(Greeting::own()) {
        return Ok(());
    }
    let (events, queue) = mpsc::channel();
    let teller = thread::Builder::new().name("client".to_owned()).spawn(move || tell(&queue, writer))?;
    let _ = desk.send(Input::Join(client, events));
    while let Ok(Some(request)) = read::<Request>(&mut reader) {
        if request.command == Command::Close || desk.send(Input::Ask(client, request)).is_err() {
            break;
        }
    }
    let _ = desk.send(Input::Leave(client));
    // It ends with the desk's end of its channel.
    let _ = teller.join();
    Ok(())
}

/// Sends events as they come. Of the snapshots that wait, only the last is of use to anyone.
fn tell(queue: &Receiver<Event>, mut writer: BufWriter<UnixStream>) {
    while let Ok(first) = queue.recv() {
        let waiting: Vec<Event> = std::iter::once(first).chain(queue.try_iter()).collect();
        let last = waiting.iter().rposition(|event| matches!(event, Event::Snapshot(_)));
        for (place, event) in waiting.iter().enumerate() {
            let outdated = matches!(event, Event::Snapshot(_)) && Some(place) != last;
            if !outdated && write(&mut writer, event).is_err() {
                return;
            }
        }
        if writer.flush().is_err() {
            return;
        }
    }
}

/// Joins the workbench at the other end; its events go to `events`. When it ends before the handle is gone, the run
/// in `dir` is opened anew, and what was asked and not answered is asked again.
///
/// # Errors
/// When nobody answers there, or one of another version.
pub(super) fn join(
    stream: UnixStream,
    dir: PathBuf,
    options: Options,
    events: Sender<Event>,
) -> Result<Handle, Failure> {
    let (line, reader) = match greet(stream) {
        Ok(ends) => ends,
        // It ended just now: there is another owner, or none.
        Err(Unmet::Gone(_)) => match meet(&dir, &options, &events)? {
            Met::There(line, reader) => (line, reader),
            Met::Here(desk) => return Ok(Handle::new(move |request| desk.ask(request))),
        },
        Err(Unmet::Other(failure)) => return Err(failure),
    };
    let link = Arc::new(Link::default());
    link.state().target = Target::There(line);
    let mine = Arc::clone(&link);
    thread::Builder::new()
        .name("events".to_owned())
        .spawn(move || hear(reader, &mine, &dir, &options, &events))
        .map_err(|error| Failure { what: format!("no thread for the workbench: {error}"), hint: None })?;
    let end = End(link);
    Ok(Handle::new(move |request| end.0.ask(request)))
}

/// Whom one finds at a run.
enum Met {
    /// Its owner, in another process.
    There(BufWriter<UnixStream>, BufReader<UnixStream>),
    /// Nobody: a desk of this process owns it now.
    Here(Opener),
}

/// Why there was no greeting.
enum Unmet {
    /// The line ended.
    Gone(io::Error),
    /// Who is there can't be spoken with.
    Other(Failure),
}

/// How often an owner that does not answer is looked for again. One that was killed lets go of its socket and of its
/// lock one after the other, and whoever comes in between finds neither an owner nor a free run.
const TRIES: u32 = 100;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// Opens the run in `dir` here, or greets who has it open.
fn meet(dir: &std::path::Path, options: &Options, events: &Sender<Event>) -> Result<Met, Failure> {
    let mut tries = 0;
    loop {
        let stream = match open_for(dir, options, events)? {
            Opened::Here(desk) => return Ok(Met::Here(Opener(desk))),
            Opened::There(stream) => stream,
        };
        match greet(stream) {
            Ok((writer, reader)) => return Ok(Met::There(writer, reader)),
            Err(Unmet::Gone(_)) if tries < TRIES => {
                tries += 1;
                thread::sleep(PAUSE);
            }
            Err(Unmet::Gone(error)) => {
                return Err(Failure {
                    what: format!("the workbench that has this run open does not answer: {error}"),
                    hint: Some("try again, or close it".to_owned()),
                });
            }
            Err(Unmet::Other(failure)) => return Err(failure),
        }
    }
}

fn greet(stream: UnixStream) -> Result<(BufWriter<UnixStream>, BufReader<UnixStream>), Unmet> {
    let gone = Unmet::Gone;
    let mut reader = BufReader::new(stream.try_clone().map_err(gone)?);
    let mut writer = BufWriter::new(stream);
    write(&mut writer, &Greeting::own()).and_then(|()| writer.flush()).map_err(gone)?;
    match read::<Greeting>(&mut reader).map_err(gone)? {
        Some(greeting) if greeting == Greeting::own() => Ok((writer, reader)),
        Some(Greeting { reweave }) => Err(Unmet::Other(Failure {
            what: format!("this run is open in reweave {reweave}, and this is {}", env!("CARGO_PKG_VERSION")),
            hint: Some("close it there, or use the same version".to_owned()),
        })),
        None => Err(gone(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The way to whoever owns the run now.
#[derive(Default)]
struct Link(Mutex<LinkState>);

#[derive(Default)]
struct LinkState {
    target: Target,
    /// What was asked and not answered yet.
    pending: BTreeMap<Ticket, Request>,
}

#[derive(Default)]
enum Target {
    /// Nobody any more, or nobody yet.
    #[default]
    Nobody,
    /// Another process.
    There(BufWriter<UnixStream>),
    /// A desk of this process, which took its place.
    Here(Opener),
    /// The handle is gone.
    Closed,
}

impl Link {
    /// Each change leaves the state whole, so a panic elsewhere spoils nothing.
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, request: Request) -> bool {
        let mut state = self.state();
        if request.command == Command::Close {
            state.close();
            return true;
        }
        if matches!(state.target, Target::Closed) {
            return false;
        }
        state.pending.insert(request.ticket, request.clone());
        state.send(request);
        true
    }

    /// A request was answered.
    fn answered(&self, ticket: Ticket) {
        self.state().pending.remove(&ticket);
    }
}

impl LinkState {
    fn send(&mut self, request: Request) {
        match &mut self.target {
            // Where the line has ended, whoever hears it end asks again.
            Target::There(writer) => drop(write(writer, &request).and_then(|()| writer.flush())),
            Target::Here(desk) => {
                self.pending.clear();
                desk.ask(request);
            }
            Target::Nobody | Target::Closed => {}
        }
    }

    /// Goes on with another owner. Nothing happens once the handle is gone.
    fn go_on(&mut self, target: Target) -> bool {
        if matches!(self.target, Target::Closed) {
            return false;
        }
        self.target = target;
        for request in std::mem::take(&mut self.pending).into_values() {
            if matches!(self.target, Target::There(_)) {
                self.pending.insert(request.ticket, request.clone());
            }
            self.send(request);
        }
        true
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.target, Target::Closed) {
            Target::There(mut writer) => {
                let goodbye = Request { ticket: Ticket(0), command: Command::Close };
                let _ = write(&mut writer, &goodbye).and_then(|()| writer.flush());
                let _ = writer.get_ref().shutdown(Shutdown::Both);
            }
            Target::Here(_) | Target::Nobody | Target::Closed => {}
        }
    }
}

/// The face's end of a link. When it goes, the owner sees us leave.
struct End(Arc<Link>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.state().close();
    }
}

/// Hands events on as they come, from one owner after the other.
fn hear(
    mut reader: BufReader<UnixStream>,
    link: &Arc<Link>,
    dir: &std::path::Path,
    options: &Options,
    events: &Sender<Event>,
) {
    loop {
        while let Ok(Some(event)) = read::<Event>(&mut reader) {
            match &event {
                Event::Closed => break,
                Event::Done { ticket, .. } => link.answered(*ticket),
                _ => {}
            }
            if events.send(event).is_err() {
                return;
            }
        }
        if matches!(link.state().target, Target::Closed) {
            let _ = events.send(Event::Closed);
            return;
        }
        let opened = meet(dir, options, events).map(|met| match met {
            Met::Here(desk) => (Target::Here(desk), None),
            Met::There(writer, reader) => (Target::There(writer), Some(reader)),
        });
        let next = match opened {
            Ok((target, next)) => link.state().go_on(target).then_some(next),
            Err(failure) => {
                let _ = events.send(Event::Notice { level: Level::Error, text: failure.what });
                None
            }
        };
        // The handle is gone by now, or the run can't be opened any more.
        let Some(next) = next else {
            let _ = events.send(Event::Closed);
            return;
        };
        match next {
            Some(next) => reader = next,
            // The desk tells its events by itself, its end too.
            None => return,
        }
    }
}

fn write(writer: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, message)?;
    writer.write_all(b"\n")
}

/// The next message; `None` at the end.
fn read<T: for<'de> Deserialize<'de>>(reader: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    reader.take(LONGEST).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A desk that answers every request.
    fn desk(queue: Receiver<Input>) {
        let mut clients = BTreeMap::new();
        for input in queue {
            match input {
                Input::Join(client, events) => {
                    let _ = events.send(Event::Snapshot(Arc::default()));
                    clients.insert(client, events);
                }
                Input::Ask(client, request) => {
                    let done = Event::Done { ticket: request.ticket, result: Ok(super::super::Summary::default()) };
                    let _ = clients[&client].send(done);
                }
                Input::Leave(client) => {
                    clients.remove(&client);
                    return;
                }
                Input::Engine(_)
                | Input::Disk(_)
                | Input::Question(_)
                | Input::Unasked(_)
                | Input::Explained(..)
                | Input::Compared(..)
                | Input::Shown(..)
                | Input::Ended(..) => {}
            }
        }
    }

    #[test]
    fn requests_and_events_cross_and_leaving_is_seen() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (inputs, queue) = mpsc::channel();
        let served = thread::spawn(move || serve(theirs, ClientId(1), &inputs));
        let answering = thread::spawn(move || desk(queue));
        let (events, heard) = mpsc::channel();
        let handle = join(ours, "/nowhere".into(), Options::default(), events).unwrap();
        assert!(matches!(heard.recv().unwrap(), Event::Snapshot(_)));
        let ticket = handle.send(Command::Next);
        assert!(matches!(heard.recv().unwrap(), Event::Done { ticket: answered, result: Ok(_) } if answered == ticket));
        handle.send(Command::Close);
        assert!(matches!(heard.recv().unwrap(), Event::Closed));
        served.join().unwrap();
        answering.join().unwrap();
    }

    #[test]
    fn another_version_is_told_apart() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let other = thread::spawn(move || {
            let mut writer = BufWriter::new(theirs.try_clone().unwrap());
            write(&mut writer, &Greeting { reweave: "9.9.9".into() }).unwrap();
            writer.flush().unwrap();
            theirs
        });
        let Err(Unmet::Other(failure)) = greet(ours) else { unreachable!() };
        assert!(failure.what.starts_with("this run is open in reweave 9.9.9"), "{}", failure.what);
        drop(other.join());
    }
}
