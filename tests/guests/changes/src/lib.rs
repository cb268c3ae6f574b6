//! Actions for the crash matrix. `everything` makes each kind of call once; the others end in each way in the middle of one.

use pintle_sdk::prelude::*;

/// Panics where the arguments of the action say so: `{"panicAt": 3}`.
fn panic_at(ctx: &Context, place: u32) {
    assert!(ctx.args_json() != format!("{{\"panicAt\":{place}}}"), "the roof is on fire");
}

#[action(description = "Every kind of call")]
fn everything(ctx: &Context) -> Result<()> {
    info!("before {}", ctx.target_version());
    components::stop(["task-worker"])?;
    panic_at(ctx, 0);
    let runs = state::get_text("runs")?.unwrap_or_default();
    state::put("runs", format!("{runs}x"))?;
    panic_at(ctx, 1);
    let seed = durable::random(4);
    panic_at(ctx, 2);
    let began = durable::now();
    panic_at(ctx, 3);
    durable::sleep(Duration::from_secs(5))?;
    panic_at(ctx, 4);
    releases::set_version(ctx.target_version())?;
    panic_at(ctx, 5);
    info!("between {:?} {:?}", seed, began);
    let image = components::images("server")?[0].with_tag(ctx.target_version());
    let first = Job::new(image.clone()).command(["first"]).start()?;
    panic_at(ctx, 6);
    let second = Job::new(image.clone()).command(["second"]).start()?;
    panic_at(ctx, 7);
    let stray = Job::new(image.clone()).command(["stray"]).start()?;
    panic_at(ctx, 8);
    let ended = jobs::wait_any(&[first.clone(), second.clone()])?;
    panic_at(ctx, 9);
    let rest = if ended.id == first { second } else { first };
    jobs::wait_any(&[rest])?;
    panic_at(ctx, 10);
    jobs::cancel(&stray)?;
    panic_at(ctx, 11);
    Job::new(image).command(["migrate"]).env_from("server").run()?;
    panic_at(ctx, 12);
    components::start(["task-worker"])?;
    panic_at(ctx, 13);
    components::wait_ready(["server", "task-worker"], Duration::from_secs(30))?;
    panic_at(ctx, 14);
    if components::status("task-worker")?.ready == 0 {
        return Err(Error::failed("the worker is not ready"));
    }
    info!("after");
    Ok(())
}

#[action(description = "The five calls of an upgrade")]
fn upgrade(ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    releases::set_version(ctx.target_version())?;
    let image = components::images("server")?[0].with_tag(ctx.target_version());
    Job::new(image).command(["migrate"]).env_from("server").run()?;
    components::start(["task-worker"])
}

#[action(description = "Looks only, and leaves the sync to the change")]
fn look(_ctx: &Context) -> Result<()> {
    components::status("server").map(drop)
}

#[action(description = "An error after an effect")]
fn fails(_ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    Err(Error::failed("no luck"))
}

#[action(description = "An error in the first attempt only")]
fn fails_once(ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    if ctx.attempt() == 1 {
        return Err(Error::failed("not yet"));
    }
    components::start(["task-worker"])
}

#[action(description = "A panic after an effect")]
fn panics(_ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    panic!("the roof is on fire")
}

#[action(description = "A call without a grant")]
fn denied(_ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    components::stop(["server"])
}

#[action(description = "Waits for longer than its timeout")]
fn late(_ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    durable::sleep(Duration::from_hours(1))
}

#[action(description = "Logs the same before and after a long wait")]
fn chatty(_ctx: &Context) -> Result<()> {
    for _ in 0..2 {
        for _ in 0..6 {
            info!("{}", "x".repeat(1_000));
        }
        durable::sleep(Duration::from_secs(5))?;
    }
    Ok(())
}

#[action(description = "Changes what can be derived back, and fails")]
fn moves(ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    releases::set_version(ctx.target_version())?;
    components::start(["task-worker"])?;
    durable::sleep(Duration::from_secs(5))?;
    Err(Error::failed("no luck"))
}

#[action(description = "Runs a Job and fails", undo = take_back)]
fn breaks(ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    let image = components::images("server")?[0].with_tag(ctx.target_version());
    Job::new(image).command(["migrate"]).env_from("server").run()?;
    releases::set_version(ctx.target_version())?;
    Err(Error::failed("no luck"))
}

/// Takes back what `breaks` did, with a Job of its own.
fn take_back(ctx: &Context, effects_json: &str) -> Result<()> {
    releases::set_version(ctx.from_version().unwrap_or_default())?;
    if effects_json.contains("\"jobs.run\"") {
        let image = components::images("server")?[0].clone();
        Job::new(image).command(["restore"]).env_from("server").run()?;
    }
    components::start(["task-worker"])
}

actions!(everything, upgrade, look, fails, fails_once, panics, denied, late, chatty, moves, breaks);
