//! A state on a disk that is full: a file system of its own, in memory, filled to the last byte.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::Place;

/// With this variable a test that cannot run fails instead of being left out.
const DEMAND: &str = "PINTLE_DEMAND";

struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None, and a line that says so, where this user may not mount. Has what a store wants for a new change, and little more.
    fn mount(at: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            let why = "left out: a full disk needs a file system of its own, and to mount one needs root";
            assert!(std::env::var_os(DEMAND).is_none(), "{why}");
            println!("{why}");
            return None;
        }
        fs::create_dir(at).unwrap();
        let mut mount = Command::new("mount");
        assert!(mount.args(["-t", "tmpfs", "-o", "size=128m", "pintle-test"]).arg(at).status().unwrap().success());
        Some(Self(at.to_owned()))
    }

    fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        assert_eq!(rustix::fs::statvfs(&self.0).unwrap().f_bavail, 0);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Processes that are still to be ended have files there.
        let _reported = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn shell(place: &Place, line: &str) -> (i32, String) {
    let output = place.shell(line);
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code().unwrap(), text)
}

#[test]
fn a_full_disk_opens_no_change_and_one_that_is_open_says_so_and_goes_on_when_there_is_room() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.state()) else { return };
    let (code, text) = shell(&place, "pintle up shop/release.yml");
    assert_eq!(code, 0, "{text}");
    disk.fill();
    let (code, text) = shell(&place, "pintle up shop/release-1.1.0.yml");
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("no room for a new change: ") && text.contains(" bytes are free in "), "{text}");
    let (code, text) = shell(&place, "pintle get changes");
    assert_eq!((code, text.lines().count()), (0, 2), "what is there can be read: {text}");

    let (code, text) = shell(&place, "rm state/filler; pintle up shop/release-1.1.0.yml --detach");
    assert_eq!(code, 0, "{text}");
    fs::remove_file(place.state().join("ballast")).unwrap();
    disk.fill();
    let says = " 0 bytes are free: free some space, and it goes on by itself; trying again in ";
    let line = format!("pintle up >up.log 2>&1 & wait_for grep '{says}' up.log; rm state/filler; wait $!");
    let (code, text) = shell(&place, &line);
    let said = fs::read_to_string(place.path().join("up.log")).unwrap();
    assert_eq!(code, 0, "{text}{said}");
    assert!(said.contains(says), "{said}");
}
