//! `-p NAME=VALUE`: variables with another value, written where steps assign them.
//!
//! The run is what its files say, so a parameter is an edit like a person's: seen, recorded, and taken back by undo. Only
//! what used the variable runs again.

use std::collections::BTreeMap;

use super::session::Session;
use super::{CliError, Context};
use crate::analysis::{literal, with_value};
use crate::step::{StepId, plain_line};
use crate::workbench::{Command, Event};

/// Writes the parameters into the steps that assign them; all of them, or none where one can't be.
pub(super) fn set(session: &mut Session, parameters: &[String], context: &Context) -> Result<(), CliError> {
    let mut texts: BTreeMap<StepId, (String, String)> = BTreeMap::new();
    let mut told = Vec::new();
    for parameter in parameters {
        let (name, value) = parameter.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            CliError::new(format!("{} is no NAME=VALUE", plain_line(parameter))).hint("write it as `-p rate=0.5`")
        })?;
        let value = literal(value);
        let binds = |row: &&std::sync::Arc<crate::workbench::StepRow>| row.writes.iter().any(|found| **found == *name);
        let steps: Vec<StepId> = session.snapshot().steps.iter().filter(binds).map(|row| row.id.clone()).collect();
        let mut place = None;
        for step in &steps {
            if !texts.contains_key(step) {
                let source = text_of(session, step, context)?;
                texts.insert(step.clone(), (source.clone(), source));
            }
            let Some((_, text)) = texts.get_mut(step) else { continue };
            if let Some(new) = with_value(text, name, &value) {
                *text = new;
                place = Some(step);
                break;
            }
        }
        let Some(step) = place else {
            let hint = match steps.first() {
                None => format!("write `{name} = …` at the outermost level of a step"),
                Some(step) => format!("{step} binds it, but not by a plain `{name} = …` at its outermost level"),
            };
            return Err(CliError::new(format!("no step assigns {}", plain_line(name))).hint(plain_line(&hint)));
        };
        told.push(format!("{step}: {name} = {value}"));
    }
    let mut changed = false;
    for (step, (_, source)) in texts.into_iter().filter(|(_, (before, after))| before != after) {
        session.ask(Command::Edit { step, source }, context, |_| Ok(()))?;
        changed = true;
    }
    if changed {
        for line in told {
            context.message(plain_line(&line));
        }
    }
    Ok(())
}

fn text_of(session: &mut Session, step: &StepId, context: &Context) -> Result<String, CliError> {
    session.ask_for(Command::Source { step: step.clone() }, context, |event| match event {
        Event::Source { text, .. } => Some(text.to_string()),
        _ => None,
    })
}
