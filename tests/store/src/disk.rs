//! The file system of our own, as a test has it: starts the process that serves it, and tells it what shall fail.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::files::Cut;
use crate::mounts::unmount;
use crate::suite::SERVE;

/// A file system in another process's memory. Files that are made in it fail where that was planned; [`FaultyDisk::add_disk`]
/// puts a disk into it, as a file for a loop device, whose power can be cut.
#[derive(Debug)]
pub struct FaultyDisk {
    server: Child,
    lines: BufReader<ChildStdout>,
    /// None when it is being ended.
    orders: Option<ChildStdin>,
    folder: PathBuf,
}

impl FaultyDisk {
    /// Mounts it at `folder`, which is there.
    ///
    /// # Panics
    /// Where it cannot be mounted.
    #[must_use]
    pub fn mount(folder: &Path) -> Self {
        let program = std::env::current_exe().expect("the path of this program");
        let mut command = Command::new(program);
        command.arg(SERVE).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("the process that serves the file system starts");
        let lines = BufReader::new(server.stdout.take().expect("it has a standard output"));
        let orders = server.stdin.take();
        let mut disk = Self { server, lines, orders, folder: folder.to_owned() };
        assert_eq!(disk.answer(), "mounted");
        disk
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the process that serves the file system answers");
        line.trim_end().to_owned()
    }

    fn ask(&mut self, order: &str) -> String {
        let orders = self.orders.as_mut().expect("it is not being ended");
        writeln!(orders, "{order}").expect("the process that serves the file system listens");
        let answer = self.answer();
        assert!(!answer.is_empty() && !answer.starts_with("error"), "{order}: {answer}");
        answer
    }

    fn numbers(&mut self, order: &str) -> Vec<u64> {
        self.ask(order).split(' ').filter_map(|word| word.parse().ok()).collect()
    }

    /// A disk with the content of a file; says where it is. One that was there before goes.
    pub fn add_disk(&mut self, content: &Path) -> PathBuf {
        let name = self.ask(&format!("disk {}", content.display()));
        self.folder.join(name)
    }

    /// Cuts the power of the disk after so many writes and flushes. Each sector that is not flushed then is lost with this chance.
    pub fn arm(&mut self, requests: u64, percent: u64, seed: u64) {
        self.ask(&format!("arm {requests} {percent} {seed}"));
    }

    /// Cuts the power now, unless it went already. Says which file the disk is afterwards.
    ///
    /// # Panics
    /// Where there is no disk.
    pub fn cut(&mut self, percent: u64, seed: u64) -> Cut {
        let answer = self.ask(&format!("cut {percent} {seed}"));
        let mut words = answer.split(' ');
        let (name, mut counts) =
            (words.next().unwrap_or_default().to_owned(), words.map_while(|word| word.parse().ok()));
        let (unflushed, lost) = counts.next().zip(counts.next()).expect("a cut says two numbers");
        Cut { name, unflushed, lost }
    }

    /// The file of a disk.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// From now on flushes of the disk do nothing.
    pub fn lie(&mut self) {
        self.ask("lie");
    }

    /// Lets the n-th request of a kind (`read`, `write`, `sync`, `name`) from now fail with EIO, once or from there on.
    pub fn fail(&mut self, kind: &str, n: u64, for_ever: bool) {
        self.ask(&format!("fail {kind} {n}{}", if for_ever { " ever" } else { "" }));
    }

    /// How many requests of a kind there were since the last plan, and how many of any kind failed.
    ///
    /// # Panics
    /// Where the server does not say.
    pub fn count(&mut self, kind: &str) -> (u64, u64) {
        let numbers = self.numbers(&format!("count {kind}"));
        (numbers[0], numbers[1])
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        unmount(&self.folder);
        // It ends with its standard input.
        drop(self.orders.take());
        drop(self.server.wait());
    }
}
