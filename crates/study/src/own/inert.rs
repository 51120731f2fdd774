//! Refuses libraries that would run code when they are loaded or when the process ends.
//!
//! The compiler's object may contain only sections of plain code and data, so that it cannot instruct the
//! linker to do anything else (`.init_array`, `.dynamic`), and no function whose address is computed at load
//! time. The finished library's instructions to the loader are checked too.

use object::elf;
use object::endian::Endianness;
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader, Rel, Rela};
use object::{BinaryFormat, File, Object, ObjectSection, ObjectSymbol, SymbolFlags};

/// Sections of plain code and data, and compilers' notes about them.
const PLAIN: [&str; 16] = [
    ".text",
    ".data",
    ".bss",
    ".rodata",
    ".tdata",
    ".tbss",
    ".comment",
    ".note",
    ".eh_frame",
    ".rela",
    ".rel",
    ".symtab",
    ".strtab",
    ".shstrtab",
    ".debug",
    ".group",
];
/// Sections that are plain only under these exact names.
const PLAIN_EXACT: [&str; 5] = ["", ".llvm_addrsig", ".riscv.attributes", ".ARM.attributes", ".sframe"];
/// Sections that macOS's loader runs.
const RUN_BY_MACOS: [&str; 3] = ["__mod_init_func", "__mod_term_func", "__init_offsets"];
/// Libraries whose code may run: the C library and the compiler's.
const KNOWN: [&str; 4] = ["libc.", "libgcc_s.", "ld-", "libSystem."];

/// Checks the compiler's `object` and the linked `library`.
///
/// # Errors
/// Names the code that would run when the library is loaded.
pub(super) fn check(object: &[u8], library: &[u8]) -> Result<(), String> {
    let object = File::parse(object).map_err(|error| error.to_string())?;
    check_symbols(&object)?;
    if object.format() == BinaryFormat::MachO {
        let named = |section: object::Section<'_, '_>| section.name().ok().map(str::to_owned);
        let found = object.sections().filter_map(named).find(|name| RUN_BY_MACOS.contains(&name.as_str()));
        return found.map_or(Ok(()), |name| Err(runs(&name)));
    }
    for section in object.sections() {
        let name = section.name().map_err(|error| error.to_string())?;
        if !is_plain(name) {
            return Err(runs(name));
        }
    }
    let file = File::parse(library).map_err(|error| error.to_string())?;
    check_symbols(&file)?;
    match &file {
        File::Elf64(file) => check_loading(file),
        File::Elf32(file) => check_loading(file),
        _ => Err("the linker made no ELF library".to_owned()),
    }
}

fn runs(section: &str) -> String {
    format!("it has a section `{section}`: only plain code and data are loaded, nothing that runs by itself")
}

/// True for `.text` and `.text.hot`, not for `.textual`. Relocations belong to their section.
fn is_plain(section: &str) -> bool {
    let of = section.strip_prefix(".rela").or_else(|| section.strip_prefix(".rel")).unwrap_or(section);
    let begins = |plain: &&str| {
        let rest = of.strip_prefix(*plain);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
    };
    PLAIN.iter().any(begins) || PLAIN_EXACT.contains(&of)
}

/// Refuses functions whose address another function computes at load time.
fn check_symbols(file: &File<'_>) -> Result<(), String> {
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        if st_info & 0xf == elf::STT_GNU_IFUNC && !symbol.is_undefined() {
            let name = symbol.name().unwrap_or("?");
            return Err(format!("`{name}` is an indirect function, whose resolver runs when it is loaded"));
        }
    }
    Ok(())
}

