//! What one evaluation may do. The rewritten expression pays here before each thing that costs; who cannot pay ends at once, past
//! every `||` that would absorb an error, by an unwinding that `room` catches.

use std::cell::Cell;
use std::panic::resume_unwind;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelBytes, CelInt, CelList, CelMap, CelString};
use cel::common::value::{CowVal, Val};

/// Steps of one evaluation: a part of the expression that is evaluated, a value that is copied or compared, or
/// [`TEXT_PER_STEP`] bytes of text is one step.
pub const STEPS: u64 = 1_000_000;

/// Bytes of text that cost one step more.
pub const TEXT_PER_STEP: usize = 32;

thread_local! {
    // An evaluation has a thread of its own.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// What unwinds when the steps are spent.
pub(super) struct Spent;

/// Gives the thread its steps.
pub(super) fn fill() {
    LEFT.set(STEPS);
}

/// Pays, or ends the evaluation.
pub(super) fn pay(steps: u64) {
    match LEFT.get().checked_sub(steps) {
        Some(left) => LEFT.set(left),
        None => resume_unwind(Box::new(Spent)),
    }
}

/// Steps of a text of so many bytes.
pub(super) fn of_text(bytes: usize) -> u64 {
    (bytes / TEXT_PER_STEP) as u64
}

/// Pays for everything in a value: it is about to be copied, compared or read through.
pub(super) fn pay_for(value: &dyn Val) {
    pay(1);
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        pay(of_text(text.inner().len()));
    } else if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        pay(of_text(bytes.inner().len()));
    } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        list.inner().iter().for_each(|item| pay_for(item.as_ref()));
    } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        for (key, value) in map.inner() {
            pay_for(key.inner());
            pay_for(value.as_ref());
        }
    }
}

/// `@pay(value)`: the value, paid for.
pub(super) fn paid<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = arguments.pop().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    pay_for(value.as_ref());
    Ok(value)
}

/// `@step(steps, item)`: true, once one turn of a macro and the copy of its item are paid for.
#[expect(clippy::needless_pass_by_value, reason = "the library's type of a function")]
pub(super) fn turn<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [steps, item] = arguments.as_slice() else { return Err(ExecutionError::MissingArgumentOrTarget) };
    let steps = steps.downcast_ref::<CelInt>().map_or(0, |steps| *steps.inner());
    pay(u64::try_from(steps).unwrap_or_default());
    pay_for(item.as_ref());
    Ok(CowVal::owned(CelBool::from(true)))
}
