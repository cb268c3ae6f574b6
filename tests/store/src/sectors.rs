//! A disk with a cache: what was written and not flushed may be gone after a power cut, sector by sector.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::dice::Dice;

pub const SECTOR: usize = 512;

/// A disk with a cache that is lost with the power.
#[derive(Debug)]
pub struct Disk {
    bytes: Vec<u8>,
    /// What sectors that were written since the last flush held then.
    flushed: BTreeMap<usize, [u8; SECTOR]>,
    is_dead: bool,
}

impl Disk {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, flushed: BTreeMap::new(), is_dead: false }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn bytes(&self) -> Result<&[u8], Errno> {
        if self.is_dead { Err(Errno::IO) } else { Ok(&self.bytes) }
    }

    /// What was written stays from now on, unless the disk lies.
    pub fn flush(&mut self, lies: bool) -> Result<(), Errno> {
        if self.is_dead {
            return Err(Errno::IO);
        }
        if !lies {
            self.flushed.clear();
        }
        Ok(())
    }

    pub fn write(&mut self, offset: usize, data: &[u8]) -> Result<(), Errno> {
        let end = offset + data.len();
        if self.is_dead {
            return Err(Errno::IO);
        }
        if end > self.bytes.len() {
            return Err(Errno::NOSPC);
        }
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            let before = self.bytes[sector * SECTOR..].first_chunk().ok_or(Errno::INVAL)?;
            self.flushed.entry(sector).or_insert(*before);
        }
        self.bytes[offset..end].copy_from_slice(data);
        Ok(())
    }

    /// What is on the disk after a power cut, how many sectors were not flushed, and how many of them are lost.
    pub fn cut(&mut self, percent: u64, seed: u64) -> (Vec<u8>, usize, usize) {
        let mut dice = Dice::of(seed);
        let (mut bytes, unflushed) = (std::mem::take(&mut self.bytes), self.flushed.len());
        self.is_dead = true;
        let mut lost = 0;
        for (sector, before) in std::mem::take(&mut self.flushed) {
            if dice.below(100) < percent {
                bytes[sector * SECTOR..][..SECTOR].copy_from_slice(&before);
                lost += 1;
            }
        }
        (bytes, unflushed, lost)
    }
}
