//! What pandas, numpy and scikit-learn no longer have, and what takes its place.
//!
//! A patch is proposed only where the library states a successor that gives the same, and the call has the form
//! that it fits; where numbers or types would change, the diagnosis says so and proposes nothing.

use rustpython_parser::ast::{Expr, ExprCall, Stmt};

use super::{attributes, rename};
use crate::feedback::case::{Case, Finding, quoted};
use crate::feedback::code::{Code, bytes, name_of, text_of};
use crate::feedback::diagnosis::{Cause, Rule};
use crate::feedback::edit::{replaced, suggest, with_import};

/// What becomes of something that is gone.
enum Successor {
    /// A name of the same module or a method of the same object, with the same arguments.
    Same(&'static str),
    /// Something else, in words.
    Told(&'static str),
}

use Successor::{Same, Told};

/// numpy's names without a hint of their own in the message.
fn numpy(name: &str) -> Option<Successor> {
    Some(match name {
        "product" => Same("prod"),
        "cumproduct" => Same("cumprod"),
        "alltrue" => Same("all"),
        "sometrue" => Same("any"),
        "row_stack" => Same("vstack"),
        "trapz" => Same("trapezoid"),
        "round_" => Same("round"),
        "NaN" | "NAN" => Same("nan"),
        "Inf" | "Infinity" | "PINF" | "infty" => Same("inf"),
        "float_" => Same("float64"),
        "complex_" => Same("complex128"),
        "unicode_" => Same("str_"),
        "string_" => Same("bytes_"),
        "mat" => Same("asmatrix"),
        "in1d" => Told("np.isin() keeps the shape of what it is given: for one dimension it is the same"),
        "msort" => Told("np.sort(x, axis=0) does this"),
        "asscalar" => Told("x.item() does this"),
        "rank" => Told("np.ndim() counts dimensions, np.linalg.matrix_rank() is the rank of a matrix"),
        "NINF" => Told("it is written -np.inf"),
        "asfarray" => Told("np.asarray(x, dtype=float) does this"),
        "find_common_type" => Told("np.result_type() and np.promote_types() follow other rules"),
        "source" | "who" | "byte_bounds" | "disp" | "deprecate" | "safe_eval" => Told("nothing takes its place"),
        _ => return None,
    })
}

/// numpy's other names for Python's own types.
fn builtin_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" => "float",
        "int" | "long" => "int",
        "bool" => "bool",
        "object" => "object",
        "str" | "unicode" => "str",
        "complex" => "complex",
        _ => return None,
    })
}

/// Methods and attributes of a frame or a series.
fn pandas_member(class: &str, name: &str) -> Option<Successor> {
    Some(match (class, name) {
        (_, "iteritems") => Same("items"),
        (_, "as_matrix") => Same("to_numpy"),
        ("DataFrame", "applymap") => Same("map"),
        (_, "pad") => Same("ffill"),
        (_, "backfill") => Same("bfill"),
        (_, "is_monotonic") => Same("is_monotonic_increasing"),
        ("Series", "to_dense") => Told("values are dense already"),
        (_, "ix") => Told("`.loc` asks by label and `.iloc` by place; which one `.ix` took depended on the index"),
        (_, "mad") => Told("it was (x - x.mean()).abs().mean()"),
        (_, "get_value") => Told("`.at[row, column]` reads one value"),
        (_, "set_value") => Told("`.at[row, column] = value` sets one value"),
        (_, "lookup") => Told("index the values with the places of rows and columns instead"),
        (_, "swapaxes") => Told("for a frame `.T` does this"),
        (_, "first" | "last") => Told("`.loc` with a slice of the times does this"),
        (_, "sort") => Told("`.sort_values(by)` sorts by columns, `.sort_index()` by labels"),
        (_, "tshift") => Told("`.shift(freq=…)` does this"),
        (_, "slice_shift") => Told("`.shift()` does this, and keeps the rows"),
        (_, "select") => Told("`.loc[[label for label in df.index if …]]` does this"),
        (_, "nonzero") => Told("`.to_numpy().nonzero()` does this"),
        (_, "append") => Told("pd.concat() puts frames together"),
        _ => return None,
    })
}

