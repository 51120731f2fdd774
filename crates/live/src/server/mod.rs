//! The control socket: a Unix socket, a JSON object in a line for each request and each answer.
//!
//! Everything about a client is bounded: how many there are, how long a line is, how much waits for it. Who
//! does not read what he asked for is let go.
//!
//! | module | what |
//! |---|---|
//! | `request` | what is asked |
//! | `access` | who may ask what |

mod access;
mod request;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use joulepath_kernel::error::Doing;
use joulepath_kernel::peer::Peer;
use joulepath_kernel::{Error, Result};
use serde::Serialize;

use self::access::Access;
pub(crate) use self::access::Rules;
pub(crate) use self::request::Refusal;
pub use self::request::Request;
use self::request::{LONGEST_LINE, answer_line};

/// Most clients at once.
const MOST_CLIENTS: usize = 32;
/// Who may connect is decided here, and not by the file's mode.
const MODE: u32 = 0o666;

/// Names a client while it is connected.
pub(crate) type ClientId = u64;

/// One that is connected.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    access: Access,
    /// A line that has begun.
    begun: Vec<u8>,
}

/// The socket and who is connected to it.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    path: PathBuf,
    rules: Rules,
    clients: BTreeMap<ClientId, Client>,
    next: ClientId,
}

impl Server {
    /// Listens at a path. A socket that a killed daemon has left there is replaced.
    ///
    /// # Errors
    /// [`Error::Busy`] if somebody listens there; [`Error::Unsupported`] if there is something else.
    pub(crate) fn listen(path: &Path, rules: Rules) -> Result<Self> {
        let doing = || format!("listening at {}", path.display());
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(doing(), error)),
            Ok(found) if !found.file_type().is_socket() => {
                return Err(Error::Unsupported {
                    what: doing(),
                    why: "there is something else".into(),
                    remedy: "name another `socket` in `[control]`".into(),
                });
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(Error::Busy {
                    what: doing(),
                    why: "another daemon listens there".into(),
                    remedy: "stop it, or name another `socket` in `[control]`".into(),
                });
            }
            Ok(_) => fs::remove_file(path).doing(doing())?,
        }
        let listener = UnixListener::bind(path).doing(doing())?;
        listener.set_nonblocking(true).doing(doing())?;
        fs::set_permissions(path, fs::Permissions::from_mode(MODE)).doing(doing())?;
        Ok(Server { listener, path: path.to_owned(), rules, clients: BTreeMap::new(), next: 0 })
    }

    /// Other rules for who connects from now on.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Takes those who wait; a client too many is told so and let go.
    pub(crate) fn accept(&mut self) -> Vec<ClientId> {
        let mut new = vec![];
        while let Ok((stream, _)) = self.listener.accept() {
            let access = Peer::of(&stream).map_or(Access::None, |peer| self.rules.access(&peer));
            let is_too_many = self.clients.len() >= MOST_CLIENTS;
            if stream.set_nonblocking(true).is_err() || is_too_many {
                let message = format!("there are {MOST_CLIENTS} clients already");
                say(&stream, &answer_line::<()>(&Err(Refusal::new("busy", message))));
                continue;
            }
            self.clients.insert(self.next, Client { stream, access, begun: vec![] });
            new.push(self.next);
            self.next += 1;
        }
        new
    }

    /// The file of a client, to wait for.
    pub(crate) fn file(&self, id: ClientId) -> Option<BorrowedFd<'_>> {
        self.clients.get(&id).map(|client| client.stream.as_fd())
    }

    /// Reads what a client has sent and answers each line by `answer`, which is told whether the client may
    /// command; whether it stays.
    pub(crate) fn serve<T: Serialize>(
        &mut self,
        id: ClientId,
        mut answer: impl FnMut(Request, bool) -> Result<T, Refusal>,
    ) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return false };
        let mut buffer = [0; LONGEST_LINE];
        loop {
            let read = match client.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return false,
            };
            client.begun.extend(&buffer[..read]);
            while let Some(end) = client.begun.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = client.begun.drain(..=end).collect();
                let line = &line[..end];
                let access = client.access;
                let permitted = |request: Request| match is_permitted(access, &request) {
                    true => Ok(request),
                    false => Err(not_permitted(access)),
                };
                let answered = match line.len() {
                    0 => continue,
                    length if length >= LONGEST_LINE => Err(too_long()),
                    _ => Request::parse(line)
                        .and_then(permitted)
                        .and_then(|request| answer(request, access == Access::Command)),
                };
                if !say(&client.stream, &answer_line(&answered)) {
                    return false;
                }
            }
            if client.begun.len() >= LONGEST_LINE {
                say(&client.stream, &answer_line::<()>(&Err(too_long())));
                return false;
            }
        }
    }

    /// Lets a client go.
    pub(crate) fn close(&mut self, id: ClientId) {
        self.clients.remove(&id);
    }
}

