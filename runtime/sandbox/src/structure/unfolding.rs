//! What a component comes to when every instance of a component inside it is written out, as the compiler does: thirty components
//! that each make two instances of the one before would be a thousand million.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Encoding,
    Payload,
};

use super::Fault;
use crate::admission::AdmissionError;

/// A component of Python has some 5,000 definitions.
const DEFINITIONS: usize = 50_000;
/// Components of all languages nest 1 deep; each composition adds 1 or 2.
const DEPTH: usize = 16;

/// Counts what is in the components that are being read, the outermost first.
#[derive(Default)]
pub(super) struct Unfolding {
    open: Vec<Component>,
    /// Of the component that was read last: in the end, of the whole.
    joints: usize,
}

/// A component, or a core module, of which nothing is counted here.
#[derive(Default)]
struct Component {
    is_module: bool,
    size: Size,
    // What it has by index: components that it can make instances of; for instances and functions, whether they may come from a
    // component inside the module and not from Pintle.
    components: Vec<Size>,
    instances: Vec<bool>,
    functions: Vec<bool>,
}

/// What a component comes to.
#[derive(Default, Clone, Copy)]
struct Size {
    definitions: usize,
    /// Functions of a component inside the module that another one calls.
    joints: usize,
}

impl Unfolding {
    pub(super) fn payload(&mut self, payload: &Payload<'_>) -> Result<(), Fault> {
        let nested = self.open.len() > 1;
        match payload {
            Payload::Version { encoding, .. } => self.begin(*encoding)?,
            Payload::End(_) => self.end(),
            _ => {}
        }
        let Some(last) = self.open.len().checked_sub(1) else { return Ok(()) };
        match payload {
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let size = match instance? {
                        ComponentInstance::Instantiate { component_index, .. } => self.component(0, component_index),
                        ComponentInstance::FromExports(_) => Size::default(),
                    };
                    self.open[last].instances.push(true);
                    self.open[last].size.add(size);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias?)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    self.open[last].define(import?.ty.kind(), nested)?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    let inside = self.open[last].is_inside(export.kind, export.index);
                    self.open[last].define(export.kind, inside)?;
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    self.open[last].canonical(&function?);
                }
            }
            Payload::InstanceSection(section) => self.add(section.count() as usize),
            Payload::CoreTypeSection(section) => self.add(section.count() as usize),
            _ => {}
        }
        let count = self.open[last].size.definitions;
        if count > DEFINITIONS {
            let what = "definitions, those of each instance of a component inside it counted";
            return Err(AdmissionError::TooMany { what, count, limit: DEFINITIONS }.into());
        }
        Ok(())
    }

    /// Functions of components inside the module that others in it call: each is code of its own.
    pub(super) fn joints(&self) -> usize {
        self.joints
    }

    /// Counts definitions of the component that is being read.
    pub(super) fn add(&mut self, definitions: usize) {
        if let Some(component) = self.open.last_mut() {
            component.size.add(Size { definitions, joints: 0 });
        }
    }

    fn begin(&mut self, encoding: Encoding) -> Result<(), Fault> {
        self.open.push(Component { is_module: encoding == Encoding::Module, ..Component::default() });
        let count = self.open.len();
        if count > DEPTH {
            let what = "levels of components inside components";
            return Err(AdmissionError::TooMany { what, count, limit: DEPTH }.into());
        }
        Ok(())
    }

    fn end(&mut self) {
        let Some(ended) = self.open.pop() else { return };
        self.joints = ended.size.joints;
        if let Some(outer) = self.open.last_mut()
            && !ended.is_module
        {
            outer.components.push(ended.size);
        }
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<(), Fault> {
        let outer = match alias {
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                Some(self.component(*count as usize, *index))
            }
            _ => None,
        };
        let Some(component) = self.open.last_mut() else { return Ok(()) };
        component.components.extend(outer);
        if let ComponentAlias::InstanceExport { kind, instance_index, .. } = alias {
            let inside = component.is_inside(ComponentExternalKind::Instance, *instance_index);
            return component.define(*kind, inside);
        }
        component.size.add(Size::default());
        Ok(())
    }

    /// The size of a component as it is known `outwards` levels up. One that is not there is found by the validation.
    fn component(&self, outwards: usize, index: u32) -> Size {
        let level = self.open.len().checked_sub(1).and_then(|last| last.checked_sub(outwards));
        let components = level.map(|level| &self.open[level].components);
        components.and_then(|components| components.get(index as usize)).copied().unwrap_or_default()
    }
}

impl Component {
    /// Takes up what an import, an export or an alias brings in.
    fn define(&mut self, kind: ComponentExternalKind, inside: bool) -> Result<(), Fault> {
        match kind {
            ComponentExternalKind::Instance => self.instances.push(inside),
            ComponentExternalKind::Func => self.functions.push(inside),
            ComponentExternalKind::Component | ComponentExternalKind::Module => {
                // What goes by a name has no size here.
                let reason =
                    "a component or core module goes by a name in it, which only tools that join components need";
                return Err(AdmissionError::Malformed { reason: reason.to_owned() }.into());
            }
            ComponentExternalKind::Type | ComponentExternalKind::Value => {}
        }
        self.size.add(Size::default());
        Ok(())
    }

    fn canonical(&mut self, function: &CanonicalFunction) {
        let joints = match function {
            CanonicalFunction::Lift { .. } => {
                self.functions.push(true);
                0
            }
            CanonicalFunction::Lower { func_index, .. } => {
                usize::from(self.is_inside(ComponentExternalKind::Func, *func_index))
            }
            _ => 0,
        };
        self.size.add(Size { definitions: 0, joints });
    }

    fn is_inside(&self, kind: ComponentExternalKind, index: u32) -> bool {
        let known = match kind {
            ComponentExternalKind::Instance => &self.instances,
            ComponentExternalKind::Func => &self.functions,
            _ => return false,
        };
        known.get(index as usize).copied().unwrap_or(true)
    }
}

impl Size {
    /// One definition, and what is behind it.
    fn add(&mut self, other: Self) {
        self.definitions = self.definitions.saturating_add(other.definitions).saturating_add(1);
        self.joints = self.joints.saturating_add(other.joints);
    }
}
