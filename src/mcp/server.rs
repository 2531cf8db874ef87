//! The server: tools listed and called, each call a question to the workbench.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as McpTool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::Value;

use super::tools::{TOOLS, Tool};
use crate::workbench::{self, Command, Failure, Handle, Options, Reach, Talk};

/// What an agent is told of the server as a whole.
const ABOUT: &str = "A run is a directory of Python steps that share one namespace; they execute in the order of \
    their ids. Make steps with `new`, change them with `edit`, and bring them up to date with `run`: only what changed \
    runs. When a step fails, read `diagnose` and `context`, propose a patch with `patch_add` and see what it does with \
    `patch_try`. Whether it is accepted a person decides.";

/// Serves the run in `dir` on standard input and output until the client goes away.
///
/// # Errors
/// When the run can't be opened, or the client can't be spoken with.
pub fn serve(dir: &Path) -> Result<(), Failure> {
    let options = Options { may_be_empty: true, watch: true, ..Options::default() };
    let (handle, events) = workbench::open(dir, options)?;
    let mut talk = Talk::new(handle.clone(), events);
    talk.begin()?;
    let server = Server { handle: handle.clone(), talk: Arc::new(Mutex::new(talk)) };
    let talk = Arc::clone(&server.talk);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure { what: format!("no thread for the server: {error}"), hint: None })?;
    let served = runtime.block_on(async {
        let running = server.serve(rmcp::transport::stdio()).await.map_err(|error| error.to_string())?;
        running.waiting().await.map(drop).map_err(|error| error.to_string())
    });
    // Nobody waits for what still runs: it is stopped, and its processes end with the workbench.
    handle.send(Command::Stop);
    let mut talk = talk.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = talk.ask(Command::Close, |_| {});
    // A read of standard input that is under way can't be taken back.
    runtime.shutdown_background();
    served.map_err(|error| Failure { what: format!("the client can't be spoken with: {error}"), hint: None })
}

/// The workbench as a server. Questions are asked one after the other; stopping needs no turn.
struct Server {
    handle: Handle,
    talk: Arc<Mutex<Talk>>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("reweave", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(ABOUT.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().filter_map(told).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name() == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        if tool.verb == "stop" {
            self.handle.send(Command::Stop);
            return Ok(answer(Ok(serde_json::json!({"asked": true}))));
        }
        let who = context.peer.peer_info().map(|info| info.client_info.name.clone());
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let talk = Arc::clone(&self.talk);
        let asked = tokio::task::spawn_blocking(move || {
            let mut talk = talk.lock().unwrap_or_else(PoisonError::into_inner);
            (tool.call)(&mut talk, arguments, who.as_deref().unwrap_or("agent"))
        });
        let lost = |error| Failure { what: format!("the call ended before it was answered: {error}"), hint: None };
        Ok(answer(asked.await.map_err(lost).and_then(|answer| answer)))
    }
}

/// A tool as a client is told of it.
fn told(tool: &Tool) -> Option<McpTool> {
    let verb = tool.verb()?;
    let Value::Object(schema) = (tool.schema)() else { return None };
    let looks = verb.reach == Reach::Looks;
    let hints = ToolAnnotations::new().read_only(looks).destructive(false);
    Some(McpTool::new(tool.name(), verb.about, Arc::new(schema)).with_annotations(hints))
}

/// A tool's answer: JSON as text, which every client shows, and as a value.
fn answer(answer: Result<Value, Failure>) -> CallToolResponse {
    let result = match answer {
        Ok(value) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
            result.structured_content = Some(value);
            result
        }
        Err(Failure { what, hint }) => {
            let text = match hint {
                Some(hint) => format!("{what}\nhint: {hint}"),
                None => what,
            };
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    };
    result.into()
}