/// Names of the module pandas.
fn pandas_name(name: &str) -> Option<Successor> {
    Some(match name {
        "Int64Index" | "UInt64Index" | "Float64Index" => Told("pd.Index(…, dtype=…) holds any type"),
        "datetime" => Told("datetime.datetime comes from Python's own module: `from datetime import datetime`"),
        "np" => Told("numpy is imported by itself: `import numpy as np`"),
        "Panel" => Told("a frame with a MultiIndex, or xarray, holds more than two dimensions"),
        "TimeGrouper" => Told("pd.Grouper(freq=…) does this"),
        "rolling_mean" | "rolling_sum" | "rolling_std" => Told("`.rolling(…)` of the data does this"),
        "ewma" => Told("`.ewm(…).mean()` of the data does this"),
        "scatter_matrix" => Told("pd.plotting.scatter_matrix() draws it"),
        "SparseArray" => Told("it is pd.arrays.SparseArray"),
        _ => return None,
    })
}

pub(super) fn attribute(case: &Case<'_>) -> Option<Finding> {
    let name = attributes::wanted(case)?;
    let of_module = case.message().strip_prefix("module '").and_then(|rest| rest.split('\'').next());
    let receiver = attributes::receiver(case);
    match of_module {
        Some("numpy") => return numpy_attribute(case, name, receiver),
        Some("pandas") => {
            let Told(hint) = pandas_name(name)? else { return None };
            return Some(told(case, &format!("pandas no longer has `{name}`"), hint));
        }
        Some(_) => return None,
        None => {}
    }
    let class = attributes::class_of(case);
    let seen = case.frame().and_then(|frame| frame.saw.as_ref()).and_then(|saw| saw.receiver_seen.as_ref());
    let is_user_column = seen.is_some_and(|seen| seen.keys.iter().any(|key| key.trim_matches('\'') == name));
    if matches!(class, "DataFrame" | "Series") && !is_user_column {
        if name == "append"
            && let Some(finding) = append(case, class, receiver)
        {
            return Some(finding);
        }
        let gone = format!("A pandas {class} no longer has `.{name}`");
        return Some(match pandas_member(class, name)? {
            Same(new) if attributes::has(case).is_empty() || attributes::has(case).contains(&new) => {
                let no_arguments = name != "as_matrix" || !is_called_with(case, name);
                renamed(case, receiver, name, new, &gone, no_arguments)
            }
            Same(new) => told(case, &gone, &format!("newer versions call it `.{new}`")),
            Told(hint) => told(case, &gone, hint),
        });
    }
    if name == "get_feature_names" && attributes::has(case).contains(&"get_feature_names_out") {
        return Some(renamed(
            case,
            receiver,
            name,
            "get_feature_names_out",
            &format!("{class} no longer has `.{name}`"),
            true,
        ));
    }
    None
}

fn told(case: &Case<'_>, gone: &str, hint: &str) -> Finding {
    case.here(Cause::RemovedApi, format!("{gone}, which is used at {}: {hint}.", case.at()))
}

fn renamed(case: &Case<'_>, receiver: Option<&str>, name: &str, new: &str, gone: &str, safe: bool) -> Finding {
    let text = format!("{gone}, which is used at {}; `{new}` took its place.", case.at());
    let patch = case
        .look(|code| rename::of_attribute(code, receiver, name, new))
        .and_then(|pieces| replaced(case.step.text, pieces))
        .and_then(|text| suggest(case.step, Rule::Successor, safe, format!("use {new} in place of {name}"), text));
    case.here(Cause::RemovedApi, text).with(patch)
}

fn is_called_with(case: &Case<'_>, method: &str) -> bool {
    case.look(|code| {
        code.expressions().into_iter().any(|e| {
            matches!(e, Expr::Call(call) if !(call.args.is_empty() && call.keywords.is_empty())
                && matches!(&*call.func, Expr::Attribute(a) if a.attr.as_str() == method))
        })
    })
    .unwrap_or(true)
}

fn numpy_attribute(case: &Case<'_>, name: &str, receiver: Option<&str>) -> Option<Finding> {
    let message = case.message();
    let gone = format!("numpy no longer has `{name}`");
    let has = attributes::has(case);
    if let Some(builtin) = builtin_type(name) {
        let shadowed = case.failure.steps.iter().any(|step| step.writes(builtin));
        let text =
            format!("{gone}, which is used at {}: it was only another name for Python's own `{builtin}`.", case.at());
        let patch = case
            .look(|code| whole_attribute(code, receiver, name, builtin))
            .and_then(|pieces| replaced(case.step.text, pieces))
            .and_then(|new| suggest(case.step, Rule::Successor, !shadowed, format!("use {builtin}"), new));
        return Some(case.here(Cause::RemovedApi, text).with(patch));
    }
    // `np.Inf` was removed in the NumPy 2.0 release. Use `np.inf` instead.
    let stated = message.split("Use `").nth(1).and_then(|rest| rest.split('`').next());
    let stated = stated.and_then(|stated| stated.strip_prefix("np.").or_else(|| stated.strip_prefix("numpy.")));
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if let Some(new) = stated.filter(|stated| is_word(stated)) {
        return Some(renamed(case, receiver, name, new, &gone, true));
    }
    match numpy(name)? {
        Same(new) if has.is_empty() || has.contains(&new) => Some(renamed(case, receiver, name, new, &gone, true)),
        Same(new) => Some(told(case, &gone, &format!("newer versions call it np.{new}"))),
        Told(hint) => Some(told(case, &gone, hint)),
    }
}

