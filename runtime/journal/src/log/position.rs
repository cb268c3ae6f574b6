//! Where things lie in the log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A byte of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Number of the segment, from 1.
    pub segment: u32,
    /// Byte in the segment's file.
    pub offset: u32,
}

/// A record in the log: where its frame starts and how long its payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub at: Position,
    pub len: u32,
}

impl Place {
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.at.segment.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.at.offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        use super::frame::u32_at;
        let at = Position { segment: u32_at(bytes, 0)?, offset: u32_at(bytes, 4)? };
        (bytes.len() == Self::BYTES).then_some(Self { at, len: u32_at(bytes, 8)? })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}.seg:{}", self.segment, self.offset)
    }
}
