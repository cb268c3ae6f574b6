//! What an action uses: `use pintle_sdk::prelude::*;`

pub use std::time::Duration;

pub use crate::jobs::{Job, JobId, JobResult};
pub use crate::{Context, Error, Image, Phase, Result};
pub use crate::{action, actions};
pub use crate::{components, durable, jobs, logging, releases, state};
pub use crate::{debug, error, info, trace, warn};
