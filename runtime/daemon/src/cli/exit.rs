//! How `pintle` exits. The numbers are a promise to scripts: docs/cli.md lists them, and a test compares.

use std::process::ExitCode;

use pintle_lifecycle::ending::ChangeState;

/// Exit codes of every verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    ChangeFailed = 1,
    Invalid = 2,
    Stuck = 3,
    Store = 4,
    Busy = 5,
    NotFound = 6,
    Detached = 7,
    /// `EX_SOFTWARE` of sysexits.h.
    Defect = 70,
    /// `EX_OSERR`.
    Machine = 71,
}

impl Exit {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::ChangeFailed,
        Self::Invalid,
        Self::Stuck,
        Self::Store,
        Self::Busy,
        Self::NotFound,
        Self::Detached,
        Self::Defect,
        Self::Machine,
    ];

    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, for help and docs.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ChangeFailed => "a change failed or was cancelled, or a replay differs",
            Self::Invalid => "invalid input: usage, documents or modules",
            Self::Stuck => "a change is stuck: it needs a person",
            Self::Store => "store trouble: damaged, full, or written by a newer Pintle",
            Self::Busy => "busy: another Pintle has the store, or the release has an open change",
            Self::NotFound => "no such release, change or step",
            Self::Detached => "detached before the end; the next `pintle up` goes on",
            Self::Defect => "a defect of Pintle",
            Self::Machine => "this machine refuses what Pintle needs: address space, threads, signals",
        }
    }

    /// How a command exits that followed a change to this state.
    #[must_use]
    pub fn of(state: ChangeState) -> Self {
        match state {
            ChangeState::Succeeded => Self::Ok,
            ChangeState::Stuck => Self::Stuck,
            ChangeState::Waiting | ChangeState::Running => Self::Detached,
            ChangeState::Failed | ChangeState::Cancelled | ChangeState::Superseded | ChangeState::Undone => {
                Self::ChangeFailed
            }
        }
    }

    /// Of two changes the exit that says more: a failure before a person is needed, both before success.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Self::Ok => 0,
            Self::Detached => 1,
            Self::Stuck => 2,
            _ => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// The table of `--help`.
    #[must_use]
    pub fn help() -> String {
        let lines = Self::ALL.map(|exit| format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
        format!("Exit codes:\n{}", lines.concat())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_changes_the_worst_counts() {
        let worst = |exits: &[Exit]| exits.iter().copied().fold(Exit::Ok, Exit::and);
        assert_eq!(worst(&[]), Exit::Ok);
        assert_eq!(worst(&[Exit::Ok, Exit::Stuck, Exit::Detached]), Exit::Stuck);
        assert_eq!(worst(&[Exit::Stuck, Exit::ChangeFailed, Exit::Ok]), Exit::ChangeFailed);
        assert_eq!(worst(&[Exit::Detached, Exit::Ok]), Exit::Detached);
    }
}
