//! Pictures of a graph, without a terminal: places and lines as numbers, never characters or colours.
//!
//! # Architecture
//!
//! - [`Lanes`]: one row a step with vertical lanes beside it, as a version control log draws history. A lane
//!   starts at the step that makes something and ends at the last step that uses it.
//! - [`Layers`]: a small graph as boxes in layers, with edges along the cells between them.
//! - [`reduce`]: leaves out the edges that a longer way shows already, which keeps lanes few.
//! - [`Dirs`]: in which directions a cell is joined to its neighbours; what character that is, the view decides.

pub mod lanes;
pub mod layers;
mod reduce;

pub use lanes::{LaneRow, Lanes, Link, NOBODY};
pub use layers::Layers;
pub use reduce::reduce;

/// In which directions lines leave a cell, as a set of bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Dirs(pub u8);

impl Dirs {
    /// No line.
    pub const NONE: Self = Self(0);
    /// To the cell above.
    pub const UP: Self = Self(1);
    /// To the cell below.
    pub const DOWN: Self = Self(2);
    /// To the cell on the left.
    pub const LEFT: Self = Self(4);
    /// To the cell on the right.
    pub const RIGHT: Self = Self(8);
    /// Straight through from above to below.
    pub const VERTICAL: Self = Self(3);
    /// Straight through from left to right.
    pub const HORIZONTAL: Self = Self(12);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in the set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The same seen from below.
    #[must_use]
    pub const fn flipped(self) -> Self {
        Self((self.0 & 12) | ((self.0 & 1) << 1) | ((self.0 & 2) >> 1))
    }
}
