//! What can go wrong for a person at the command line: what, how to cure it, and the exit code.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use pintle_journal::journal::JournalError;
use pintle_journal::{ExportError, LogError, change_log};
use pintle_lifecycle::document::Problems;
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::{BadName, ChangeKey};
use pintle_lifecycle::planning::PlanError;
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::template::RenderError;
use pintle_platform::PlatformError;
use pintle_sandbox::{AdmissionError, SandboxError};

use crate::cli::exit::Exit;
use crate::drive::DriveError;

/// Why a verb did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A wrong use that the parser of the command line cannot see.
    #[error("{what}")]
    Usage { what: String, cure: String },
    /// A verb that makes no sense for what it names.
    #[error("{what}")]
    Refused { what: String, cure: String },
    /// Documents or modules have problems: all of them.
    #[error("the documents have problems")]
    Documents(Problems),
    /// Templates cannot be rendered on this machine now, or are too many.
    #[error(transparent)]
    Templates(RenderError),
    #[error(transparent)]
    Name(#[from] BadName),
    #[error("{} is no action module", path.display())]
    Module {
        path: PathBuf,
        #[source]
        source: Box<AdmissionError>,
    },
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write {}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the release {release} is busy: {open} is open")]
    Busy { release: String, open: ChangeKey },
    /// A change that was driven and did not succeed.
    #[error("{change} is {state}{}", because(message))]
    Ended { change: ChangeKey, state: ChangeState, message: String },
    /// The newest change of the release had the same plan and did not succeed.
    #[error("{change} wanted just this and is {state}{}", because(message))]
    Tried { change: ChangeKey, state: ChangeState, message: String },
    #[error("there is no release `{name}` of the tenant `{tenant}`")]
    NoRelease { name: String, tenant: String, near: Vec<String> },
    #[error("the release `{name}` is deleted, by {by}")]
    Deleted { name: String, by: ChangeKey },
    #[error("there is no change `{id}` of the tenant `{tenant}`")]
    NoChange { id: String, tenant: String, near: Vec<String> },
    #[error("{change} has no attempt of an action `{wanted}`")]
    NoAttempt { change: ChangeKey, wanted: String, known: Vec<String> },
    #[error("the store {} is in use by pid {pid} ({what}{since})", dir.display())]
    InUse { dir: PathBuf, pid: u32, what: String, since: String },
    #[error(transparent)]
    Open(Box<pintle_journal::OpenError>),
    #[error(transparent)]
    Log(Box<LogError>),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the change {change} cannot be read")]
    Change {
        change: ChangeKey,
        #[source]
        source: Box<change_log::OpenError>,
    },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("the change {change} cannot go on")]
    Drive {
        change: ChangeKey,
        #[source]
        source: Box<DriveError>,
    },
    #[error("what runs of the release {release} cannot be started again")]
    Restore {
        release: String,
        #[source]
        source: PlatformError,
    },
    #[error("stdout cannot be written")]
    Output(#[source] io::Error),
    #[error("signals cannot be heard")]
    Signals(#[source] io::Error),
    #[error("a defect of Pintle: {0}")]
    Defect(String),
}

impl Error {
    /// How the process exits.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. }
            | Self::Refused { .. }
            | Self::Documents(_)
            | Self::Name(_)
            | Self::Module { .. }
            | Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::Templates(RenderError::TooLarge { .. } | RenderError::Values)
            | Self::Output(_) => Exit::Invalid,
            Self::Ended { state, .. } => Exit::of(*state),
            Self::Tried { .. } | Self::Restore { .. } => Exit::ChangeFailed,
            Self::Busy { .. } | Self::InUse { .. } => Exit::Busy,
            Self::NoRelease { .. } | Self::Deleted { .. } | Self::NoChange { .. } | Self::NoAttempt { .. } => {
                Exit::NotFound
            }
            Self::Open(error) if matches!(**error, pintle_journal::OpenError::Missing { .. }) => Exit::NotFound,
            Self::Open(_) | Self::Log(_) | Self::Sandbox(SandboxError::File(_)) => Exit::Store,
            Self::Journal(error) => of_journal(error),
            Self::Change { source, .. } => match &**source {
                change_log::OpenError::Journal(error) => of_journal(error),
                _ => Exit::Store,
            },
            Self::Drive { source, .. } => match &**source {
                DriveError::Journal(error) => of_journal(error),
                _ => Exit::Defect,
            },
            Self::Sandbox(_) | Self::Signals(_) | Self::Templates(RenderError::Unavailable(_)) => Exit::Machine,
            Self::Defect(_) => Exit::Defect,
        }
    }

    /// What a person can do about it; empty where the error says it.
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Usage { cure, .. } | Self::Refused { cure, .. } => cure.clone(),
            Self::Unreadable { source, .. } => match source.kind() {
                ErrorKind::InvalidData => "save it as UTF-8".to_owned(),
                ErrorKind::FileTooLarge => "split it, or leave out what is no part of it".to_owned(),
                _ => "correct the path, or make the file readable".to_owned(),
            },
            Self::Unwritable { .. } => "make the folder writable, or name another".to_owned(),
            Self::Busy { open, .. } => {
                format!("`pintle up` goes on with {open}; `pintle cancel {open}` stops it")
            }
            Self::Ended { change, state: ChangeState::Stuck, .. } => {
                format!(
                    "`pintle retry {change}` looks or tries again, `pintle skip {change}` goes on without that step, `pintle undo {change}` \
                     takes the change back, `pintle cancel {change}` stops it; it holds the release until then"
                )
            }
            Self::Ended { change, state: ChangeState::Undone, .. } => {
                format!("`pintle steps {change} --output` shows why; `pintle up` with the same or a mended document tries anew")
            }
            Self::Tried { change, .. } | Self::Ended { change, .. } => format!(
                "`pintle retry {change}` makes a new attempt of the failed step, `pintle undo {change}` takes the change back; \
                 `pintle steps {change} --output` shows it"
            ),
            Self::NoRelease { near, .. } => near_or(near, "`pintle get releases` lists what there is"),
            Self::NoChange { near, .. } => near_or(near, "`pintle get changes` lists what there is"),
            Self::NoAttempt { known, .. } if known.is_empty() => "it ran no action".to_owned(),
            Self::NoAttempt { known, .. } => format!("it has {}", known.join("; ")),
            Self::Deleted { .. } => "`pintle up` with its document sets it up anew".to_owned(),
            Self::InUse { pid, .. } => {
                format!("wait for its end, or end it with `kill {pid}`: its changes go on with the next `pintle up`")
            }
            Self::Open(error) if matches!(**error, pintle_journal::OpenError::Missing { .. }) => {
                "name the folder of the state with --state or PINTLE_STATE".to_owned()
            }
            Self::Open(error) => error.cure().unwrap_or_default().to_owned(),
            Self::Log(error) => error.cure().unwrap_or_default().to_owned(),
            Self::Journal(JournalError::Damaged { .. } | JournalError::Record { .. }) => {
                "`pintle check-store` says what is damaged".to_owned()
            }
            Self::Sandbox(SandboxError::Engine(_)) => {
                "it reserves address space, of which it uses little: raise the limit (`ulimit -v unlimited`), and see that \
                 vm.overcommit_memory is not 2"
                    .to_owned()
            }
            Self::Sandbox(SandboxError::Ticker(_)) => "raise the limit of processes and threads (`ulimit -u`)".to_owned(),
            Self::Defect(_) => "please report it; nothing that was acknowledged is lost".to_owned(),
            _ => String::new(),
        }
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Problems(problems) => Self::Documents(problems),
            PlanError::Render(error) => Self::Templates(error),
            error @ PlanError::NoHook(_) => {
                Self::Refused { what: error.to_string(), cure: "`pintle plan` shows the hooks by name".to_owned() }
            }
            error @ PlanError::Hook { .. } => Self::Refused {
                what: error.to_string(),
                cure: "`pintle up` with a document whose hook is mended, or leave it out with `--skip-hooks`"
                    .to_owned(),
            },
        }
    }
}

