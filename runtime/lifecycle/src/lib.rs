//! The pure core of Pintle: what people write (documents), what a change will do (plan), what has happened (history) and what
//! happens next (decide).
//!
//! documents → plan → history → decide
//!
//! Nothing here reads a clock, a file or the network, so every arrow is a value that a test can print and compare.

pub mod call;
pub mod condition;
pub mod decide;
pub mod difference;
pub mod digest;
pub mod document;
mod drawing;
pub mod ending;
pub mod grant;
pub mod history;
pub mod hook;
pub mod ids;
pub mod json;
pub mod plan;
pub mod plan_view;
pub mod planning;
pub mod record;
pub mod retention;
pub mod stamp;
pub mod status;
pub mod template;
pub mod tree;
pub mod undo;
pub mod view;