/// `np.float` as `float`: the whole of it.
fn whole_attribute(code: &Code<'_>, receiver: Option<&str>, name: &str, new: &str) -> rename::Pieces {
    let mut pieces = rename::of_attribute(code, receiver, name, new);
    for (range, _) in &mut pieces {
        let of = receiver.map_or(0, |receiver| receiver.len() + 1);
        range.start = range.start.saturating_sub(of);
    }
    pieces
}

/// The name by which a module can be used in the step that failed.
fn alias(case: &Case<'_>, module: &str) -> Option<String> {
    let own = case.failure.step_text(case.failure.step);
    let steps = own.into_iter().chain(case.failure.before(case.failure.step));
    let imports = |step: &crate::feedback::failure::StepText<'_>| {
        let found = step
            .names
            .imports
            .iter()
            .find(|import| import.module == module && import.item.is_none() && !import.deferred);
        found.and_then(|import| import.binds.as_ref()).map(ToString::to_string)
    };
    steps.into_iter().find_map(imports)
}

/// `df.append(…)` as `pd.concat([…])`, where it has one of the forms that this gives the same for.
fn append(case: &Case<'_>, class: &str, receiver: Option<&str>) -> Option<Finding> {
    let text = format!(
        "A pandas {class} no longer has `.append()`, which is used at {}: pd.concat() puts frames together.",
        case.at()
    );
    let finding = case.here(Cause::RemovedApi, text);
    let Some(pd) = alias(case, "pandas") else { return Some(finding) };
    let pieces = case.look(|code| {
        let mut pieces = rename::Pieces::new();
        for e in code.expressions() {
            let Expr::Call(call) = e else { continue };
            let Expr::Attribute(attribute) = &*call.func else { continue };
            let of = code.source(&*attribute.value);
            if attribute.attr.as_str() == "append" && receiver.is_none_or(|receiver| receiver == of) {
                pieces.push((bytes(e), concat(case, code, call, of, &pd, class)?));
            }
        }
        (!pieces.is_empty()).then_some(pieces)
    });
    let new = pieces.flatten().and_then(|pieces| replaced(case.step.text, pieces));
    Some(
        finding.with(
            new.and_then(|new| suggest(case.step, Rule::Successor, true, "put them together by pd.concat()", new)),
        ),
    )
}

fn concat(case: &Case<'_>, code: &Code<'_>, call: &ExprCall, of: &str, pd: &str, class: &str) -> Option<String> {
    let [other] = call.args.as_slice() else { return None };
    let text = code.source(other);
    let kind = name_of(other).and_then(|name| case.seen(name)).map(|seen| seen.type_name.as_str());
    let keywords =
        call.keywords.iter().map(|k| Some((k.arg.as_deref()?, code.source(&k.value)))).collect::<Option<Vec<_>>>()?;
    if keywords.iter().any(|(name, _)| !matches!(*name, "ignore_index" | "sort" | "verify_integrity")) {
        return None;
    }
    let ignores = keywords.contains(&("ignore_index", "True"));
    let more: String = keywords.iter().map(|(name, value)| format!(", {name}={value}")).collect();
    let list = match other {
        // A row as a table: pandas took it only without an index.
        Expr::Dict(_) if class == "DataFrame" && ignores => format!("{of}, {pd}.DataFrame([{text}])"),
        Expr::Name(_) if class == "DataFrame" && ignores && kind == Some("dict") => {
            format!("{of}, {pd}.DataFrame([{text}])")
        }
        Expr::Name(_) if kind == Some(class) => format!("{of}, {text}"),
        Expr::Name(_) if kind == Some("list") => format!("{of}, *{text}"),
        Expr::Call(made) if matches!(code.source(&*made.func).rsplit('.').next(), Some(made) if made == class) => {
            format!("{of}, {text}")
        }
        _ => return None,
    };
    let list = if kind == Some("list")
        && !matches!(case.seen(text), Some(seen) if seen.repr.contains("DataFrame") || seen.repr.contains("Series"))
    {
        return None;
    } else {
        list
    };
    Some(format!("{pd}.concat([{list}]{more})"))
}

