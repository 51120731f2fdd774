//! What a program asks of the near end: SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110, section
//! 9.3.6).

use std::io;

use crate::destination::Destination;
use crate::socket::Stream;

/// Longest head of a request.
const MOST_HEAD: usize = 16 << 10;

/// How programs ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Socks,
    Http,
    /// nftables has redirected the connection.
    Redir,
}

impl Door {
    /// Its key in the configuration.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Door::Socks => "socks",
            Door::Http => "http",
            Door::Redir => "redir",
        }
    }
}

/// Where a program wants to go, and what it has sent after the request.
pub(crate) struct Wish {
    pub(crate) to: Destination,
    pub(crate) first: Vec<u8>,
}

/// Reads what the program wants. `None` if it was refused with an answer of its protocol.
///
/// # Errors
/// If the connection breaks or ends.
pub(crate) async fn read(door: Door, stream: &Stream) -> io::Result<Option<Wish>> {
    match door {
        Door::Redir => {
            let to = Destination::Address(stream.original_destination()?);
            Ok(Some(Wish { to, first: vec![] }))
        }
        Door::Socks => ask(stream, Socks::Methods).await,
        Door::Http => ask(stream, Http).await,
    }
}

/// Tells the program that the far end is connected, or not.
pub(crate) async fn answer(door: Door, stream: &Stream, connected: bool) -> io::Result<()> {
    let bytes = match (door, connected) {
        (Door::Redir, _) => b"".as_slice(),
        (Door::Socks, true) => &socks_reply(0),
        // General failure: the relay is not reachable.
        (Door::Socks, false) => &socks_reply(1),
        (Door::Http, true) => b"HTTP/1.1 200 Connection established\r\n\r\n",
        (Door::Http, false) => {
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 29\r\nConnection: close\r\n\r\n\
            the relay cannot be reached.\n"
        }
    };
    stream.send(bytes).await
}

