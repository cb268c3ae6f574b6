//! The bytes of the FUSE protocol, version 7.31, as far as a small file system needs them. Written out here because a library for
//! it brings second copies of packages that Pintle has.

use std::io;

use rustix::io::Errno;

/// Bytes of the header of a request, and of a reply.
const HEADER: usize = 40;
const REPLY_HEADER: usize = 16;

/// The most that one write brings.
pub const MAX_WRITE: u32 = 1 << 20;

/// What the kernel asks.
pub struct Request<'a> {
    pub opcode: u32,
    pub unique: u64,
    pub node: u64,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        Some(Self { opcode: word(4), unique: long(8), node: long(16), body: &bytes[HEADER..] })
    }

    pub fn word(&self, at: usize) -> u32 {
        self.body.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
    }

    pub fn long(&self, at: usize) -> u64 {
        self.body.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
    }

    pub fn bytes(&self, at: usize) -> &'a [u8] {
        self.body.get(at..).unwrap_or_default()
    }

    /// Names that start at `at`, each ended by a zero.
    pub fn names(&self, at: usize) -> impl Iterator<Item = String> + use<'a> {
        self.bytes(at).split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned())
    }
}

/// What a file is like.
#[derive(Debug, Clone, Copy)]
pub struct Attributes {
    pub node: u64,
    pub bytes: u64,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Seconds for which the kernel need not ask again.
    pub valid: u64,
}

/// The body of a reply.
#[derive(Debug, Default)]
pub struct Reply(Vec<u8>);

impl Reply {
    pub fn word(mut self, word: u32) -> Self {
        self.0.extend(word.to_ne_bytes());
        self
    }

    pub fn long(mut self, long: u64) -> Self {
        self.0.extend(long.to_ne_bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub fn attributes(self, of: Attributes) -> Self {
        let times = [0; 9].into_iter().fold(self.long(of.node).long(of.bytes).long(of.bytes.div_ceil(512)), Self::word);
        times.word(of.mode).word(1).word(of.uid).word(of.gid).word(0).word(4096).word(0)
    }

    pub fn entry(self, of: Attributes) -> Self {
        self.long(of.node).long(0).long(of.valid).long(of.valid).word(0).word(0).attributes(of)
    }

    pub fn attribute_answer(self, of: Attributes) -> Self {
        self.long(of.valid).word(0).word(0).attributes(of)
    }

    /// A file that is open; `direct` asks the kernel to keep nothing of it.
    pub fn opened(self, direct: bool) -> Self {
        self.long(0).word(u32::from(direct)).word(0)
    }

    /// One entry of a folder; says whether it still fits into `limit` bytes.
    pub fn folder_entry(&mut self, node: u64, next: u64, is_folder: bool, name: &str, limit: usize) -> bool {
        let padded = name.len().next_multiple_of(8);
        if self.0.len() + 24 + padded > limit {
            return false;
        }
        self.0.extend(node.to_ne_bytes());
        self.0.extend(next.to_ne_bytes());
        self.0.extend(u32::try_from(name.len()).unwrap_or_default().to_ne_bytes());
        self.0.extend(if is_folder { 4_u32 } else { 8 }.to_ne_bytes());
        self.0.extend(name.bytes());
        self.0.resize(self.0.len() + padded - name.len(), 0);
        true
    }

    /// The answer to the kernel's first request.
    pub fn greeting() -> Self {
        // Big writes, and as many pages as they need.
        let flags = 1 << 5 | 1 << 22;
        let head = Self::default().word(7).word(31).word(MAX_WRITE).word(flags).word(0).word(MAX_WRITE).word(1);
        [0; 8].into_iter().fold(head.word(MAX_WRITE / 4096), Self::word)
    }

    /// A file system of so many bytes, all of them free.
    pub fn room(bytes: u64) -> Self {
        let blocks = bytes / 4096;
        let counts = [blocks, blocks, blocks, 1 << 20, 1 << 20].into_iter().fold(Self::default(), Self::long);
        [0; 7].into_iter().fold(counts.word(4096).word(255).word(4096), Self::word)
    }
}

/// A whole reply.
pub fn encode(unique: u64, answer: Result<Reply, Errno>) -> io::Result<Vec<u8>> {
    let (error, body) = match answer {
        Ok(Reply(body)) => (0, body),
        Err(error) => (-error.raw_os_error(), Vec::new()),
    };
    let len = u32::try_from(REPLY_HEADER + body.len()).map_err(io::Error::other)?;
    let header = [len.to_ne_bytes(), error.to_ne_bytes()].concat();
    Ok([header.as_slice(), &unique.to_ne_bytes(), &body].concat())
}
