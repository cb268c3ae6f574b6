//! `template.compile`, `template.load`, `template.render`, `template.each`: Go templates from the first use to the hundredth.

use anyhow::Result;
use pintle_sandbox::{Sandbox, SandboxConfig, TemplateBounds, Templates};
use serde_json::json;

use crate::Bench;
use crate::measure::{Rounds, Stopwatch};
use crate::report::Line;

const MORE: u32 = 100;
/// Calls of one round.
const CALLS: u32 = 10;
const TEMPLATE: &str =
    "{{ range .list }}{{ .name | upper | quote }}: {{ .port }}\n{{ end }}{{ toYaml .labels | nindent 2 }}";

pub fn templates(bench: &Bench) -> Result<Vec<Line>> {
    let folder = bench.folder()?;
    let open = || -> Result<Templates> {
        let sandbox = Sandbox::new(SandboxConfig { instances: 8, ..SandboxConfig::new(folder.path()) })?;
        Ok(Templates::open(&sandbox, TemplateBounds::default()))
    };
    let prepared = |rounds: &mut Rounds| -> Result<Templates> {
        let templates = open()?;
        let watch = Stopwatch::start();
        bench.runtime.block_on(templates.prepare())?;
        rounds.push(watch.seconds() * 1e3);
        Ok(templates)
    };
    let [mut compile, mut load, mut one, mut each] = std::array::from_fn(|_| Rounds::default());
    let mut templates = prepared(&mut compile)?;
    let values = json!({"list": [{"name": "a", "port": 80}, {"name": "b", "port": 443}], "labels": {"app": "web", "tier": "front"}});
    let timed = |templates: &Templates, count: u32| -> Result<f64> {
        let texts = vec![TEMPLATE; count as usize];
        let watch = Stopwatch::start();
        for _ in 0..CALLS {
            for text in bench.runtime.block_on(templates.render(&texts, &values))? {
                text?;
            }
        }
        Ok(watch.seconds() * 1e3 / f64::from(CALLS))
    };
    for _ in 0..bench.rounds {
        templates = prepared(&mut load)?;
        let (first, all) = (timed(&templates, 1)?, timed(&templates, 1 + MORE)?);
        one.push(first);
        each.push((all - first) / f64::from(MORE));
    }
    drop(templates);
    Ok(vec![
        Line::alone("template.compile", "ms", "", &compile),
        Line::alone("template.load", "ms", "", &load),
        Line::alone("template.render", "ms", "", &one),
        Line::alone("template.each", "ms", "", &each),
    ])
}
