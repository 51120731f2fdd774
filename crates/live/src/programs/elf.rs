//! What the kernel does with an executable file: run it, load a dynamic linker, or run an
//! interpreter.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use object::LittleEndian;
use object::elf::{self, ProgramHeader64};
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::read::{Object as _, ObjectSection as _, ReadCache};

/// How an executable file starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Executable {
    /// A program of this machine's architecture.
    Elf(Elf),
    /// A program of another architecture, or a 32-bit program.
    Foreign,
    /// `#!INTERPRETER [ARGUMENT]`.
    Script {
        interpreter: PathBuf,
        argument: Option<OsString>,
    },
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
const LONGEST_LINE: u64 = 256;

/// `e_machine` of the architectures for which the library exists.
const MACHINES: [(&str, u16); 3] = [
    ("x86_64", elf::EM_X86_64),
    ("aarch64", elf::EM_AARCH64),
    ("riscv64", elf::EM_RISCV),
];

// runtime/debug: the section of Go's build information.
const GO_SECTION: &str = ".go.buildinfo";
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
    let mut start = vec![];
    file.try_clone()?
        .take(LONGEST_LINE)
        .read_to_end(&mut start)?;
    if let Some(line) = start.strip_prefix(b"#!") {
        return Ok(script(line).unwrap_or(Executable::Text));
    }
    match start.starts_with(&elf::ELFMAG) {
        true => Ok(program(file).map_or(Executable::Foreign, Executable::Elf)),
        false => Ok(Executable::Text),
    }
}

/// The interpreter is the first word; the rest of the line is one argument (fs/binfmt_script.c).
fn script(line: &[u8]) -> Option<Executable> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(end);
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let argument = Some(rest.trim_ascii())
        .filter(|rest| !rest.is_empty())
        .map(text);
    let interpreter = Some(interpreter)
        .filter(|path| !path.is_empty())
        .map(text)?;
    Some(Executable::Script {
        interpreter: interpreter.into(),
        argument,
    })
}

/// `None` if it is not a 64-bit little-endian program of this architecture.
fn program(file: File) -> Option<Elf> {
    let data = ReadCache::new(file);
    let file = ElfFile64::<LittleEndian, _>::parse(&data).ok()?;
    let machine = file.elf_header().e_machine(LittleEndian);
    if !MACHINES.contains(&(std::env::consts::ARCH, machine)) {
        return None;
    }
    let names_linker = |header: &ProgramHeader64<_>| header.p_type(LittleEndian) == elf::PT_INTERP;
    let is_dynamic = file.elf_program_headers().iter().any(names_linker);
    let go = file
        .section_by_name(GO_SECTION)
        .map(|info| Go(info.data().ok().and_then(go_version)));
    Some(Elf { is_dynamic, go })
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
    let digits = minor
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(minor.len());
    minor[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    // ELF-64: System V ABI, chapters 4 and 5.
    const HEADER: usize = 64;
    const PROGRAM_HEADER: usize = 56;
    const SECTION_HEADER: usize = 64;

    /// A program with these program header types and, if given, Go's section.
    fn program(segments: &[u32], go: Option<&[u8]>) -> Vec<u8> {
        let machine = MACHINES
            .iter()
            .find(|(name, _)| *name == std::env::consts::ARCH)
            .unwrap()
            .1;
        let mut bytes = vec![0; HEADER];
        let mut set = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let sizes =
            [HEADER, PROGRAM_HEADER, segments.len(), SECTION_HEADER].map(|size| size as u16);
        set(0, b"\x7fELF\x02\x01\x01");
        set(18, &machine.to_le_bytes());
        set(32, &(HEADER as u64).to_le_bytes());
        set(52, &sizes.map(u16::to_le_bytes).concat());
        for kind in segments {
            let mut header = [0; PROGRAM_HEADER];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            bytes.extend(header);
        }
        let Some(info) = go else { return bytes };
        // No section, Go's, whose name is at 1 of the names, and the names.
        let names = format!("\0{GO_SECTION}\0.shstrtab\0");
        let info_at = bytes.len();
        let names_at = info_at + info.len();
        bytes.extend(info);
        bytes.extend(names.bytes());
        let table = bytes.len() as u64;
        bytes.extend([0; SECTION_HEADER]);
        for (name, kind, offset, size) in [
            (1, elf::SHT_PROGBITS, info_at, info.len()),
            (
                GO_SECTION.len() as u32 + 2,
                elf::SHT_STRTAB,
                names_at,
                names.len(),
            ),
        ] {
            let mut header = [0; SECTION_HEADER];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(offset as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(size as u64).to_le_bytes());
            bytes.extend(header);
        }
        bytes[40..48].copy_from_slice(&table.to_le_bytes());
        bytes[60..64].copy_from_slice(&[3, 0, 2, 0]);
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
        for (segments, is_dynamic) in [
            (&[1, 2][..], false),
            (&[6, elf::PT_INTERP, 1], true),
            (&[], false),
        ] {
            let expected = Executable::Elf(Elf {
                is_dynamic,
                go: None,
            });
            assert_eq!(read_bytes(&program(segments, None)), expected);
        }
    }

    #[test]
    fn go_programs_tell_the_version_of_go() {
        for (version, minor) in [
            ("go1.24.3", Some(24)),
            ("go1.21", Some(21)),
            ("devel go1.23-a1b2 X", Some(23)),
            ("?", None),
        ] {
            let read = read_bytes(&program(&[1], Some(&build_info(version))));
            assert_eq!(
                read,
                Executable::Elf(Elf {
                    is_dynamic: false,
                    go: Some(Go(minor))
                }),
                "{version}"
            );
        }
        // Go 1.17 and earlier: two pointers in place of the text.
        let mut old = build_info("go1.17");
        old[GO_FLAGS] = 0;
        let read = read_bytes(&program(&[1], Some(&old)));
        assert_eq!(
            read,
            Executable::Elf(Elf {
                is_dynamic: false,
                go: Some(Go(None))
            })
        );
    }

    #[test]
    fn other_architectures_are_foreign() {
        let mut other_machine = program(&[elf::PT_INTERP], None);
        other_machine[18] ^= 1;
        let mut narrow = program(&[elf::PT_INTERP], None);
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
            let mut bytes = program(&[1, elf::PT_INTERP], Some(&build_info("go1.24")));
            for (place, value) in changes {
                let place = place as usize % bytes.len();
                bytes[place] = value;
            }
            read_bytes(&bytes);
            read_bytes(&bytes[..bytes.len() / 2]);
        }
    }
}
