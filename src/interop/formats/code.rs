//! Which calls of tools are code, by the names that agents' tools have.

use serde_json::Value;

use crate::interop::json::{embedded, text_at};
use crate::step::Kind;

const PYTHON: [&str; 12] = [
    "python",
    "ipython",
    "python_interpreter",
    "execute_python",
    "run_python",
    "run_ipython",
    "python_exec",
    "exec_python",
    "code_interpreter",
    "execute_code",
    "jupyter",
    "execute_ipython_cell",
];
const SHELL: [&str; 11] = [
    "bash",
    "sh",
    "shell",
    "terminal",
    "execute_bash",
    "run_bash",
    "run_shell",
    "run_command",
    "execute_command",
    "bash_session",
    "exec",
];

/// The code that a call of the tool `name` ran; `None` for a tool that runs none.
pub fn code_of(name: &str, arguments: &Value) -> Option<(Kind, String)> {
    let name = name.to_ascii_lowercase();
    let (kind, keys): (Kind, &[&str]) = if PYTHON.contains(&name.as_str()) {
        (Kind::Step, &["code", "source", "cmd", "command", "input", "query", "script"])
    } else if SHELL.contains(&name.as_str()) {
        (Kind::Shell, &["command", "cmd", "script", "code", "input", "action"])
    } else {
        return None;
    };
    let arguments = embedded(arguments);
    let code = keys.iter().find_map(|key| text_at(&arguments, &[key]));
    code.or_else(|| arguments.as_str().map(str::to_owned))
        .filter(|code| !code.trim().is_empty())
        .map(|code| (kind, code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tools_that_run_code_are_known_by_their_names() {
        assert_eq!(code_of("python", &json!({"code": "x"})), Some((Kind::Step, "x".to_owned())));
        assert_eq!(code_of("Bash", &json!("{\"cmd\": \"ls\"}")), Some((Kind::Shell, "ls".to_owned())));
        assert_eq!(code_of("bash", &json!("ls")), Some((Kind::Shell, "ls".to_owned())));
        assert_eq!(code_of("bash", &json!({})), None);
        assert_eq!(code_of("search", &json!({"code": "x"})), None);
    }
}
