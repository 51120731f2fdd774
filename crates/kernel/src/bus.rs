//! A client of a D-Bus message bus that waits for its replies: calls of methods, and the properties
//! of objects. `zbus` encodes and decodes; connections and messages follow the D-Bus specification.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zbus::wire::serialized::{Context, Data};
use zbus::wire::{BE, DynamicType, LE, to_bytes};
use zbus::{ObjectPath, OwnedVariant, Type, Variant};

/// The name, path and interface of the bus itself.
const BUS: [&str; 3] = [
    "org.freedesktop.DBus",
    "/org/freedesktop/DBus",
    "org.freedesktop.DBus",
];
/// Interface of the properties of objects.
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
/// Longest time until the reply to a call.
const LIMIT: Duration = Duration::from_secs(2);
/// Most bytes of a message. The state of a modem takes about 10 kB.
const MOST_BYTES: usize = 1 << 20;
/// Length of a message's header before its fields.
const FIXED: usize = 16;
/// A call does not start the called program (`NO_AUTO_START`).
const STARTS_NOTHING: u8 = 2;

/// Properties of an interface.
pub type Properties = BTreeMap<String, OwnedVariant>;

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call of a method.
    Call = 1,
    /// The reply to a call.
    Return = 2,
    /// The failure of a call.
    Failure = 3,
    /// Anything else: a notification.
    Other = 4,
}

/// A message without its serial number.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its kind.
    pub kind: Kind,
    /// Header fields by code, such as [`Message::PATH`].
    pub fields: BTreeMap<u8, OwnedVariant>,
    /// Encoded arguments.
    pub body: Vec<u8>,
    /// Types of the arguments, one after the other.
    signature: String,
    is_little_endian: bool,
}

impl Message {
    /// Code of the path of the object.
    pub const PATH: u8 = 1;
    /// Code of the interface.
    pub const INTERFACE: u8 = 2;
    /// Code of the method.
    pub const MEMBER: u8 = 3;
    /// Code of the name of an error.
    pub const ERROR: u8 = 4;
    /// Code of the serial number of the answered call.
    pub const REPLY_TO: u8 = 5;
    /// Code of the receiver's name.
    pub const DESTINATION: u8 = 6;
    /// Code of the sender's name.
    pub const SENDER: u8 = 7;
    /// Code of the signature of the body.
    const SIGNATURE: u8 = 8;

