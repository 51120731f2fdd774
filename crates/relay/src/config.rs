//! The files of the two ends.

use std::fs::{self, File};
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::destination::Destination;
use crate::error::{Error, Kind};
use crate::prefix::Prefix;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;
/// Most datagrams that may overtake another.
const MOST_REORDER: u64 = 4096;
/// Largest file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The far end: `joulepath relay serve`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeConfig {
    /// Where to listen. `[::]` is every address of the machine, also of IPv4.
    pub listen: SocketAddr,
    /// The secret that both ends share.
    pub key: Key,
    /// The cipher.
    #[serde(default)]
    pub method: Method,
    /// The congestion controller towards the near end; the system's default if absent.
    pub congestion: Option<String>,
    /// Private, loopback or other special destinations that clients may reach.
    #[serde(default)]
    pub allow_private: Vec<Prefix>,
    /// Most connections at a time; further ones wait.
    #[serde(default = "most_connections")]
    pub most_connections: usize,
    /// Forwards datagrams too, on the UDP port with the number of `listen`.
    #[serde(default)]
    pub udp: bool,
    /// A datagram that so many later ones of its flow have overtaken is dropped.
    #[serde(default = "reorder")]
    pub reorder: u64,
}

/// Programs' datagrams: `[[udp]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpConfig {
    /// Where programs send them.
    pub listen: SocketAddr,
    /// Where they go.
    pub to: Destination,
}

/// The near end: `joulepath relay connect`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectConfig {
    /// Host and port of the far end.
    pub server: Destination,
    /// The secret that both ends share.
    pub key: Key,
    /// The cipher.
    #[serde(default)]
    pub method: Method,
    /// The congestion controller towards the far end; the system's default if absent.
    pub congestion: Option<String>,
    /// Where SOCKS5 is served.
    pub socks: Option<SocketAddr>,
    /// Where HTTP CONNECT is served.
    pub http: Option<SocketAddr>,
    /// Where connections arrive that the rules of nftables redirect.
    pub redir: Option<SocketAddr>,
    /// Clients that may use addresses other than loopback.
    #[serde(default)]
    pub allow: Vec<Prefix>,
    /// The router's interfaces to the LAN, whose connections are redirected.
    #[serde(default)]
    pub lan: Vec<String>,
    /// Most connections at a time; further ones wait.
    #[serde(default = "most_connections")]
    pub most_connections: usize,
    /// Where programs send datagrams, and where these go.
    #[serde(default)]
    pub udp: Vec<UdpConfig>,
    /// A datagram that so many later ones of its flow have overtaken is dropped.
    #[serde(default = "reorder")]
    pub reorder: u64,
    /// The control socket of the daemon, which chooses the interfaces of datagrams.
    #[serde(default = "daemon")]
    pub daemon: PathBuf,
}

fn reorder() -> u64 {
    64
}

fn daemon() -> PathBuf {
    "/run/joulepath/live.sock".into()
}

fn most_connections() -> usize {
    10_000
}

impl ServeConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or a key is wrong.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let config: Self = read(file)?;
        check_limit(config.most_connections)
            .and_then(|()| check_reorder(config.reorder))
            .map_err(|error| in_file(file, error))?;
        Ok(config)
    }
}

