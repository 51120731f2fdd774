//! Polls the daemon in its own thread.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use joulepath_live::status::Status;
use joulepath_live::{Error, Request, client};

/// Poll interval.
const PERIOD: Duration = Duration::from_secs(1);
/// The reply shows the state before the command. Poll again after this delay to see its effect.
const AFTER_COMMAND: Duration = Duration::from_millis(300);

/// Result of a request.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) request: Request,
    pub(super) result: Result<Status, Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) remedy: String,
}

/// Starts polling; ends when the receiver is dropped.
pub(super) fn start(socket: PathBuf) -> (Sender<Request>, Receiver<Answer>) {
    let (send_request, requests) = mpsc::channel();
    let (answers, receive_answer) = mpsc::channel();
    thread::spawn(move || {
        let mut request = Request::Status;
        loop {
            let result = client::ask(&socket, &request).map_err(problem);
            let pause = if request == Request::Status {
                PERIOD
            } else {
                AFTER_COMMAND
            };
            if answers.send(Answer { request, result }).is_err() {
                return;
            }
            request = match requests.recv_timeout(pause) {
                Ok(command) => command,
                Err(RecvTimeoutError::Timeout) => Request::Status,
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    });
    (send_request, receive_answer)
}

fn problem(error: Error) -> Problem {
    match error {
        Error::Refused { what, remedy } => Problem { what, remedy },
        error => Problem {
            what: error.to_string(),
            remedy: String::new(),
        },
    }
}
