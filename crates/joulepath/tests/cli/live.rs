//! The configuration of `joulepath live`: what is shipped loads, and conforms to its schema.

use joulepath_model::scenario::read_live;
use serde_json::Value;

use crate::run::joulepath;
use crate::schema::errors;

const SHIPPED: &str = include_str!("../../../../packaging/live.toml");

/// With every key that is a comment: a line that begins with `#` and a letter or a bracket.
fn with_all_keys() -> String {
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with([' ', '#']) => format!("{key}\n"),
        _ => format!("{line}\n"),
    };
    SHIPPED.lines().map(uncommented).collect()
}

fn as_json(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn the_shipped_configuration_loads_with_every_key_in_its_comments() {
    let shipped = read_live(SHIPPED).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(shipped.interface("wlan0").unwrap().cost, Some(1));
    assert!(shipped.interface("wwan0").unwrap().metered);
    // `deadline` and `rate` exclude each other, and the comment says so.
    let all = with_all_keys().replace("\nrate = \"5 Mbit/s\"", "");
    let all = read_live(&all).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(all.deadline.is_some() && all.interface("wwan0").unwrap().quota.is_some());
    assert_eq!(all.control.commanders.as_deref(), Some("joulepath"));
}

#[test]
fn the_schema_accepts_the_shipped_configuration_and_refuses_mistakes() {
    let schema = joulepath(&["schema", "live"]).json();
    for text in [
        SHIPPED.to_owned(),
        with_all_keys(),
        "intent = \"off\"".into(),
    ] {
        assert_eq!(
            errors(&schema, &as_json(&text)),
            Vec::<String>::new(),
            "{text}"
        );
    }
    for (text, wrong) in [
        ("intent = \"cheap\"", "is none of"),
        ("transfer = \"1 MB\"", "\"intent\" is missing"),
        ("intent = \"off\"\nbattery_below = 0.2", "is not of type"),
        (
            "intent = \"off\"\n[[interface]]\nname = \"a\"\nquota = { hard = \"5\" }",
            "does not match",
        ),
    ] {
        let found = errors(&schema, &as_json(text));
        assert!(
            found.iter().any(|error| error.contains(wrong)),
            "{text}: {found:?}"
        );
    }
    assert_ne!(schema, joulepath(&["schema"]).json());
}

#[cfg(feature = "live")]
mod the_page {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Stdio};

    use crate::run::{command, folder, joulepath};

    /// Ends with the test.
    struct Served(Child);

    impl Drop for Served {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn the_printed_address_opens_a_page_without_a_daemon() {
        let folder = folder();
        let words = [
            "status",
            "--serve",
            "127.0.0.1:0",
            "--token",
            "--socket",
            "none.sock",
        ];
        let mut served = Served(
            command(folder.path(), &words)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut url = String::new();
        BufReader::new(served.0.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        let (host, target) = url
            .trim()
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let get = |target: &str| {
            let mut stream = TcpStream::connect(host).unwrap();
            write!(
                stream,
                "GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        assert!(target.starts_with("?token=") && get("").starts_with("HTTP/1.1 403"));
        let page = get(target);
        assert!(
            page.starts_with("HTTP/1.1 200") && page.contains("no daemon listens at none.sock"),
            "{page}"
        );
    }

    #[test]
    fn an_address_that_cannot_be_used_is_named() {
        // TEST-NET-1 belongs to no host.
        let said = joulepath(&["status", "--serve", "192.0.2.1:7077", "--token"]);
        assert!(
            said.code != Some(0) && said.stderr.contains("192.0.2.1:7077"),
            "{}",
            said.stderr
        );
        assert!(
            said.stderr.contains("help: no interface has this address"),
            "{}",
            said.stderr
        );
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let said = joulepath(&[
            "status",
            "--serve",
            &taken.local_addr().unwrap().to_string(),
        ]);
        assert!(
            said.stderr.contains("help: another program has this port"),
            "{}",
            said.stderr
        );
        for words in [
            &["--serve", "nowhere"][..],
            &["--token"],
            &["--serve", "127.0.0.1:0", "--json"],
        ] {
            let said = joulepath(&[&["status"], words].concat());
            assert_eq!(said.code, Some(2), "{}", said.stderr);
        }
    }
}
