//! What a piece of the screen is: the names that themes give styles to.

/// Declares the roles once: the variant, its dotted name, what it is for.
macro_rules! roles {
    ($($variant:ident = $name:literal, $about:literal;)+) => {
        /// What a piece of the screen is. A theme gives each a style; a role that it leaves out takes that of its
        /// name without the last part.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role {
            $(#[doc = $about] $variant,)+
        }

        impl Role {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name in a theme file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it is for, in a few words.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }
        }
    };
}

roles! {
    Text = "text", "Ordinary text.";
    Dim = "text.dim", "Text of less weight.";
    Strong = "text.strong", "Text of more weight.";
    Control = "text.control", "Stand-ins for control characters and what hides text.";
    Border = "border", "The frame of a panel.";
    BorderFocused = "border.focused", "The frame of the panel that keys go to.";
    BorderPopup = "border.popup", "The frame of what lies over the panels.";
    Popup = "popup", "The ground of what lies over the panels.";
    Title = "title", "A panel's title.";
    TitleFocused = "title.focused", "The title of the panel that keys go to.";
    Tab = "tab", "A tab that is not shown.";
    TabActive = "tab.active", "The tab that is shown.";
    Bar = "bar", "The line at the top.";
    BarStrong = "bar.strong", "What matters most in the line at the top.";
    Selected = "selected", "The row that the cursor is on.";
    SelectedUnfocused = "selected.unfocused", "The same, in a panel that keys don't go to.";
    Marked = "selected.marked", "Rows chosen for what comes next.";
    Cursor = "cursor", "The place of typing.";
    Match = "match", "What a search found.";
    MatchCurrent = "match.current", "The one of these that the cursor is on.";
    Hint = "hint", "What a key does, in the line of hints.";
    Key = "hint.key", "A key's name.";
    Prompt = "prompt", "The question before what is typed.";
    LineNumber = "line", "A line's number.";
    LineNumberCurrent = "line.current", "The number of the line that the cursor is on.";
    Gutter = "gutter", "The edge between numbers and text.";
    Scrollbar = "scrollbar", "Where in the whole the part shown lies.";
    Link = "link", "What leads elsewhere.";
    Fresh = "status.fresh", "A fresh step.";
    Stale = "status.stale", "A stale step.";
    Running = "status.running", "A running step.";
    Failed = "status.failed", "A failed step.";
    Blocked = "status.blocked", "A blocked step.";
    Never = "status.never", "A step never run.";
    Patch = "status.patch", "A step that a patch waits for.";
    Breakpoint = "status.breakpoint", "A step to stop at.";
    Kept = "status.kept", "A result that was kept.";
    Info = "notice.info", "Good to know.";
    Success = "notice.success", "Done as asked.";
    Warning = "notice.warning", "Something is not as asked.";
    Error = "notice.error", "Something failed.";
    Added = "diff.added", "A line that a change adds.";
    AddedWord = "diff.added.word", "The words of it that are new.";
    Removed = "diff.removed", "A line that a change removes.";
    RemovedWord = "diff.removed.word", "The words of it that go.";
    Changed = "diff.changed", "A line that differs.";
    Hunk = "diff.hunk", "The head of a hunk.";
    Undecided = "choice.undecided", "Neither taken nor left yet.";
    Accepted = "choice.accepted", "Taken.";
    Rejected = "choice.rejected", "Left.";
    Partial = "choice.partial", "Taken in part.";
    Lane = "graph.lane", "An edge of the graph.";
    LaneLit = "graph.lane.lit", "An edge of the chosen step.";
    Ancestor = "graph.ancestor", "A step that the chosen one needs.";
    Descendant = "graph.descendant", "A step that needs the chosen one.";
    Frame = "graph.frame", "A frame of the call tree.";
    Keyword = "syntax.keyword", "Keywords.";
    Function = "syntax.function", "Names of functions.";
    Builtin = "syntax.function.builtin", "Functions that the language brings.";
    Type = "syntax.type", "Names of classes and types.";
    Variable = "syntax.variable", "Other names.";
    Parameter = "syntax.variable.parameter", "Parameters.";
    SelfName = "syntax.variable.self", "`self` and its like.";
    Constant = "syntax.constant", "True, False, None.";
    Number = "syntax.constant.number", "Numbers.";
    String = "syntax.string", "Strings.";
    Escape = "syntax.string.escape", "Escapes and placeholders in strings.";
    Comment = "syntax.comment", "Comments.";
    DocString = "syntax.comment.doc", "Strings that document.";
    Operator = "syntax.operator", "Operators.";
    Punctuation = "syntax.punctuation", "Brackets and commas.";
    Decorator = "syntax.decorator", "Decorators.";
    Heading = "syntax.heading", "Headings in text.";
    Emphasis = "syntax.emphasis", "Emphasis in text.";
    Invalid = "syntax.invalid", "What the language doesn't allow.";
    NameRead = "name.read", "A name that comes from another step.";
    NameWritten = "name.written", "A name that another step uses.";
    ErrorLine = "underline.error", "Where an error lies in a source.";
    WarningLine = "underline.warning", "Where a warning lies in a source.";
    Stderr = "output.error", "What was printed to the error stream.";
    Displayed = "output.display", "The value of a last expression.";
    Chart = "chart", "Bars and curves.";
    Black = "ansi.black", "Black in a program's output.";
    Red = "ansi.red", "Red in a program's output.";
    Green = "ansi.green", "Green in a program's output.";
    Yellow = "ansi.yellow", "Yellow in a program's output.";
    Blue = "ansi.blue", "Blue in a program's output.";
    Magenta = "ansi.magenta", "Magenta in a program's output.";
    Cyan = "ansi.cyan", "Cyan in a program's output.";
    White = "ansi.white", "White in a program's output.";
    BrightBlack = "ansi.bright-black", "Bright black in a program's output.";
    BrightRed = "ansi.bright-red", "Bright red in a program's output.";
    BrightGreen = "ansi.bright-green", "Bright green in a program's output.";
    BrightYellow = "ansi.bright-yellow", "Bright yellow in a program's output.";
    BrightBlue = "ansi.bright-blue", "Bright blue in a program's output.";
    BrightMagenta = "ansi.bright-magenta", "Bright magenta in a program's output.";
    BrightCyan = "ansi.bright-cyan", "Bright cyan in a program's output.";
    BrightWhite = "ansi.bright-white", "Bright white in a program's output.";
}

