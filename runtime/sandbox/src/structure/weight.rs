//! How long the compiler takes for a module, estimated from its instructions before it begins: it has no deadline of its own, and
//! takes minutes for ten kilobytes that are made for it.
//!
//! The unit is a microsecond of a build with little optimization. The terms and their factors were measured one by one, each with
//! functions that have much of one thing; the squares are what the compiler's time grows with there.

use wasmparser::{BlockType, FuncType, FunctionBody, Operator, Payload, Result, TryTable, TypeRef};

use super::Fault;
use crate::admission::AdmissionError;

/// One function. The interpreters of Python and JavaScript have functions of 600,000 and 1,600,000.
const FUNCTION: usize = 5_000_000;
/// All functions together. Python has 30 million, JavaScript 45 million.
const ALL: usize = 100_000_000;
/// Functions. Python and JavaScript have 13,000.
const FUNCTIONS: usize = 100_000;
/// Function types, each with its parameters and results. Python has 6,000.
const TYPES: usize = 200_000;

/// A function with nothing in it.
const BASE: usize = 250;
/// An instruction by the first byte of its code: locals and whole numbers, memory, and everything else: divisions, floating point
/// numbers, vectors, and what becomes a call.
const CHEAP: usize = 2;
const MEMORY: usize = 5;
const DEAR: usize = 50;
const CALL: usize = 20;
const CALL_INDIRECT: usize = 140;
/// A value that a call or a jump takes along.
const MOVED: usize = 12;
const BLOCK: usize = 30;
/// A call from one component inside the module to another, with arguments of the largest types that there are.
const JOINT: usize = 700_000;

/// Weighs the functions of the modules of a component.
#[derive(Default)]
pub(super) struct Scale {
    open: Vec<Module>,
    types: usize,
    functions: usize,
    weight: usize,
}

/// What is known of a module (or of a component, which has none of it) before its code comes.
#[derive(Default)]
struct Module {
    types: Vec<Arity>,
    /// Types of its functions, imported ones first.
    functions: Vec<u32>,
    /// The function whose code is next.
    next: usize,
}

#[derive(Default, Clone, Copy)]
struct Arity {
    params: usize,
    results: usize,
}

impl Arity {
    fn sum(self) -> usize {
        self.params + self.results
    }
}

