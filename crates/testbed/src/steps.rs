//! Kills a program at any of its steps, to test that the next start repairs what is half-done.
//!
//! A step is a system call whose effect outlives the process: on files, mounts, pins,
//! registrations, sysctls. Memory, sockets and loaded but unpinned programs end with the process,
//! so changes to them are no steps. The program is traced (ptrace) with all its threads, and gets
//! SIGKILL when it enters the step, so that the call does not happen: a kill at step n is a kill
//! between steps n − 1 and n.

use std::ffi::{c_int, c_long, c_void};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::thread;

/// `PTRACE_GET_SYSCALL_INFO`, Linux 5.3.
const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
/// `PTRACE_SYSCALL_INFO_ENTRY`
const ENTRY: u8 = 1;
/// Set in the signal of a stop at a system call (`PTRACE_O_TRACESYSGOOD`).
const AT_SYSTEM_CALL: c_int = libc::SIGTRAP | 0x80;
/// Longest path shown.
const PATH_BYTES: usize = 200;

/// Outcome of a program.
#[derive(Debug)]
pub enum End {
    /// It was killed before this step.
    KilledBefore(String),
    /// It ended before that step.
    Ended(ExitStatus),
}

/// Runs a program and kills it at its step `number`, counted from 1.
///
/// # Panics
/// If the program cannot be started or traced.
pub fn kill_at(mut command: Command, number: usize) -> End {
    // The tracer is a thread, and only the thread that created a child is notified of it.
    let tracer = thread::spawn(move || trace(&mut command, number));
    tracer
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn trace(command: &mut Command, number: usize) -> End {
    // SAFETY: there is only one system call between fork and exec.
    unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0, 0).map(drop)) };
    let leader = command.spawn().expect("the program starts").id() as libc::pid_t;
    let (mut begun, mut steps, mut killed) = (false, 0, None);
    loop {
        let (process, status) = wait();
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if process == leader {
                return killed.map_or(End::Ended(ExitStatus::from_raw(status)), End::KilledBefore);
            }
            continue;
        }
        let mut signal = libc::WSTOPSIG(status);
        if !begun {
            let options = libc::PTRACE_O_TRACESYSGOOD
                | libc::PTRACE_O_TRACECLONE
                | libc::PTRACE_O_TRACEFORK
                | libc::PTRACE_O_TRACEVFORK
                | libc::PTRACE_O_EXITKILL;
            ptrace(libc::PTRACE_SETOPTIONS, process, 0, options as usize)
                .expect("a traced program");
            (begun, signal) = (true, 0);
        } else if signal == AT_SYSTEM_CALL {
            signal = 0;
            if let Some(step) = step_at(process).filter(|_| killed.is_none()) {
                steps += 1;
                if steps == number {
                    killed = Some(step);
                    // SAFETY: takes no pointer. This thread traces both, and has not waited for
                    // them yet.
                    unsafe {
                        (
                            libc::kill(leader, libc::SIGKILL),
                            libc::kill(process, libc::SIGKILL),
                        )
                    };
                }
            }
        } else if signal == libc::SIGTRAP || signal == libc::SIGSTOP {
            // It has created a thread, or the thread begins.
            signal = 0;
        }
        // Fails if the thread was killed.
        let _ = ptrace(libc::PTRACE_SYSCALL, process, 0, signal as usize);
    }
}

/// The step that a stopped thread is about to take; `None` if its system call is no step or already
/// done.
fn step_at(process: libc::pid_t) -> Option<String> {
    let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    ptrace(GET_SYSCALL_INFO, process, size, info.as_mut_ptr() as usize).ok()?;
    // SAFETY: zero bytes are a valid value of the structure, and the kernel has written to it.
    let info = unsafe { info.assume_init() };
    if info.op != ENTRY {
        return None;
    }
    // SAFETY: at an entry the kernel fills this member of the union.
    let entry = unsafe { info.u.entry };
    let step = step(process, entry.nr as c_long, entry.args)?;
    Some(step)
}

