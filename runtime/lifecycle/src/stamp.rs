//! When a record was made, in a form that survives a wall clock which jumps: the wall clock is for people, elapsed time
//! comes from the clock that counts since boot as long as both stamps are of the same boot.

use serde::{Deserialize, Serialize};

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// Milliseconds since 1970-01-01T00:00:00Z by the wall clock.
    pub wall: u64,
    /// Milliseconds since boot, sleep included.
    pub up: u64,
    /// Which boot `up` counts from: the first 8 hex digits of the boot id, as a number.
    pub boot: u32,
}

impl Stamp {
    /// Milliseconds from `earlier` to this stamp; 0 where clocks went backwards.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> u64 {
        if self.boot == earlier.boot {
            self.up.saturating_sub(earlier.up)
        } else {
            self.wall.saturating_sub(earlier.wall)
        }
    }

    /// The wall clock as people read it: `2026-11-29T22:42:07.120Z`. Years beyond 9999 give the last moment before them.
    #[must_use]
    pub fn rfc3339(&self) -> String {
        let ms = i64::try_from(self.wall).unwrap_or(i64::MAX);
        format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_jumps_changes_no_elapsed_time() {
        let start = Stamp { wall: 1_000_000, up: 500, boot: 7 };
        let jumped_back = Stamp { wall: 10, up: 1_700, boot: 7 };
        let jumped_ahead = Stamp { wall: 9_000_000, up: 1_700, boot: 7 };
        assert_eq!(jumped_back.since(&start), 1_200);
        assert_eq!(jumped_ahead.since(&start), 1_200);
    }

    #[test]
    fn the_wall_clock_reads_as_text() {
        let text = |wall| Stamp { wall, ..Stamp::default() }.rfc3339();
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(1_796_000_000_120), "2026-11-30T00:53:20.120Z");
        assert!(text(u64::MAX).starts_with("9999-12-3"));
    }

    #[test]
    fn after_a_reboot_the_wall_clock_counts_and_never_negatively() {
        let start = Stamp { wall: 1_000, up: 900_000, boot: 7 };
        assert_eq!(Stamp { wall: 4_000, up: 10, boot: 8 }.since(&start), 3_000);
        assert_eq!(Stamp { wall: 10, up: 10, boot: 8 }.since(&start), 0);
    }
}
