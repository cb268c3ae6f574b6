//! The pure room from outside: documents and their problems, plans, what a change does next, and how it is shown.

mod decide;
mod decide_hooks;
mod decide_upgrade;
mod driver;
mod edit;
mod example;
mod hook_plans;
mod hooks;
mod hostile;
mod manifest;
mod plan_view;
mod planning;
mod random;
mod release;
mod schema;
mod shop;
mod status;
mod steps;
mod story;
mod templates;
mod undo;
mod validator;
mod view;
