//! Signals that end the following of a change: Ctrl-C, SIGTERM, and the terminal that goes away.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What `--on-interrupt` chooses for the first Ctrl-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnInterrupt {
    /// Leave the change to the next `pintle up`
    Detach,
    /// Stop the running action and its Jobs; nothing is undone
    Cancel,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM or SIGHUP: whoever runs this process wants it gone, not the change.
    Terminate,
}

/// Listens for the signals. From then on they do not end the process by themselves.
pub struct Interruptions {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interruptions {
    /// # Errors
    /// Where the system refuses to tell of signals.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Interruption {
        tokio::select! {
            _ = self.interrupt.recv() => Interruption::Interrupt,
            _ = self.terminate.recv() => Interruption::Terminate,
            _ = self.hangup.recv() => Interruption::Terminate,
        }
    }
}
