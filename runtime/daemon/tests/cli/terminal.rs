//! Following on a terminal: what a person sees in the end, and that drawing never touches what is above the window.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::normal::normal;
use crate::place::Place;

/// Runs `pintle` on a terminal of that size and gives everything that it wrote.
fn on_terminal(place: &Place, args: &[&str], (columns, rows): (u16, u16)) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = File::options().read(true).write(true).open(name).unwrap();
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(slave.as_fd(), size).unwrap();
    let ends = [slave.try_clone().unwrap(), slave.try_clone().unwrap(), slave];
    let [stdin, stdout, stderr] = ends;
    let mut child = place.pintle().args(args).stdin(stdin).stdout(stdout).stderr(stderr).spawn().unwrap();
    let mut written = Vec::new();
    // The read fails when the last end that was given away is closed.
    let _closed = File::from(master).read_to_end(&mut written);
    assert!(child.wait().unwrap().success());
    String::from_utf8(written).unwrap()
}

/// What a terminal of that many rows shows of a text, and what has scrolled away above.
fn shown(text: &str, rows: usize) -> String {
    let mut screen: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == screen.len() {
                    screen.push(Vec::new());
                }
            }
            '\u{1b}' => {
                assert_eq!(rest.next(), Some('['));
                let mut number = String::new();
                let order = loop {
                    match rest.next().expect("a sequence ends") {
                        c if c.is_ascii_alphabetic() => break c,
                        c => number.push(c),
                    }
                };
                match order {
                    'm' => {}
                    'A' => {
                        let up: usize = number.parse().unwrap();
                        let top = screen.len().saturating_sub(rows);
                        assert!(row >= top + up, "the cursor goes {up} up from row {row}, the window begins at {top}");
                        row -= up;
                    }
                    'J' => {
                        screen.truncate(row + 1);
                        screen[row].truncate(column);
                    }
                    other => panic!("an unknown sequence {number}{other}"),
                }
            }
            c => {
                let line = &mut screen[row];
                line.resize(line.len().max(column), ' ');
                line.truncate(column);
                line.push(c);
                column += 1;
            }
        }
    }
    screen.iter().map(|line| line.iter().collect::<String>() + "\n").collect()
}

const SETUP: &str = "\
shop-1  setup 1.0.0  Succeeded
├─ Run the setup pre-hook  Succeeded  <TOOK>
│  └─ pre_setup  Succeeded  <TOOK>  (started by the setup pre-hook)
│        INFO installing shop 1.0.0
├─ Sync  Succeeded  <TOOK>
│  └─ Apply version 1.0.0  Succeeded  <TOOK>
└─ Run the setup post-hook  Succeeded  <TOOK>
   └─ post_setup  Succeeded  <TOOK>  (started by the setup post-hook)
      └─ Wait for server, task-worker  Succeeded  (started by the setup post-hook)

";

#[test]
fn the_tree_is_drawn_over_itself_and_stays_whole() {
    let place = Place::new();
    let written = on_terminal(&place, &["up", "shop/release.yml"], (120, 40));
    assert!(written.contains("Ctrl-C detaches"), "{written}");
    assert!(written.contains("Running"), "{written}");
    assert_eq!(normal(&shown(&written, 40), &place), SETUP);
}

#[test]
fn what_does_not_fit_the_window_is_whole_in_the_end() {
    let place = Place::new();
    let written = on_terminal(&place, &["up", "shop/release.yml"], (40, 5));
    assert!(written.contains("lines above"), "{written}");
    assert_eq!(normal(&shown(&written, 5), &place), SETUP);
}
