//! From the containers of a manifest to processes: image, command and environment.

use std::collections::BTreeMap;

use pintle_lifecycle::plan::Target;

use super::expand::expand;
use super::manifest::{ContainerSpec, EnvFrom, EnvVar, KeyRef, ObjectRef, ValueFrom, invalid};
use super::objects::{CONFIG_MAP, Objects, SECRET};
use crate::local::launch::Container;
use crate::local::release_dir::ReleaseDir;
use crate::local::{LocalConfig, compose};
use crate::platform::{HookWorkload, PlatformError};

/// What the containers of a hook are made from.
pub(super) struct Composer<'a> {
    pub(super) config: &'a LocalConfig,
    pub(super) dir: &'a ReleaseDir,
    pub(super) target: &'a Target,
    pub(super) hook: &'a HookWorkload,
    pub(super) uid: &'a str,
    pub(super) objects: Objects,
}

impl Composer<'_> {
    /// # Errors
    /// `Failed` where the image or an object that the environment is from is not there, `Invalid` where it can never be.
    pub(super) fn container(&self, spec: &ContainerSpec) -> Result<Container, PlatformError> {
        self.compose(spec).map_err(|error| {
            let (kind, name, container) = (self.hook.kind, &self.hook.name, &spec.name);
            let told = format!("{kind} {name}: container {container}: {error}");
            match error {
                PlatformError::Invalid(_) => PlatformError::Invalid(told),
                // What is not there now is not a workload that is gone.
                PlatformError::NotFound(_) | PlatformError::Failed(_) => PlatformError::Failed(told),
                other => other,
            }
        })
    }

    fn compose(&self, spec: &ContainerSpec) -> Result<Container, PlatformError> {
        if spec.image.is_empty() {
            return Err(invalid("it has no image"));
        }
        let declared = self.env(spec)?;
        let expanded = |words: &[String]| words.iter().map(|word| expand(word, &declared)).collect::<Vec<_>>();
        let command = compose::command(&expanded(&spec.command), &expanded(&spec.args), &spec.image)?;
        let mut env = compose::machine(self.config, self.target, &spec.image)?;
        env.extend(declared);
        env.extend(compose::of_pintle(self.dir, self.target));
        env.insert("PINTLE_HOOK".to_owned(), self.hook.name.clone());
        let working_dir = spec.working_dir.as_ref().map_or_else(|| self.dir.data(), |path| self.dir.data().join(path));
        Ok(Container { name: spec.name.clone(), command, env, working_dir })
    }

    /// What the manifest declares: first what whole objects give, then the single variables, a later one of a name wins.
    fn env(&self, spec: &ContainerSpec) -> Result<BTreeMap<String, String>, PlatformError> {
        let mut env = BTreeMap::new();
        for from in &spec.env_from {
            self.add_all(from, &mut env)?;
        }
        for variable in &spec.env {
            if variable.name.is_empty() || variable.name.contains(['=', '\0']) {
                return Err(invalid(&format!("`{}` is no name of a variable", variable.name)));
            }
            if let Some(value) = self.value(variable, &env)? {
                env.insert(variable.name.clone(), value);
            }
        }
        Ok(env)
    }

    fn add_all(&self, from: &EnvFrom, env: &mut BTreeMap<String, String>) -> Result<(), PlatformError> {
        let (kind, object) = match from {
            EnvFrom { config_map_ref: Some(object), secret_ref: None, .. } => (CONFIG_MAP, object),
            EnvFrom { config_map_ref: None, secret_ref: Some(object), .. } => (SECRET, object),
            _ => return Err(invalid("envFrom: one of configMapRef and secretRef")),
        };
        let ObjectRef { name, optional } = object;
        let Some(data) = self.objects.data(kind, &self.hook.namespace, name)? else {
            return if *optional { Ok(()) } else { Err(self.missing(kind, name)) };
        };
        let named = data.into_iter().map(|(key, value)| (format!("{}{key}", from.prefix), value));
        // As on a cluster, what can be no name of a variable is left out.
        env.extend(named.filter(|(name, _)| is_variable(name)));
        Ok(())
    }

    /// None where the variable is optional and there is nothing.
    fn value(&self, variable: &EnvVar, env: &BTreeMap<String, String>) -> Result<Option<String>, PlatformError> {
        match (&variable.value, &variable.value_from) {
            (Some(value), None) => Ok(Some(expand(value, env))),
            (None, None) => Ok(Some(String::new())),
            (Some(_), Some(_)) => Err(invalid(&format!("{}: one of value and valueFrom", variable.name))),
            (None, Some(ValueFrom::ConfigMap(key))) => self.of_object(CONFIG_MAP, key),
            (None, Some(ValueFrom::Secret(key))) => self.of_object(SECRET, key),
            (None, Some(ValueFrom::Field(field))) => match field.field_path.as_str() {
                "metadata.name" => Ok(Some(self.hook.name.clone())),
                "metadata.namespace" => Ok(Some(self.hook.namespace.clone())),
                "metadata.uid" => Ok(Some(self.uid.to_owned())),
                other => {
                    let cure = "the local platform has metadata.name, metadata.namespace and metadata.uid";
                    Err(invalid(&format!("{}: fieldRef {other}: {cure}", variable.name)))
                }
            },
        }
    }

    fn of_object(&self, kind: &str, key: &KeyRef) -> Result<Option<String>, PlatformError> {
        let KeyRef { name, key, optional } = key;
        match self.objects.data(kind, &self.hook.namespace, name)?.map(|mut data| data.remove(key)) {
            Some(Some(value)) => Ok(Some(value)),
            _ if *optional => Ok(None),
            Some(None) => Err(PlatformError::Failed(format!("{kind} {name} has no key `{key}`"))),
            None => Err(self.missing(kind, name)),
        }
    }

    fn missing(&self, kind: &str, name: &str) -> PlatformError {
        let namespace = &self.hook.namespace;
        PlatformError::Failed(format!("there is no {kind} {name} in the namespace {namespace} of the release"))
    }
}

/// As Kubernetes has names of variables.
fn is_variable(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().all(inner) && name.starts_with(|c: char| !c.is_ascii_digit())
}
