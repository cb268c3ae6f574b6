//! A model of a release beside the real thing: random requests, faults, deaths and verbs, and after each everything that can be seen is
//! compared. `PINTLE_SEED=N` tries the same again, `PINTLE_ROUNDS=1000` more; what fails is shrunk.

mod compare;
mod course;
mod left;
mod machine;
mod making;
mod ops;
mod reference;

use std::hash::{BuildHasher, RandomState};

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::record::Verb;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::on_virtual_time;
use compare::{compare, look, same};
use left::Left;
use machine::{Drove, Machine};
use ops::{Case, Op, Trouble};
use reference::{Reference, Taken, Turn};

/// Cases where nobody asks for more.
const ROUNDS: u64 = 100;

#[test]
fn a_release_is_as_its_model_says() {
    let given = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let seed = given("PINTLE_SEED").unwrap_or_else(|| RandomState::new().hash_one("model") >> 16);
    println!("a_release_is_as_its_model_says: PINTLE_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rounds = given("PINTLE_ROUNDS").unwrap_or(ROUNDS);
    let config = Config {
        cases: u32::try_from(rounds).unwrap_or(u32::MAX),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&ops::cases(1..=30), |case| on_virtual_time(run(&case)).map_err(TestCaseError::fail));
    match result {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => {
            let ops: Vec<String> = case.ops.iter().map(|op| format!("{op:?}")).collect();
            panic!("PINTLE_SEED={seed}: {why}\nwaiting {:?}\n{}", case.waiting, ops.join("\n"))
        }
        Err(TestError::Abort(why)) => panic!("PINTLE_SEED={seed}: {why}"),
    }
}

async fn run(case: &Case) -> Result<(), String> {
    let mut pair = Pair { machine: Machine::new(case.waiting), reference: Reference::default() };
    for (place, op) in case.ops.iter().enumerate() {
        let told = |why: String| format!("operation {place}: {why}");
        pair.op(op).await.map_err(told)?;
        pair.compare().await.map_err(told)?;
        while pair.turn().await.map_err(told)? {
            pair.compare().await.map_err(told)?;
        }
    }
    Ok(())
}

/// The real thing and its model.
struct Pair {
    machine: Machine,
    reference: Reference,
}

impl Pair {
    async fn compare(&self) -> Result<(), String> {
        compare(&self.machine, &self.reference).await
    }

    async fn op(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Ask(ask) => match self.reference.ask(ask) {
                Taken::Refused => Ok(()),
                Taken::Queued(number) => {
                    let change = self.reference.change(number).clone();
                    self.machine.queue(&change, ask.skip, self.reference.uid + 1, ask.dies_between).await
                }
                Taken::Opened(number) => self.begin(number, ask.skip, &ask.trouble).await,
            },
            Op::Verb(verb, trouble) => self.verb(*verb, trouble).await,
            Op::GoOn(trouble) => {
                let Some(open) = self.reference.open else { return Ok(()) };
                if self.reference.change(open).state != ChangeState::Running {
                    return Ok(());
                }
                // How far it is, and so what the fault meets, the model does not know.
                let is_faulty = matches!(trouble, Trouble::ApplyFails | Trouble::Fails { .. });
                self.reference.change_mut(open).loose |= is_faulty;
                self.drive(open, trouble).await?;
                // What is repeated after a death may have had its effect before, and fail now.
                self.reference.left.is_unsure |= is_faulty;
                Ok(())
            }
            Op::CancelWaiting => {
                let Some((number, _)) = self.reference.waiting.pop() else { return Ok(()) };
                for (earlier, _) in std::mem::take(&mut self.reference.waiting) {
                    self.reference.change_mut(earlier).state = ChangeState::Superseded;
                }
                self.machine.supersede(number).await?;
                self.machine.ask(number, Verb::Cancel).await?;
                self.machine.drive(number, &Trouble::None).await?;
                self.reference.change_mut(number).state = ChangeState::Cancelled;
                Ok(())
            }
        }
    }

    async fn verb(&mut self, verb: Verb, trouble: &Trouble) -> Result<(), String> {
        let Some(number) = self.reference.verb(verb) else { return Ok(()) };
        let was_amid = self.reference.change(number).state == ChangeState::Running;
        self.machine.script(&self.reference.change(number).clone());
        self.machine.ask(number, verb).await?;
        if verb != Verb::Cancel {
            self.reference.change_mut(number).state = ChangeState::Running;
            self.drive(number, trouble).await?;
            // A removal that is left out leaves what it should have removed.
            let is_unsure = was_amid || verb == Verb::Skip;
            self.reference.left.is_unsure |= is_unsure && self.reference.change(number).loose;
            return Ok(());
        }
        let drove = self.machine.drive(number, &Trouble::None).await?;
        same("the end after a cancel", &drove, &Drove::Ended(ChangeState::Cancelled))?;
        if self.reference.change(number).loose {
            self.reference.left = Left { is_unsure: true, ..look(&self.machine).await? };
        }
        let change = self.reference.change_mut(number);
        (change.began, change.began_beside) = (Vec::new(), Vec::new());
        self.reference.ended(number, ChangeState::Cancelled);
        Ok(())
    }

    /// The turn of what waits; whether there was one.
    async fn turn(&mut self) -> Result<bool, String> {
        if self.reference.open.is_some() {
            return Ok(false);
        }
        let Some((number, ask, turn)) = self.reference.turn() else { return Ok(false) };
        self.machine.supersede(number).await?;
        match turn {
            Turn::Opened => self.begin(number, ask.skip, &ask.trouble).await?,
            Turn::Closed(state) => self.machine.close(number, state).await?,
        }
        Ok(true)
    }

    async fn begin(
        &mut self,
        number: u64,
        skip: Option<pintle_lifecycle::hook::HookPhase>,
        trouble: &Trouble,
    ) -> Result<(), String> {
        let change = self.reference.change(number).clone();
        self.machine.open(&change, skip, self.reference.uid).await?;
        self.machine.script(&change);
        self.drive(number, trouble).await
    }

    async fn drive(&mut self, number: u64, trouble: &Trouble) -> Result<(), String> {
        let Drove::Ended(state) = self.machine.drive(number, trouble).await? else { return Ok(()) };
        self.reference.run(trouble);
        if self.reference.change(number).loose {
            let before = self.reference.left.is_unsure;
            let left = look(&self.machine).await?;
            self.reference.left = Left { is_unsure: before && left.applied_by != Some(number), ..left };
            self.reference.ended(number, state);
        }
        Ok(())
    }
}