/// A keyword that a library's function no longer takes.
pub(super) fn argument(case: &Case<'_>) -> Option<Finding> {
    let (_, after) = case.message().split_once("unexpected keyword argument")?;
    let wanted = *quoted(after).first()?;
    let gone = format!("The argument `{wanted}` is no longer taken");
    let value = case.look(|code| keyword(code, case.line, wanted).map(|(_, _, value)| value.to_owned())).flatten();
    let value = value.as_deref().unwrap_or_default();
    let function =
        case.look(|code| keyword(code, case.line, wanted).map(|(_, function, _)| function.to_owned())).flatten()?;
    let last = function.rsplit('.').next().unwrap_or_default();
    let takes = case.frame().and_then(|frame| frame.saw.as_ref()).map(|saw| saw.takes.clone()).unwrap_or_default();
    let does_take = |name: &str| takes.is_empty() || takes.iter().any(|known| known == name);
    let told_only = |hint: &str| Some(told(case, &gone, hint));
    match (last, wanted, value) {
        ("fillna", "method", "'ffill'" | "\"ffill\"" | "'pad'" | "\"pad\"") => Some(fill(case, &gone, "ffill")),
        ("fillna", "method", "'bfill'" | "\"bfill\"" | "'backfill'" | "\"backfill\"") => {
            Some(fill(case, &gone, "bfill"))
        }
        (_, "error_bad_lines", "False") => {
            Some(replaced_keyword(case, &gone, wanted, Some("on_bad_lines='skip'"), true))
        }
        (_, "error_bad_lines", "True") => {
            Some(replaced_keyword(case, &gone, wanted, Some("on_bad_lines='error'"), true))
        }
        (_, "warn_bad_lines", "True") => Some(replaced_keyword(case, &gone, wanted, Some("on_bad_lines='warn'"), true)),
        (_, "infer_datetime_format", _) => Some(replaced_keyword(case, &gone, wanted, None, true)),
        (_, "line_terminator", _) => Some(renamed_keyword(case, &gone, wanted, "lineterminator", true)),
        (_, "squeeze", _) => told_only("`.squeeze('columns')` of the result does this"),
        (_, "date_parser", _) => told_only("`date_format` takes a format, and pd.to_datetime() a function's result"),
        (_, "sparse", _) if last == "OneHotEncoder" => {
            Some(renamed_keyword(case, &gone, wanted, "sparse_output", true))
        }
        (_, "base_estimator", _) if does_take("estimator") => {
            Some(renamed_keyword(case, &gone, wanted, "estimator", true))
        }
        (_, "affinity", _) if last == "AgglomerativeClustering" => {
            Some(renamed_keyword(case, &gone, wanted, "metric", true))
        }
        (_, "n_iter", _) if matches!(last, "TSNE" | "SGDClassifier" | "SGDRegressor" | "Perceptron") => {
            Some(renamed_keyword(case, &gone, wanted, "max_iter", last == "TSNE"))
        }
        ("mean_squared_error", "squared", "False") => {
            Some(root_mean(case, &gone, "mean_squared_error", "root_mean_squared_error"))
        }
        ("mean_squared_log_error", "squared", "False") => {
            Some(root_mean(case, &gone, "mean_squared_log_error", "root_mean_squared_log_error"))
        }
        ("mean_squared_error" | "mean_squared_log_error", "squared", "True") => {
            Some(replaced_keyword(case, &gone, wanted, None, true))
        }
        (_, "normalize", _) => told_only(
            "the numbers are scaled by a step of a pipeline now, `make_pipeline(StandardScaler(), …)`, and the results differ",
        ),
        (_, "n_jobs", _) if last == "KMeans" => Some(replaced_keyword(case, &gone, wanted, None, false)),
        (_, "presort", _) => Some(replaced_keyword(case, &gone, wanted, None, false)),
        (_, "min_impurity_split", _) => told_only("`min_impurity_decrease` measures something else"),
        (_, "iid", _) if last.ends_with("SearchCV") => Some(replaced_keyword(case, &gone, wanted, None, false)),
        (_, "axis", _) if last == "groupby" => told_only("`.T.groupby(…)` groups columns"),
        (_, "level", _) if matches!(last, "sum" | "mean" | "count" | "min" | "max") => {
            told_only("`.groupby(level=…)` does this")
        }
        _ => None,
    }
}

