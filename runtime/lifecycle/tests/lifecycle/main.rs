//! The pure room from outside: documents and their problems, plans, what a change does next, and how it is shown.

mod decide;
mod driver;
mod edit;
mod example;
mod hooks;
mod hostile;
mod manifest;
mod planning;
mod random;
mod release;
mod schema;
mod shop;
mod steps;
mod story;
mod validator;
mod view;