fn is_permitted(access: Access, request: &Request) -> bool {
    access >= if request.is_command() { Access::Command } else { Access::Read }
}

fn not_permitted(access: Access) -> Refusal {
    let what = if access == Access::None { "to read the state" } else { "to change anything" };
    let message = format!("you have no right {what}: see `[control]` in the configuration");
    Refusal::new("not-permitted", message)
}

fn too_long() -> Refusal {
    Refusal::new("invalid-request", format!("a line has at most {LONGEST_LINE} bytes"))
}

/// Whether all of it could be written at once.
fn say(mut stream: &UnixStream, line: &str) -> bool {
    let mut left = line.as_bytes();
    while !left.is_empty() {
        match stream.write(left) {
            Ok(0) => return false,
            Ok(written) => left = &left[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn server(folder: &Path) -> Server {
        Server::listen(&folder.join("sock"), Rules::default()).unwrap()
    }

    /// What is answered to these bytes, and whether the client stays.
    fn answers(server: &mut Server, bytes: &[u8]) -> (Vec<Value>, bool) {
        let mut stream = UnixStream::connect(&server.path).unwrap();
        stream.write_all(bytes).unwrap();
        let [id] = server.accept()[..] else { panic!("one client") };
        let stays = server.serve(id, |request, _| Ok(request.line()));
        server.close(id);
        let lines = BufReader::new(stream).lines();
        (lines.map_while(|line| serde_json::from_str(&line.ok()?).ok()).collect(), stays)
    }

    #[test]
    fn each_line_is_answered_and_a_part_of_one_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = server(folder.path());
        let (said, stays) = answers(&mut server, b"{\"method\":\"status\"}\n\nx\n{\"method\"");
        assert!(stays);
        assert_eq!(said.len(), 2);
        assert_eq!(said[0]["parameters"], "{\"method\":\"status\"}");
        assert_eq!(said[1]["error"], "invalid-request");
    }

    #[test]
    fn who_may_read_may_not_command() {
        for (access, reads, commands) in
            [(Access::None, false, false), (Access::Read, true, false), (Access::Command, true, true)]
        {
            assert_eq!(is_permitted(access, &Request::Status), reads);
            let set = Request::SetIntent { interface: None, intent: None };
            for request in [Request::Pause, Request::Resume, set] {
                assert_eq!(is_permitted(access, &request), commands, "{access:?} {request:?}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_refused_and_so_is_a_client_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = server(folder.path());
        let (said, stays) = answers(&mut server, &[b'x'; 3 * LONGEST_LINE]);
        assert!(!stays && said[0]["parameters"]["message"].as_str().unwrap().contains("4096 bytes"));
        let all: Vec<UnixStream> =
            (0..=MOST_CLIENTS).map(|_| UnixStream::connect(&server.path).unwrap()).collect();
        assert_eq!(server.accept().len(), MOST_CLIENTS);
        let mut line = String::new();
        BufReader::new(&all[MOST_CLIENTS]).read_line(&mut line).unwrap();
        assert!(line.contains("busy"), "{line}");
    }

    #[test]
    fn the_socket_of_a_killed_daemon_is_replaced_and_that_of_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        drop(UnixListener::bind(&path).unwrap());
        let living = server(folder.path());
        let error = Server::listen(&path, Rules::default()).unwrap_err();
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        drop(living);
        assert!(!path.exists());
        fs::write(&path, "mine").unwrap();
        let error = Server::listen(&path, Rules::default()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_answer_more_than_one_line_each(
            bytes in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..2000),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut server = server(folder.path());
            let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
            let (said, _) = answers(&mut server, &bytes);
            prop_assert!(said.len() <= lines + 1);
            prop_assert!(said.iter().all(|one| one.get("parameters").is_some()));
        }
    }
}