/// Checks the instructions to the loader, at the addresses that it reads.
fn check_loading<Elf: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, Elf>) -> Result<(), String> {
    let broken = || "its dynamic section is malformed".to_owned();
    let (endian, headers) = (file.endian(), file.elf_program_headers());
    // Bytes of the file that are loaded to an address.
    let loaded = |address: u64, length: u64| -> Option<&[u8]> {
        headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD).find_map(|header| {
            let (start, size) = (header.p_vaddr(endian).into(), header.p_filesz(endian).into());
            let from = address
                .checked_sub(start)
                .filter(|from| from.checked_add(length).is_some_and(|end| end <= size))?;
            let from = usize::try_from(header.p_offset(endian).into().checked_add(from)?).ok()?;
            file.data().get(from..from.checked_add(usize::try_from(length).ok()?)?)
        })
    };
    let mut dynamic = headers.iter().filter(|header| header.p_type(endian) == elf::PT_DYNAMIC);
    let (Some(only), None) = (dynamic.next(), dynamic.next()) else { return Err(broken()) };
    let bytes = loaded(only.p_vaddr(endian).into(), only.p_filesz(endian).into()).ok_or_else(broken)?;
    let entries = object::pod::slice_from_all_bytes::<Elf::Dyn>(bytes).map_err(|()| broken())?;
    let told: Vec<(u64, u64)> = entries
        .iter()
        .map(|entry| (entry.d_tag(endian).into(), entry.d_val(endian).into()))
        .take_while(|(tag, _)| *tag != u64::from(elf::DT_NULL))
        .collect();
    let value =
        |tag: u32| told.iter().rev().find(|(known, _)| *known == u64::from(tag)).map(|(_, value)| *value);
    for (tag, _) in &told {
        if let Some((_, what)) = RUN.iter().find(|(run, _)| u64::from(*run) == *tag) {
            return Err(format!("it has {what}"));
        }
    }
    let names = loaded(value(elf::DT_STRTAB).ok_or_else(broken)?, value(elf::DT_STRSZ).ok_or_else(broken)?);
    let names = names.ok_or_else(broken)?;
    for (_, at) in told.iter().filter(|(tag, _)| *tag == u64::from(elf::DT_NEEDED)) {
        let name = usize::try_from(*at).ok().and_then(|at| names.get(at..)).ok_or_else(broken)?;
        let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default());
        if !KNOWN.iter().any(|known| name.starts_with(known)) || name.contains('/') {
            return Err(format!("it needs the library {name}, whose code runs when it is loaded"));
        }
    }
    let table = |start: u32, size: u32| match (value(start), value(size)) {
        (Some(start), Some(size)) => loaded(start, size).ok_or_else(broken),
        _ => Ok(&[][..]),
    };
    let of_calls = table(elf::DT_JMPREL, elf::DT_PLTRELSZ)?;
    let calls_add = value(elf::DT_PLTREL) == Some(u64::from(elf::DT_RELA));
    let mut kinds = vec![];
    for (bytes, adds) in [
        (table(elf::DT_RELA, elf::DT_RELASZ)?, true),
        (table(elf::DT_REL, elf::DT_RELSZ)?, false),
        (of_calls, calls_add),
    ] {
        if adds {
            let all = object::pod::slice_from_all_bytes::<Elf::Rela>(bytes).map_err(|()| broken())?;
            kinds.extend(all.iter().map(|one| one.r_type(endian, false)));
        } else {
            let all = object::pod::slice_from_all_bytes::<Elf::Rel>(bytes).map_err(|()| broken())?;
            kinds.extend(all.iter().map(|one| one.r_type(endian)));
        }
    }
    let machine = file.elf_header().e_machine(endian);
    let Some((_, indirect)) = INDIRECT.iter().find(|(known, _)| *known == machine) else {
        return Err(format!("machine type {machine} is not supported"));
    };
    match kinds.contains(indirect) {
        true => Err("it has an address that a function computes when it is loaded".to_owned()),
        false => Ok(()),
    }
}

/// Instructions to the loader to run or load something else.
const RUN: [(u32, &str); 11] = [
    (elf::DT_PREINIT_ARRAY, "functions that run before all others"),
    (elf::DT_INIT, "a function `_init`, which runs when it is loaded"),
    (elf::DT_INIT_ARRAY, "a constructor, which runs when it is loaded"),
    (elf::DT_FINI, "a function `_fini`, which runs when the program ends"),
    (elf::DT_FINI_ARRAY, "a destructor, which runs when the program ends"),
    (elf::DT_AUXILIARY, "a filter, which loads another library"),
    (elf::DT_FILTER, "a filter, which loads another library"),
    (elf::DT_AUDIT, "an audit library"),
    (elf::DT_DEPAUDIT, "an audit library"),
    (elf::DT_RPATH, "a path for other libraries"),
    (elf::DT_RUNPATH, "a path for other libraries"),
];

/// For each machine: the relocation type that calls a function to get an address.
const INDIRECT: [(u16, u32); 8] = [
    (elf::EM_X86_64, elf::R_X86_64_IRELATIVE),
    (elf::EM_386, elf::R_386_IRELATIVE),
    (elf::EM_AARCH64, elf::R_AARCH64_IRELATIVE),
    (elf::EM_ARM, elf::R_ARM_IRELATIVE),
    (elf::EM_RISCV, elf::R_RISCV_IRELATIVE),
    (elf::EM_PPC64, elf::R_PPC64_IRELATIVE),
    (elf::EM_S390, elf::R_390_IRELATIVE),
    (elf::EM_LOONGARCH, elf::R_LARCH_IRELATIVE),
];