    /// A message with these arguments, a tuple.
    ///
    /// # Errors
    /// If the arguments cannot be encoded.
    pub fn new<T: Serialize + DynamicType>(
        kind: Kind,
        fields: &[(u8, Variant<'_>)],
        arguments: &T,
    ) -> io::Result<Self> {
        let owned =
            |(code, value): &(u8, Variant<'_>)| Ok((*code, value.try_to_owned().map_err(broken)?));
        let fields: BTreeMap<u8, OwnedVariant> =
            fields.iter().map(owned).collect::<io::Result<_>>()?;
        let signature = arguments.signature().to_string_no_parens();
        let body = to_bytes(Context::new(LE, 0), arguments).map_err(broken)?;
        Ok(Message {
            kind,
            fields,
            body: body.bytes().to_vec(),
            signature,
            is_little_endian: true,
        })
    }

    /// A field that is a text.
    #[must_use]
    pub fn text(&self, code: u8) -> Option<&str> {
        match &**self.fields.get(&code)? {
            Variant::Str(text) => Some(text.as_str()),
            Variant::ObjectPath(path) => Some(path.as_str()),
            _ => None,
        }
    }

    /// The serial number of the answered call.
    fn reply_to(&self) -> Option<u32> {
        match &**self.fields.get(&Self::REPLY_TO)? {
            Variant::U32(serial) => Some(*serial),
            _ => None,
        }
    }

    /// The arguments, a tuple.
    ///
    /// # Errors
    /// If they have other types.
    pub fn arguments<T: for<'d> Deserialize<'d> + Type>(&self) -> io::Result<T> {
        let wanted = T::SIGNATURE.to_string_no_parens();
        if self.signature != wanted {
            return Err(broken(format!(
                "it has the types `{}`, not `{wanted}`",
                self.signature
            )));
        }
        let endian = if self.is_little_endian { LE } else { BE };
        let body = Data::new(self.body.as_slice(), Context::new(endian, 0));
        body.deserialize()
            .map(|(arguments, _)| arguments)
            .map_err(broken)
    }

    /// The bytes of the message with this serial number.
    fn bytes(&self, serial: u32) -> io::Result<Vec<u8>> {
        let length = u32::try_from(self.body.len()).map_err(broken)?;
        let fields: Vec<(u8, &Variant<'_>)> = self
            .fields
            .iter()
            .map(|(code, value)| (*code, &**value))
            .collect();
        let header = (
            b'l',
            self.kind as u8,
            STARTS_NOTHING,
            1u8,
            length,
            serial,
            fields,
        );
        let mut bytes = to_bytes(Context::new(LE, 0), &header)
            .map_err(broken)?
            .bytes()
            .to_vec();
        if !self.signature.is_empty() {
            // A `Signature` of several types would be that of a structure, with brackets.
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let length = u8::try_from(self.signature.len()).map_err(broken)?;
            bytes.extend([Self::SIGNATURE, 1, b'g', 0, length]);
            bytes.extend(self.signature.as_bytes());
            bytes.push(0);
            let length = u32::try_from(bytes.len() - FIXED).map_err(broken)?;
            bytes[FIXED - 4..FIXED].copy_from_slice(&length.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(&self.body);
        Ok(bytes)
    }
}

/// The error of a message that is not as expected.
fn broken(why: impl fmt::Display) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a D-Bus message cannot be read: {why}"),
    )
}

/// A connection to a bus. After an error other than [`io::ErrorKind::Other`], which is the called
/// program's answer, replies may be out of order: open another one.
#[derive(Debug)]
pub struct Bus {
    stream: UnixStream,
    serial: u32,
}

impl Bus {
    /// Connects to the bus at a Unix socket as the user of this process; `None` if there is no bus.
    ///
    /// # Errors
    /// If the bus refuses this user, or does not answer within 2 s.
    pub fn open(socket: &Path) -> io::Result<Option<Self>> {
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        stream.set_write_timeout(Some(LIMIT))?;
        let mut bus = Bus { stream, serial: 0 };
        bus.authenticate()?;
        bus.call_bus::<_, (String,)>("Hello", &())?;
        Ok(Some(bus))
    }

    /// D-Bus specification, "Authentication Protocol": the kernel tells the bus this user's id.
    fn authenticate(&mut self) -> io::Result<()> {
        let uid = rustix::process::geteuid().as_raw().to_string();
        let hex: String = uid.bytes().map(|byte| format!("{byte:02x}")).collect();
        write!(self.stream, "\0AUTH EXTERNAL {hex}\r\n")?;
        let until = Instant::now() + LIMIT;
        let mut line = vec![];
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.read(&mut byte, until)?;
            line.push(byte[0]);
            if line.len() > 1024 {
                return Err(broken("the bus answers with no D-Bus line"));
            }
        }
        if !line.starts_with(b"OK ") {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the bus refuses this user",
            ));
        }
        self.stream.write_all(b"BEGIN\r\n")
    }

    /// Reads exactly so many bytes.
    fn read(&mut self, bytes: &mut [u8], until: Instant) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the bus does not answer within 2 s",
                ));
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut bytes[filled..]) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the bus is gone",
                    ));
                }
                Ok(count) => filled += count,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends a message. Returns its serial number.
    ///
    /// # Errors
    /// If the bus is gone or does not read within 2 s.
    pub fn send(&mut self, message: &Message) -> io::Result<u32> {
        // 0 is no serial number.
        self.serial = self.serial.checked_add(1).unwrap_or(1);
        self.stream.write_all(&message.bytes(self.serial)?)?;
        Ok(self.serial)
    }

    /// Waits for the next message until `until`. Returns it with its serial number.
    ///
    /// # Errors
    /// If none arrives, or it cannot be read.
    pub fn receive(&mut self, until: Instant) -> io::Result<(u32, Message)> {
        let mut fixed = [0; FIXED];
        self.read(&mut fixed, until)?;
        let is_little_endian = match fixed[0] {
            b'l' => true,
            b'B' => false,
            other => return Err(broken(format!("it begins with byte {other}"))),
        };
        let number = |at: usize| {
            let bytes = fixed[at..at + 4].try_into().expect("four bytes");
            if is_little_endian {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            }
        };
        let [body, serial, fields] = [4, 8, 12].map(number);
        let padded = (FIXED + fields as usize).next_multiple_of(8);
        if padded.saturating_add(body as usize) > MOST_BYTES {
            return Err(broken(format!("it is longer than {MOST_BYTES} bytes")));
        }
        let mut header = fixed.to_vec();
        header.resize(padded, 0);
        self.read(&mut header[FIXED..], until)?;
        let mut arguments = vec![0; body as usize];
        self.read(&mut arguments, until)?;
        type Header = (u8, u8, u8, u8, u32, u32, Vec<(u8, OwnedVariant)>);
        let endian = if is_little_endian { LE } else { BE };
        let header = Data::new(header, Context::new(endian, 0));
        let ((_, kind, _, _, _, _, fields), _) = header.deserialize::<Header>().map_err(broken)?;
        let kind = match kind {
            1 => Kind::Call,
            2 => Kind::Return,
            3 => Kind::Failure,
            _ => Kind::Other,
        };
        let fields: BTreeMap<u8, OwnedVariant> = fields.into_iter().collect();
        let signature = match fields.get(&Message::SIGNATURE).map(|field| &**field) {
            Some(Variant::Signature(signature)) => signature.to_string_no_parens(),
            _ => String::new(),
        };
        Ok((
            serial,
            Message {
                kind,
                fields,
                body: arguments,
                signature,
                is_little_endian,
            },
        ))
    }

    /// Calls a method of an object: `[name of the program, path, interface]`. Does not start the
    /// program.
    ///
    /// # Errors
    /// [`io::ErrorKind::Other`] with the name and text of the error that the call returns; others
    /// if the bus does not answer within 2 s, or the reply has other types.
    pub fn call<T, R>(&mut self, object: [&str; 3], method: &str, arguments: &T) -> io::Result<R>
    where
        T: Serialize + DynamicType,
        R: for<'d> Deserialize<'d> + Type,
    {
        let [program, path, interface] = object;
        let path = ObjectPath::try_from(path).map_err(broken)?;
        let fields = [
            (Message::PATH, Variant::ObjectPath(path)),
            (Message::INTERFACE, Variant::from(interface)),
            (Message::MEMBER, Variant::from(method)),
            (Message::DESTINATION, Variant::from(program)),
        ];
        let serial = self.send(&Message::new(Kind::Call, &fields, arguments)?)?;
        let until = Instant::now() + LIMIT;
        loop {
            let (_, message) = self.receive(until)?;
            match message.kind {
                Kind::Return if message.reply_to() == Some(serial) => return message.arguments(),
                Kind::Failure if message.reply_to() == Some(serial) => {
                    let name = message
                        .text(Message::ERROR)
                        .unwrap_or("an error without a name");
                    let text = message
                        .arguments::<(String,)>()
                        .map_or(String::new(), |(text,)| format!(": {text}"));
                    return Err(io::Error::other(format!("{name}{text}")));
                }
                _ => {}
            }
        }
    }

    fn call_bus<T, R>(&mut self, method: &str, arguments: &T) -> io::Result<R>
    where
        T: Serialize + DynamicType,
        R: for<'d> Deserialize<'d> + Type,
    {
        self.call(BUS, method, arguments)
    }

    /// True if a program has this name.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn has(&mut self, name: &str) -> io::Result<bool> {
        self.call_bus::<_, (bool,)>("NameHasOwner", &(name,))
            .map(|(owned,)| owned)
    }

    /// Gives this connection a name. Returns false if another connection has it.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn own(&mut self, name: &str) -> io::Result<bool> {
        // 4: do not queue. 1: this connection owns the name.
        self.call_bus::<_, (u32,)>("RequestName", &(name, 4u32))
            .map(|(owner,)| owner == 1)
    }

    /// All properties of an interface of an object.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn properties(
        &mut self,
        program: &str,
        path: &str,
        interface: &str,
    ) -> io::Result<Properties> {
        let object = [program, path, PROPERTIES];
        self.call::<_, (Properties,)>(object, "GetAll", &(interface,))
            .map(|(properties,)| properties)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn without_a_bus_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Bus::open(&folder.path().join("absent")).unwrap().is_none());
        let left = folder.path().join("left");
        drop(UnixListener::bind(&left).unwrap());
        assert!(Bus::open(&left).unwrap().is_none());
    }

    /// The bytes of D-Bus specification, "Message Format", worked by hand: `Ping` to `/a` of `b`.
    #[test]
    fn a_call_has_the_bytes_of_the_specification() {
        let path = Variant::ObjectPath(ObjectPath::try_from("/a").unwrap());
        let fields = [
            (Message::PATH, path),
            (Message::MEMBER, Variant::from("Ping")),
        ];
        let message = Message::new(Kind::Call, &fields, &(7u32, 8u32)).unwrap();
        let mut expected = vec![b'l', 1, 2, 1, 8, 0, 0, 0, 9, 0, 0, 0, 40, 0, 0, 0];
        expected.extend(b"\x01\x01o\0\x02\0\0\0/a\0\0\0\0\0\0");
        expected.extend(b"\x03\x01s\0\x04\0\0\0Ping\0\0\0\0");
        expected.extend(b"\x08\x01g\0\x02uu\0");
        expected.extend([7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(message.bytes(9).unwrap(), expected);
    }

    /// What a bus that answers the first line with `says` makes of a client.
    fn opened(says: &'static [u8]) -> io::Error {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus");
        let listener = UnixListener::bind(&socket).unwrap();
        let bus = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(says).unwrap();
            // Until the client is gone.
            let _ = stream.read_to_end(&mut vec![]);
        });
        let error = Bus::open(&socket).unwrap_err();
        bus.join().unwrap();
        error
    }

    #[test]
    fn a_bus_that_refuses_hangs_or_floods_is_an_error() {
        assert_eq!(
            opened(b"REJECTED EXTERNAL\r\n").kind(),
            io::ErrorKind::PermissionDenied
        );
        assert_eq!(opened(b"OK 1234\r\n").kind(), io::ErrorKind::TimedOut);
        assert!(opened(&[b'x'; 2000]).to_string().contains("no D-Bus line"));
        let long = b"OK 1234\r\nl\x02\0\x01\0\0\0\x7f\x01\0\0\0\0\0\0\0";
        assert!(opened(long).to_string().contains("longer than 1048576"));
        let strange = b"OK 1234\r\nx\x02\0\x01\0\0\0\0\x01\0\0\0\0\0\0\0";
        assert!(opened(strange).to_string().contains("byte 120"));
    }

    #[test]
    fn no_message_causes_a_panic() {
        let path = Variant::ObjectPath(ObjectPath::try_from("/a").unwrap());
        let fields = [
            (Message::PATH, path),
            (Message::MEMBER, Variant::from("Ping")),
        ];
        let message = Message::new(Kind::Call, &fields, &("text", vec![7u32, 8])).unwrap();
        joulepath_testbed::fuzz([message.bytes(9).unwrap()], |bytes| {
            let (stream, mut other) = UnixStream::pair().unwrap();
            other.write_all(bytes).unwrap();
            drop(other);
            if let Ok((_, message)) = (Bus { stream, serial: 0 }).receive(Instant::now() + LIMIT) {
                let _ = message.arguments::<(String, Vec<u32>)>().is_ok();
                let _ = message
                    .arguments::<(BTreeMap<String, OwnedVariant>,)>()
                    .is_ok();
            }
        });
    }
}