impl ConnectConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or a key is wrong.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let config: Self = read(file)?;
        config.check().map_err(|error| in_file(file, error))?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Error> {
        check_limit(self.most_connections)?;
        check_reorder(self.reorder)?;
        let doors = [
            ("socks", self.socks),
            ("http", self.http),
            ("redir", self.redir),
        ];
        if doors.iter().all(|(_, door)| door.is_none()) && self.udp.is_empty() {
            return Err(
                Error::usage("none of `socks`, `http`, `redir` and `[[udp]]` is set")
                    .help("for example: socks = \"127.0.0.1:1080\""),
            );
        }
        let udp = self.udp.iter().map(|door| ("udp", Some(door.listen)));
        for (name, door) in doors.into_iter().chain(udp) {
            if door.is_some_and(|door| !door.ip().is_loopback()) && self.allow.is_empty() {
                return Err(Error::usage(format!(
                    "`{name}` is not a loopback address, and `allow` is empty"
                ))
                .help("name the LAN that may use it, for example: allow = [\"192.168.1.0/24\"]"));
            }
        }
        if let Some(prefix) = self.allow.iter().find(|prefix| prefix.is_everything()) {
            return Err(Error::usage(format!(
                "`allow` has {prefix}, which lets everybody use this relay"
            ))
            .help("name the prefixes of your LAN"));
        }
        let good = |name: &String| {
            (1..16).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:@".contains(&byte))
        };
        match self.lan.iter().find(|name| !good(name)) {
            Some(name) => Err(Error::usage(format!(
                "`lan`: `{name}` is no name of an interface"
            ))),
            None if self.redir.is_some() && self.lan.is_empty() => Err(Error::usage(
                "`redir` needs `lan`, the router's interfaces to the LAN",
            )
            .help("for example: lan = [\"br-lan\"]")),
            None => Ok(()),
        }
    }
}

fn check_limit(most: usize) -> Result<(), Error> {
    match most {
        1..=500_000 => Ok(()),
        _ => Err(Error::usage(format!(
            "most_connections = {most} is not in 1 to 500000"
        ))),
    }
}

fn check_reorder(reorder: u64) -> Result<(), Error> {
    match reorder {
        0..=MOST_REORDER => Ok(()),
        _ => Err(
            Error::usage(format!("reorder = {reorder} is not in 0 to {MOST_REORDER}"))
                .help("64 fits paths whose RTTs differ by 1 s at 64 datagrams per second"),
        ),
    }
}

fn in_file(file: &Path, error: Error) -> Error {
    let help = error.next_step().map(str::to_owned);
    let error = Error::new(error.kind, format!("{}: {error}", file.display()));
    match help {
        Some(help) => error.help(help),
        None => error,
    }
}

/// Reads a file that contains a key: only its owner and group may read it.
fn read<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    let cannot = |error: io::Error| Error::io(format!("cannot read {}", file.display()), &error);
    let found = fs::metadata(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => cannot(error)
            .help("`joulepath relay new --server HOST:PORT` writes the files of both ends"),
        _ => cannot(error),
    })?;
    if !found.is_file() {
        return Err(Error::usage(format!("{} is not a file", file.display())));
    }
    let mut text = Zeroizing::new(String::new());
    let opened = File::open(file).map_err(cannot)?;
    opened
        .take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    let has_key = text.lines().any(|line| {
        let key = line.split_once('=').map_or("", |(key, _)| key.trim());
        key == "key"
    });
    if !has_key {
        return Err(Error::usage(format!(
            "{} is not a relay's file: it has no `key`",
            file.display()
        ))
        .help("`joulepath relay new --server HOST:PORT` writes the files of both ends"));
    }
    if found.mode() & 0o007 != 0 {
        let what = format!(
            "every user of this machine can use {}, which contains the key",
            file.display()
        );
        return Err(
            Error::new(Kind::Permission, what).help(format!("chmod 600 {}", file.display()))
        );
    }
    toml::from_str(&text).map_err(|error| {
        // The message without the lines of the file, which may show the key.
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].lines().count().max(1));
        Error::usage(format!(
            "{}, line {line}: {}",
            file.display(),
            error.message()
        ))
        .help("docs/relay.md lists the keys")
    })
}

/// The secret that both ends share.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

impl Key {
    pub(crate) fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Key(Zeroizing::new(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// As the file has it.
    pub(crate) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.0))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(key)")
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("the key is not {KEY_BYTES} bytes in base64: `joulepath relay new` makes one")
        };
        let bytes = Zeroizing::new(STANDARD.decode(text).map_err(|_| wrong())?);
        Ok(Key::new(bytes.as_slice().try_into().map_err(|_| wrong())?))
    }
}

