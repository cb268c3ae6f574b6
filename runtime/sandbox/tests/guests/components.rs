//! Components that no toolchain builds: from any WIT with bodies that trap, or from text by hand.

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, PackageId, Resolve, WorldId};

const ACTIONS_WIT: &str = include_str!("../../../../wit/actions.wit");

/// The WIT of this build with something replaced.
pub fn actions_wit(from: &str, to: &str) -> String {
    assert!(ACTIONS_WIT.contains(from), "{from:?} is not in wit/actions.wit");
    ACTIONS_WIT.replace(from, to)
}

/// A component of a world, whose functions trap.
pub fn of_wit(wit: &str, world: &str) -> Vec<u8> {
    let (resolve, world) = parse(wit, world);
    let module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
    encode(&resolve, world, module)
}

/// An action module with one action, `act`. The pieces are WebAssembly text: more fields of the module, what `describe` and
/// `run` do before they return well. Its memory is a page, unless the fields have one.
pub fn by_hand(fields: &str, describe: &str, run: &str) -> Vec<u8> {
    by_hand_with("", fields, describe, run)
}

/// The same, and what its allocator does before it gives out memory: it is asked for the name of the action to run.
pub fn by_hand_with(allocate: &str, fields: &str, describe: &str, run: &str) -> Vec<u8> {
    let memory = if fields.contains("(memory") { "" } else { r#"(memory (export "memory") 1)"# };
    let text = format!(
        r#"(module
          (import "pintle:hooks/durable@0.1.0" "now" (func $now (result i64)))
          {memory}
          {fields}
          ;; a list of one record: name, description, has-undo
          (data (i32.const 16) "\20\00\00\00\01\00\00\00")
          (data (i32.const 32) "\64\00\00\00\03\00\00\00\64\00\00\00\00\00\00\00\00\00\00\00")
          (data (i32.const 100) "act")
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {allocate} (i32.const 1024))
          (func (export "pintle:hooks/actions@0.1.0#describe") (result i32) {describe} (i32.const 16))
          (func (export "pintle:hooks/actions@0.1.0#run") (param i32 i32) (result i32) {run} (i32.const 512))
          (func (export "pintle:hooks/actions@0.1.0#undo") (param i32 i32 i32 i32) (result i32) (i32.const 512)))"#
    );
    let (resolve, world) = parse(ACTIONS_WIT, "action-module");
    encode(&resolve, world, wat::parse_str(text).unwrap())
}

fn parse(wit: &str, world: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let package: PackageId = resolve.push_str("test.wit", wit).unwrap_or_else(|error| panic!("{error:#}"));
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    (resolve, world)
}

fn encode(resolve: &Resolve, world: WorldId, mut module: Vec<u8>) -> Vec<u8> {
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

/// An action module that has `inner`, the text of a component, inside it and makes one instance of it.
pub fn with_inside(inner: &str) -> Vec<u8> {
    let inner = wat::parse_str(inner).unwrap_or_else(|error| panic!("{error}"));
    let mut module = by_hand("", "", "");
    section(&mut module, 4, &inner);
    // What wit-component made has one component inside it, so this is the second: `(instance (instantiate 1))`.
    section(&mut module, 5, &[1, 0, 1, 0]);
    module
}

/// A component that begins with a section of this content.
pub fn with_section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    section(&mut component, id, content);
    component
}

fn section(component: &mut Vec<u8>, id: u8, content: &[u8]) {
    component.push(id);
    let mut size = content.len();
    while size > 0x7f {
        component.push(u8::try_from(size & 0x7f).unwrap() | 0x80);
        size >>= 7;
    }
    component.push(u8::try_from(size).unwrap());
    component.extend(content);
}
