//! The environment that a Job gets, in the order that is promised to authors: what is copied from a component, then the release's
//! env of the new configuration, then the Job's own.

use std::collections::BTreeMap;

use crate::platform::Job;

/// `copied` is the environment of the workload that `job.env_from` names.
pub(crate) fn of_job(mut copied: BTreeMap<String, String>, job: &Job) -> BTreeMap<String, String> {
    copied.retain(|name, _| !job.unset.contains(name));
    copied.extend(job.env.clone());
    copied.extend(job.spec.env.iter().cloned());
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_sources_win_and_what_the_new_configuration_lacks_is_left_out() {
        let map = |pairs: &[(&str, &str)]| pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let job = Job {
            spec: pintle_lifecycle::call::JobSpec {
                env: vec![("C".into(), "spec".into()), ("C".into(), "spec, later".into())],
                ..Default::default()
            },
            env_from: None,
            env: map(&[("B", "release"), ("C", "release")]),
            unset: ["GONE".to_owned()].into(),
            deadline: None,
        };
        let env = of_job(map(&[("A", "copied"), ("B", "copied"), ("GONE", "copied")]), &job);
        assert_eq!(env, map(&[("A", "copied"), ("B", "release"), ("C", "spec, later")]));
    }
}