impl Scale {
    pub(super) fn payload(&mut self, payload: &Payload<'_>) -> std::result::Result<(), Fault> {
        match payload {
            Payload::Version { .. } => self.open.push(Module::default()),
            Payload::End(_) => drop(self.open.pop()),
            Payload::TypeSection(section) => {
                for ty in section.clone().into_iter_err_on_gc_types() {
                    self.add_type(&ty?)?;
                }
            }
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    if let (TypeRef::Func(ty) | TypeRef::FuncExact(ty), Some(module)) =
                        (import?.ty, self.open.last_mut())
                    {
                        module.functions.push(ty);
                        module.next += 1;
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section.clone() {
                    let ty = ty?;
                    if let Some(module) = self.open.last_mut() {
                        module.functions.push(ty);
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.add_function(body)?,
            _ => {}
        }
        Ok(())
    }

    fn add_type(&mut self, ty: &FuncType) -> std::result::Result<(), Fault> {
        let arity = Arity { params: ty.params().len(), results: ty.results().len() };
        self.types += 1 + arity.sum();
        if self.types > TYPES {
            let what = "types of functions, their parameters and results";
            return Err(AdmissionError::TooMany { what, count: self.types, limit: TYPES }.into());
        }
        if let Some(module) = self.open.last_mut() {
            module.types.push(arity);
        }
        Ok(())
    }

    fn add_function(&mut self, body: &FunctionBody<'_>) -> std::result::Result<(), Fault> {
        let Some(module) = self.open.last_mut() else { return Ok(()) };
        self.functions += 1;
        if self.functions > FUNCTIONS {
            let (what, count) = ("functions", self.functions);
            return Err(AdmissionError::TooMany { what, count, limit: FUNCTIONS }.into());
        }
        let number = module.next;
        module.next += 1;
        let mut function = Function::new(module, module.function(number));
        function.read(body)?;
        let weight = function.sum();
        self.weight = self.weight.saturating_add(weight);
        let (what, weight, limit) = if weight > FUNCTION {
            (format!("its function {number}, of {} bytes,", body.range().len()), weight, FUNCTION)
        } else if self.weight > ALL {
            ("all its functions together".to_owned(), self.weight, ALL)
        } else {
            return Ok(());
        };
        Err(AdmissionError::TooHeavy { what, times: weight.div_ceil(limit) }.into())
    }

    /// The weight of everything that was read, where so many functions of components are called by others.
    pub(super) fn sum(&self, joints: usize) -> std::result::Result<usize, AdmissionError> {
        let weight = self.weight.saturating_add(joints.saturating_mul(JOINT));
        if weight > ALL {
            let what = format!("its functions, {joints} of them called by one component inside it from another,");
            return Err(AdmissionError::TooHeavy { what, times: weight.div_ceil(ALL) });
        }
        Ok(weight)
    }
}

impl Module {
    fn arity(&self, ty: u32) -> Arity {
        self.types.get(ty as usize).copied().unwrap_or_default()
    }

    fn function(&self, number: usize) -> Arity {
        self.functions.get(number).map(|ty| self.arity(*ty)).unwrap_or_default()
    }

    fn block(&self, ty: BlockType) -> Arity {
        match ty {
            BlockType::Empty => Arity::default(),
            BlockType::Type(_) => Arity { params: 0, results: 1 },
            BlockType::FuncType(ty) => self.arity(ty),
        }
    }
}

/// What counts in one function.
struct Function<'a> {
    module: &'a Module,
    /// Blocks around the next instruction: how many values a jump there takes along, and whether it is a loop.
    labels: Vec<(usize, bool)>,
    /// Parameters and local variables.
    variables: usize,
    loops_around: usize,
    linear: usize,
    moved: usize,
    blocks: usize,
    loops: usize,
    /// Parameters of blocks, and of loops.
    block_params: usize,
    loop_params: usize,
    /// Blocks that jumps and blocks are inside of.
    depths: usize,
    targets: usize,
    /// Variables at places where control flow meets; at a loop once for each loop around it.
    merged: usize,
}

impl<'a> Function<'a> {
    fn new(module: &'a Module, arity: Arity) -> Self {
        Self {
            module,
            labels: vec![(arity.results, false)],
            variables: arity.params,
            loops_around: 0,
            linear: BASE,
            moved: arity.sum(),
            blocks: 0,
            loops: 0,
            block_params: 0,
            loop_params: 0,
            depths: 0,
            targets: 0,
            merged: 0,
        }
    }

    fn read(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        for locals in body.get_locals_reader()? {
            self.variables = self.variables.saturating_add(locals?.0 as usize);
        }
        let (bytes, begin) = (body.as_bytes(), body.range().start);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let code = bytes.get(operators.original_position() - begin).copied().unwrap_or_default();
            self.operator(code, &operators.read()?)?;
        }
        Ok(())
    }

    fn operator(&mut self, code: u8, operator: &Operator<'_>) -> Result<()> {
        match operator {
            Operator::Block { blockty }
            | Operator::If { blockty }
            | Operator::TryTable { try_table: TryTable { ty: blockty, .. } } => self.enter(*blockty, false),
            Operator::Loop { blockty } => self.enter(*blockty, true),
            Operator::Else => self.jump(0),
            Operator::End => {
                if let Some((_, true)) = self.labels.pop() {
                    self.loops_around -= 1;
                }
            }
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } => self.jump(*relative_depth),
            Operator::Return => self.jump(u32::MAX),
            Operator::BrTable { targets } => {
                for target in targets.targets() {
                    self.targets += 1;
                    self.jump(target?);
                }
                self.jump(targets.default());
            }
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                self.call(CALL, self.module.function(*function_index as usize));
            }
            Operator::CallIndirect { type_index, .. } | Operator::ReturnCallIndirect { type_index, .. } => {
                self.call(CALL_INDIRECT, self.module.arity(*type_index));
            }
            _ => {
                self.linear += match code {
                    // `unreachable` to `local.tee`, constants, comparisons and arithmetic of whole numbers, without divisions and
                    // rotations, which want certain registers.
                    0x00..=0x22
                    | 0x41..=0x5a
                    | 0x67..=0x6c
                    | 0x71..=0x76
                    | 0x79..=0x7e
                    | 0x83..=0x88
                    | 0xa7
                    | 0xac
                    | 0xad
                    | 0xbc..=0xc4 => CHEAP,
                    // `global.get`, `table.get`, loads and stores.
                    0x23..=0x3f => MEMORY,
                    _ => DEAR,
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, ty: BlockType, is_loop: bool) {
        let arity = self.module.block(ty);
        self.labels.push((if is_loop { arity.params } else { arity.results }, is_loop));
        self.blocks += 1;
        self.block_params += arity.params;
        self.depths += self.labels.len();
        self.moved += arity.sum();
        self.merge(1 + self.loops_around);
        if is_loop {
            self.loops += 1;
            self.loop_params += arity.params;
            self.loops_around += 1;
        }
    }

    fn jump(&mut self, outwards: u32) {
        let label = self.labels.len().checked_sub(1).and_then(|last| last.checked_sub(outwards as usize));
        // A return goes to the outermost.
        let (values, is_loop) = self.labels.get(label.unwrap_or(0)).copied().unwrap_or_default();
        self.linear += CHEAP;
        self.moved += values;
        self.depths += self.labels.len();
        self.merge(if is_loop { self.loops_around } else { 1 });
    }

    fn merge(&mut self, times: usize) {
        self.merged = self.merged.saturating_add(self.variables.saturating_mul(times));
    }

    fn call(&mut self, weight: usize, arity: Arity) {
        self.linear += weight;
        self.moved += arity.sum();
    }

    fn sum(&self) -> usize {
        let square = |count: usize| count.saturating_mul(count);
        let terms = [
            self.linear,
            self.moved.saturating_mul(MOVED),
            self.blocks.saturating_mul(BLOCK),
            self.merged,
            square(self.loops) / 2,
            self.loops.saturating_mul(self.loop_params),
            self.blocks.saturating_mul(self.block_params) / 4,
            square(self.blocks) / 64,
            square(self.targets) / 65_536,
            self.depths / 128,
        ];
        terms.into_iter().fold(0, usize::saturating_add)
    }
}