fn step(process: libc::pid_t, number: c_long, arguments: [u64; 6]) -> Option<String> {
    let [first, second, third, ..] = arguments;
    let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    match number {
        libc::SYS_bpf => bpf_step(first),
        libc::SYS_openat => creates(third).then(|| format!("open {}", text_at(process, second))),
        libc::SYS_mkdirat => Some(format!("mkdir {}", text_at(process, second))),
        libc::SYS_unlinkat => Some(format!("unlink {}", text_at(process, second))),
        libc::SYS_renameat | libc::SYS_renameat2 => {
            Some(format!("rename {}", text_at(process, second)))
        }
        libc::SYS_symlinkat | libc::SYS_linkat | libc::SYS_mknodat => Some("make a file".into()),
        libc::SYS_fchmodat | libc::SYS_fchmod | libc::SYS_ftruncate => Some("change a file".into()),
        libc::SYS_mount | libc::SYS_umount2 => Some(format!("mount {}", text_at(process, second))),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev => {
            let file = file_of(process, first);
            let goes_with_it = ["pipe:", "socket:", "anon_inode:", "/dev/", "/memfd:"];
            let outlives = first > 2 && !goes_with_it.iter().any(|kind| file.starts_with(kind));
            outlives.then(|| format!("write {file}"))
        }
        // An iterator over sockets may change them.
        libc::SYS_read | libc::SYS_pread64 => {
            let file = file_of(process, first);
            file.contains("bpf_iter").then(|| format!("read {file}"))
        }
        number => old_step(process, number, first, second),
    }
}

/// System calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
fn old_step(process: libc::pid_t, number: c_long, first: u64, second: u64) -> Option<String> {
    let named = |what: &str| Some(format!("{what} {}", text_at(process, first)));
    match number {
        libc::SYS_open => (second & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0)
            .then(|| named("open"))
            .flatten(),
        libc::SYS_mkdir => named("mkdir"),
        libc::SYS_rmdir => named("rmdir"),
        libc::SYS_unlink => named("unlink"),
        libc::SYS_rename => named("rename"),
        libc::SYS_chmod => named("chmod"),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn old_step(_: libc::pid_t, _: c_long, _: u64, _: u64) -> Option<String> {
    None
}

/// Commands of `bpf()` whose effect may outlive the process.
fn bpf_step(command: u64) -> Option<String> {
    let name = match command {
        2 => "BPF_MAP_UPDATE_ELEM",
        3 => "BPF_MAP_DELETE_ELEM",
        6 => "BPF_OBJ_PIN",
        28 => "BPF_LINK_CREATE",
        29 => "BPF_LINK_UPDATE",
        34 => "BPF_LINK_DETACH",
        _ => return None,
    };
    Some(name.into())
}

fn file_of(process: libc::pid_t, descriptor: u64) -> String {
    let file = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).unwrap_or_default();
    file.to_string_lossy().into_owned()
}

/// A NUL-terminated text in the memory of a process.
fn text_at(process: libc::pid_t, address: u64) -> String {
    let mut bytes = [0u8; PATH_BYTES];
    let here = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let there = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: bytes.len(),
    };
    // SAFETY: the kernel writes at most the length of `bytes`; an invalid address gives an error.
    let read =
        unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) };
    let text = bytes[..usize::try_from(read).unwrap_or(0)]
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The next child of this thread, or thread of a child, that stops or ends.
fn wait() -> (libc::pid_t, c_int) {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one number to `status`.
        let process =
            unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if process > 0 {
            return (process, status);
        }
        let error = io::Error::last_os_error();
        assert_eq!(
            error.kind(),
            io::ErrorKind::Interrupted,
            "waiting for a traced program: {error}"
        );
    }
}

fn ptrace(
    request: libc::c_uint,
    process: libc::pid_t,
    address: usize,
    data: usize,
) -> io::Result<c_long> {
    // SAFETY: the caller passes a pointer where the request takes one, to as many bytes as it says.
    let result = unsafe {
        libc::ptrace(
            request,
            process,
            address as *mut c_void,
            data as *mut c_void,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that makes a folder, writes a file, and renames it.
    fn script(folder: &std::path::Path) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "mkdir a; cat /dev/null > a/b; mv a/b a/c; echo done"])
            .current_dir(folder);
        command
    }

    #[test]
    fn a_program_is_killed_exactly_before_each_step() {
        let mut left = vec![];
        for number in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let end = kill_at(script(folder.path()), number);
            let is_there = |name: &str| folder.path().join(name).exists();
            left.push([is_there("a"), is_there("a/b"), is_there("a/c")]);
            if let End::Ended(status) = end {
                assert!(status.success());
                break;
            }
        }
        assert_eq!(
            left,
            [
                [false; 3],
                [true, false, false],
                [true, true, false],
                [true, false, true]
            ]
        );
    }
}
