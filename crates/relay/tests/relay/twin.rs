//! Copies of a connection on a second path.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use crate::ends::{Ends, LONG, Setup, read, server};

/// A daemon that wants copies.
fn daemon(socket: &std::path::Path) {
    let listener = UnixListener::bind(socket).unwrap();
    let interfaces = r#"[{"name": "lo", "role": "regular"}, {"name": "lo", "role": "backup"}]"#;
    let answer = format!(
        r#"{{"parameters": {{"intent": "uninterrupted", "paused": false, "interfaces": {interfaces}}}}}"#
    ) + "\n";
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
}

/// What is known of each connection through the middle.
#[derive(Clone, Default)]
struct Seen {
    stalled: bool,
    /// Bytes to the near end.
    down: usize,
    ended: bool,
}

/// Passes connections on, each until it is stalled.
#[derive(Clone, Default)]
struct Middle(Arc<(Mutex<Vec<Seen>>, Condvar)>);

impl Middle {
    fn listen(&self, to: Arc<Mutex<Option<SocketAddr>>>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let middle = self.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let far = TcpStream::connect(to.lock().unwrap().unwrap()).unwrap();
                let mut all = middle.0.0.lock().unwrap();
                let number = all.len();
                all.push(Seen::default());
                drop(all);
                middle.pass(number, &near, &far, false);
                middle.pass(number, &far, &near, true);
            }
        });
        address
    }

    fn pass(&self, number: usize, from: &TcpStream, to: &TcpStream, down: bool) {
        let (middle, mut from, mut to) = (
            self.clone(),
            from.try_clone().unwrap(),
            to.try_clone().unwrap(),
        );
        thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                middle.wait(|all| !all[number].stalled);
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
                middle.change(|all| all[number].down += if down { length } else { 0 });
            }
            let _ = to.shutdown(Shutdown::Both);
            middle.change(|all| all[number].ended = true);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Seen>)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn wait(&self, state: impl Fn(&[Seen]) -> bool) {
        let all = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(all, LONG, |all| !state(all));
        assert!(!waited.unwrap().1.timed_out());
    }
}

/// Both ends, with a middle between them, and a daemon.
fn ends() -> (Ends, Middle, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("live.sock");
    daemon(&socket);
    let middle = Middle::default();
    let to = Arc::new(Mutex::new(None));
    let address = middle.listen(Arc::clone(&to));
    let ends = Ends::new(Setup {
        connect: Box::new(move |text| {
            let (head, rest) = text.split_once("server = \"").unwrap();
            let (_, rest) = rest.split_once('"').unwrap();
            format!(
                "{head}server = \"{address}\"{rest}\ndaemon = \"{}\"\n",
                socket.display()
            )
        }),
        ..Setup::default()
    });
    *to.lock().unwrap() = Some(ends.serve);
    (ends, middle, folder)
}

#[test]
fn a_small_flow_goes_on_while_either_path_passes_nothing() {
    let (ends, middle, _folder) = ends();
    let (address, accept) = server();
    let mut stream = ends.socks(address);
    let mut far = accept();
    let mut talk = |text: &[u8]| {
        stream.write_all(text).unwrap();
        assert_eq!(read(&mut far, text.len()), text);
        far.write_all(text).unwrap();
        assert_eq!(read(&mut stream, text.len()), text);
    };
    talk(b"before");
    // The place of the copies, 8 bytes, is the first that the far end sends.
    middle.wait(|all| all.len() == 2 && all[1].down >= 8);
    for stalled in [0, 1, 0] {
        talk(b"both pass");
        middle.change(|all| all[stalled].stalled = true);
        talk(b"one stands still");
        talk(b"and goes on to do so");
        middle.change(|all| all[stalled].stalled = false);
    }
    // A large one is not copied.
    let large = vec![7; 1 << 20];
    let copied = large.clone();
    let writer = thread::spawn({
        let mut stream = stream.try_clone().unwrap();
        move || stream.write_all(&copied).unwrap()
    });
    assert!(read(&mut far, large.len()) == large);
    writer.join().unwrap();
    middle.wait(|all| all[1].ended);
    far.write_all(b"answer").unwrap();
    assert_eq!(read(&mut stream, 6), b"answer");
    // The end passes, too.
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
}
