//! The graph of a run: edges, ancestors, subgraphs, stale marks and replay plans. Pure.
