//! One source on its way to names: IPython's syntax out, depth measured, parsed, walked.

use std::borrow::Cow;
use std::sync::Arc;

use rustpython_parser::{Parse, ast};

use super::interpreter::Judgement;
use super::magics::{self, Translation};
use super::{
    AnalyzedBy, Judge, Lines, PythonVersion, StepNames, SyntaxError, deep_stack, depth, lexical, rewrite, tree, walk,
};

/// What was read of a source so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The source without IPython's syntax, if it has any.
    translation: Option<Translation>,
    /// The names, if the parser built in could read it.
    pub names: Option<StepNames>,
    /// Why it could not.
    refused: Option<SyntaxError>,
    /// Why nothing may walk it.
    too_deep: Option<String>,
}

/// Reads a source with the parser built in. Trees are walked and dropped by recursion, and running out of stack
/// would end the process: for a stack that is deep enough.
pub(super) fn read(source: &str, python: PythonVersion) -> Reading {
    let mut reading = Reading::default();
    let first = parse(source, source, python);
    let (names, error) = match first {
        Parsed::Names(names) => (Some(*names), None),
        Parsed::TooDeep(why) => {
            reading.too_deep = Some(why);
            (None, None)
        }
        Parsed::Refused(error) => (None, Some(error)),
    };
    reading.names = names;
    reading.refused = error;
    // No Python holds IPython's syntax, so only what is no Python is looked at for it.
    if reading.names.is_none()
        && magics::may_have(source)
        && let Some(translation) = magics::translate(source)
    {
        reading.too_deep = None;
        match parse(source, &translation.text, python) {
            Parsed::Names(names) => reading.names = Some(*names),
            Parsed::TooDeep(why) => reading.too_deep = Some(why),
            Parsed::Refused(error) => reading.refused = Some(error),
        }
        reading.translation = Some(translation);
    }
    reading
}

enum Parsed {
    Names(Box<StepNames>),
    Refused(SyntaxError),
    TooDeep(String),
}

/// Parses and walks `python_text`, which has the length of `source`.
fn parse(source: &str, python_text: &str, python: PythonVersion) -> Parsed {
    let tokens = lexical::tokens(python_text);
    if let Err(why) = depth::measure(python_text, &tokens) {
        return Parsed::TooDeep(why.to_string());
    }
    let text = rewrite::rewrite(python_text, &tokens);
    drop(tokens);
    parse_and_walk(source, &text, python)
}

fn parse_and_walk(source: &str, text: &str, python: PythonVersion) -> Parsed {
    let error = match ast::Suite::parse(text, "<step>") {
        Ok(body) => return Parsed::Names(Box::new(walk::walk(source, text, &body, python))),
        Err(error) => error,
    };
    if let Cow::Owned(relaxed) = rewrite::relax(text)
        && relaxed != text
        && let Ok(body) = ast::Suite::parse(&relaxed, "<step>")
    {
        return Parsed::Names(Box::new(walk::walk(source, &relaxed, &body, python)));
    }
    let at = error.offset.to_usize().min(source.len());
    let (line, column) = Lines::new(source).position(source, at);
    Parsed::Refused(SyntaxError { message: error.error.to_string(), line, column, judged_by: Judge::Parser })
}

/// Hands the statements of a source to `work`, where the parser built in can read it. Places in the tree are those
/// of the source; strings with fields stand in it as tuples of the fields, and IPython's syntax is left out.
pub fn with_tree<T: Send>(source: &str, work: impl FnOnce(&[ast::Stmt]) -> T + Send) -> Option<T> {
    match tree_of(source, work) {
        Ok(found) => found,
        Err(work) => {
            let translation = Some(source).filter(|source| magics::may_have(source)).and_then(magics::translate)?;
            tree_of(&translation.text, work).ok().flatten()
        }
    }
}

/// Gives `work` back where the parser refused the text.
fn tree_of<T: Send, W: FnOnce(&[ast::Stmt]) -> T + Send>(source: &str, work: W) -> Result<Option<T>, W> {
    let tokens = lexical::tokens(source);
    if depth::measure(source, &tokens).is_err() {
        return Err(work);
    }
    let text = rewrite::rewrite(source, &tokens);
    let run = || {
        let parsed = ast::Suite::parse(&text, "<step>");
        match parsed.or_else(|_| ast::Suite::parse(&rewrite::relax(&text), "<step>")) {
            Ok(body) => Ok(Some(work(&body))),
            Err(_) => Err(work),
        }
    };
    deep_stack::with_deep_stack(run).unwrap_or(Ok(None))
}

impl Reading {
    /// The source as an interpreter would be given it.
    pub fn python<'a>(&'a self, source: &'a str) -> &'a str {
        self.translation.as_ref().map_or(source, |translation| &translation.text)
    }

    /// Takes in what an interpreter says.
    pub fn judge(&mut self, source: &str, judgement: Judgement, python: PythonVersion) {
        match judgement {
            Judgement::Invalid(error) => {
                // It can't be compiled, so it does nothing; what it means to do is shown all the same.
                let mut names = self.names.take().unwrap_or_default();
                names.syntax_error = Some(error);
                names.analyzed_by = AnalyzedBy::Worker;
                self.names = Some(names);
            }
            Judgement::Valid(Some(tree)) if self.names.is_none() => {
                let text = self.python(source);
                let walked = tree::convert(tree, text.len()).map(|converted| {
                    let mut names = walk::walk(source, text, &converted.body, python);
                    if let Some(kind) = converted.unknown {
                        names.if_swallowed = None;
                        names.opaque = Some(format!("it holds syntax that is not known here: {kind}"));
                        names.reads_everything = true;
                        names.writes_anything = true;
                    }
                    names
                });
                if let Some(mut names) = walked {
                    names.analyzed_by = AnalyzedBy::Worker;
                    self.names = Some(names);
                }
                self.refused = None;
            }
            Judgement::Valid(_) => self.refused = None,
        }
    }

    /// The names, or an opaque step where nothing could read it.
    pub fn finish(self) -> StepNames {
        let mut names = self.names.unwrap_or_else(|| {
            let why = self.too_deep.unwrap_or_else(|| "its source can't be parsed here".to_owned());
            let mut names = StepNames::opaque(why);
            names.syntax_error = self.refused;
            names
        });
        if let Some(translation) = self.translation {
            translation.add_to(&mut names);
            if let Some(swallowed) = &mut names.if_swallowed {
                translation.add_to(Arc::make_mut(&mut swallowed.names));
            }
        }
        names
    }
}
