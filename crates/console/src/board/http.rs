//! HTTP/1.1 (RFC 9112) for the page: one request for each connection, a bounded number of
//! connections, and none of them delays another.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::answer::{Answer, Asked};

/// Connections at the same time. One more takes the place of the oldest, which is hardly one that
/// sends a request.
const MOST: usize = 64;
/// Bytes of a request's head, and its header fields.
const LONGEST: usize = 16 * 1024;
const MOST_FIELDS: usize = 100;
/// A connection may last so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

struct Client {
    stream: TcpStream,
    since: Instant,
    stage: Stage,
}

enum Stage {
    /// The head so far.
    Asks(Vec<u8>),
    /// What of the reply is to be sent.
    IsTold { reply: Vec<u8>, sent: usize },
    /// All is sent. A socket that is closed with unread bytes resets the connection, which may
    /// discard the reply.
    Leaves,
}

/// Answers requests until the listener fails.
pub(super) fn serve(
    listener: &TcpListener,
    mut answer: impl FnMut(&Asked) -> Answer,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut clients: Vec<Client> = vec![];
    loop {
        let mut ready: Vec<PollFd> = vec![PollFd::new(listener, PollFlags::IN)];
        ready.extend(
            clients
                .iter()
                .map(|one| PollFd::new(&one.stream, one.waits_for())),
        );
        let until_oldest = clients
            .first()
            .map(|one| PATIENCE.saturating_sub(one.since.elapsed()));
        let timeout = until_oldest.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut ready, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready: Vec<bool> = ready.iter().map(|one| !one.revents().is_empty()).collect();
        let mut place = 0;
        clients.retain_mut(|one| {
            place += 1;
            one.since.elapsed() < PATIENCE && (!is_ready[place] || one.proceed(&mut answer))
        });
        if is_ready[0] {
            accept(listener, &mut clients);
        }
    }
}

/// Accepts all connections that wait.
fn accept(listener: &TcpListener, clients: &mut Vec<Client>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                if clients.len() == MOST {
                    clients.remove(0);
                }
                clients.push(Client {
                    stream,
                    since: Instant::now(),
                    stage: Stage::Asks(vec![]),
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                ) => {}
            // Out of descriptors or memory: a place becomes free.
            Err(_) => {
                clients.drain(..clients.len().min(1));
                thread::sleep(AFTER_REFUSAL);
                return;
            }
        }
    }
}

impl Client {
    fn waits_for(&self) -> PollFlags {
        match self.stage {
            Stage::Asks(_) | Stage::Leaves => PollFlags::IN,
            Stage::IsTold { .. } => PollFlags::OUT,
        }
    }

    /// Reads and writes as much as it can; false at the end of the connection.
    fn proceed(&mut self, answer: &mut impl FnMut(&Asked) -> Answer) -> bool {
        let mut bytes = [0; 4096];
        loop {
            let done = match &mut self.stage {
                Stage::Asks(head) => match self.stream.read(&mut bytes) {
                    Ok(0) => return false,
                    Ok(read) => {
                        head.extend_from_slice(&bytes[..read]);
                        if let Some(reply) = reply(head, answer) {
                            self.stage = Stage::IsTold { reply, sent: 0 };
                        }
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
                Stage::IsTold { reply, sent } if *sent == reply.len() => {
                    self.stage = Stage::Leaves;
                    self.stream.shutdown(Shutdown::Write)
                }
                Stage::IsTold { reply, sent } => {
                    self.stream.write(&reply[*sent..]).map(|more| *sent += more)
                }
                Stage::Leaves => match self.stream.read(&mut bytes) {
                    Ok(0) => return false,
                    read => read.map(drop),
                },
            };
            match done {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}

/// The reply to a request; `None` if its head is not complete.
fn reply(head: &[u8], answer: &mut impl FnMut(&Asked) -> Answer) -> Option<Vec<u8>> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let parsed = request.parse(head);
    let answer = match parsed {
        Ok(httparse::Status::Complete(_)) => {
            let field = |name: &str| {
                let found = request
                    .headers
                    .iter()
                    .find(|field| field.name.eq_ignore_ascii_case(name));
                found.and_then(|field| str::from_utf8(field.value).ok())
            };
            answer(&Asked {
                method: request.method?,
                target: request.path?,
                host: field("Host"),
                site: field("Sec-Fetch-Site"),
            })
        }
        Ok(httparse::Status::Partial) if head.len() < LONGEST => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Answer::refusal(431, "The request's head is too long.")
        }
        Err(_) => Answer::refusal(400, "This is no request of HTTP/1."),
    };
    Some(written(&answer, request.method == Some("HEAD")))
}

fn written(answer: &Answer, without_body: bool) -> Vec<u8> {
    let Answer {
        code,
        headers,
        body,
    } = answer;
    let reason = match code {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        _ => "Request Header Fields Too Large",
    };
    let mut text = format!(
        "HTTP/1.1 {code} {reason}\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    if !without_body {
        text += body;
    }
    text.into_bytes()
}
