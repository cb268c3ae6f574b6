//! A data directory of its own for each test, the program in any version, and what both look like from outside.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// One shop: its images and its data.
pub struct Shop(TempDir);

impl Shop {
    pub fn new() -> Self {
        Self(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// A shop whose database has the schema of `version`.
    pub fn created(version: &str) -> Self {
        let shop = Self::new();
        assert_exit(&shop.run(version, &["db", "init"]), 0);
        shop
    }

    pub fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    /// The program of `version`, laid out as an image, with the shop's folder as working directory.
    pub fn command(&self, version: &str, args: &[&str]) -> Command {
        let image = self.0.path().join("images").join(version);
        let program = image.join("shop");
        if !program.exists() {
            fs::create_dir_all(&image).unwrap();
            fs::write(image.join("VERSION"), format!("{version}\n")).unwrap();
            fs::hard_link(env!("CARGO_BIN_EXE_shop"), &program).unwrap();
        }
        let mut command = Command::new(program);
        command.args(args).current_dir(self.0.path());
        for name in ["SHOP_DATA", "SHOP_LISTEN", "SHOP_MIGRATE_MS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, version: &str, args: &[&str]) -> Output {
        self.command(version, args).output().unwrap()
    }

    /// Migrates without pauses.
    pub fn migrate(&self, version: &str) -> Output {
        self.run(version, &["db", "migrate", "--pace-ms", "0"])
    }

    pub fn status(&self) -> Value {
        let output = self.run("1.2.0", &["db", "status", "--json"]);
        assert_exit(&output, 0);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn schema(&self) -> Value {
        self.status()["schema"].clone()
    }

    /// Starts a command that goes on, and reads its output until a line contains `sign`.
    pub fn start(&self, version: &str, args: &[&str], sign: &str) -> Running {
        let child = self.command(version, args).stdout(Stdio::piped()).spawn().unwrap();
        Running::after(child, sign)
    }

    pub fn start_worker(&self, version: &str) -> Running {
        self.start(version, &["worker"], "is ready")
    }

    /// Ships some of the orders, as a worker of `version` does, and stops.
    pub fn ship(&self, version: &str, orders: u32) {
        let mut worker = self.start_worker(version);
        for _ in 0..orders {
            worker.read_until("shipped order");
        }
        assert_eq!(worker.terminate(), Some(0));
    }

    pub fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.data().join("shop.db")).unwrap()
    }

    /// The only value of `query`.
    pub fn count(&self, query: &str) -> u32 {
        self.database().query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Holds `workers.lock` as a migration does.
    pub fn hold_as_migration(&self) -> File {
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(self.data().join("workers.lock")).unwrap();
        lock.try_lock().unwrap();
        lock
    }
}

/// A process that ends with the test at the latest.
pub struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The line that was read last.
    pub line: String,
}

impl Running {
    fn after(mut child: Child, sign: &str) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, output, line: String::new() };
        running.read_until(sign);
        running
    }

    pub fn read_until(&mut self, sign: &str) {
        loop {
            self.line.clear();
            let length = self.output.read_line(&mut self.line).unwrap();
            assert!(length > 0, "the process ended before it said `{sign}`");
            if self.line.contains(sign) {
                return;
            }
        }
    }

    /// The rest of its output, once it has ended.
    pub fn read_rest(&mut self) -> String {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        rest
    }

    /// SIGTERM; gives the exit code.
    pub fn terminate(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// What a server answers: status and JSON body.
pub fn request(server: &Running, head: &str, body: &str) -> (u16, Value) {
    let address = server.line.trim().rsplit_once("http://").expect("the line names the address").1;
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned())))
}

#[track_caller]
pub fn assert_exit(output: &Output, code: i32) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
}

/// The exit code is `code`, and the complaint contains `part`.
#[track_caller]
pub fn assert_refused(output: &Output, code: i32, part: &str) {
    assert_exit(output, code);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(part), "{said}");
}

pub fn example_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
