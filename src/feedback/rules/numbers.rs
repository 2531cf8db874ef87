//! Divisors that are zero, and indices beyond the end.

use rustpython_parser::ast::{Expr, Operator, Stmt};

use crate::feedback::case::{Case, Finding, told};
use crate::feedback::code::{Code, bytes, each_expression, name_of};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{replaced, suggest};

pub(super) fn zero_divisor(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let divisor = case.look(|code| divisor(case, code)).flatten();
    let Some((text, names)) = divisor else {
        let explanation = format!("{} divides by zero: `{}`.", at, case.line_text());
        return Some(case.here(Cause::ZeroDivisor, explanation));
    };
    let empty = names.iter().find(|name| case.seen(name).is_some_and(|seen| seen.len == Some(0)));
    let zero = names.iter().find(|name| case.seen(name).is_some_and(is_zero));
    let to_blame = empty.or(zero).or(names.first());
    let root = to_blame.map_or_else(|| case.step.id.clone(), |name| case.root_of(name));
    let why = match (empty, zero, to_blame.and_then(|name| case.origin(name))) {
        (Some(name), _, Some(origin)) => format!("`{name}` is empty, as {} left it", origin.step),
        (_, Some(name), Some(origin)) => format!("`{name}` is zero, as {} left it", origin.step),
        (_, _, Some(origin)) => format!("its value comes from {}", origin.step),
        _ => "it is written there as zero".to_owned(),
    };
    let explanation = format!(
        "The divisor `{text}` is zero at {at}: {why}. Whether that should give nothing, another value, or stop, is a \
         choice."
    );
    Some(case.finding(Cause::ZeroDivisor, root, explanation))
}

fn is_zero(seen: &crate::step::Seen) -> bool {
    matches!(seen.repr.as_str(), "0" | "0.0" | "-0.0" | "False" | "0j") || seen.repr.starts_with("Decimal('0")
}

/// The divisor of the failing line that is zero, as far as that can be told: its text and the names in it.
fn divisor(case: &Case<'_>, code: &Code<'_>) -> Option<(String, Vec<String>)> {
    let mut found: Vec<(&Expr, Vec<String>)> = Vec::new();
    let mut add = |divisor| {
        let mut names = Vec::new();
        each_expression(divisor, &mut |e| {
            names.extend(name_of(e).filter(|n| case.seen(n).is_some()).map(str::to_owned))
        });
        found.push((divisor, names));
    };
    for expression in code.expressions_at(case.line, case.columns()) {
        match expression {
            Expr::BinOp(e) if matches!(e.op, Operator::Div | Operator::FloorDiv | Operator::Mod) => add(&*e.right),
            Expr::Call(e) if name_of(&e.func) == Some("divmod") => e.args.get(1).into_iter().for_each(&mut add),
            _ => {}
        }
    }
    if let Some(Stmt::AugAssign(s)) = code.statement_at(case.line)
        && matches!(s.op, Operator::Div | Operator::FloorDiv | Operator::Mod)
    {
        add(&*s.value);
    }
    let sure = |(divisor, names): &&(&Expr, Vec<String>)| {
        names.iter().any(|name| case.seen(name).is_some_and(|seen| is_zero(seen) || seen.len == Some(0)))
            || matches!(code.source(*divisor), "0" | "0.0")
    };
    let (divisor, names) = found.iter().find(sure).or(found.first())?;
    Some((code.source(*divisor).to_owned(), names.clone()))
}