fn socks_reply(code: u8) -> [u8; 10] {
    // The address that the far end uses is of no interest to programs, and not known here.
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// What to do with the bytes so far.
enum Next<P> {
    /// More are needed.
    More,
    /// So many are used; send this and go on.
    Reply(usize, Vec<u8>, P),
    /// So many are used; that is where it shall go.
    Done(usize, Destination),
    /// Send this and close.
    Refuse(Vec<u8>),
}

/// A protocol as a pure function of the bytes so far.
trait Protocol: Sized + Copy {
    fn next(self, bytes: &[u8]) -> Next<Self>;
}

async fn ask(stream: &Stream, mut protocol: impl Protocol) -> io::Result<Option<Wish>> {
    let mut bytes = vec![];
    loop {
        match protocol.next(&bytes) {
            Next::More if bytes.len() < MOST_HEAD => {
                let filled = bytes.len();
                bytes.resize(filled + 1024, 0);
                stream.receive().await?;
                let read = stream.try_read(&mut bytes[filled..])?;
                bytes.truncate(filled + read.unwrap_or(0));
                if read == Some(0) {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Next::More => return Ok(None),
            Next::Reply(used, reply, then) => {
                bytes.drain(..used);
                protocol = then;
                stream.send(&reply).await?;
            }
            Next::Done(used, to) => {
                return Ok(Some(Wish {
                    to,
                    first: bytes.split_off(used),
                }));
            }
            Next::Refuse(reply) => {
                stream.send(&reply).await?;
                stream.finish()?;
                return Ok(None);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Socks {
    Methods,
    Request,
}

impl Protocol for Socks {
    fn next(self, bytes: &[u8]) -> Next<Self> {
        match (self, bytes) {
            (_, []) => Next::More,
            (_, [version, ..]) if *version != 5 => Next::Refuse(vec![]),
            (Socks::Methods, [_, count, methods @ ..]) => {
                let count = usize::from(*count);
                match methods.get(..count) {
                    None => Next::More,
                    // 0: no authentication. 255: none of yours.
                    Some(offered) if offered.contains(&0) => {
                        Next::Reply(2 + count, vec![5, 0], Socks::Request)
                    }
                    Some(_) => Next::Refuse(vec![5, 255]),
                }
            }
            (Socks::Request, [_, command, _, address @ ..]) => match Destination::decode(address) {
                _ if *command != 1 => Next::Refuse(socks_reply(7).to_vec()),
                Ok(None) => Next::More,
                Ok(Some((to, used))) => Next::Done(3 + used, to),
                Err(_) => Next::Refuse(socks_reply(8).to_vec()),
            },
            _ => Next::More,
        }
    }
}

/// The bytes after the first of these texts that they begin with.
fn after<'a>(bytes: &'a [u8], texts: &[&str]) -> Option<&'a [u8]> {
    texts
        .iter()
        .find_map(|text| bytes.strip_prefix(text.as_bytes()))
}

#[derive(Clone, Copy)]
struct Http;

impl Protocol for Http {
    fn next(self, bytes: &[u8]) -> Next<Self> {
        // Empty lines before a request, and lines that end without CR (RFC 9112, section 2.2).
        let mut request = bytes;
        while let Some(rest) = after(request, &["\r\n", "\n"]) {
            request = rest;
        }
        let end_at = |at: usize| Some((at, after(&request[at..], &["\n\r\n", "\n\n"])?));
        let Some((end, more)) = (0..request.len()).find_map(end_at) else {
            return Next::More;
        };
        let refuse = |status: &str, text: &str| {
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}",
                text.len()
            );
            Next::Refuse(format!("{head}\r\n\r\n{text}").into_bytes())
        };
        let head = str::from_utf8(&request[..end]).unwrap_or_default();
        let words: Vec<&str> = head.lines().next().unwrap_or_default().split(' ').collect();
        match words[..] {
            ["CONNECT", to, version] if version.starts_with("HTTP/1.") => match to.parse() {
                Ok(to) => Next::Done(bytes.len() - more.len(), to),
                Err(_) => refuse("400 Bad Request", "CONNECT needs host:port.\n"),
            },
            [_, _, version] if version.starts_with("HTTP/") => refuse(
                "405 Method Not Allowed\r\nAllow: CONNECT",
                "This proxy has CONNECT only: for http:// use the SOCKS5 address, socks5h://.\n",
            ),
            _ => refuse("400 Bad Request", "This is an HTTP proxy.\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the protocol makes of a program's whole input: the replies, the destination, and what
    /// is left.
    fn play(mut protocol: impl Protocol, mut input: &[u8]) -> (Vec<u8>, Option<(String, Vec<u8>)>) {
        let mut replies = vec![];
        loop {
            match protocol.next(input) {
                Next::More => return (replies, None),
                Next::Reply(used, reply, then) => {
                    replies.extend(reply);
                    input = &input[used..];
                    protocol = then;
                }
                Next::Done(used, to) => {
                    return (replies, Some((to.to_string(), input[used..].to_vec())));
                }
                Next::Refuse(reply) => {
                    replies.extend(reply);
                    return (replies, None);
                }
            }
        }
    }

    #[test]
    fn socks_connects_to_names_and_addresses_and_keeps_what_follows() {
        let hello = b"\x05\x02\x02\x00".as_slice();
        let name = [hello, b"\x05\x01\x00\x03\x0bexample.org\x01\xbbTLS"].concat();
        assert_eq!(
            play(Socks::Methods, &name),
            (
                vec![5, 0],
                Some(("example.org:443".into(), b"TLS".to_vec()))
            )
        );
        let v4 = [hello, b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"].concat();
        assert_eq!(
            play(Socks::Methods, &v4).1,
            Some(("192.0.2.1:80".into(), vec![]))
        );
    }

    #[test]
    fn socks_refuses_what_it_does_not_have() {
        assert_eq!(play(Socks::Methods, b"\x05\x01\x02").0, [5, 255]);
        assert_eq!(play(Socks::Methods, b"\x04\x01\x00\x50").0, [0_u8; 0]);
        let udp = b"\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00";
        assert_eq!(
            play(Socks::Methods, udp).0,
            [vec![5, 0], socks_reply(7).to_vec()].concat()
        );
        let kind = b"\x05\x01\x00\x05\x01\x00\x09\x00\x00\x00\x00\x00\x00";
        assert_eq!(
            play(Socks::Methods, kind).0,
            [vec![5, 0], socks_reply(8).to_vec()].concat()
        );
    }

    #[test]
    fn http_has_connect_only_and_names_the_other_door() {
        let good = b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n\r\nmore";
        assert_eq!(
            play(Http, good).1,
            Some(("[2001:db8::1]:443".into(), b"more".to_vec()))
        );
        let short = b"CONNECT [2001:db8::1]:443 HTTP/1.1\nHost: x\n\nmore";
        assert_eq!(play(Http, short), play(Http, good));
        assert_eq!(play(Http, &short[..short.len() - 5]), (vec![], None));
        for empty in ["\r\n", "\r\n\r\n\r\n", "\n", "\n\r\n"] {
            let late = [empty.as_bytes(), good].concat();
            assert_eq!(play(Http, &late), play(Http, good));
        }
        assert_eq!(play(Http, b"\r\n\r\n\r"), (vec![], None));
        let status = |input: &[u8]| {
            let (reply, to) = play(Http, input);
            assert!(to.is_none());
            String::from_utf8(reply).unwrap()
        };
        let get = status(b"GET http://example.org/ HTTP/1.1\r\n\r\n");
        assert!(
            get.starts_with("HTTP/1.1 405 ") && get.contains("socks5h"),
            "{get}"
        );
        assert!(status(b"CONNECT example.org HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert!(status(b"\x16\x03\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert_eq!(status(b"CONNECT a:1 HTTP/1.1\r\n"), "");
    }

    #[test]
    fn no_greeting_causes_a_panic() {
        let hello = b"\x05\x02\x02\x00".as_slice();
        let seeds = [
            [hello, b"\x05\x01\x00\x03\x0bexample.org\x01\xbbTLS"].concat(),
            [hello, b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"].concat(),
            [hello, b"\x05\x01\x00\x04", &[32; 16], b"\x01\xbb"].concat(),
            b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n\r\nmore".to_vec(),
            b"GET http://example.org/ HTTP/1.1\r\n\r\n".to_vec(),
        ];
        joulepath_testbed::fuzz(seeds, |bytes| {
            // As `ask` reads them: never more than a head and one reading.
            let bytes = &bytes[..bytes.len().min(MOST_HEAD + 1024)];
            play(Socks::Methods, bytes);
            play(Http, bytes);
        });
    }
}
