//! What Pintle and the shop tell of themselves, read from their output.

use serde_json::Value;

/// The id in `shop-12  opened …`.
pub fn opened_id(line: &str) -> Option<String> {
    let word = line
        .split_whitespace()
        .find(|word| word.strip_prefix("shop-").is_some_and(|number| number.parse::<u64>().is_ok()))?;
    Some(word.to_owned())
}

/// How often the shop says that the migration to `version` was started or finished.
pub fn runs_of(status: &Value, version: &str, field: &str) -> u64 {
    let mut runs = status["migrations"].as_array().into_iter().flatten();
    runs.find(|run| run["version"] == version).and_then(|run| run[field].as_u64()).unwrap_or(0)
}

pub fn is_migration_to(record: &Value, version: &str) -> bool {
    let event = &record["event"];
    let image = event["call"]["spec"]["image"].as_str().unwrap_or_default();
    // Where intents are left out, the outcome has the call.
    matches!(event["is"].as_str(), Some("callIntent" | "callOutcome"))
        && event["call"]["name"] == "jobs.run"
        && image.ends_with(&format!(":{version}"))
}
