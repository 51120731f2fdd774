//! Makes the files of both ends.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::config::{Key, Method};
use crate::destination::Destination;
use crate::error::Error;
use crate::shared::random;

/// Names of the two files.
pub const NAMES: [&str; 2] = ["relay-serve.toml", "relay-connect.toml"];

/// [`write()`] for a server on the command line, with the default method. Returns a sentence about
/// the files.
///
/// # Errors
/// Also if the server is no host with port.
pub fn write_for(folder: &Path, server: &str) -> Result<String, Error> {
    let to = server
        .parse()
        .map_err(|wrong: String| Error::usage(wrong))?;
    let [serve, connect] = write(folder, &to, Method::default())?;
    Ok(format!(
        "wrote {}, for `joulepath relay serve` on {server}, and {}, for `joulepath relay connect` here; both \
         contain the key",
        serve.display(),
        connect.display()
    ))
}

/// Writes both files with a new key into a folder, readable by their owner alone. Returns their
/// paths.
///
/// # Errors
/// If one exists, or cannot be written; then none is left.
pub fn write(folder: &Path, server: &Destination, method: Method) -> Result<[PathBuf; 2], Error> {
    let port = match server {
        Destination::Address(address) => address.port(),
        Destination::Name(_, port) => *port,
    };
    let bytes = random().map_err(|error| Error::io("cannot make a key", &error))?;
    let key = Key::new(bytes).text();
    let method = method.word();
    let serve = Zeroizing::new(format!(
        "\
# The far end, on a server: joulepath relay serve relay-serve.toml
# Keep this file secret: the key opens the relay.
listen = \"[::]:{port}\"
key = \"{}\"
method = \"{method}\"
# The controller towards the near end: it shapes the near end's downloads.
# congestion = \"jp_joule\"
# Clients reach public addresses only. Further prefixes:
# allow_private = [\"10.0.0.0/8\"]
# UDP, on the same port:
# udp = true
",
        *key
    ));
    let connect = Zeroizing::new(format!(
        "\
# The near end, with several paths: joulepath relay connect relay-connect.toml
# Keep this file secret: the key opens the relay.
server = \"{server}\"
key = \"{}\"
method = \"{method}\"
socks = \"127.0.0.1:1080\"
http = \"127.0.0.1:8118\"
# The controller towards the far end, for uploads.
# congestion = \"jp_joule\"
# A router for its LAN:
# redir = \"[::]:12345\"
# lan = [\"br-lan\"]
# allow = [\"192.168.1.0/24\"]
# UDP, if the far end has `udp = true`:
# [[udp]]
# listen = \"127.0.0.1:5353\"
# to = \"9.9.9.9:53\"
",
        *key
    ));
    let files = NAMES.map(|name| folder.join(name));
    create(&files[0], &serve)?;
    if let Err(error) = create(&files[1], &connect) {
        // Made above, with a key that nobody else has.
        let _ = fs::remove_file(&files[0]);
        return Err(error);
    }
    Ok(files)
}

fn create(file: &Path, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let cannot = |error| Error::io(format!("cannot write {}", file.display()), &error);
    let mut opened = opened.map_err(|error| {
        let help = match error.kind() {
            ErrorKind::AlreadyExists => {
                "it has a key that may be in use: move it away, or name another --folder"
            }
            ErrorKind::NotFound => "there is no such folder: make it, or name another --folder",
            _ => return cannot(error),
        };
        cannot(error).help(help)
    })?;
    opened
        .write_all(text.as_bytes())
        .and_then(|()| opened.sync_all())
        .map_err(|error| {
            let _ = fs::remove_file(file);
            cannot(error)
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::config::{ConnectConfig, ServeConfig};

    #[test]
    fn the_two_files_are_read_back_have_one_key_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let server = "far.example:8443".parse().unwrap();
        let [serve, connect] = write(folder.path(), &server, Method::ChaCha20Poly1305).unwrap();
        assert_eq!(fs::metadata(&serve).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&connect).unwrap().mode() & 0o777, 0o600);
        // The name that the kernel knows: without the prefix, it would be Linux' own.
        for file in [&serve, &connect] {
            assert!(
                fs::read_to_string(file)
                    .unwrap()
                    .contains("# congestion = \"jp_joule\"\n")
            );
        }
        let (serve, connect) = (
            ServeConfig::read(&serve).unwrap(),
            ConnectConfig::read(&connect).unwrap(),
        );
        assert_eq!(serve.key.bytes(), connect.key.bytes());
        assert_eq!(
            (serve.method, connect.method),
            (Method::ChaCha20Poly1305, Method::ChaCha20Poly1305)
        );
        assert_eq!(
            (serve.listen.port(), connect.server),
            (8443, server.clone())
        );

        let other = tempfile::tempdir().unwrap();
        let [second, _] = write(other.path(), &server, Method::Aes256Gcm).unwrap();
        assert_ne!(
            ServeConfig::read(&second).unwrap().key.bytes(),
            serve.key.bytes()
        );
    }

    #[test]
    fn an_existing_file_is_kept_and_no_other_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join(NAMES[1]);
        fs::write(&kept, "mine").unwrap();
        let error = write(
            folder.path(),
            &"far.example:1".parse().unwrap(),
            Method::default(),
        )
        .unwrap_err();
        assert!(error.to_string().contains(NAMES[1]), "{error}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "mine");
        assert!(!folder.path().join(NAMES[0]).exists());
    }
}
