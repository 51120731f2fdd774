//! The nftables rules that send a LAN's TCP connections to `redir`.
//!
//! They are in one table of their own: adding it is one transaction, and deleting it undoes
//! everything.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::config::ConnectConfig;
use crate::error::{Error, Kind};

/// The table.
pub const TABLE: &str = "joulepath_relay";

/// Private addresses of IPv4, which the far end refuses.
const PRIVATE: &str = "10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16";

/// The rules as text for `nft -f`.
///
/// # Errors
/// If the configuration has no `redir`.
pub fn text(config: &ConnectConfig) -> Result<String, Error> {
    let Some(redir) = config.redir else {
        return Err(Error::usage("the file has no `redir`, so there are no rules")
            .help("for example: redir = \"[::]:12345\", lan = [\"br-lan\"], allow = [\"192.168.1.0/24\"]"));
    };
    let quoted: Vec<String> = config
        .lan
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let allowed = |v4: bool| -> Vec<String> {
        let family = config.allow.iter().filter(|prefix| prefix.is_ipv4() == v4);
        family.map(ToString::to_string).collect()
    };
    let (v4, v6) = match redir.ip() {
        IpAddr::V4(_) => (allowed(true), vec![]),
        IpAddr::V6(any) if any.is_unspecified() => (allowed(true), allowed(false)),
        IpAddr::V6(_) => (vec![], allowed(false)),
    };
    let port = redir.port();
    let mut rules = String::new();
    // Writing to a String does not fail.
    let _ = write!(
        rules,
        "\
table inet {TABLE} {{
\tchain lan {{
\t\ttype nat hook prerouting priority dstnat; policy accept;
\t\tiifname != {{ {} }} return
\t\t# The router itself.
\t\tfib daddr type {{ local, broadcast, anycast, multicast }} return
",
        quoted.join(", ")
    );
    if !v4.is_empty() {
        let _ = writeln!(
            rules,
            "\t\tip daddr {{ {PRIVATE} }} return\n\
             \t\tip saddr {{ {} }} meta l4proto tcp redirect to :{port}",
            v4.join(", ")
        );
    }
    if !v6.is_empty() {
        let _ = writeln!(
            rules,
            "\t\tip6 daddr != 2000::/3 return\n\
             \t\tip6 saddr {{ {} }} meta l4proto tcp redirect to :{port}",
            v6.join(", ")
        );
    }
    rules.push_str("\t}\n}\n");
    Ok(rules)
}

/// [`text`] for the configuration in a file.
///
/// # Errors
/// Also if the file is wrong.
pub fn text_for(file: &Path) -> Result<String, Error> {
    text(&ConnectConfig::read(file)?)
}

/// Time for `nft` to set the rules.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rules that are set, until [`Set::undo`] or the end of its life.
pub struct Set {
    /// The `nft` that owns the table. It ends when this process does, however that ends, and the
    /// kernel deletes the table with its owner.
    owner: Option<Child>,
    undone: bool,
}

impl Set {
    /// Sets the rules.
    ///
    /// # Errors
    /// If the table exists, `nft` is absent or refuses.
    pub fn new(config: &ConnectConfig) -> Result<Self, Error> {
        // `create` fails if the table exists, in the same transaction.
        let rules = format!("create table inet {TABLE}\n{}", text(config)?);
        if nft(&["list", "table", "inet", TABLE], "").is_ok() {
            return Err(Error::new(
                Kind::Failed,
                format!("nftables has a table {TABLE} already"),
            )
            .help("another relay runs, or a killed one left it: --undo-rules deletes it"));
        }
        // Linux 5.12 has tables with an owner.
        let owned = text(config)?.replacen(" {\n", " {\nflags owner\n", 1);
        let owner = nft(&["-c", "-f", "-"], &owned)
            .ok()
            .and_then(|()| own(&in_one_line(&owned)));
        if owner.is_none() {
            nft(&["-f", "-"], &rules)?;
        }
        Ok(Set {
            owner,
            undone: false,
        })
    }

    /// Deletes the rules.
    ///
    /// # Errors
    /// If `nft` refuses.
    pub fn undo(mut self) -> Result<(), Error> {
        self.undone = true;
        self.take_back()
    }

    fn take_back(&mut self) -> Result<(), Error> {
        match self.owner.take() {
            Some(mut owner) => {
                drop(owner.stdin.take());
                owner
                    .wait()
                    .map(drop)
                    .map_err(|error| Error::io("cannot wait for `nft`", &error))
            }
            None => undo().map(drop),
        }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        if !self.undone {
            let _ = self.take_back();
        }
    }
}

/// Deletes the rules that a killed relay has left. False if there are none.
///
/// # Errors
/// If `nft` is absent or refuses.
pub fn undo() -> Result<bool, Error> {
    match nft(&["delete", "table", "inet", TABLE], "") {
        Ok(()) => Ok(true),
        Err(error) if error.to_string().contains("No such file or directory") => Ok(false),
        Err(_) if nft(&["list", "table", "inet", TABLE], "").is_ok() => Err(Error::new(
            Kind::Failed,
            "the rules belong to a relay that runs",
        )
        .help("stop it: the kernel deletes them with their owner")),
        Err(error) => Err(error),
    }
}

/// [`undo`], and what it has done in words.
///
/// # Errors
/// As `undo`.
pub fn undo_and_say() -> Result<&'static str, Error> {
    Ok(if undo()? {
        "deleted the rules"
    } else {
        "there are no rules"
    })
}

/// Sets the rules by an `nft` that keeps the table as long as its stdin is open. `None` if that
/// fails.
fn own(rules: &str) -> Option<Child> {
    let mut command = Command::new("nft");
    command
        .arg("-i")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Ctrl-C is for the relay, which takes the rules back at its end.
    let mut child = command.process_group(0).spawn().ok()?;
    let is_written = child
        .stdin
        .as_mut()
        .is_some_and(|stdin| stdin.write_all(rules.as_bytes()).is_ok());
    let began = Instant::now();
    while is_written && began.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
        if nft(&["list", "table", "inet", TABLE], "").is_ok() {
            return Some(child);
        }
        sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// The rules as one line, which is a command of `nft -i`.
fn in_one_line(rules: &str) -> String {
    let mut line = String::new();
    for part in rules
        .lines()
        .map(str::trim)
        .filter(|part| !part.is_empty() && !part.starts_with('#'))
    {
        line += part;
        line += if part.ends_with(['{', ';']) {
            " "
        } else {
            "; "
        };
    }
    line + "\n"
}

fn nft(arguments: &[&str], input: &str) -> Result<(), Error> {
    let absent = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::new(Kind::Unsupported, "there is no command `nft`")
            .help("install nftables: apt install nftables"),
        _ => Error::io("cannot run `nft`", error),
    };
    let mut command = Command::new("nft");
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| absent(&error))?;
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| Error::io("cannot run `nft`", &error))?;
    if output.status.success() {
        return written.map_err(|error| Error::io("cannot give `nft` its rules", &error));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it gives no reason");
    let kind = if said.contains("Operation not permitted") {
        Kind::Permission
    } else {
        Kind::Failed
    };
    Err(
        Error::new(kind, format!("`nft {}`: {first}", arguments.join(" ")))
            .help("it needs root or CAP_NET_ADMIN, and a kernel with nftables' nat and fib"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Key;

    fn config(keys: &str) -> ConnectConfig {
        let key = Key::new([1; 32]).text();
        toml::from_str(&format!(
            "server = \"far.example:1\"\nkey = \"{}\"\n{keys}",
            *key
        ))
        .unwrap()
    }

    #[test]
    fn only_allowed_hosts_of_the_lan_are_redirected_and_private_destinations_are_not() {
        let lan = "redir = \"[::]:7\"\nlan = [\"br-lan\", \"wg0\"]";
        let both = format!("{lan}\nallow = [\"192.168.1.0/24\", \"2001:db8::/48\"]");
        let rules = text(&config(&both)).unwrap();
        assert!(
            rules.contains("iifname != { \"br-lan\", \"wg0\" } return"),
            "{rules}"
        );
        assert!(
            rules.contains("ip saddr { 192.168.1.0/24 } meta l4proto tcp redirect to :7"),
            "{rules}"
        );
        assert!(
            rules.contains("ip6 saddr { 2001:db8::/48 } meta l4proto tcp redirect to :7"),
            "{rules}"
        );
        let private = rules.find("192.168.0.0/16 } return").unwrap();
        assert!(private < rules.find("redirect").unwrap());
    }

    #[test]
    fn a_listener_of_one_family_gets_this_family_only() {
        let allow = "lan = [\"lan0\"]\nallow = [\"192.168.1.0/24\", \"2001:db8::/48\"]";
        let rules = text(&config(&format!("redir = \"192.168.1.1:7\"\n{allow}"))).unwrap();
        assert!(
            rules.contains("ip saddr") && !rules.contains("ip6 saddr"),
            "{rules}"
        );
        let rules = text(&config(&format!("redir = \"[2001:db8::1]:7\"\n{allow}"))).unwrap();
        assert!(
            !rules.contains("ip saddr") && rules.contains("ip6 saddr"),
            "{rules}"
        );
    }

    #[test]
    fn the_rules_in_one_line_have_no_comments_and_end_each_statement() {
        let chain = "chain c {\n\t\ttype nat; policy accept;\n\t\tx\n\t}";
        let rules = format!("table inet t {{\n\tflags owner\n\t# why\n\t{chain}\n}}\n");
        let line = "table inet t { flags owner; chain c { type nat; policy accept; x; }; }; \n";
        assert_eq!(in_one_line(&rules), line);
    }

    #[test]
    fn without_redir_there_are_no_rules() {
        let error = text(&config("socks = \"127.0.0.1:1080\"")).unwrap_err();
        assert_eq!(error.kind, Kind::Usage);
    }
}
