//! What the kernel does with an executable file: run it, load a dynamic linker, or run an interpreter.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How an executable file starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Executable {
    /// A program of this machine's architecture.
    Elf(Elf),
    /// A program of another architecture, or a 32-bit program.
    Foreign,
    /// `#!INTERPRETER [ARGUMENT]`.
    Script { interpreter: PathBuf, argument: Option<OsString> },
    /// Neither: `execvp` runs it with `/bin/sh`.
    Text,
}

/// A program of this machine's architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elf {
    /// True if a dynamic linker loads it, which obeys `LD_PRELOAD`.
    pub(super) is_dynamic: bool,
    /// `Some` for a Go program.
    pub(super) go: Option<Go>,
}

/// The version of Go that built a program: N of 1.N; `None` before 1.18, which stores it elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Go(pub(super) Option<u32>);

/// The longest `#!` line that the kernel reads (`BINPRM_BUF_SIZE`), bytes.
const LONGEST_LINE: usize = 256;

// ELF-64, little-endian: System V ABI, chapters 4 and 5.
const HEADER: usize = 64;
const IDENT: &[u8] = b"\x7fELF\x02\x01";
const PROGRAM_HEADER: usize = 56;
const PT_INTERP: u32 = 3;
const SECTION_HEADER: usize = 64;
/// Larger tables are taken for damage, bytes.
const LARGEST: usize = 1 << 20;

/// `e_machine` of the architectures for which the library exists.
const MACHINES: [(&str, u16); 3] = [("x86_64", 62), ("aarch64", 183), ("riscv64", 243)];

// runtime/debug: the section of Go's build information.
const GO_SECTION: &[u8] = b".go.buildinfo";
const GO_MAGIC: &[u8] = b"\xff Go buildinf:";
const GO_FLAGS: usize = 15;
/// Since Go 1.18 the version follows as text.
const GO_INLINE: u8 = 2;
const GO_VERSION: usize = 32;

/// Reads the beginning of an executable file.
///
/// # Errors
/// If the file cannot be read, for example because this user may only execute it.
pub(super) fn read(path: &Path) -> io::Result<Executable> {
    let file = File::open(path)?;
    let start = up_to(&file, 0, LONGEST_LINE)?;
    if start.starts_with(b"#!") {
        return Ok(script(&start[2..]).unwrap_or(Executable::Text));
    }
    if !start.starts_with(&IDENT[..4]) {
        return Ok(Executable::Text);
    }
    let own = MACHINES.iter().find(|(name, _)| *name == std::env::consts::ARCH);
    let is_own = start.len() >= HEADER
        && start.starts_with(IDENT)
        && own.is_some_and(|(_, machine)| u16_at(&start, 18) == *machine);
    if is_own { elf(&file, &start).map(Executable::Elf) } else { Ok(Executable::Foreign) }
}

/// The interpreter is the first word; the rest of the line is one argument (fs/binfmt_script.c).
fn script(line: &[u8]) -> Option<Executable> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(end);
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let argument = Some(rest.trim_ascii()).filter(|rest| !rest.is_empty()).map(text);
    let interpreter = Some(interpreter).filter(|path| !path.is_empty()).map(text)?;
    Some(Executable::Script { interpreter: interpreter.into(), argument })
}

fn elf(file: &File, header: &[u8]) -> io::Result<Elf> {
    let table = |offset: usize, count: usize, size: usize| {
        up_to(file, u64_at(header, offset), usize::from(u16_at(header, count)) * size)
    };
    let segments = table(32, 56, PROGRAM_HEADER)?;
    let is_dynamic = segments.chunks_exact(PROGRAM_HEADER).any(|one| u32_at(one, 0) == PT_INTERP);
    let sections = table(40, 60, SECTION_HEADER)?;
    let go = section(file, &sections, usize::from(u16_at(header, 62)))?;
    Ok(Elf { is_dynamic, go: go.map(|info| Go(go_version(&info))) })
}

/// The content of Go's section; `None` if there is none. `names` is the number of the section of names.
fn section(file: &File, sections: &[u8], names: usize) -> io::Result<Option<Vec<u8>>> {
    let content = |header: &[u8]| {
        let size = usize::try_from(u64_at(header, 32)).unwrap_or(LARGEST);
        up_to(file, u64_at(header, 24), size)
    };
    let mut headers = sections.chunks_exact(SECTION_HEADER);
    let Some(header) = headers.clone().nth(names) else { return Ok(None) };
    let names = content(header)?;
    let is_go = |header: &&[u8]| {
        let name = names.get(u32_at(header, 0) as usize..).unwrap_or_default();
        name.starts_with(GO_SECTION) && name.get(GO_SECTION.len()) == Some(&0)
    };
    headers.find(is_go).map(content).transpose()
}

/// N of `go1.N`.
fn go_version(info: &[u8]) -> Option<u32> {
    if !info.starts_with(GO_MAGIC) || info.get(GO_FLAGS)? & GO_INLINE == 0 {
        return None;
    }
    // A length below 128 is one byte; versions are shorter, apart from experimental ones.
    let length = usize::from(*info.get(GO_VERSION)?);
    let text = info.get(GO_VERSION + 1..)?;
    let text = String::from_utf8_lossy(&text[..length.min(text.len())]);
    let (_, minor) = text.split_once("go1.")?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    minor[..digits].parse().ok()
}