/// A keyword argument on a line: its call, the function's text, its value's text.
fn keyword<'t>(code: &Code<'t>, line: u32, name: &str) -> Option<(&'t ExprCall, &'t str, &'t str)> {
    code.expressions_at(line, None).into_iter().find_map(|e| match e {
        Expr::Call(call) => {
            let found = call.keywords.iter().find(|k| k.arg.as_deref() == Some(name))?;
            Some((call, code.source(&*call.func), code.source(&found.value)))
        }
        _ => None,
    })
}

/// The bytes of a call's arguments, each.
fn arguments(code: &Code<'_>, call: &ExprCall) -> Vec<std::ops::Range<usize>> {
    let _ = code;
    call.args.iter().map(bytes).chain(call.keywords.iter().map(bytes)).collect()
}

/// Pieces that take an argument out of a call, or put another in its place.
fn without(code: &Code<'_>, call: &ExprCall, name: &str, instead: Option<&str>) -> Option<rename::Pieces> {
    let all = arguments(code, call);
    let found = bytes(call.keywords.iter().find(|k| k.arg.as_deref() == Some(name))?);
    if let Some(instead) = instead {
        return Some(vec![(found, instead.to_owned())]);
    }
    let before = all.iter().filter(|range| range.end <= found.start).map(|range| range.end).max();
    let after = all.iter().filter(|range| range.start >= found.end).map(|range| range.start).min();
    let range = match (before, after) {
        (_, Some(next)) => found.start..next,
        (Some(end), None) => end..found.end,
        (None, None) => found,
    };
    Some(vec![(range, String::new())])
}

fn replaced_keyword(case: &Case<'_>, gone: &str, name: &str, instead: Option<&str>, safe: bool) -> Finding {
    let pieces = case
        .look(|code| keyword(code, case.line, name).and_then(|(call, ..)| without(code, call, name, instead)))
        .flatten();
    let (what, title) = match instead {
        Some(new) => (format!("{new} took its place"), format!("write {new}")),
        None => ("what it asked for is done always, or not at all any more".to_owned(), format!("leave {name} out")),
    };
    let patch = pieces
        .and_then(|pieces| replaced(case.step.text, pieces))
        .and_then(|new| suggest(case.step, Rule::Successor, safe, title, new));
    told(case, gone, &what).with(patch)
}

fn renamed_keyword(case: &Case<'_>, gone: &str, old: &str, new: &str, safe: bool) -> Finding {
    let pieces = case.look(|code| rename::of_keyword(code, case.line, old, new));
    let patch = pieces
        .and_then(|pieces| replaced(case.step.text, pieces))
        .and_then(|text| suggest(case.step, Rule::Successor, safe, format!("write {old}= as {new}="), text));
    told(case, gone, &format!("`{new}` took its place")).with(patch)
}

/// `.fillna(method='ffill', …)` as `.ffill(…)`.
fn fill(case: &Case<'_>, gone: &str, method: &str) -> Finding {
    let pieces = case.look(|code| {
        let (call, ..) = keyword(code, case.line, "method")?;
        let mut pieces = without(code, call, "method", None)?;
        let end = bytes(&*call.func).end;
        pieces.push((end - "fillna".len()..end, method.to_owned()));
        // What is filled with has no place beside a method.
        (call.args.is_empty() && call.keywords.iter().all(|k| k.arg.as_deref() != Some("value"))).then_some(pieces)
    });
    let patch = pieces
        .flatten()
        .and_then(|pieces| replaced(case.step.text, pieces))
        .and_then(|new| suggest(case.step, Rule::Successor, true, format!("use .{method}()"), new));
    told(case, gone, &format!("`.{method}()` took its place")).with(patch)
}

