//! `joulepath cc default --boot`: a service of systemd that sets the default congestion controller
//! at each boot.

use std::io;
use std::path::{Path, PathBuf};

use joulepath_kernel::Error as KernelError;

use crate::error::{Error, Result};
use crate::owned::{self, Stamp};
use crate::systemd;
use crate::units::FOLDER;

const SERVICE: &str = "joulepath-default.service";
const PURPOSE: &str = "`joulepath cc default --restore` removes it unless changed";

/// A default congestion controller.
#[derive(Clone, Copy, Debug)]
pub struct BootDefault<'a> {
    /// This program's file.
    pub program: &'a Path,
    /// The kernel's name of the controller.
    pub name: &'a str,
    /// The name for `cc load`, if the kernel does not have the controller.
    pub load: Option<&'a str>,
}

impl BootDefault<'_> {
    fn unit(self) -> String {
        let BootDefault {
            program,
            name,
            load,
        } = self;
        let program = program.display();
        let load = load.map(|own| format!("ExecStart=\"{program}\" cc load {own}\n"));
        format!(
            "[Unit]\n\
             Description=Default congestion controller {name}\n\
             Documentation=man:joulepath-cc(1)\n\
             After=systemd-sysctl.service\n\
             Before=network-pre.target joulepathd.service\n\
             Wants=network-pre.target\n\
             \n\
             [Service]\n\
             Type=oneshot\n\
             RemainAfterExit=yes\n\
             {}ExecStart=\"{program}\" cc default {name}\n\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n",
            load.unwrap_or_default()
        )
    }

    /// Writes and enables the service. It starts at the next boot.
    ///
    /// # Errors
    /// Without systemd; if the file cannot be written, or `systemctl` fails.
    pub fn enable(self) -> Result<()> {
        let root = Path::new("/");
        if !systemd::is_running(root) {
            return Err(KernelError::Unsupported {
                what: "a default that lasts over a boot".into(),
                why: "systemd does not run here".into(),
                remedy: format!(
                    "call `joulepath cc default {}` when this machine boots",
                    self.name
                ),
            }
            .into());
        }
        let file = file(root);
        let stamp = Stamp::now()?;
        owned::put(&file, PURPOSE, &self.unit(), stamp).map_err(|error| refused(&file, &error))?;
        systemd::reload()?;
        systemd::call(&["enable", SERVICE])
    }
}

/// Disables and removes the service. Returns false if there is none of ours.
///
/// # Errors
/// If `systemctl` fails or the file cannot be removed. The call may be repeated.
pub fn disable() -> Result<bool> {
    let root = Path::new("/");
    let file = file(root);
    let found = owned::look(&file).map_err(|error| refused(&file, &error))?;
    if !matches!(found, owned::Found::Ours(_)) {
        return Ok(false);
    }
    let runs = systemd::is_running(root);
    if runs {
        systemd::call(&["disable", SERVICE])?;
    }
    owned::remove(&file).map_err(|error| refused(&file, &error))?;
    if runs {
        systemd::reload()?;
    }
    Ok(true)
}

fn file(root: &Path) -> PathBuf {
    root.join(FOLDER).join(SERVICE)
}

fn refused(file: &Path, error: &io::Error) -> Error {
    Error::Refused {
        what: format!("cannot change {}: {error}", file.display()),
        remedy: "run it as root; a file that is not ours has to go first".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_loads_only_what_the_kernel_lacks() {
        let default = BootDefault {
            program: Path::new("/usr/bin/joulepath"),
            name: "jp_bbr3",
            load: Some("bbr3"),
        };
        let starts = |default: BootDefault<'_>| -> Vec<String> {
            let unit = default.unit();
            let starts = unit
                .lines()
                .filter_map(|line| line.strip_prefix("ExecStart="));
            starts.map(str::to_owned).collect()
        };
        assert_eq!(
            starts(default),
            [
                "\"/usr/bin/joulepath\" cc load bbr3",
                "\"/usr/bin/joulepath\" cc default jp_bbr3"
            ]
        );
        let kernels = BootDefault {
            name: "bbr",
            load: None,
            ..default
        };
        assert_eq!(starts(kernels), ["\"/usr/bin/joulepath\" cc default bbr"]);
    }
}
