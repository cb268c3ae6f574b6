//! Which request of a file system fails: the n-th of its kind, once or from there on.

use rustix::io::Errno;

/// What is asked of a file system, by what may fail of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Read,
    Write,
    Sync,
    /// Files come into being, get other names, go.
    Name,
}

/// Which request fails.
#[derive(Debug, Default)]
pub struct Planned {
    plan: Option<(Request, u64, bool)>,
    counts: [u64; 4],
    pub struck: u64,
}

impl Planned {
    /// Lets the n-th request of this kind from now fail, or all from there on.
    pub fn plan(&mut self, request: Request, n: u64, for_ever: bool) {
        *self = Self { plan: Some((request, n, for_ever)), ..Self::default() };
    }

    /// How many requests of this kind there were since the last plan.
    pub fn count(&self, request: Request) -> u64 {
        self.counts[request as usize]
    }

    pub fn strike(&mut self, request: Request) -> Result<(), Errno> {
        self.counts[request as usize] += 1;
        let count = self.counts[request as usize];
        match self.plan {
            Some((kind, n, for_ever)) if kind == request && (count == n || for_ever && count > n) => {
                self.struck += 1;
                Err(Errno::IO)
            }
            _ => Ok(()),
        }
    }
}
