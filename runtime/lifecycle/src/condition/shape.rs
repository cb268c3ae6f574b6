//! How the library writes `all`, `exists`, `exists_one`, `map` and `filter`: as loops, in which this finds again what a person wrote.

use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, Expr, operators};

/// What a macro is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Macro {
    /// `all`, `exists`, `exists_one`: true or false.
    Question,
    /// `map`, `filter`: a list.
    List,
}

/// The parts of a loop that a person wrote, beside the list that it goes over.
pub(super) struct Parts<'e> {
    pub is: Macro,
    /// What is true or false of each item.
    pub guard: Option<&'e mut IdedExpr>,
    /// What is made of each item.
    pub item: Option<&'e mut IdedExpr>,
}

/// The parts; none for a loop of another form.
pub(super) fn parts(comprehension: &mut ComprehensionExpr) -> Option<Parts<'_>> {
    let result = comprehension.accu_var.clone();
    if comprehension.iter_var2.is_some() {
        return None;
    }
    let is_result = |expression: &IdedExpr| matches!(&expression.expr, Expr::Ident(name) if *name == result);
    let Expr::Call(step) = &mut comprehension.loop_step.expr else { return None };
    match step.func_name.as_str() {
        operators::LOGICAL_AND | operators::LOGICAL_OR => match step.args.as_mut_slice() {
            [first, guard] if is_result(first) => Some(Parts { is: Macro::Question, guard: Some(guard), item: None }),
            _ => None,
        },
        operators::ADD => match step.args.as_mut_slice() {
            [first, added] if is_result(first) => {
                Some(Parts { is: Macro::List, guard: None, item: Some(only_item(added)?) })
            }
            _ => None,
        },
        operators::CONDITIONAL => {
            let [guard, then, otherwise] = step.args.as_mut_slice() else { return None };
            let Expr::Call(then) = &mut then.expr else { return None };
            let [first, added] = then.args.as_mut_slice() else { return None };
            if then.func_name != operators::ADD || !is_result(first) || !is_result(otherwise) {
                return None;
            }
            if matches!(added.expr, Expr::Literal(_)) {
                return Some(Parts { is: Macro::Question, guard: Some(guard), item: None });
            }
            Some(Parts { is: Macro::List, guard: Some(guard), item: Some(only_item(added)?) })
        }
        _ => None,
    }
}

fn only_item(list: &mut IdedExpr) -> Option<&mut IdedExpr> {
    let Expr::List(list) = &mut list.expr else { return None };
    match list.elements.as_mut_slice() {
        [item] => Some(item),
        _ => None,
    }
}
