//! The workbench for agents, over MCP.