/// `mean_squared_error(…, squared=False)` as a function of its own, imported where the other is.
fn root_mean(case: &Case<'_>, gone: &str, old: &str, new: &str) -> Finding {
    let text = case
        .look(|code| {
            let mut pieces = rename::Pieces::new();
            let mut others = false;
            for e in code.expressions() {
                let Expr::Call(call) = e else { continue };
                if code.source(&*call.func).rsplit('.').next() != Some(old) {
                    continue;
                }
                let squared = call.keywords.iter().find(|k| k.arg.as_deref() == Some("squared"));
                if squared.is_none_or(|k| code.source(&k.value) != "False") {
                    others = true;
                    continue;
                }
                pieces.extend(without(code, call, "squared", None)?);
                let end = bytes(&*call.func).end;
                pieces.push((end - old.len()..end, new.to_owned()));
            }
            let qualified = code
                .expressions_at(case.line, None)
                .into_iter()
                .any(|e| matches!(e, Expr::Attribute(a) if a.attr.as_str() == old));
            let import = code.statements().into_iter().find_map(|statement| match statement {
                Stmt::ImportFrom(s) => {
                    s.names.iter().find(|alias| alias.name.as_str() == old && alias.asname.is_none()).map(bytes)
                }
                _ => None,
            });
            let is_imported = code.statements().into_iter().any(|statement| {
                matches!(statement, Stmt::ImportFrom(s) if s.names.iter().any(|alias| alias.name.as_str() == new))
            });
            match import.clone() {
                Some(_) if is_imported => {}
                Some(range) if others => pieces.push((range.clone(), format!("{old}, {new}"))),
                Some(range) => pieces.push((range, new.to_owned())),
                None => {}
            }
            let text = replaced(case.step.text, pieces)?;
            let missing = import.is_none() && !qualified && !is_imported;
            Some(if missing { with_import(&text, &format!("from sklearn.metrics import {new}")) } else { text })
        })
        .flatten();
    let patch = text.and_then(|text| suggest(case.step, Rule::Successor, true, format!("use {new}()"), text));
    told(case, gone, &format!("`{new}()` took its place")).with(patch)
}

/// A value that a library no longer takes.
pub(super) fn value(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    // pandas: "Invalid frequency: M … Did you mean ME?", or "'M' is no longer supported for offsets. Please use 'ME' instead."
    let frequency = message.contains("Invalid frequency") || message.contains("no longer supported for offsets");
    let (old, new) = if frequency {
        let new = message.split("Did you mean ").nth(1).map(|rest| rest.split('?').next().unwrap_or(rest));
        let new = new.or_else(|| message.split("Please use ").nth(1).and_then(|rest| quoted(rest).first().copied()))?;
        let old = message.split("Invalid frequency: ").nth(1).and_then(|rest| rest.split([',', ' ', '.']).next());
        (old.or_else(|| quoted(message).first().copied())?, new.trim_matches('\''))
    } else {
        parameter(message)?
    };
    let text =
        format!("The value '{old}' is no longer taken, which is given at {}; '{new}' took its place.", case.at());
    let patch = case
        .look(|code| {
            let line = code.statement_at(case.line).map(|statement| code.lines_of(statement));
            let mut pieces = rename::of_text(code, old, new);
            pieces.retain(|(range, _)| {
                let at = code.text.get(..range.start).unwrap_or_default().matches('\n').count() as u32 + 1;
                line.is_some_and(|(first, last)| (first..=last).contains(&at))
            });
            // `'3M'` is `'3ME'`.
            if pieces.is_empty() {
                for e in code.expressions_at(case.line, None) {
                    if let Some(number) = text_of(e)
                        .and_then(|text| text.strip_suffix(old))
                        .filter(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
                    {
                        pieces = rename::of_text(code, &format!("{number}{old}"), &format!("{number}{new}"));
                    }
                }
            }
            pieces
        })
        .filter(|pieces| !pieces.is_empty())
        .and_then(|pieces| replaced(case.step.text, pieces))
        .and_then(|text| suggest(case.step, Rule::Successor, true, format!("write '{old}' as '{new}'"), text));
    Some(case.here(Cause::RemovedApi, text).with(patch))
}

/// scikit-learn: "The 'criterion' parameter of X must be a str among {…}. Got 'mse' instead."
fn parameter(message: &str) -> Option<(&str, &'static str)> {
    let rest = message.strip_prefix("The '")?;
    let (name, _) = rest.split_once("' parameter of ")?;
    let got = message.rsplit_once("Got ").and_then(|(_, got)| quoted(got).first().copied())?;
    let new = match (name, got) {
        ("criterion" | "loss", "mse" | "ls") => "squared_error",
        ("criterion" | "loss", "mae" | "lad") => "absolute_error",
        ("loss", "deviance" | "log") => "log_loss",
        ("algorithm", "auto" | "full") if message.contains("KMeans") => "lloyd",
        _ => return None,
    };
    message.contains(&format!("'{new}'")).then_some((got, new))
}
