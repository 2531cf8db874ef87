//! A run as one HTML file that needs nothing else and runs nothing.
//!
//! Everything that the run holds is hostile: all text is escaped, pictures are only those formats that can't hold
//! scripts, HTML that steps showed is given as text, and the page forbids itself scripts and connections.

use std::fmt::Write as _;

use base64::Engine;
use similar::{ChangeTag, TextDiff};

use super::whole::{Whole, WholePatch, WholeStep};
use crate::graph::{Drawn, Format, render};
use crate::interop::plain::uncoloured;
use crate::step::{Display, Execution, Millis, Outcome, Stream, plain};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1d1d1f;background:#fff}\
pre{font:13px/1.45 ui-monospace,monospace;background:#f6f6f7;padding:.7rem;overflow:auto;border-radius:4px;white-space:pre-wrap}\
h2{margin-top:2.5rem;border-top:1px solid #ddd;padding-top:1rem}h2 small{font-weight:normal;color:#666}\
.recorded,.rerun{font-size:12px;font-weight:bold;padding:.1rem .4rem;border-radius:3px}.recorded{background:#e4e4e4}.rerun{background:#c6e7cf}\
.error{background:#fdeceb}.stderr{background:#fbf6e6}table{border-collapse:collapse}td,th{text-align:left;padding:.1rem 1rem .1rem 0;vertical-align:top}\
.graph{overflow:auto;border:1px solid #ddd;border-radius:4px}img{max-width:100%}ins{background:#d8f0dd;text-decoration:none}del{background:#f8d7d5;text-decoration:none}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161618}pre{background:#222226}.error{background:#3a2020}.stderr{background:#333020}\
.recorded{background:#444}.rerun{background:#1f4d2c}h2,.graph{border-color:#444}.graph,img{background:#fff}ins{background:#1f4d2c}del{background:#5a2523}}";

/// The run as a page.
pub fn report(run: &Whole) -> String {
    let mut out = String::new();
    let title = escaped(&run.title);
    out.push_str(&format!("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\n<body>\n\
         <h1>{title}</h1>\n<p>{}</p>\n",
        escaped(&summary(run))));
    let drawn: Vec<Drawn<'_>> = run.steps.iter().map(|step| Drawn { id: &step.id, status: status(step) }).collect();
    if !drawn.is_empty() {
        out.push_str(&format!("<div class=\"graph\">{}</div>\n", render(Format::Svg, &drawn, &run.edges)));
    }
    for (number, step) in run.steps.iter().enumerate() {
        push_step(&mut out, run, number, step);
    }
    if !run.patches.is_empty() {
        out.push_str("<h1 id=\"patches\">Patches</h1>\n");
        for patch in &run.patches {
            push_patch(&mut out, patch);
        }
    }
    if !run.left_out.is_empty() {
        out.push_str(&format!("<h1>Left out</h1>\n<pre>{}</pre>\n", escaped(&run.left_out.join("\n"))));
    }
    out.push_str("</body></html>\n");
    out
}

fn summary(run: &Whole) -> String {
    let count = |what: &dyn Fn(&WholeStep) -> bool| run.steps.iter().filter(|step| what(step)).count();
    let recorded = count(&|step| step.execution.as_ref().is_some_and(is_recorded));
    let failed = count(&|step| step.execution.as_ref().is_some_and(|execution| execution.error.is_some()));
    let mut text = format!("{} steps", run.steps.len());
    for (number, what) in [(recorded, "recorded elsewhere"), (failed, "failed"), (run.patches.len(), "patches")] {
        if number > 0 {
            text.push_str(&format!(", {number} {what}"));
        }
    }
    text
}

fn is_recorded(execution: &Execution) -> bool {
    execution.outcome == Outcome::Recorded
}

fn status(step: &WholeStep) -> &'static str {
    match &step.execution {
        None => "never",
        Some(execution) if execution.error.is_some() => "failed",
        Some(_) if step.version().is_some() && !step.is_current() => "stale",
        Some(execution) if is_recorded(execution) => "recorded",
        Some(_) => "fresh",
    }
}

fn push_step(out: &mut String, run: &Whole, number: usize, step: &WholeStep) {
    out.push_str(&format!(
        "<h2 id=\"step-{number}\">{} <small>{}</small></h2>\n",
        escaped(step.id.as_str()),
        escaped(&step.kind.to_string())
    ));
    push_provenance(out, run, step);
    let (text, _) = step.split();
    out.push_str(&format!("<pre>{}</pre>\n", escaped(text.trim_end())));
    let Some(execution) = &step.execution else {
        out.push_str("<p>It has not run.</p>\n");
        return;
    };
    let (class, word) = if is_recorded(execution) { ("recorded", "RECORDED") } else { ("rerun", "RUN HERE") };
    out.push_str(&format!("<p><span class=\"{class}\">{word}</span>"));
    if execution.started > 0 {
        out.push_str(&format!(" {}", escaped(&moment(execution.started))));
    }
    if execution.duration_us > 0 {
        out.push_str(&format!(" in {:.3} s", execution.duration_us as f64 / 1e6));
    }
    if step.version().is_some() && !step.is_current() {
        out.push_str(&format!(" (of an earlier version, {})", execution.version));
    }
    out.push_str("</p>\n");
    for chunk in &execution.output.chunks {
        let class = if chunk.stream == Stream::Stderr { " class=\"stderr\"" } else { "" };
        out.push_str(&format!("<pre{class}>{}</pre>\n", escaped(uncoloured(&chunk.text).trim_end())));
    }
    if execution.output.dropped > 0 {
        out.push_str(&format!("<p>{} bytes of output were not kept.</p>\n", execution.output.dropped));
    }
    for display in &execution.displays {
        push_display(out, display);
    }
    if let Some(error) = &execution.error {
        let mut text = format!("{}: {}", error.type_name, error.message);
        for frame in &error.stack {
            text.push_str(&format!("\n  {} line {} in {}: {}", frame.file, frame.line, frame.function, frame.text));
        }
        if let Some(traceback) = error.attributes.get("traceback") {
            text = uncoloured(traceback);
        }
        out.push_str(&format!("<pre class=\"error\">{}</pre>\n", escaped(&text)));
        if let Some(cause) = &error.caused_by {
            out.push_str(&format!("<p>It follows from the failure of {}.</p>\n", escaped(cause.as_str())));
        }
    }
}

fn push_provenance(out: &mut String, run: &Whole, step: &WholeStep) {
    let mut rows: Vec<(&str, String)> = Vec::new();
    if let Some(version) = step.version() {
        let provenance = &version.provenance;
        rows.push(("version", format!("{} by {}", version.number, provenance.author)));
        if provenance.at > 0 {
            rows.push(("at", moment(provenance.at)));
        }
        rows.extend(provenance.model.clone().map(|model| ("model", model)));
        rows.extend(provenance.call.clone().map(|call| ("call", call)));
        rows.extend(provenance.patch.map(|patch| ("patch", patch.to_string())));
        rows.extend(
            provenance.tokens.map(|tokens| ("tokens", format!("{} read, {} written", tokens.input, tokens.output))),
        );
        rows.extend(provenance.reason.clone().map(|reason| ("because", reason)));
    }
    let needs: Vec<String> = run
        .edges
        .iter()
        .filter(|edge| edge.to == step.id)
        .map(|edge| {
            let names: Vec<&str> = edge.names.iter().map(|name| &**name).collect();
            if names.is_empty() { edge.from.to_string() } else { format!("{} ({})", edge.from, names.join(", ")) }
        })
        .collect();
    if !needs.is_empty() {
        rows.push(("needs", needs.join(", ")));
    }
    if rows.is_empty() {
        return;
    }
    out.push_str("<table>");
    for (key, value) in rows {
        out.push_str(&format!("<tr><th>{key}</th><td>{}</td></tr>", escaped(&value)));
    }
    out.push_str("</table>\n");
}

fn push_display(out: &mut String, display: &Display) {
    let picture = ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .iter()
        .find_map(|mime| Some((mime, display.mime.get(*mime)?.split_whitespace().collect::<String>())));
    if let Some((mime, data)) = picture
        && base64::engine::general_purpose::STANDARD.decode(&data).is_ok()
    {
        out.push_str(&format!("<p><img alt=\"{}\" src=\"data:{mime};base64,{data}\"></p>\n", escaped(&display.repr)));
        return;
    }
    if !display.repr.is_empty() {
        out.push_str(&format!("<pre>{}</pre>\n", escaped(&uncoloured(&display.repr))));
        return;
    }
    for (mime, text) in &display.mime {
        out.push_str(&format!("<p>{}</p>\n<pre>{}</pre>\n", escaped(mime), escaped(text)));
    }
}

fn push_patch(out: &mut String, WholePatch { patch, text }: &WholePatch) {
    out.push_str(&format!(
        "<h2>{} {} <small>{} by {}</small></h2>\n",
        escaped(&patch.id.to_string()),
        escaped(&patch.title),
        patch.state.word(),
        escaped(&patch.provenance.author.to_string())
    ));
    if let Some(reason) = &patch.provenance.reason {
        out.push_str(&format!("<p>{}</p>\n", escaped(reason)));
    }
    for problem in &patch.problems {
        out.push_str(&format!("<p>{}</p>\n", escaped(problem)));
    }
    for file in &patch.files {
        out.push_str(&format!("<p>{}</p>\n<pre>", escaped(&file.path)));
        let (old, new) = (file.base.as_deref().unwrap_or_default(), file.result.as_deref().unwrap_or_default());
        push_diff(out, old, new);
        out.push_str("</pre>\n");
    }
    if patch.files.is_empty() {
        out.push_str(&format!("<pre>{}</pre>\n", escaped(&String::from_utf8_lossy(text))));
    }
}

fn push_diff(out: &mut String, old: &str, new: &str) {
    let limit = std::time::Duration::from_millis(500);
    let diff = TextDiff::configure().timeout(limit).diff_lines(old, new);
    for group in diff.grouped_ops(3) {
        for op in group {
            for change in diff.iter_changes(&op) {
                let line = escaped(change.value().trim_end_matches('\n'));
                let _ = match change.tag() {
                    ChangeTag::Delete => writeln!(out, "<del>-{line}</del>"),
                    ChangeTag::Insert => writeln!(out, "<ins>+{line}</ins>"),
                    ChangeTag::Equal => writeln!(out, " {line}"),
                };
            }
        }
    }
}

fn moment(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(|_| at.to_string(), |stamp| stamp.to_string())
}

/// Text that stays text: no markup, no control characters.
fn escaped(text: &str) -> String {
    let plain = plain(text);
    let mut out = String::with_capacity(plain.len() + plain.len() / 16);
    for c in plain.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
