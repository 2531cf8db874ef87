//! A context in several lengths, and how it is brought within a budget.

use serde::{Deserialize, Serialize};

use super::telling::middle_out;
use super::tokens::TokenCount;
use crate::step::StepId;

/// What an agent is shown to write a step anew.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextView {
    /// Its parts, in the order in which they are shown.
    pub parts: Vec<ContextPart>,
    /// Tokens of all parts together.
    pub tokens: usize,
    /// Tokens that everything before the step would cost.
    pub flat_tokens: usize,
    /// The most tokens that it may have.
    pub budget: Option<usize>,
}

/// A part of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// What it is: "frame", "needs 02_read", "failed".
    pub title: String,
    /// The step that it is about.
    pub step: Option<StepId>,
    /// Its tokens.
    pub tokens: usize,
    /// Whether it was made shorter to stay within the budget.
    pub shortened: bool,
    /// The text; hostile.
    pub text: String,
}

impl ContextPart {
    /// The part as it is shown: its title as a heading, then its text.
    pub fn whole(&self) -> String {
        whole(&self.title, &self.text)
    }
}

impl ContextView {
    /// All parts as one text, as an agent reads it.
    pub fn text(&self) -> String {
        self.parts.iter().map(ContextPart::whole).collect()
    }
}

fn whole(title: &str, text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("## {title}\n{text}{end}\n")
}

/// What a part is, which decides when it is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A frame that encloses the step.
    Frame,
    /// A step that it needs.
    Need,
    /// Lines about others.
    Lines,
    /// What failed.
    Fault,
    /// The step itself.
    Subject,
}

/// A part that can be shown in several lengths.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub role: Role,
    pub title: String,
    pub step: Option<StepId>,
    /// Its text, longest first. At an empty one the part is left out, and counted.
    pub forms: Vec<String>,
    form: usize,
    tokens: usize,
}

impl Draft {
    pub fn new(role: Role, title: String, step: Option<StepId>, forms: Vec<String>) -> Self {
        Self { role, title, step, forms, form: 0, tokens: 0 }
    }

    fn text(&self) -> &str {
        self.forms.get(self.form).map_or("", String::as_str)
    }

    fn is_left_out(&self) -> bool {
        self.form > 0 && self.text().is_empty()
    }

    /// Shows it in this form, unless it is shorter already.
    fn shorten(&mut self, form: usize, count: &mut TokenCount) {
        self.form = self.form.max(form.min(self.forms.len().saturating_sub(1)));
        self.weigh(count);
    }

    fn weigh(&mut self, count: &mut TokenCount) {
        self.tokens = if self.is_left_out() { 0 } else { count.of(&whole(&self.title, self.text())) };
    }
}

/// What is shortened first: which parts, and to which form. Within a turn the parts that come first are shortened
/// first: the frame farthest out, the step farthest back.
const TURNS: [(Role, usize); 9] = [
    // Others: the nearest five of twenty.
    (Role::Lines, 1),
    // What needed steps printed: the first and last lines.
    (Role::Need, 1),
    // Others: how many they are.
    (Role::Lines, 2),
    // The frames in one line each.
    (Role::Frame, 1),
    // The needed steps: what they define and bind.
    (Role::Need, 2),
    // The needed steps in one line each.
    (Role::Need, 3),
    // The fault: its message.
    (Role::Fault, 1),
    // Then needed steps and frames are left out, and how many is said.
    (Role::Need, 4),
    (Role::Frame, 2),
];

/// Brings drafts within a budget of tokens. What is shortened last, and never left out, is the step itself.
pub(super) fn fit(mut drafts: Vec<Draft>, budget: Option<usize>, count: &mut TokenCount) -> ContextView {
    drafts.iter_mut().for_each(|draft| draft.weigh(count));
    if let Some(budget) = budget {
        shorten(&mut drafts, budget, count);
    }
    let mut parts: Vec<ContextPart> = Vec::with_capacity(drafts.len());
    let gone = left_out(&drafts, count);
    for draft in drafts.into_iter().filter(|draft| !draft.is_left_out()) {
        if draft.role == Role::Subject {
            parts.extend(gone.clone());
        }
        let text = draft.text().to_owned();
        parts.push(ContextPart {
            title: draft.title,
            step: draft.step,
            tokens: draft.tokens,
            shortened: draft.form > 0,
            text,
        });
    }
    let tokens = parts.iter().map(|part| part.tokens).sum();
    ContextView { parts, tokens, flat_tokens: 0, budget }
}

fn shorten(drafts: &mut [Draft], budget: usize, count: &mut TokenCount) {
    for (role, form) in TURNS {
        for at in 0..drafts.len() {
            if total(drafts, count) <= budget {
                return;
            }
            if let Some(draft) = drafts.get_mut(at).filter(|draft| draft.role == role) {
                draft.shorten(form, count);
            }
        }
    }
    for role in [Role::Subject, Role::Fault] {
        let over = total(drafts, count).saturating_sub(budget);
        if over == 0 {
            return;
        }
        for draft in drafts.iter_mut().filter(|draft| draft.role == role) {
            cut(draft, over, count);
        }
    }
    if total(drafts, count) > budget {
        drafts.iter_mut().filter(|draft| draft.role == Role::Lines).for_each(|draft| {
            draft.forms.push(String::new());
            draft.shorten(usize::MAX, count);
        });
    }
}

/// Cuts the middle out of a part until it has `over` tokens less, or nothing of it is left but its heading.
fn cut(draft: &mut Draft, over: usize, count: &mut TokenCount) {
    let wanted = draft.tokens.saturating_sub(over);
    let text = draft.text().to_owned();
    // A token is at least a byte, so this ends.
    let mut most = text.len();
    while draft.tokens > wanted && most > 0 {
        most = (most * wanted.max(1) / draft.tokens.max(1)).min(most * 9 / 10);
        let mut shorter = middle_out(&text, most);
        if most < 64 || shorter.len() >= text.len() {
            shorter = "…\n".to_owned();
            most = 0;
        }
        draft.forms.push(shorter);
        draft.shorten(usize::MAX, count);
    }
}

fn total(drafts: &[Draft], count: &mut TokenCount) -> usize {
    let shown: usize = drafts.iter().map(|draft| draft.tokens).sum();
    shown + left_out(drafts, count).map_or(0, |part| part.tokens)
}

/// How many parts are not shown at all.
fn left_out(drafts: &[Draft], count: &mut TokenCount) -> Option<ContextPart> {
    let gone = |role| drafts.iter().filter(|draft| draft.role == role && draft.is_left_out()).count();
    let (needs, frames) = (gone(Role::Need), gone(Role::Frame));
    if needs + frames == 0 {
        return None;
    }
    let title = format!("left out for want of room: {needs} steps that it needs, {frames} frames");
    let tokens = count.of(&whole(&title, ""));
    Some(ContextPart { title, step: None, tokens, shortened: true, text: String::new() })
}
