//! The pure room from outside: documents and their problems, plans, what a change does next, and how it is shown.

mod driver;
mod edit;
mod hostile;
mod manifest;
mod planning;
mod release;