/// The cipher of the leg between the ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// AES-256-GCM: fast on CPUs with AES instructions.
    #[default]
    Aes256Gcm,
    /// ChaCha20-Poly1305: faster on the CPUs of many routers.
    ChaCha20Poly1305,
}

impl Method {
    const ALL: [Method; 2] = [Method::Aes256Gcm, Method::ChaCha20Poly1305];

    /// Its name in SIP022.
    pub fn word(self) -> &'static str {
        match self {
            Method::Aes256Gcm => "2022-blake3-aes-256-gcm",
            Method::ChaCha20Poly1305 => "2022-blake3-chacha20-poly1305",
        }
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Method::ALL.into_iter().find(|method| method.word() == word);
        found.ok_or_else(|| {
            format!(
                "`{word}` is no method: {}",
                Method::ALL.map(Method::word).join(", ")
            )
        })
    }
}

/// Implements `Deserialize` through `FromStr`.
macro_rules! from_text {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = Zeroizing::new(String::deserialize(from)?);
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

from_text!(Key, Method, Prefix, Destination);

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(text: &str) -> Result<ConnectConfig, String> {
        let key = Key::new([7; KEY_BYTES]).text();
        let text = format!("server = \"far.example:8443\"\nkey = \"{}\"\n{text}", *key);
        let config: ConnectConfig =
            toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        config.check().map_err(|error| error.to_string())?;
        Ok(config)
    }

    #[test]
    fn a_near_end_listens_on_loopback_unless_prefixes_are_named() {
        connect("socks = \"127.0.0.1:1080\"").unwrap();
        connect("socks = \"[::1]:1080\"").unwrap();
        let error = connect("http = \"192.168.1.1:8080\"").unwrap_err();
        assert!(
            error.contains("`http` is not a loopback address"),
            "{error}"
        );
        let error = connect("socks = \"0.0.0.0:1080\"\nallow = [\"0.0.0.0/0\"]").unwrap_err();
        assert!(error.contains("lets everybody use this relay"), "{error}");
        let config = connect("socks = \"192.168.1.1:1080\"\nallow = [\"192.168.1.0/24\"]").unwrap();
        assert!(config.allow[0].contains("192.168.1.77".parse().unwrap()));
        assert!(config.allow[0].contains("::ffff:192.168.1.77".parse().unwrap()));
        assert!(!config.allow[0].contains("192.168.2.1".parse().unwrap()));
    }

    #[test]
    fn a_configuration_without_a_door_or_with_a_wrong_name_is_refused() {
        assert!(
            connect("")
                .unwrap_err()
                .contains("none of `socks`, `http`, `redir` and `[[udp]]`")
        );
        assert!(
            connect("redir = \"127.0.0.1:12345\"")
                .unwrap_err()
                .contains("`redir` needs `lan`")
        );
        let injected = "redir = \"127.0.0.1:1\"\nlan = ['lan\" accept; #']";
        assert!(
            connect(injected)
                .unwrap_err()
                .contains("is no name of an interface")
        );
        assert!(
            connect("sock = \"127.0.0.1:1080\"")
                .unwrap_err()
                .contains("unknown field `sock`")
        );
        let error = connect("socks = \"127.0.0.1:1080\"\nmethod = \"rc4\"").unwrap_err();
        assert!(
            error.contains("2022-blake3-aes-256-gcm, 2022-blake3-chacha20-poly1305"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_messages_do_not_show_the_key() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("serve.toml");
        let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
        fs::write(
            &file,
            format!("listen = \"[::]:1\"\n\nkey = \"{secret}\"\n"),
        )
        .unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = ServeConfig::read(&file).unwrap_err();
        assert_eq!(error.kind, Kind::Permission);
        assert!(error.next_step().unwrap().starts_with("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let error = ServeConfig::read(&file).unwrap_err().to_string();
        assert!(error.contains("line 3: the key is not 32 bytes"), "{error}");
        assert!(!error.contains(secret));
    }
}
