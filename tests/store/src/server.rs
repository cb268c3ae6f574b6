//! Serves [`Files`] to the kernel over FUSE, in a process of its own that is told over its standard input what shall fail.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use crate::files::Files;
use crate::planned;
use crate::wire::{MAX_WRITE, Reply, Request, encode};

/// Seen as free by whoever asks.
const ROOM: u64 = 1 << 30;

/// Mounts the files at `folder` and serves them until the standard input ends.
pub fn serve(folder: &Path) -> ExitCode {
    match mount_and_serve(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: the file system of the test fails: {error}");
            ExitCode::FAILURE
        }
    }
}

fn mount_and_serve(folder: &Path) -> io::Result<()> {
    let fuse = File::options().read(true).write(true).open("/dev/fuse")?;
    // The kernel takes the descriptor from the process that mounts.
    let mounted = Command::new("mount")
        .args(["-i", "-t", "fuse", "-o", "fd=0,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"])
        .arg("pintle-faults")
        .arg(folder)
        .stdin(Stdio::from(fuse.try_clone()?))
        .stdout(Stdio::null())
        .status()?;
    println!("{}", if mounted.success() { "mounted" } else { "error: it cannot be mounted" });
    let files = Arc::new(Mutex::new(Files::new()));
    let asked = Arc::clone(&files);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let answer = obey(&mut asked.lock().unwrap_or_else(PoisonError::into_inner), &line);
            println!("{}", answer.unwrap_or_else(|| format!("error: `{line}` makes no sense")));
        }
        // Whoever started this is gone.
        std::process::exit(0);
    });
    let mut buffer = vec![0; MAX_WRITE as usize + (64 << 10)];
    loop {
        let len = match (&fuse).read(&mut buffer) {
            Ok(len) => len,
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::AGAIN | Errno::NOENT) => continue,
                Some(Errno::NODEV) => return Ok(()),
                _ => return Err(error),
            },
        };
        let Some(request) = Request::parse(&buffer[..len]) else { continue };
        let answer = answer(&mut files.lock().unwrap_or_else(PoisonError::into_inner), &request);
        if let Some(answer) = answer {
            // A request that was interrupted waits for no answer.
            match (&fuse).write_all(&encode(request.unique, answer)?) {
                Err(error) if Errno::from_io_error(&error) != Some(Errno::NOENT) => return Err(error),
                _ => {}
            }
        }
    }
}

/// Does what a line of the standard input says.
fn obey(files: &mut Files, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    match *words.first()? {
        "disk" => Some(files.add_disk(std::fs::read(words.get(1)?).ok()?)),
        "arm" => {
            files.arm(number(1)?, number(2)?, number(3)?);
            Some("armed".to_owned())
        }
        "cut" => {
            let cut = files.cut(number(1)?, number(2)?)?;
            Some(format!("{} {} {}", cut.name, cut.unflushed, cut.lost))
        }
        "lie" => {
            files.power.lies = true;
            Some("lying".to_owned())
        }
        "fail" => {
            files.faults.plan(kind(words.get(1)?)?, number(2)?, words.get(3) == Some(&"ever"));
            Some("failing".to_owned())
        }
        "count" => Some(format!("{} {}", files.faults.count(kind(words.get(1)?)?), files.faults.struck)),
        _ => None,
    }
}

fn kind(word: &str) -> Option<planned::Request> {
    use planned::Request::{Name, Read, Sync, Write};
    Some(match word {
        "read" => Read,
        "write" => Write,
        "sync" => Sync,
        "name" => Name,
        _ => return None,
    })
}

/// The answer to a request; none where the kernel wants none.
fn answer(files: &mut Files, request: &Request<'_>) -> Option<Result<Reply, Errno>> {
    Some(match request.opcode {
        2 => {
            files.forget(request.node, request.long(0));
            return None;
        }
        36 => return None,
        42 => {
            for at in (0..request.word(0) as usize).map(|entry| 8 + 16 * entry) {
                files.forget(request.long(at), request.long(at + 8));
            }
            return None;
        }
        opcode @ (1 | 8..=12 | 35 | 45) => name(files, opcode, request),
        opcode => content(files, opcode, request),
    })
}

/// Requests that name something.
fn name(files: &mut Files, opcode: u32, request: &Request<'_>) -> Result<Reply, Errno> {
    let parent = request.node;
    let skipped = match opcode {
        9 | 12 => 8,
        8 | 35 | 45 => 16,
        _ => 0,
    };
    let mut names = request.names(skipped);
    let name = names.next().unwrap_or_default();
    match opcode {
        1 => Ok(Reply::default().entry(files.look_up(parent, &name)?)),
        8 => Ok(Reply::default().entry(files.make(parent, &name, false, request.word(0))?)),
        9 => Ok(Reply::default().entry(files.make(parent, &name, true, request.word(0))?)),
        10 | 11 => files.remove(parent, &name).map(|()| Reply::default()),
        35 => Ok(Reply::default().entry(files.make(parent, &name, false, request.word(4))?).opened(true)),
        _ => {
            let to = names.next().unwrap_or_default();
            files.rename((parent, &name), (request.long(0), &to)).map(|()| Reply::default())
        }
    }
}

/// Requests about what has its number already.
fn content(files: &mut Files, opcode: u32, request: &Request<'_>) -> Result<Reply, Errno> {
    let (node, done) = (request.node, |()| Reply::default());
    match opcode {
        3 => Ok(Reply::default().attribute_answer(files.attributes(node)?)),
        4 => {
            let valid = request.word(0);
            if valid & 1 != 0 {
                files.set_mode(node, request.word(68))?;
            }
            if valid & 8 != 0 {
                files.set_len(node, request.long(16))?;
            }
            Ok(Reply::default().attribute_answer(files.attributes(node)?))
        }
        // What the kernel keeps of a disk is what the kernel wrote: its number is a new one after each cut.
        14 => Ok(Reply::default().opened(!files.is_disk(node))),
        15 => Ok(Reply::default().bytes(files.read(node, request.long(8), request.word(16) as usize)?)),
        16 => {
            let data = request.bytes(40).get(..request.word(16) as usize).ok_or(Errno::INVAL)?;
            files.write(node, request.long(8), data)?;
            Ok(Reply::default().word(request.word(16)).word(0))
        }
        17 => Ok(Reply::room(ROOM)),
        20 | 30 => files.sync(node).map(done),
        26 => Ok(Reply::greeting()),
        27 => Ok(Reply::default().opened(false)),
        28 => list(files, request),
        18 | 25 | 29 | 34 | 38 => Ok(Reply::default()),
        43 if request.word(24) == 0 => files.allocate(node, request.long(8) + request.long(16)).map(done),
        43 => Err(Errno::OPNOTSUPP),
        _ => Err(Errno::NOSYS),
    }
}

fn list(files: &Files, request: &Request<'_>) -> Result<Reply, Errno> {
    let mut reply = Reply::default();
    let first = usize::try_from(request.long(8)).unwrap_or(usize::MAX);
    for ((name, node, is_folder), place) in files.list(request.node)?.into_iter().zip(1..).skip(first) {
        if !reply.folder_entry(node, place, is_folder, &name, request.word(16) as usize) {
            break;
        }
    }
    Ok(reply)
}
