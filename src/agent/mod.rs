//! Agents at the other end: context for a step, agent commands, the bounded repair loop.
