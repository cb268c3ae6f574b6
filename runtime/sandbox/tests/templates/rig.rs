//! One sandbox for all tests, and the cases.

use std::path::Path;

use pintle_lifecycle::template::TemplateError;
use pintle_sandbox::{Sandbox, SandboxConfig, TemplateBounds, Templates};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OnceCell;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// What a template of the cases gives.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub name: String,
    pub template: String,
    pub values: Value,
    pub want: Option<String>,
    pub error_at: Option<String>,
}

pub fn cases() -> Vec<Case> {
    let text = include_str!("../../template/testdata/cases.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub async fn sandbox() -> &'static Sandbox {
    static SHARED: OnceCell<Sandbox> = OnceCell::const_new();
    let make = async || {
        let config = SandboxConfig::new(&Path::new(FOLDER).join("templates"));
        Sandbox::new(SandboxConfig { instances: 8, ..config }).unwrap()
    };
    SHARED.get_or_init(make).await
}

/// With the usual bounds.
pub async fn templates() -> Templates {
    Templates::open(sandbox().await, TemplateBounds::default())
}

pub type One = Result<String, TemplateError>;

pub async fn render(templates: &Templates, text: &str, values: &Value) -> One {
    templates.render(&[text], values).await.unwrap().remove(0)
}
