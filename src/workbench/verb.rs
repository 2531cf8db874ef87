//! What can be done with a run, in one table: the words by which the command line and the MCP server know it, and how
//! far it reaches.

/// How far something reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It only looks.
    Looks,
    /// It executes steps or changes what can be taken back.
    Does,
    /// It decides what only a person decides.
    Decides,
}

/// Something that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// Its words, as on the command line after `reweave`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// How far it reaches.
    pub reach: Reach,
}

const fn verb(name: &'static str, reach: Reach, about: &'static str) -> Verb {
    Verb { name, about, reach }
}

/// The table.
pub static VERBS: &[Verb] = &[
    verb("status", Reach::Looks, "How every step stands and why, what each reads and writes, and which patches wait"),
    verb("graph", Reach::Looks, "Which steps need which, by the names and files that tie them"),
    verb("show", Reach::Looks, "A step's source, and what it printed, showed and failed with when it last ran"),
    verb("state", Reach::Looks, "The variables as they stood right after a step"),
    verb(
        "context",
        Reach::Looks,
        "What one should know to rewrite a step: what it needs in full, what returned in a line",
    ),
    verb("diagnose", Reach::Looks, "Why a step failed: the cause, the step at the root of it, and what could be done"),
    verb("log", Reach::Looks, "What happened to a step, or to the run, newest first"),
    verb(
        "run",
        Reach::Does,
        "Bring steps, with what they need, up to date: only what changed runs. All when none is named",
    ),
    verb("replay", Reach::Does, "Mark a step stale and run it and what follows from it again"),
    verb("invalidate", Reach::Does, "Mark steps stale, so that they run at the next run whatever they read"),
    verb("stop", Reach::Does, "Stop what runs"),
    verb(
        "new",
        Reach::Does,
        "Make a step: a Python file that shares one namespace with all others, in the order of the ids",
    ),
    verb("edit", Reach::Does, "Replace a step's whole source"),
    verb("patch add", Reach::Does, "Propose a patch, in any common form. A person decides whether it is accepted"),
    verb("patch list", Reach::Looks, "The patches and where each stands"),
    verb("patch show", Reach::Looks, "A patch in full: what it would change, its problems, and what was remarked"),
    verb(
        "patch try",
        Reach::Does,
        "Run a patch on the side and tell what it would change, tests before and after among it",
    ),
    verb("patch accept", Reach::Decides, "Write a patch to the steps"),
    verb("patch reject", Reach::Decides, "Turn a patch down"),
    verb("patch revert", Reach::Decides, "Take an accepted patch back"),
    verb("answer", Reach::Decides, "Answer what the policy asks about a step"),
    verb("delete", Reach::Decides, "Remove a step's file"),
    verb("undo", Reach::Decides, "Take back the last thing that was done to a step's file"),
    verb("restore", Reach::Decides, "Write an earlier version of a step back"),
];

impl Verb {
    /// The verb of this name.
    ///
    /// ```
    /// use reweave::workbench::{Reach, Verb};
    /// assert_eq!(Verb::named("patch accept").map(|verb| verb.reach), Some(Reach::Decides));
    /// ```
    pub fn named(name: &str) -> Option<&'static Self> {
        VERBS.iter().find(|verb| verb.name == name)
    }
}