impl From<pintle_journal::OpenError> for Error {
    fn from(error: pintle_journal::OpenError) -> Self {
        match error {
            pintle_journal::OpenError::InUse { dir, pid, what, since } => {
                // A process that has just taken the store has not said yet since when.
                let since = if since == 0 { String::new() } else { format!(", since {}", at(since)) };
                Self::InUse { dir, pid, what, since }
            }
            error => Self::Open(Box::new(error)),
        }
    }
}

impl From<ExportError> for Error {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::Log(error) => Self::Log(Box::new(error)),
            ExportError::Write(error) => Self::Output(error),
        }
    }
}

/// A moment of the wall clock.
fn at(ms: u64) -> String {
    Stamp { wall: ms, ..Stamp::default() }.rfc3339()
}

fn of_journal(error: &JournalError) -> Exit {
    match error {
        JournalError::Superseded { .. } => Exit::Busy,
        JournalError::Unfit { .. } | JournalError::Closed => Exit::Defect,
        _ => Exit::Store,
    }
}

fn near_or(near: &[String], list: &str) -> String {
    if near.is_empty() { list.to_owned() } else { format!("did you mean {}?", near.join(" or ")) }
}

fn because(message: &str) -> String {
    message.lines().next().map(|line| format!(": {line}")).unwrap_or_default()
}