/// At most `length` bytes from `offset`, fewer at the end of the file.
fn up_to(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length.min(LARGEST)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // An offset beyond what a file can have.
            Err(error) if error.kind() == ErrorKind::InvalidInput => break,
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    /// A program with these program header types and, if given, Go's section.
    fn program(segments: &[u32], go: Option<&[u8]>) -> Vec<u8> {
        let machine = MACHINES.iter().find(|(name, _)| *name == std::env::consts::ARCH).unwrap().1;
        let mut bytes = vec![0; HEADER];
        bytes[..6].copy_from_slice(IDENT);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&(HEADER as u64).to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::try_from(segments.len()).unwrap().to_le_bytes());
        for kind in segments {
            let mut header = [0; PROGRAM_HEADER];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            bytes.extend(header);
        }
        let Some(info) = go else { return bytes };
        // Two sections: Go's, whose name is at 0 of the names, and the names.
        let names = [GO_SECTION, b"\0.shstrtab\0"].concat();
        let at = |bytes: &[u8]| bytes.len() as u64;
        let (info_at, names_at) = (at(&bytes), at(&bytes) + info.len() as u64);
        bytes.extend(info);
        bytes.extend(&names);
        let table = at(&bytes);
        for (name, offset, size) in
            [(0u32, info_at, info.len()), (GO_SECTION.len() as u32 + 1, names_at, names.len())]
        {
            let mut header = [0; SECTION_HEADER];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[24..32].copy_from_slice(&offset.to_le_bytes());
            header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
            bytes.extend(header);
        }
        bytes[40..48].copy_from_slice(&table.to_le_bytes());
        bytes[60..62].copy_from_slice(&2u16.to_le_bytes());
        bytes[62..64].copy_from_slice(&1u16.to_le_bytes());
        bytes
    }

    /// Go's section as Go 1.18 and later write it.
    fn build_info(version: &str) -> Vec<u8> {
        let mut info = GO_MAGIC.to_vec();
        info.resize(GO_VERSION, 0);
        info[GO_FLAGS] = GO_INLINE;
        info.push(u8::try_from(version.len()).unwrap());
        info.extend(version.bytes());
        info
    }

    fn read_bytes(bytes: &[u8]) -> Executable {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        read(file.path()).unwrap()
    }

    #[test]
    fn programs_are_dynamic_if_they_name_a_dynamic_linker() {
        for (segments, is_dynamic) in [(&[1, 2][..], false), (&[6, PT_INTERP, 1], true), (&[], false)] {
            let expected = Executable::Elf(Elf { is_dynamic, go: None });
            assert_eq!(read_bytes(&program(segments, None)), expected);
        }
    }

    #[test]
    fn go_programs_tell_the_version_of_go() {
        for (version, minor) in
            [("go1.24.3", Some(24)), ("go1.21", Some(21)), ("devel go1.23-a1b2 X", Some(23)), ("?", None)]
        {
            let read = read_bytes(&program(&[1], Some(&build_info(version))));
            assert_eq!(read, Executable::Elf(Elf { is_dynamic: false, go: Some(Go(minor)) }), "{version}");
        }
        // Go 1.17 and earlier: two pointers in place of the text.
        let mut old = build_info("go1.17");
        old[GO_FLAGS] = 0;
        let read = read_bytes(&program(&[1], Some(&old)));
        assert_eq!(read, Executable::Elf(Elf { is_dynamic: false, go: Some(Go(None)) }));
    }

    #[test]
    fn other_architectures_are_foreign() {
        let mut other_machine = program(&[PT_INTERP], None);
        other_machine[18] ^= 1;
        let mut narrow = program(&[PT_INTERP], None);
        narrow[4] = 1;
        for bytes in [other_machine, narrow] {
            assert_eq!(read_bytes(&bytes), Executable::Foreign);
        }
    }

    #[test]
    fn scripts_name_their_interpreter_and_one_argument() {
        let script = |interpreter: &str, argument: Option<&str>| Executable::Script {
            interpreter: interpreter.into(),
            argument: argument.map(Into::into),
        };
        assert_eq!(read_bytes(b"#!/bin/sh\necho\n"), script("/bin/sh", None));
        assert_eq!(
            read_bytes(b"#! /usr/bin/env  -S python3 -u \n"),
            script("/usr/bin/env", Some("-S python3 -u"))
        );
        assert_eq!(read_bytes(b"#!\n"), Executable::Text);
        assert_eq!(read_bytes(b"echo hello\n"), Executable::Text);
        assert_eq!(read_bytes(b""), Executable::Text);
    }

    proptest! {
        #[test]
        fn damaged_programs_cause_no_panic(
            changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..20),
        ) {
            let mut bytes = program(&[1, PT_INTERP], Some(&build_info("go1.24")));
            for (place, value) in changes {
                let place = place as usize % bytes.len();
                bytes[place] = value;
            }
            read_bytes(&bytes);
            read_bytes(&bytes[..bytes.len() / 2]);
        }
    }
}
