//! The rewriting of a checked expression into one that pays for what it does: `a + b` becomes `@pay(a) + @pay(b)`, and the body of a
//! macro `@step(steps, item) ? body : false`. The `@` keeps the names out of reach of what people write.

use std::mem;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use super::budget::of_text;
use super::shape;

/// The function that pays for a value and gives it back.
pub(super) const PAY: &str = "@pay";
/// The function that pays for a turn of a macro.
pub(super) const TURN: &str = "@step";

/// The function that gives what a macro goes over, in an order that is the same everywhere.
pub(super) const ITEMS: &str = "@items";

/// Steps of one turn beside its body: the loop itself, and the names that it binds.
const LOOP: u64 = 5;

/// Rewrites; gives the steps of one evaluation without those of the turns of macros, which pay for themselves.
pub(super) fn meter(expression: &mut IdedExpr) -> u64 {
    match &mut expression.expr {
        Expr::Literal(literal) => 1 + of_literal(literal),
        Expr::Ident(name) => 1 + of_text(name.len()),
        Expr::Select(select) => 1 + of_text(select.field.len()) + meter(&mut select.operand),
        Expr::Call(call) => 1 + of_text(call.func_name.len()) + of_call(call),
        Expr::List(list) => 1 + list.elements.iter_mut().map(metered_and_paid).sum::<u64>(),
        Expr::Map(map) => {
            let entries = map.entries.iter_mut().map(|entry| match &mut entry.expr {
                EntryExpr::MapEntry(entry) => metered_and_paid(&mut entry.key) + metered_and_paid(&mut entry.value),
                EntryExpr::StructField(field) => metered_and_paid(&mut field.value),
            });
            1 + entries.sum::<u64>()
        }
        Expr::Comprehension(comprehension) => of_macro(comprehension),
        // Refused by the check.
        Expr::Struct(_) | Expr::Unspecified => 1,
    }
}

fn of_literal(literal: &LiteralValue) -> u64 {
    match literal {
        LiteralValue::String(text) => of_text(text.inner().len()),
        LiteralValue::Bytes(bytes) => of_text(bytes.inner().len()),
        _ => 0,
    }
}

fn of_call(call: &mut CallExpr) -> u64 {
    let passes_on = matches!(
        call.func_name.as_str(),
        operators::CONDITIONAL
            | operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::NOT_STRICTLY_FALSE
    );
    if passes_on {
        return call.args.iter_mut().map(meter).sum();
    }
    if call.func_name == operators::INDEX {
        // What is indexed is borrowed; an index that is none is copied into the error.
        let [of, index] = call.args.as_mut_slice() else { return 0 };
        return meter(of) + metered_and_paid(index);
    }
    call.target
        .iter_mut()
        .map(|target| metered_and_paid(target))
        .chain(call.args.iter_mut().map(metered_and_paid))
        .sum()
}

/// A literal has paid where it stands.
fn metered_and_paid(expression: &mut IdedExpr) -> u64 {
    let steps = meter(expression);
    if !matches!(expression.expr, Expr::Literal(_)) {
        let paid = mem::take(expression);
        *expression = call(paid.id, PAY, vec![paid]);
    }
    steps
}

fn of_macro(comprehension: &mut ComprehensionExpr) -> u64 {
    let range = &mut comprehension.iter_range;
    let steps = 1 + meter(range);
    *range = call(range.id, ITEMS, vec![mem::take(range)]);
    let item = comprehension.iter_var.clone();
    let Some(parts) = shape::parts(comprehension) else { return steps };
    let mut turn = LOOP + of_text(item.len());
    let otherwise = LiteralValue::Boolean(false.into());
    match (parts.guard, parts.item) {
        (Some(guard), made) => {
            turn += meter(guard) + made.map_or(0, metered_and_paid);
            wrap(guard, turn, item, otherwise);
        }
        (None, Some(made)) => {
            turn += metered_and_paid(made);
            wrap(made, turn, item, otherwise);
        }
        (None, None) => {}
    }
    steps
}

/// `body` becomes `@step(steps, item) ? body : otherwise`.
fn wrap(body: &mut IdedExpr, steps: u64, item: String, otherwise: LiteralValue) {
    let id = body.id;
    let of = |expr| IdedExpr { id, expr };
    let steps = of(Expr::Literal(LiteralValue::Int(i64::try_from(steps).unwrap_or(i64::MAX).into())));
    let turn = call(id, TURN, vec![steps, of(Expr::Ident(item))]);
    let otherwise = of(Expr::Literal(otherwise));
    *body = call(id, operators::CONDITIONAL, vec![turn, mem::take(body), otherwise]);
}

fn call(id: u64, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}
