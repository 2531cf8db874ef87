//! What is told of a failure: the cause, where it really lies, the values that show it, and what to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::step::StepId;

/// A failure explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The step that failed.
    pub step: StepId,
    /// Type and message of the error.
    pub error: String,
    /// What kind of fault it is.
    pub cause: Cause,
    /// Where it raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The step in which the fault lies: the one whose text is wrong, or that wrote the value that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_step: Option<StepId>,
    /// In plain sentences: what failed, why, and where to look.
    pub explanation: String,
    /// The values that show it.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// What could be done, most certain first.
    pub suggestions: Vec<Suggestion>,
    /// How often the step failed like this before, if the repairs go round in a circle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
}

/// Where an error raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// In which step's text.
    pub step: StepId,
    /// 1-based line.
    pub line: u32,
    /// 1-based columns in characters, where the interpreter says them: first, and behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<(u32, u32)>,
    /// The expression that raised, or else the line; hostile.
    pub text: String,
}

/// A value that shows the fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The name or expression; hostile.
    pub name: String,
    /// What it held: type, shape or length, and text; hostile.
    pub value: String,
    /// The step that wrote it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_by: Option<StepId>,
}

/// Something that could be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What, in a few words.
    pub title: String,
    /// The rule that says so.
    pub rule: Rule,
    /// Whether the rule is certain enough to propose it as a patch. It is never accepted by itself.
    pub safe: bool,
    /// The whole new texts, by path; empty where there is nothing to write.
    pub files: BTreeMap<String, String>,
    /// The same as a unified diff; empty where there is nothing to write.
    pub patch: String,
}

/// A circle of repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// How many earlier texts of the step failed in the same way.
    pub same_failure: usize,
    /// Whether the present text is one that failed before.
    pub same_text: bool,
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

words! {
    /// What kind of fault it is.
    Cause {
        /// A name that is written otherwise elsewhere.
        MisspeltName,
        /// A module or a name of one that is not imported.
        MissingImport,
        /// `true`, `null` and the like.
        ForeignLiteral,
        /// A name that only a later step makes.
        DefinedLater,
        /// A name that only a removed step made.
        DefinedInRemoved,
        /// A name that is local to a function.
        LocalElsewhere,
        /// A local that is read before it is bound.
        UnboundLocal,
        /// A name that nothing makes.
        UndefinedName,
        /// A module that is not installed.
        ModuleMissing,
        /// A name that moved to another module.
        NameMoved,
        /// A name of a module that is written otherwise there.
        MisspeltImport,
        /// An import that fails for another reason.
        ImportFailed,
        /// An attribute that is written otherwise.
        MisspeltAttribute,
        /// A method of another language.
        ForeignMethod,
        /// An attribute that the value does not have.
        MissingAttribute,
        /// `None` where a value was meant.
        NoneValue,
        /// A key that is written otherwise.
        MisspeltKey,
        /// A key that is not there.
        MissingKey,
        /// A column that is written otherwise.
        MisspeltColumn,
        /// A column that is not there.
        MissingColumn,
        /// An index beyond the end.
        IndexOutOfRange,
        /// A value that is empty where one was meant.
        EmptyValue,
        /// Arguments that a function does not take, or lacks.
        Arguments,
        /// Operands that don't go together.
        Operands,
        /// A value that is called and can't be.
        NotCallable,
        /// A value of another type than was meant.
        WrongType,
        /// As many values as names were meant.
        Unpacking,
        /// A text that is no number, or the like.
        Conversion,
        /// Arrays whose shapes don't go together.
        Shape,
        /// A divisor that is zero.
        ZeroDivisor,
        /// A text that is no Python.
        Syntax,
        /// Indentation that does not add up.
        Indentation,
        /// A file whose name is written otherwise.
        MisspeltFile,
        /// A file that a step should have written.
        FileNotWritten,
        /// A file that is not there.
        MissingFile,
        /// A file that may not be used so.
        FileAccess,
        /// Bytes that are not in the encoding that was taken.
        Encoding,
        /// An assert or a test that does not hold.
        FailedCheck,
        /// A function that calls itself without end.
        EndlessRecursion,
        /// It took longer than is allowed.
        TimedOut,
        /// It took more memory than is allowed.
        OutOfMemory,
        /// The process died.
        Died,
        /// What a library no longer has.
        RemovedApi,
        /// Something else.
        Other,
    }
}

words! {
    /// The rule behind a suggestion.
    Rule {
        /// Rename a misspelt name.
        NameTypo,
        /// Add a missing import.
        AddImport,
        /// Write a literal of another language as Python's.
        Literal,
        /// Move a step before the one that needs it.
        Reorder,
        /// Bring a removed step back.
        RestoreStep,
        /// Return a function's local.
        ReturnValue,
        /// Install a package.
        Install,
        /// Import a name from where it moved to.
        MovedName,
        /// Correct a misspelt name of a module.
        ImportTypo,
        /// Correct a misspelt attribute.
        AttributeTypo,
        /// Use Python's method for another language's.
        ForeignMethod,
        /// Keep the value that a method in place does not return.
        InPlace,
        /// Correct a misspelt key or column.
        KeyTypo,
        /// Make the names of columns alike where they are read.
        NormaliseColumns,
        /// Stop a loop at the last index.
        LastIndex,
        /// Turn an operand to text.
        ToText,
        /// Correct a misspelt keyword argument.
        KeywordTypo,
        /// Add a missing `self`.
        AddSelf,
        /// Give a variable another name than a builtin's.
        Shadow,
        /// Turn a number written for people into one.
        ParseNumber,
        /// Guard against what is empty.
        Guard,
        /// Add a colon.
        AddColon,
        /// Close a bracket.
        CloseBracket,
        /// Take Markdown's fences off.
        StripFences,
        /// Write typographic characters as Python's.
        AsciiCharacters,
        /// Write `else if` as `elif`.
        ElseIf,
        /// Take a bracket off that closes nothing.
        ExtraBracket,
        /// Close a text.
        CloseQuote,
        /// Correct a misspelt word of the language.
        ReservedWord,
        /// Write an operator of another language as Python's.
        ForeignOperator,
        /// Write a number in one of the two ways that it may be meant.
        LeadingZeros,
        /// Compare instead of assigning.
        Comparison,
        /// Take a table's entries in pairs.
        Entries,
        /// Write `print x` as a call.
        PrintCall,
        /// Put several exceptions in brackets.
        ExceptBrackets,
        /// Take a side of a merge.
        MergeSide,
        /// Take indentation off a whole step.
        Dedent,
        /// Indent a body.
        IndentBody,
        /// Correct a misspelt file name.
        FileTypo,
        /// Read a file in another encoding.
        OtherEncoding,
        /// Use what took the place of a removed function of a library.
        Successor,
    }
}

impl Cause {
    /// The word for it, as in JSON.
    pub fn word(self) -> String {
        word(&self)
    }
}

impl Rule {
    /// The word for it, as in JSON.
    pub fn word(self) -> String {
        word(&self)
    }
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
