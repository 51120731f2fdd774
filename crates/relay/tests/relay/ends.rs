//! The two ends in a thread, and programs that use them.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use joulepath_relay::config::{ConnectConfig, Method, ServeConfig};
use joulepath_relay::{Connect, Say, Serve, block_on, new};
use tokio::sync::oneshot;

/// Longest wait for a state.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Both ends. They stop when it is dropped.
pub(crate) struct Ends {
    pub(crate) serve: SocketAddr,
    pub(crate) socks: SocketAddr,
    pub(crate) http: SocketAddr,
    /// Where the near end takes datagrams.
    pub(crate) udp: Vec<SocketAddr>,
    said: Arc<Mutex<String>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What differs from one test to another.
pub(crate) struct Setup<'a> {
    pub(crate) method: Method,
    /// Lines added to the far end's file.
    pub(crate) serve: &'a str,
    /// Changes the near end's file.
    pub(crate) connect: Box<dyn FnOnce(String) -> String + Send>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Setup {
            method: Method::default(),
            serve: "allow_private = [\"127.0.0.0/8\"]",
            connect: Box::new(|text| text),
        }
    }
}

/// The file's text with other lines.
fn rewrite(file: &std::path::Path, change: impl FnOnce(String) -> String) {
    let text = change(fs::read_to_string(file).unwrap());
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

impl Ends {
    pub(crate) fn new(setup: Setup<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = "127.0.0.1:1".parse().unwrap();
        let [serve, connect] = new::write(folder.path(), &server, setup.method).unwrap();
        rewrite(&serve, |text| {
            text.replace("[::]:1", "127.0.0.1:0") + setup.serve + "\n"
        });
        let said = Arc::new(Mutex::new(String::new()));
        let say: Say = {
            let said = Arc::clone(&said);
            Arc::new(move |line| *said.lock().unwrap() += &format!("{line}\n"))
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let change = setup.connect;
        let thread = thread::spawn(move || {
            block_on(async {
                let far = Serve::new(ServeConfig::read(&serve)?, Arc::clone(&say))?;
                let address = far.address().unwrap();
                rewrite(&connect, |text| {
                    let text = text.replace("127.0.0.1:1\"", &format!("{address}\""));
                    change(text.replace(":1080", ":0").replace(":8118", ":0"))
                });
                let near = Connect::new(ConnectConfig::read(&connect)?, say)?;
                let doors = ["socks", "http"].map(|key| near.address(key).unwrap().unwrap());
                tell.send((address, doors, near.udp_addresses().unwrap()))
                    .unwrap();
                tokio::select! {
                    () = far.run(std::future::pending()) => {},
                    () = near.run(async { drop(stopped.await) }) => {},
                }
                Ok(())
            })
            .unwrap();
        });
        let (serve, [socks, http], udp) = told.recv_timeout(LONG).expect("both ends start");
        Ends {
            serve,
            socks,
            http,
            udp,
            said,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// A program's connection through SOCKS5.
    pub(crate) fn socks(&self, to: SocketAddr) -> TcpStream {
        let mut stream = client(self.socks);
        stream.write_all(&[5, 1, 0]).unwrap();
        assert_eq!(read(&mut stream, 2), [5, 0]);
        let SocketAddr::V4(to) = to else {
            panic!("IPv4")
        };
        let request = [
            &[5, 1, 0, 1][..],
            &to.ip().octets(),
            &to.port().to_be_bytes(),
        ]
        .concat();
        stream.write_all(&request).unwrap();
        assert_eq!(read(&mut stream, 10)[..2], [5, 0]);
        stream
    }

    /// Waits until one of the ends has said this.
    pub(crate) fn wait_for(&self, text: &str) {
        let start = Instant::now();
        while !self.said.lock().unwrap().contains(text) {
            assert!(
                start.elapsed() < LONG,
                "no `{text}` in:\n{}",
                self.said.lock().unwrap()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// A connection that fails instead of waiting forever.
pub(crate) fn client(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

pub(crate) fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// A server of one connection.
pub(crate) fn server() -> (SocketAddr, impl FnOnce() -> TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accept = move || {
        let stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream
    };
    (address, accept)
}
