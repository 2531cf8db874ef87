//! Import and export of notebooks, trajectories and traces.
