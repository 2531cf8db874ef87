//! reweave: a workbench for agent runs.
//!
//! A *run* is a directory of Python steps that share one namespace. reweave knows what each step reads and
//! writes, marks what a change makes stale and why, runs only that, and gives exactly what an in-order
//! execution of everything would give.
//!
//! # Architecture
//!
//! The folders below are layers: each imports only from those above it, and the last three from none of
//! each other (`tests/layers.rs` holds this).
//!
//! | layer | what lives there |
//! |---|---|
//! | [`step`] | the words as types: ids, versions, provenance, headers, statuses, executions |
//! | [`run`] | the run on disk: finding and ordering steps, configuration, atomic writes, watching |
//! | [`analysis`] | Python source to the names it reads and writes; pure |
//! | [`graph`] | edges, ancestors, stale marks and replay plans; pure |
//! | [`store`] | SQLite: versions, executions, blobs, patches, events |
//! | [`engine`] | worker processes, checkpoints, observation, sound replay |
//! | [`feedback`] | a failed execution to a diagnosis |
//! | [`patch`] | patch formats, locating, hunks, the life of a proposal |
//! | [`agent`] | context for a step, agent commands, the repair loop |
//! | [`interop`] | import and export of notebooks, trajectories and traces |
//! | [`workbench`] | the one owner of a run: takes commands, sends events |
//! | [`ui`] | the terminal |
//! | [`cli`] | the command line |
//! | [`mcp`] | the same for agents |
//!
//! # A walk through the library
//!
//! The names below are the library's own. Lists come in replay order, that is, the order of the run; a namespace is,
//! on this side, names with digests and short forms, never live objects.
//!
//! ```
//! use std::path::Path;
//!
//! use reweave::analysis::{Options, analyze, reads, writes};
//! use reweave::engine::{Executed, Executor, Task};
//! use reweave::feedback::{Cause, Failure, Nowhere, StepText, diagnose};
//! use reweave::graph::{EdgeKind, ExecutionStateGraph, StepOutput, infer_edges};
//! use reweave::patch::{MemoryTree, generate_patch};
//! use reweave::step::{Author, Digest, Outcome, Provenance, Reason, Status, StepId, Stream};
//! use reweave::store::Store;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut run = [
//!     ("01_load".parse::<StepId>()?, "readings = [3, 4]"),
//!     ("02_sum".parse()?, "total = sum(reading)"),
//!     ("03_note".parse()?, "note = 'done'"),
//!     ("04_tell".parse()?, "print(note, total)"),
//! ];
//! let ids = run.each_ref().map(|(id, _)| id.clone());
//! let [load, sum, note, tell] = &ids;
//!
//! // What each step reads and writes, by its text; who needs whom follows from that.
//! assert!(writes(run[0].1).contains("readings") && reads(run[3].1).contains("total"));
//! let names = run.each_ref().map(|(_, text)| analyze(text, &Options::default()));
//! let inferred = infer_edges(&ids.iter().cloned().zip(&names).collect::<Vec<_>>());
//! assert_eq!(inferred.len(), 2, "04_tell needs 02_sum and 03_note; 02_sum asks for a name that nobody writes");
//!
//! // The same as a graph that is kept: a petgraph of steps, what each needs, what is stale.
//! let mut graph = ExecutionStateGraph::new();
//! for (id, names) in ids.iter().zip(&names) {
//!     graph.add_step(id.clone(), names.clone());
//! }
//! graph.add_edge(load, note, EdgeKind::Declared, Vec::new())?;
//! assert_eq!(graph.ancestors(tell, &["note".into()])?, [load.clone(), note.clone()]);
//! assert_eq!(graph.subgraph_from(load)?.node_count(), 3, "01_load, 03_note and 04_tell");
//! assert_eq!(graph.graph().node_count(), 4);
//!
//! // Execute, and record: every text a version with who wrote it, every execution with what it used and made.
//! let dir = tempfile::tempdir()?;
//! let store = Store::open(dir.path())?;
//! let mut executor = Executor::new(dir.path(), Path::new("python3"));
//! let by = Provenance::new(Author::Agent("writer".into()), 1_000);
//! let tasks = |run: &[(StepId, &str)], by: &Provenance| -> Result<Vec<Task>, Box<dyn std::error::Error>> {
//!     let task = |(id, text): &(StepId, &str)| {
//!         Ok(Task::new(id.clone(), store.record_version(id, text.as_bytes(), by)?, text))
//!     };
//!     run.iter().map(task).collect()
//! };
//! let first = tasks(&run, &by)?;
//! for (id, executed) in ids.iter().zip(executor.execute(&first)?) {
//!     if let Some(execution) = executed.execution() {
//!         store.record_execution(execution.clone()).wait()?;
//!         graph.record_output(id, StepOutput::of(execution, &[]))?;
//!     }
//! }
//! let failed = &store.executions(sum, 1)?[0].execution;
//! assert_eq!(failed.outcome, Outcome::Failed);
//! assert_eq!(failed.error.as_ref().map(|error| &error.type_name[..]), Some("NameError"));
//! assert!(store.executions(tell, 1)?.is_empty(), "it needs what 02_sum should have made");
//! // Why it failed, and what a rule is certain enough to propose. It waits in the store until it is accepted.
//! let paths = ids.each_ref().map(|id| format!("{id}.py"));
//! let texts: Vec<StepText<'_>> = run.iter().zip(&paths).zip(&names).map(|(((id, text), path), names)| StepText {
//!     id, path, text, digest: Digest::of(text), names, observed: None, status: Status::Never,
//! }).collect();
//! let error = failed.error.as_ref().ok_or("it failed")?;
//! let failure = Failure { step: sum, error, steps: &texts, earlier: &[], world: &Nowhere };
//! let diagnosis = diagnose(&failure);
//! assert_eq!((diagnosis.cause, diagnosis.root_step.as_ref()), (Cause::MisspeltName, Some(sum)));
//! let tree = MemoryTree::new(paths.iter().cloned().zip(run.each_ref().map(|(_, text)| *text)));
//! let proposal = generate_patch(&diagnosis, &tree, 1_500).ok_or("there is no doubt about it")?;
//! let patch = store.insert_patch(&proposal)?.id();
//! let mended = proposal.files[0].result.as_deref().ok_or("a text")?;
//! assert_eq!(mended, "total = sum(readings)");
//!
//! // Names as of a step: short forms; the list itself is in the worker.
//! let variables = executor.variables(&first, load, &["readings".into()])?;
//! assert_eq!(variables[0].repr, "[3, 4]");
//!
//! // The step is written anew: it and what needs it is stale, and a replay says what it comes to.
//! run[1].1 = mended;
//! graph.add_step(sum.clone(), analyze(run[1].1, &Options::default()));
//! let stale = graph.mark_stale(sum, Reason::SourceChanged)?;
//! assert_eq!(stale, [sum.clone(), tell.clone()]);
//! assert!(graph.node(tell).is_some_and(|node| node.is_stale()));
//! let replay = graph.replay_from(sum)?;
//! assert_eq!(replay.iter().map(|entry| (&entry.step, entry.certain)).collect::<Vec<_>>(), [(sum, true), (tell, false)]);
//! let second = tasks(&run, &Provenance { patch: Some(patch), ..Provenance::new(Author::Person, 2_000) })?;
//! let done = executor.execute(&second)?;
//! assert!(matches!(&done[..], [Executed::Kept(_), Executed::Ran(_), Executed::Kept(_), Executed::Ran(_)]));
//! for (id, executed) in ids.iter().zip(&done) {
//!     if let Executed::Ran(execution) = executed {
//!         store.record_execution(execution.clone()).wait()?;
//!         graph.record_output(id, StepOutput::of(execution, &[]))?;
//!     }
//! }
//! assert!(graph.steps().all(|node| !node.is_stale()));
//! assert_eq!(store.executions(tell, 1)?[0].execution.output.text(Stream::Stdout), "done 7\n");
//!
//! // What became of it all can be asked at any time: see [`store::query`].
//! assert_eq!(store.versions(sum)?.len(), 2);
//! assert_eq!(store.needs(tell, &["total".into()].map(reweave::store::Subject::Name))?.len(), 2);
//! # Ok(())
//! # }
//! ```

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod engine;
pub mod feedback;
pub mod graph;
pub mod interop;
pub mod mcp;
pub mod patch;
pub mod run;
pub mod step;
pub mod store;
pub mod ui;
pub mod workbench;
