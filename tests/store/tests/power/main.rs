//! Power cuts: the store on ext4, on a disk of our own that forgets with a chance of 1, ½ or 0 each sector that was not flushed when
//! the power went. What was acknowledged before is there afterwards, and the check of the store finds no damage.
//!
//! `PINTLE_CUTS=300` sets how many cuts there are over all three chances (30), `PINTLE_SEED` repeats a run.

mod machine;

use std::process::ExitCode;

use machine::{Flush, Machine, Tally};
use pintle_journal::Acknowledge;
use store_faults::dice::Dice;
use store_faults::suite::{Case, run};

/// Power cuts on the same file system, one after another, before it begins anew.
const CUTS_OF_A_DISK: u64 = 10;

fn main() -> ExitCode {
    run(
        &[],
        &[
            Case { name: "nothing_acknowledged_is_lost_where_each_unflushed_sector_is", run: || nothing_is_lost(100) },
            Case {
                name: "nothing_acknowledged_is_lost_where_half_of_the_unflushed_sectors_are",
                run: || nothing_is_lost(50),
            },
            Case { name: "nothing_acknowledged_is_lost_where_no_sector_is", run: || nothing_is_lost(0) },
            Case { name: "a_store_that_does_not_sync_is_caught", run: a_store_that_does_not_sync_is_caught },
            Case { name: "a_disk_that_does_not_flush_is_caught", run: a_disk_that_does_not_flush_is_caught },
        ],
    )
}

fn cuts() -> u64 {
    std::env::var("PINTLE_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(30)
}

/// Cuts the power so often, and counts.
fn cut_often(test: &str, cuts: u64, percent: u64, acknowledge: Acknowledge, flush: Flush) -> Tally {
    let mut dice = Dice::new(test);
    let mut tally = Tally::default();
    let mut left = cuts;
    while left > 0 {
        let of_this_disk = left.min(CUTS_OF_A_DISK);
        left -= of_this_disk;
        let mut machine = Machine::start(acknowledge, flush);
        for _ in 0..of_this_disk {
            machine.run_until_the_power_goes(percent, &mut dice);
            if !machine.start_again(&mut tally) {
                break;
            }
        }
    }
    println!("{test}: {tally}");
    tally
}

fn nothing_is_lost(percent: u64) {
    let tally = cut_often(
        &format!("power cuts, {percent} % of unflushed sectors lost"),
        cuts().div_ceil(3),
        percent,
        Acknowledge::WhenDurable,
        Flush::Works,
    );
    assert_eq!((tally.lost, tally.damaged), (0, 0));
    assert!(tally.acknowledged > 0 && tally.with_index > 0, "the test has written too little to show anything");
    assert!((percent > 0) == (tally.sectors_lost > 0), "{} sectors are lost", tally.sectors_lost);
}

fn a_store_that_does_not_sync_is_caught() {
    let tally = cut_often("power cuts, negative control: no sync", 3, 100, Acknowledge::WithoutSync, Flush::Works);
    assert!(tally.lost > 0, "this test would not notice a loss");
}

fn a_disk_that_does_not_flush_is_caught() {
    let tally = cut_often("power cuts, negative control: no flush", 3, 100, Acknowledge::WhenDurable, Flush::Lies);
    assert!(tally.lost > 0, "this test would not notice a loss");
}
