//! `compile.rust`: the first use of a Rust action, against the compiler alone.

use anyhow::{Context, Result};
use pintle_sandbox::{Sandbox, SandboxConfig};

use crate::Bench;
use crate::measure::{Pair, Stopwatch};
use crate::raw_action;
use crate::report::Line;

pub fn rust(bench: &Bench) -> Result<Vec<Line>> {
    let path = &bench.example;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let engine = raw_action::engine().map_err(|error| raw_action::plain(&error))?;
    let mut pair = Pair::default();
    for round in 0..bench.rounds {
        let mut sides = [0.0; 2];
        for side in bench.order(round) {
            let folder = bench.folder()?;
            let sandbox = Sandbox::new(SandboxConfig::new(folder.path()))?;
            let watch = Stopwatch::start();
            if side == 0 {
                bench.runtime.block_on(sandbox.admit(&bytes))?;
            } else {
                engine.precompile_component(&bytes).map_err(|error| raw_action::plain(&error))?;
            }
            sides[side] = watch.seconds() * 1e3;
        }
        pair.push(sides[0], sides[1]);
    }
    Ok(vec![Line::of(format!("compile.rust ({} KiB)", bytes.len() >> 10), "ms", "< 150 ms", &pair)])
}
