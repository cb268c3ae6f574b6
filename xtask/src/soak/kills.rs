//! `cargo xtask soak kills`: `kill -9` of the real binary, of its shims and of what they run at random moments, while setups,
//! upgrades and deletes of real processes run, on demand with a disk that is full at times. Nothing that was acknowledged may be
//! lost, no effect may happen twice, and each change ends applied, or says why not and is applied by `retry`.

use std::{path::Path, process::ExitCode, thread};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;

use super::lane::Lane;
use super::small_disk::SmallDisk;
use super::toll::{Toll, Until};
use crate::{examples, place::place, processes, shop::Shop, stage::stage, workspace::Workspace};

/// How long a migration takes, in milliseconds: long enough to be hit often.
const MIGRATE_MS: u32 = 250;

/// Kill Pintle and its shims at random moments, and count what was lost or happened twice
#[derive(clap::Args)]
#[command(
    after_help = "Ends with `kills N, lost 0, doubled 0`. With --weakened it must find what the weakening breaks:
  ack   acknowledges records before they are written
  keys  has effects without an intent, under a new key each time"
)]
pub struct Kills {
    /// End after so many kills
    #[arg(long = "kills", short = 'n', value_name = "N")]
    number: Option<u32>,
    /// End after so many seconds
    #[arg(long)]
    seconds: Option<u64>,
    /// Seed of the random moments; by default a new one, which is printed
    #[arg(long)]
    seed: Option<u64>,
    /// Releases side by side, each with a state and a Pintle of its own
    #[arg(long, default_value_t = 4)]
    lanes: u32,
    /// Kill several at the same moment: any of Pintle, its shims, and the processes of the shop
    #[arg(long)]
    at_once: bool,
    /// Keep the states on a small file system and fill it to the last byte now and then; needs root
    #[arg(long)]
    full_disk: bool,
    /// A negative control: run a Pintle that breaks a rule, and fail unless it is found out
    #[arg(long, value_parser = ["ack", "keys"])]
    weakened: Option<String>,
}

impl Kills {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        examples::lay_out(workspace)?;
        let program = if self.weakened.is_some() { "pintle-weakened" } else { "pintle" };
        stage("build the program", || workspace.build_programs(&[program]))?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        println!("seed {seed}");
        let root = workspace.scratch(&self.name());
        // What a run that was killed left: it would be taken for this run's.
        processes::end(&processes::shims(&root)?)?;
        // A build beside the soak must not change what is soaked.
        let copy = root.join("bin").join(program);
        place(&workspace.program(program), &copy)?;
        let disk = self.full_disk.then(|| SmallDisk::mount(&root.join("disk"), self.lanes)).transpose()?;
        let state = |lane: u32| match &disk {
            Some(disk) => disk.path().join(format!("lane-{lane}")),
            None => root.join(format!("lane-{lane}/state")),
        };
        let mut shops = Vec::new();
        for lane in 1..=self.lanes {
            let folder = root.join(format!("lane-{lane}"));
            let shop = Shop::set_in(workspace, &folder, &state(lane), &copy, MIGRATE_MS, self.weakened.as_deref())?;
            shop.add_hooks()?;
            shops.push(shop);
        }
        let toll = Toll::new(self.until());
        let ran = self.run_lanes(&root, shops, disk.as_ref(), &toll, seed);
        drop(disk);
        self.judge(&toll, ran).with_context(|| format!("seed {seed}; what Pintle said last is in {}", root.display()))
    }

    /// The folder of what runs, apart for each kind of run.
    fn name(&self) -> String {
        let at_once = if self.at_once { "-at-once" } else { "" };
        let full = if self.full_disk { "-full-disk" } else { "" };
        let weakened = self.weakened.as_ref().map(|weakened| format!("-{weakened}")).unwrap_or_default();
        format!("soak{at_once}{full}{weakened}")
    }

    fn until(&self) -> Until {
        let kills = self.number.or(if self.seconds.is_none() { Some(2_000) } else { None });
        Until { kills, end: self.seconds.map(Until::seconds), first_find: self.weakened.is_some() }
    }

    fn run_lanes(&self, root: &Path, shops: Vec<Shop>, disk: Option<&SmallDisk>, toll: &Toll, seed: u64) -> Result<()> {
        thread::scope(|scope| {
            let lanes: Vec<_> = (1..)
                .zip(shops)
                .map(|(number, shop)| {
                    let (name, rng) = (format!("lane {number}"), Rng::with_seed(seed.wrapping_add(number)));
                    let log = root.join(format!("lane-{number}/pintle.log"));
                    let mut lane = Lane::new(name, shop, rng, log, toll, disk, self.at_once);
                    scope.spawn(move || {
                        let ran = lane.run();
                        toll.add(|count| count.broken |= ran.is_err());
                        (lane, ran)
                    })
                })
                .collect();
            let filling = disk.map(|disk| scope.spawn(move || disk.fill_now_and_then(Rng::with_seed(seed), toll)));
            let mut all = Ok(());
            let mut joined = Vec::new();
            for lane in lanes {
                let (lane, ran) = lane.join().map_err(|_| anyhow::anyhow!("a lane panicked"))?;
                all = all.and(ran.with_context(|| lane.name().to_owned()));
                joined.push(lane);
            }
            if let Some(filling) = filling {
                let filled = filling.join().map_err(|_| anyhow::anyhow!("the filling of the disk panicked"))?;
                all = all.and(filled);
            }
            for lane in joined {
                all = all.and(lane.end());
            }
            all
        })
    }

    fn judge(&self, toll: &Toll, ran: Result<()>) -> Result<ExitCode> {
        let count = toll.so_far();
        println!("{}", count.shown());
        println!("{}", count.verdict());
        if self.weakened.is_some() {
            if let Err(error) = ran {
                println!("ended early: {error:#}");
            }
            ensure!(count.found(), "the weakened Pintle was not found out in {} kills", count.kills);
            println!("the weakened Pintle was found out");
            return Ok(ExitCode::SUCCESS);
        }
        ran?;
        Ok(if count.found() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
