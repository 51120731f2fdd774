//! Names of addresses, from DNS answers and TLS greetings.

use std::collections::HashMap;
use std::net::IpAddr;

use simple_dns::Packet;
use simple_dns::rdata::RData;
use tls_parser::{
    TlsExtension, TlsMessage, TlsMessageHandshake, parse_tls_extensions, parse_tls_plaintext,
};

/// Bytes of a greeting that are kept at most: one with post-quantum keys has about 2,000.
const GREETING: usize = 16_384;

/// Names by address.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<IpAddr, String>);

impl Names {
    /// Takes the addresses of a DNS answer, if `payload` is one.
    pub(crate) fn learn(&mut self, payload: &[u8]) {
        let Ok(answer) = Packet::parse(payload) else {
            return;
        };
        // Addresses belong to the name that was asked for, not to the alias that has them.
        let Some(question) = answer.questions.first() else {
            return;
        };
        let name = question.qname.to_string();
        for record in &answer.answers {
            let address = match &record.rdata {
                RData::A(v4) => IpAddr::from(v4.address.to_be_bytes()),
                RData::AAAA(v6) => IpAddr::from(v6.address.to_be_bytes()),
                _ => continue,
            };
            self.0.insert(address, name.clone());
        }
    }

    pub(crate) fn add(&mut self, address: IpAddr, name: String) {
        self.0.insert(address, name);
    }

    pub(crate) fn of(&self, address: IpAddr) -> Option<&str> {
        self.0.get(&address).map(String::as_str)
    }
}

/// The first bytes of a connection's client, until the server's name in them is found or missing.
#[derive(Debug, Default)]
pub(crate) enum Greeting {
    /// Nothing yet.
    #[default]
    Unheard,
    /// A part of it.
    Part(Vec<u8>),
    /// Read, or no greeting.
    Over,
}

impl Greeting {
    /// Takes more bytes; returns the name once it is there.
    pub(crate) fn hear(&mut self, payload: &[u8]) -> Option<String> {
        /// Type of a handshake's record.
        const HANDSHAKE: u8 = 22;
        let mut bytes = match std::mem::replace(self, Greeting::Over) {
            Greeting::Over => return None,
            Greeting::Unheard if payload.first() != Some(&HANDSHAKE) => return None,
            Greeting::Unheard => vec![],
            Greeting::Part(bytes) => bytes,
        };
        bytes.extend_from_slice(payload);
        match parse_tls_plaintext(&bytes) {
            Ok((_, record)) => record.msg.iter().find_map(server),
            Err(error) if error.is_incomplete() && bytes.len() < GREETING => {
                *self = Greeting::Part(bytes);
                None
            }
            Err(_) => None,
        }
    }
}

fn server(message: &TlsMessage<'_>) -> Option<String> {
    let TlsMessage::Handshake(TlsMessageHandshake::ClientHello(hello)) = message else {
        return None;
    };
    let (_, extensions) = parse_tls_extensions(hello.ext?).ok()?;
    extensions.iter().find_map(|extension| match extension {
        TlsExtension::SNI(names) => {
            let (_, name) = names.first()?;
            String::from_utf8(name.to_vec()).ok()
        }
        _ => None,
    })
}
