//! A platform that has each effect at once and keeps nothing, so that what is measured is Pintle. Its Jobs never end, its hooks at once.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, Target, Workload};
use pintle_platform::{FoundHook, HookLook, HookWorkload, Job, Platform, PlatformError, Status};
use tokio::sync::Notify;

#[derive(Default)]
pub struct World {
    /// Names of Jobs that somebody waits for now or has waited for.
    waiting: Mutex<HashSet<String>>,
    came: Notify,
}

impl World {
    /// Resolves when `count` Jobs are waited for.
    pub async fn waited_for(&self, count: usize) {
        loop {
            let came = self.came.notified();
            if self.waiting().len() >= count {
                return;
            }
            came.await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Platform for World {
    async fn apply(&self, _: &str, _: &Target, _: &Render, _: &BTreeSet<Workload>) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn remove(&self, _: &str, _: &Target) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn scale(&self, _: &str, _: &Target, _: &Workload, _: u32) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn status(&self, _: &Target, _: &Workload) -> Result<Status, PlatformError> {
        Ok(Status { desired: 1, running: 1, ready: 1 })
    }

    async fn wait_ready(&self, _: &Target, _: &Workload) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn images(&self, _: &Target, _: &Workload) -> Result<Vec<String>, PlatformError> {
        Ok(vec!["registry.example/bench:1.0.0".to_owned()])
    }

    async fn start_job(&self, _: &str, _: &Target, _: &str, _: &Job) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn wait_job(&self, _: &Target, id: &str) -> Result<JobResult, PlatformError> {
        self.waiting().insert(id.to_owned());
        self.came.notify_waiters();
        std::future::pending().await
    }

    async fn job_ended(&self, _: &Target, _: &str) -> Result<Option<bool>, PlatformError> {
        Ok(Some(false))
    }

    async fn stop_job(&self, _: &str, _: &Target, _: &str) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn delete_job(&self, _: &str, _: &Target, _: &str) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn observe(&self, _: &Target, workload: &Workload) -> Result<serde_json::Value, PlatformError> {
        Ok(serde_json::json!({"kind": workload.kind, "status": {"replicas": 1, "readyReplicas": 1}}))
    }

    async fn create_hook(&self, key: &str, _: &Target, hook: &HookWorkload) -> Result<HookRef, PlatformError> {
        let (namespace, name) = (hook.namespace.clone(), hook.name.clone());
        Ok(HookRef { kind: hook.kind, namespace, name, uid: key.to_owned() })
    }

    async fn lift_hook(&self, _: &str, _: &Target, _: &HookRef) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn wait_hook(&self, _: &Target, hook: &HookRef) -> Result<JobResult, PlatformError> {
        Ok(JobResult { id: hook.name.clone(), succeeded: true, exit_code: Some(0), ..JobResult::default() })
    }

    async fn look_at_hook(&self, _: &Target, _: &HookRef) -> Result<HookLook, PlatformError> {
        Ok(HookLook::default())
    }

    async fn delete_hook(&self, _: &str, _: &Target, _: &HookRef, _: bool) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn hooks(&self, _: &Target) -> Result<Vec<FoundHook>, PlatformError> {
        Ok(Vec::new())
    }

    async fn find_objects(&self, _: &Target, objects: &[Json]) -> Result<Vec<Option<Json>>, PlatformError> {
        Ok(vec![None; objects.len()])
    }

    async fn put_objects(&self, _: &str, _: &Target, _: &[Json]) -> Result<(), PlatformError> {
        Ok(())
    }

    async fn delete_objects(&self, _: &str, _: &Target, _: &[Json]) -> Result<(), PlatformError> {
        Ok(())
    }
}