pub(super) fn index(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let saw = case.frame()?.saw.as_deref()?;
    let seen = saw.receiver_seen.as_ref();
    let receiver = saw.receiver.as_deref().unwrap_or("what is indexed");
    let length = seen.and_then(|seen| seen.len).map(|len| format!(" has {len} items")).unwrap_or_default();
    let found = case.look(|code| loop_patterns(case, code)).unwrap_or_default();
    if !found.is_empty() {
        let text = format!(
            "The index goes one beyond the end at {at}: `{receiver}`{length}, and the last one is at one less."
        );
        return Some(case.here(Cause::IndexOutOfRange, text).with(found));
    }
    if receiver.ends_with("argv") {
        let text = format!("`{receiver}` is indexed at {at}, but a step is given no arguments of a command line.");
        return Some(case.here(Cause::IndexOutOfRange, text));
    }
    // The index, where it was made elsewhere; else the line that says it.
    let index = case.look(|code| {
        code.expressions_at(case.line, case.columns()).into_iter().find_map(|e| match e {
            Expr::Subscript(s) if code.source(&*s.value) == receiver => {
                Some((code.source(&*s.slice).to_owned(), name_of(&s.slice).map(str::to_owned)))
            }
            _ => None,
        })
    });
    let (shown, name) = index.flatten().unwrap_or_default();
    let root = name.as_deref().map_or_else(|| case.step.id.clone(), |name| case.root_of(name));
    let value = name.as_deref().and_then(|name| case.seen(name)).map(|seen| format!(", which is {}", told(seen)));
    let text = format!(
        "`{receiver}`{length}, and {at} asks for item {shown}{}. Whether the index is wrong, or items are missing, can't \
         be told from here.",
        value.unwrap_or_default()
    );
    let text = if shown.is_empty() { format!("{}, at {at}: `{}`.", case.what(), case.line_text()) } else { text };
    Some(case.finding(Cause::IndexOutOfRange, root, text))
}

/// `range(len(x) + 1)` with `x[i]`, and `x[len(x)]`.
fn loop_patterns(case: &Case<'_>, code: &Code<'_>) -> Vec<Suggestion> {
    let mut found = Vec::new();
    let length_of = |e: &Expr| match e {
        Expr::Call(call) if name_of(&call.func) == Some("len") => match call.args.as_slice() {
            [of] => Some(code.source(of).to_owned()),
            _ => None,
        },
        _ => None,
    };
    let mut propose = |title: &str, range, new: String| {
        let text = replaced(case.step.text, vec![(range, new)]);
        found.extend(text.and_then(|text| suggest(case.step, Rule::LastIndex, true, title, text)));
    };
    for expression in code.expressions_at(case.line, case.columns()) {
        let Expr::Subscript(subscript) = expression else { continue };
        let of = code.source(&*subscript.value);
        if length_of(&subscript.slice).as_deref() == Some(of) {
            let range = bytes(&*subscript.slice);
            propose("take the last item", range.clone(), "-1".to_owned());
            propose("take the item before the end", range, format!("{} - 1", code.source(&*subscript.slice)));
            continue;
        }
        let Some(index) = name_of(&subscript.slice) else { continue };
        // The range that the index runs through, and whose length it is.
        for ranged in code.expressions() {
            let Expr::Call(call) = ranged else { continue };
            if name_of(&call.func) != Some("range") || !runs_through(code, index, ranged) {
                continue;
            }
            let Some(Expr::BinOp(sum)) = (if call.args.len() == 1 { call.args.first() } else { call.args.get(1) })
            else {
                continue;
            };
            let one_more = matches!(sum.op, Operator::Add) && code.source(&*sum.right) == "1";
            if one_more && length_of(&sum.left).as_deref() == Some(of) {
                let whole = call.args.iter().find(|e| matches!(e, Expr::BinOp(b) if std::ptr::eq(b, sum)));
                if let Some(whole) = whole {
                    propose("stop at the last item", bytes(whole), code.source(&*sum.left).to_owned());
                }
            }
        }
    }
    found
}

/// Whether a name is the variable of a loop or comprehension over this expression.
fn runs_through(code: &Code<'_>, name: &str, over: &Expr) -> bool {
    let same = |iter: &Expr, target: &Expr| bytes(iter) == bytes(over) && name_of(target) == Some(name);
    let loops =
        code.statements().into_iter().any(|statement| matches!(statement, Stmt::For(s) if same(&s.iter, &s.target)));
    loops
        || code.expressions().into_iter().any(|e| {
            let generators = match e {
                Expr::ListComp(e) => &e.generators,
                Expr::SetComp(e) => &e.generators,
                Expr::DictComp(e) => &e.generators,
                Expr::GeneratorExp(e) => &e.generators,
                _ => return false,
            };
            generators.iter().any(|one| same(&one.iter, &one.target))
        })
}
