//! The bindings of `pintle:hooks`, generated from the WIT. Hidden: what authors use wraps them, so that the WIT may grow.
#![expect(clippy::same_length_and_capacity, clippy::mem_forget, reason = "generated code")]

wit_bindgen::generate!({
    path: "wit",
    world: "action-module",
    pub_export_macro: true,
    default_bindings_module: "pintle_sdk::bindings",
    additional_derives: [PartialEq, Eq],
});
