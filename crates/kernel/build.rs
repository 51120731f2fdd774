//! Compiles the eBPF programs in bpf/ if the feature `bpf` is on: controller.bpf.c once per
//! controller of cc/, or owner.bpf.c for controllers that own their window; and the programs in
//! `OTHERS`. The crate also embeds the source of the wrappers and the libbpf headers that they
//! include, to compile users' controllers at run time.
//!
//! `cc` in this folder is a symbolic link to the workspace's `cc/`, so that a published package
//! contains the headers.

fn main() {
    #[cfg(feature = "bpf")]
    bpf::compile();
}

#[cfg(feature = "bpf")]
mod bpf {
    use std::{
        env,
        fmt::Write,
        fs,
        path::{Path, PathBuf},
        process::Command,
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use libbpf_rs::Linker;

    /// The oldest instruction set that all kernels with struct_ops support.
    const INSTRUCTIONS: &str = "-mcpu=v3";
    const FLAGS: [&str; 8] = [
        "-target",
        "bpf",
        INSTRUCTIONS,
        "-O2",
        "-g",
        "-std=gnu11",
        "-Wall",
        "-Werror",
    ];

    /// The libbpf headers that bpf/kernel.h includes, directly or indirectly.
    const LIBBPF: [&str; 5] = [
        "bpf_core_read.h",
        "bpf_endian.h",
        "bpf_helper_defs.h",
        "bpf_helpers.h",
        "bpf_tracing.h",
    ];

    /// Programs that are no controllers of cc/.
    const OTHERS: [&str; 3] = ["move", "programs", "yardstick"];

    pub(super) fn compile() {
        let sources = [Path::new("bpf"), Path::new("cc")];
        for folder in sources {
            let folder = folder
                .canonicalize()
                .expect("bpf/ and the link cc lie beside this file");
            println!("cargo::rerun-if-changed={}", folder.display());
            for entry in folder.read_dir().expect("a folder of sources") {
                println!(
                    "cargo::rerun-if-changed={}",
                    entry.expect("a source").path().display()
                );
            }
        }
        println!("cargo::rerun-if-env-changed=CLANG");
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
        let include = libbpf_headers();
        println!(
            "cargo::rustc-env=JOULEPATH_BPF_HEADERS={}",
            include.display()
        );

        let mut programs = Vec::new();
        for (list, source) in [
            ("MPCC_OWNERS", "bpf/owner.bpf.c"),
            ("MPCC_CONTROLLERS", "bpf/controller.bpf.c"),
        ] {
            programs.extend(
                controllers(list)
                    .into_iter()
                    .map(|name| Program::controller(name, source)),
            );
        }
        assert!(
            !programs.is_empty(),
            "cc/all.h lists controllers as X(name, PREFIX)"
        );
        programs.extend(OTHERS.map(Program::other));
        compile_all(&programs, &include, &out);

        let mut table = String::from("pub(super) static OBJECTS: &[(&str, &[u8])] = &[\n");
        let mut others = String::new();
        for program in &programs {
            let (name, object) = (&program.name, program.link(&out));
            match program.defines[..] {
                [] => writeln!(
                    others,
                    "pub(crate) static {}: &[u8] = include_bytes!({object:?});",
                    name.to_uppercase()
                ),
                _ => writeln!(table, "    ({name:?}, include_bytes!({object:?})),"),
            }
            .expect("a String grows");
        }
        table.push_str("];\n");
        table.push_str(&others);
        fs::write(out.join("objects.rs"), table).expect("OUT_DIR can be written");
        fs::write(out.join("wrappers.rs"), wrappers(&include)).expect("OUT_DIR can be written");
    }

    /// Paths and contents for src/cc/source.rs: the wrappers in bpf/ (without the programs in
    /// `OTHERS`), and libbpf's headers.
    fn wrappers(include: &Path) -> String {
        let folder = Path::new("bpf")
            .canonicalize()
            .expect("bpf/ lies beside this file");
        let entries = folder.read_dir().expect("a folder of sources");
        let mut ours: Vec<PathBuf> = entries
            .map(|entry| entry.expect("a source").path())
            .collect();
        ours.retain(|file| {
            OTHERS
                .iter()
                .all(|other| !file.ends_with(format!("{other}.bpf.c")))
        });
        ours.sort();
        let own = ours.into_iter().map(|file| {
            let name = file
                .file_name()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned();
            (name, file)
        });
        let libbpf = LIBBPF.map(|name| (format!("bpf/{name}"), include.join("bpf").join(name)));
        let row = |(place, file): (String, PathBuf)| {
            format!(
                "    ({place:?}, include_str!({:?})),\n",
                file.display().to_string()
            )
        };
        format!("&[\n{}]", own.chain(libbpf).map(row).collect::<String>())
    }

    /// The names in a list of cc/all.h, `#define LIST(X)` and lines of `X(name, PREFIX)`.
    fn controllers(list: &str) -> Vec<String> {
        let all = fs::read_to_string("cc/all.h").expect("cc/all.h");
        let (_, entries) = all
            .split_once(&format!("#define {list}(X)"))
            .expect("cc/all.h has the list");
        let mut names = Vec::new();
        for line in entries.lines() {
            let entry = line
                .trim()
                .strip_prefix("X(")
                .and_then(|entry| entry.split(',').next());
            names.extend(entry.map(str::to_owned));
            if !line.ends_with('\\') {
                break;
            }
        }
        names
    }

    /// The folder from which libbpf's headers are included as <bpf/...>.
    fn libbpf_headers() -> PathBuf {
        PathBuf::from(
            env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys tells where its headers are"),
        )
    }

    /// A program that is compiled to an object of its own.
    struct Program {
        name: String,
        source: String,
        defines: Vec<String>,
    }

    impl Program {
        fn controller(name: String, source: &str) -> Self {
            let defines = vec![
                format!("-DJP_NAME={name}"),
                format!("-DJP_HEADER=\"{name}.h\""),
            ];
            Program {
                name,
                source: source.into(),
                defines,
            }
        }

        fn other(name: &str) -> Self {
            Program {
                name: name.into(),
                source: format!("bpf/{name}.bpf.c"),
                defines: Vec::new(),
            }
        }

        /// Path of clang's output.
        fn full(&self, out: &Path) -> PathBuf {
            out.join(format!("{}.full.o", self.name))
        }

        fn compile(&self, include: &Path, out: &Path) {
            let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
            let status = Command::new(&clang)
                .args(FLAGS)
                .arg(format!("-D__TARGET_ARCH_{}", target_architecture()))
                .args(&self.defines)
                .arg("-I")
                .arg(include)
                .args(["-I", "bpf", "-I", "cc", "-c", &self.source, "-o"])
                .arg(self.full(out))
                .status();
            match status {
                Ok(status) if status.success() => {}
                Ok(status) => panic!(
                    "{clang:?} failed on {} for {}: {status}",
                    self.source, self.name
                ),
                Err(error) => {
                    panic!(
                        "{clang:?} compiles the eBPF programs: {error}; install clang or set CLANG"
                    )
                }
            }
        }

        /// libbpf's linker drops sections that only a debugger reads.
        fn link(&self, out: &Path) -> PathBuf {
            let object = out.join(format!("{}.bpf.o", self.name));
            let mut linker = Linker::new(&object).expect("OUT_DIR can be written");
            linker.add_file(self.full(out)).expect("clang's own output");
            linker.link().expect("one object links with itself");
            object
        }
    }

    /// Runs as many compilers in parallel as cargo allows: everything that needs this crate waits
    /// for them.
    fn compile_all(programs: &[Program], include: &Path, out: &Path) {
        let compilers = env::var("NUM_JOBS")
            .ok()
            .and_then(|jobs| jobs.parse().ok())
            .unwrap_or(1);
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..compilers {
                scope.spawn(|| {
                    while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        program.compile(include, out);
                    }
                });
            }
        });
    }

    /// The name of the architecture in libbpf's bpf_tracing.h.
    fn target_architecture() -> &'static str {
        match env::var("CARGO_CFG_TARGET_ARCH")
            .expect("set by cargo")
            .as_str()
        {
            "x86_64" => "x86",
            "aarch64" => "arm64",
            "riscv64" => "riscv",
            other => {
                panic!("no eBPF controllers for {other} yet: add it to bpf_tracing.h's names here")
            }
        }
    }
}
