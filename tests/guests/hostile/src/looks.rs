//! Ways to look at the machine.
#![expect(clippy::unnecessary_wraps, reason = "every action has the same signature")]
#![expect(clippy::disallowed_methods, reason = "the clocks that Pintle may not use are what is looked at")]

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher as _;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant, SystemTime};

use crate::bindings::pintle::hooks::{components, durable, types::Error};
use crate::{raw_wasi, report};

pub fn clocks() -> Result<(), Error> {
    let begin = Instant::now();
    std::thread::sleep(Duration::from_millis(1500));
    let elapsed = begin.elapsed();
    report(&format!("{:?} {elapsed:?}", SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)))
}

pub fn randomness() -> Result<(), Error> {
    let hashes = [RandomState::new().hash_one(1), RandomState::new().hash_one(1)];
    report(&format!("{hashes:?} {}", raw_wasi::random_number()))
}

/// Time and chance from everywhere, before a call and after it.
pub fn draw() -> Result<(), Error> {
    let begin = Instant::now();
    let seen = || {
        let hash = RandomState::new().hash_one(1);
        format!(
            "{hash} {} {:?} {:?} {} {:?}",
            raw_wasi::random_number(),
            begin.elapsed(),
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH),
            durable::now(),
            durable::random(8),
        )
    };
    report(&seen())?;
    report(&seen())
}

pub fn around() -> Result<(), Error> {
    let mut input = String::new();
    let seen = [
        format!("{} variables", std::env::vars().count()),
        format!("{} arguments", std::env::args().count()),
        format!("read / {}", fs::read_dir("/").is_ok()),
        format!("open /etc/passwd {}", File::open("/etc/passwd").is_ok()),
        format!("create {}", File::create("here").is_ok()),
        format!("connect {}", TcpStream::connect("127.0.0.1:22").is_ok()),
        format!("listen {}", TcpListener::bind("127.0.0.1:0").is_ok()),
        format!("datagrams {}", UdpSocket::bind("127.0.0.1:0").is_ok()),
        format!("stdin {:?}", std::io::stdin().read_to_string(&mut input).map_err(|error| error.kind())),
        format!("process {}", std::process::Command::new("sh").spawn().is_ok()),
        format!("thread {}", std::thread::Builder::new().spawn(|| ()).is_ok()),
    ];
    report(&seen.join("\n"))
}

/// A day, by the standard library's clock.
pub fn sleep() -> Result<(), Error> {
    std::thread::sleep(Duration::from_hours(24));
    Ok(())
}

pub fn print() -> Result<(), Error> {
    println!("to stdout");
    eprintln!("to stderr");
    components::status("server")?;
    println!("at the end");
    Ok(())
}
