//! Small modules: one that comes in, and some that fail in the places where modules fail.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const WIT: &str = include_str!("../../../../wit/actions.wit");

/// Modules under what is special about them.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let good = by_hand(WIT, "", "");
    let mut seeds: Vec<(&str, Vec<u8>)> = vec![
        ("good", good.clone()),
        ("half", good[..good.len() / 2].to_vec()),
        ("loops", by_hand(WIT, "", "(loop (br 0))")),
        ("table", by_hand(WIT, "(table $t 1 funcref)", "(drop (table.grow $t (ref.null func) (i32.const 9)))")),
        ("newer", by_hand(&WIT.replace("hooks@0.1.0", "hooks@0.9.0"), "", "")),
        ("core", b"\0asm\x01\0\0\0".to_vec()),
        ("empty", b"\0asm\x0d\0\x01\0".to_vec()),
        ("no-wasm", b"\x7fELF".to_vec()),
    ];
    let texts = [
        ("text-empty", "(component)"),
        ("text-async", "(component (core func $cancel (canon task.cancel)))"),
        ("text-type", r#"(component (type $t (list u8)) (import "f" (func (param "x" $t) (result string))))"#),
        ("text-resource", r"(component (type $r (resource (rep i32))) (core func (canon resource.new $r)))"),
        (
            "text-instance",
            r#"(component (import "wasi:http/a@0.2.3" (instance (export "f" (func)))) (core module $m (func (export "g") (local i32 i64) (loop (br 0)))) (core instance $i (instantiate $m)) (func $f (canon lift (core func $i "g"))) (instance $e (export "describe" (func $f))) (export "pintle:hooks/actions@0.1.0" (instance $e)))"#,
        ),
    ];
    seeds.extend(texts.map(|(name, text)| (name, text.as_bytes().to_vec())));
    seeds.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
}

/// An action module with one action, `act`, after more fields of the module; `describe` does more before it returns.
fn by_hand(wit: &str, fields: &str, describe: &str) -> Vec<u8> {
    let hooks = if wit.contains("hooks@0.9.0") { "pintle:hooks/actions@0.9.0" } else { "pintle:hooks/actions@0.1.0" };
    let text = format!(
        r#"(module
          {fields}
          (memory (export "memory") 1)
          (data (i32.const 16) "\20\00\00\00\01\00\00\00")
          (data (i32.const 32) "\64\00\00\00\03\00\00\00\64\00\00\00\00\00\00\00\00\00\00\00")
          (data (i32.const 100) "act")
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "{hooks}#describe") (result i32) {describe} (i32.const 16))
          (func (export "{hooks}#run") (param i32 i32) (result i32) (i32.const 512))
          (func (export "{hooks}#undo") (param i32 i32 i32 i32) (result i32) (i32.const 512)))"#
    );
    let mut resolve = Resolve::default();
    let package = resolve.push_str("actions.wit", wit).expect("it is WIT");
    let world = resolve.select_world(&[package], Some("action-module")).expect("it has this world");
    let mut module = wat::parse_str(text).expect("it is WebAssembly");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("it is a module");
    let encoder = ComponentEncoder::default().module(&module).expect("it fits the world");
    encoder.validate(true).encode().expect("it fits the world")
}
