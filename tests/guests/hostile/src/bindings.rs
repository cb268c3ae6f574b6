//! The bindings of `pintle:hooks`, generated from the WIT, and the exports of this guest.
#![expect(unsafe_code, clippy::mem_forget, clippy::pedantic, reason = "generated code")]

use crate::Hostile;

wit_bindgen::generate!({ path: "../../../wit", world: "action-module" });

export!(Hostile with_types_in self);
