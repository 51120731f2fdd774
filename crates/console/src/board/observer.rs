//! Watches connections while somebody looks at the page.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use joulepath_why::gather;
use joulepath_why::report::{Report, examine};

/// Length of an observation, and the pause after it.
const LENGTH: Duration = Duration::from_secs(6);
const PAUSE: Duration = Duration::from_secs(10);
/// Nobody looks if no request has come for this long.
const LOOKED: Duration = Duration::from_secs(15);
const TICK: Duration = Duration::from_millis(200);

/// What the observer saw last.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub(super) report: Option<Arc<Report>>,
    /// Why connections cannot be listed.
    pub(super) trouble: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    asked: Option<Instant>,
    observed: Observed,
}

/// A thread that watches.
pub(super) struct Observer(Arc<Mutex<Shared>>);

impl Observer {
    pub(super) fn start(socket: PathBuf) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let observer = Observer(shared.clone());
        thread::spawn(move || {
            // Ends when the page is no longer served.
            while Arc::strong_count(&shared) > 1 {
                let asked = lock(&shared).asked;
                if asked.is_none_or(|at| at.elapsed() > LOOKED) {
                    thread::sleep(TICK);
                    continue;
                }
                let seen = gather::watch(LENGTH);
                let observed = match seen {
                    Ok(mut seen) => {
                        seen.host.daemon = crate::why::daemon(&socket);
                        Observed {
                            report: Some(Arc::new(examine(&seen, |_| true, &mut |_, _| None))),
                            trouble: None,
                        }
                    }
                    Err(error) => Observed {
                        report: None,
                        trouble: Some(error.to_string()),
                    },
                };
                lock(&shared).observed = observed;
                thread::sleep(PAUSE);
            }
        });
        observer
    }

    /// The last observation; asks for further ones.
    pub(super) fn look(&self) -> Observed {
        let mut shared = lock(&self.0);
        shared.asked = Some(Instant::now());
        shared.observed.clone()
    }
}

/// A thread that panicked has left whole values behind.
fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