impl Role {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The sixteen colours of a program's output, in the order of their numbers.
    pub const ANSI: [Self; 16] = [
        Self::Black,
        Self::Red,
        Self::Green,
        Self::Yellow,
        Self::Blue,
        Self::Magenta,
        Self::Cyan,
        Self::White,
        Self::BrightBlack,
        Self::BrightRed,
        Self::BrightGreen,
        Self::BrightYellow,
        Self::BrightBlue,
        Self::BrightMagenta,
        Self::BrightCyan,
        Self::BrightWhite,
    ];

    /// Its place in a table of all roles.
    pub(super) const fn place(self) -> usize {
        self as usize
    }

    /// The names that its style may come from, the most particular first: `a.b.c`, `a.b`, `a`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::successors(Some(self.name()), |name| name.rsplit_once('.').map(|(front, _)| front))
    }

    /// Whether a theme file may use this name: a role's, or the front of one.
    pub fn is_name(name: &str) -> bool {
        Self::ALL.iter().any(|role| role.names().any(|known| known == name))
    }
}

impl From<crate::step::Status> for Role {
    fn from(status: crate::step::Status) -> Self {
        use crate::step::Status;
        match status {
            Status::Never => Self::Never,
            Status::Fresh => Self::Fresh,
            Status::Stale => Self::Stale,
            Status::Running => Self::Running,
            Status::Failed => Self::Failed,
            Status::Blocked => Self::Blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_fall_back_part_by_part() {
        assert_eq!(Role::AddedWord.names().collect::<Vec<_>>(), ["diff.added.word", "diff.added", "diff"]);
        assert!(Role::is_name("diff"));
        assert!(!Role::is_name("dif"));
    }

    #[test]
    fn no_two_roles_share_a_name() {
        let names: HashSet<_> = Role::ALL.iter().map(|role| role.name()).collect();
        assert_eq!(names.len(), Role::COUNT);
        assert!(Role::ALL.iter().enumerate().all(|(i, role)| role.place() == i));
    }
}
