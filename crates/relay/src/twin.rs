//! Over which interface the near end's twins go.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::datagram;

/// Time between two looks for connections that lack a twin.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// The interface beside the first, if the daemon wants copies, and when it was asked.
#[derive(Default)]
pub(crate) struct Second(Mutex<Option<(Instant, Option<String>)>>);

impl Second {
    /// Asks the daemon at this socket, if its last answer is old.
    pub(crate) async fn interface(&self, daemon: &Path) -> Option<String> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, interface)) = known().as_ref().filter(|(then, _)| then.elapsed() < PAUSE) {
            return interface.clone();
        }
        let interface = datagram::second(daemon).await;
        *known() = Some((Instant::now(), interface.clone()));
        interface
    }
}
