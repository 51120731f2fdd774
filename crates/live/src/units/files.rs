//! The services of systemd, read from their files: also before systemd knows them, and without a
//! message to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use joulepath_model::live::fits;

use crate::programs::{GODEBUG, LD_PRELOAD};

/// Name of our drop-ins. systemd reads them last: `z` follows the `override.conf` of `systemctl
/// edit`.
pub(super) const NAME: &str = "zz-joulepath-mptcp.conf";
/// The variables that put a program on MPTCP.
pub(super) const VARIABLES: [&str; 2] = [GODEBUG, LD_PRELOAD];
/// Where systemd looks for units (systemd.unit(5), table 1), the highest precedence first.
const FOLDERS: [&str; 10] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "run/systemd/system",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "run/systemd/generator.late",
];
/// Its own configuration, without the last part of the name.
const CONFIGURATIONS: [&str; 4] = [
    "usr/lib/systemd",
    "usr/local/lib/systemd",
    "run/systemd",
    "etc/systemd",
];
const SERVICE: &str = ".service";
/// The end of the names of their folders of drop-ins, also of those for many services.
const DROP_INS: &str = "service.d";

/// Values of the variables that put programs on MPTCP; `Err` if a value cannot be copied.
pub(super) type Variables = BTreeMap<&'static str, Result<String, Uncopied>>;

/// A value with quotation marks or backslashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uncopied;

/// What a service's files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    /// As the service sets them without us.
    pub(super) variables: Variables,
    /// Variables that come from a file or are removed, so that a drop-in cannot set them.
    pub(super) fixed: BTreeSet<&'static str>,
    /// The programs that it starts.
    pub(super) programs: Vec<String>,
    /// Its user; `None` for root.
    pub(super) user: Option<String>,
}

/// All services with files. Masked ones are not among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    root: PathBuf,
    files: BTreeMap<String, PathBuf>,
    /// Other names of services.
    aliases: BTreeMap<String, String>,
    /// Folders of drop-ins by name, the highest precedence first.
    drop_ins: BTreeMap<String, Vec<PathBuf>>,
}

impl Services {
    pub(super) fn read(root: &Path) -> Self {
        let mut services = Services {
            root: root.to_owned(),
            ..Self::default()
        };
        let mut masked = BTreeSet::new();
        for folder in FOLDERS {
            for (name, file) in entries(&root.join(folder)) {
                if name.ends_with(DROP_INS) {
                    services.drop_ins.entry(name).or_default().push(file);
                    continue;
                }
                let is_known = services.files.contains_key(&name)
                    || services.aliases.contains_key(&name)
                    || masked.contains(&name);
                if is_known || !name.ends_with(SERVICE) {
                    continue;
                }
                let target = fs::read_link(&file).ok();
                let of_target = target
                    .as_ref()
                    .and_then(|target| target.file_name()?.to_str());
                match (&target, of_target) {
                    (Some(target), _) if target == Path::new("/dev/null") => {
                        masked.insert(name);
                    }
                    (Some(_), Some(real)) if real != name && real.ends_with(SERVICE) => {
                        services.aliases.insert(name, real.into());
                    }
                    (Some(target), _) if target.is_absolute() => {
                        let inside = target.strip_prefix("/").unwrap_or(target);
                        services.files.insert(name, root.join(inside));
                    }
                    _ => drop(services.files.insert(name, file)),
                }
            }
        }
        services
    }

    /// Names of the services that match a pattern. An instance exists if its template does.
    pub(super) fn matching(&self, pattern: &str) -> BTreeSet<String> {
        let instance =
            Some(pattern).filter(|name| !name.contains('*') && self.file(name).is_some());
        let named = self.files.keys().filter(|name| fits(pattern, name));
        let aliased = self
            .aliases
            .iter()
            .filter(|(alias, _)| fits(pattern, alias))
            .map(|(_, name)| name);
        let real = aliased.filter(|name| self.files.contains_key(*name));
        named
            .chain(real)
            .cloned()
            .chain(instance.map(str::to_owned))
            .collect()
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    fn file(&self, name: &str) -> Option<&PathBuf> {
        self.files
            .get(name)
            .or_else(|| self.files.get(&template(name)?))
    }

    /// What the files of a service say, without ours.
    pub(super) fn service(&self, name: &str) -> Option<Service> {
        let texts = std::iter::once(self.file(name)?.clone()).chain(self.drop_ins(name));
        let mut service = Service::default();
        for (key, value) in texts.flat_map(|file| settings(&text(&file), "Service")) {
            service.set(&key, &value, &self.root);
        }
        Some(service)
    }

    /// Drop-ins in the order in which systemd reads them: by file name. A more specific folder
    /// overrides.
    fn drop_ins(&self, name: &str) -> Vec<PathBuf> {
        let stem = name.strip_suffix(SERVICE).unwrap_or(name);
        let dashes = stem
            .match_indices('-')
            .map(|(at, _)| format!("{}{SERVICE}.d", &stem[..=at]));
        let folders = std::iter::once("service.d".to_owned())
            .chain(dashes)
            .chain(template(name).map(|template| format!("{template}.d")))
            .chain([format!("{name}.d")]);
        let mut found = BTreeMap::new();
        for folder in folders {
            for folder in self.drop_ins.get(&folder).into_iter().flatten().rev() {
                found.extend(entries(folder));
            }
        }
        found.retain(|file, _| file.ends_with(".conf") && file != NAME);
        found.into_values().collect()
    }
}

impl Service {
    fn set(&mut self, key: &str, value: &str, root: &Path) {
        match key {
            "Environment" => assign(&mut self.variables, value),
            "EnvironmentFile" => {
                let file = value.trim_start_matches('-').trim_start_matches('/');
                let text = text(&root.join(file));
                let sets =
                    |name: &str| text.lines().any(|line| line.trim_start().starts_with(name));
                self.fixed
                    .extend(VARIABLES.into_iter().filter(|name| sets(name)));
            }
            "UnsetEnvironment" => {
                let gone = words(value)
                    .into_iter()
                    .filter_map(|(word, _)| known(&word));
                self.fixed.extend(gone);
            }
            "ExecStart" if value.is_empty() => self.programs.clear(),
            "ExecStart" => {
                let command = value.trim_start_matches(['@', '-', ':', '+', '!', '|']);
                self.programs
                    .extend(words(command).into_iter().next().map(|(word, _)| word));
            }
            "User" => self.user = Some(value.to_owned()).filter(|user| !user.is_empty()),
            _ => {}
        }
    }
}

/// `DefaultEnvironment` of `system.conf` or `user.conf`, without ours.
pub(super) fn defaults(root: &Path, name: &str) -> Variables {
    let mut files = vec![];
    let mut found = BTreeMap::new();
    for base in CONFIGURATIONS {
        let base = root.join(base);
        files.push(base.join(name));
        found.extend(entries(&base.join(format!("{name}.d"))));
    }
    found.retain(|file, _| file.ends_with(".conf") && file != NAME);
    let mut variables = Variables::new();
    let texts = files
        .into_iter()
        .chain(found.into_values())
        .map(|file| text(&file));
    for (key, value) in texts.flat_map(|text| settings(&text, "Manager")) {
        if key == "DefaultEnvironment" {
            assign(&mut variables, &value);
        }
    }
    variables
}

/// `foo@.service` of `foo@bar.service`.
fn template(name: &str) -> Option<String> {
    let (head, instance) = name.split_once('@')?;
    (instance != SERVICE).then(|| format!("{head}@{SERVICE}"))
}

/// Files and links of a folder by name; none if it cannot be read.
fn entries(folder: &Path) -> BTreeMap<String, PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect()
}

fn text(file: &Path) -> String {
    fs::read(file)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// Keys and values of a section. A line that ends with a backslash continues.
fn settings(text: &str, section: &str) -> Vec<(String, String)> {
    let (mut found, mut is_inside, mut before) = (vec![], false, String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            before += &format!("{begun} ");
            continue;
        }
        let line = std::mem::take(&mut before) + line;
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            is_inside = name == section;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_inside) {
            found.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found
}

/// Words of a value, without their quotation marks, and whether they can be copied into double
/// quotes.
fn words(value: &str) -> Vec<(String, bool)> {
    let mut found = vec![];
    let (mut word, mut quote, mut is_plain, mut is_begun) = (String::new(), None, true, false);
    for letter in value.chars() {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (None, '"' | '\'') => (quote, is_begun) = (Some(letter), true),
            (None, letter) if letter.is_whitespace() => {
                if std::mem::take(&mut is_begun) {
                    found.push((
                        std::mem::take(&mut word),
                        std::mem::replace(&mut is_plain, true),
                    ));
                }
            }
            (_, letter) => {
                is_plain &= !matches!(letter, '\\' | '"');
                is_begun = true;
                word.push(letter);
            }
        }
    }
    if is_begun {
        found.push((word, is_plain));
    }
    found
}

fn known(name: &str) -> Option<&'static str> {
    VARIABLES.into_iter().find(|known| *known == name)
}

/// Follows an assignment of variables; an empty one removes all.
fn assign(variables: &mut Variables, value: &str) {
    if value.is_empty() {
        variables.clear();
    }
    for (word, is_plain) in words(value) {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        if let Some(name) = known(name) {
            variables.insert(
                name,
                if is_plain {
                    Ok(value.to_owned())
                } else {
                    Err(Uncopied)
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn services_are_found_by_name_alias_template_and_pattern() {
        let root = tempfile::tempdir().unwrap();
        let lib = "usr/lib/systemd/system";
        for name in [
            "ssh.service",
            "a-b.service",
            "tty@.service",
            "x.socket",
            "gone.service",
        ] {
            write(root.path(), &format!("{lib}/{name}"), "");
        }
        let etc = root.path().join("etc/systemd/system");
        fs::create_dir_all(&etc).unwrap();
        symlink(
            "/usr/lib/systemd/system/ssh.service",
            etc.join("sshd.service"),
        )
        .unwrap();
        symlink("/dev/null", etc.join("gone.service")).unwrap();
        symlink(
            "/usr/lib/systemd/system/a-b.service",
            etc.join("a-b.service"),
        )
        .unwrap();
        let services = Services::read(root.path());
        for (pattern, expected) in [
            ("ssh.service", vec!["ssh.service"]),
            ("sshd.service", vec!["ssh.service"]),
            ("a*.service", vec!["a-b.service"]),
            (
                "*.service",
                vec!["a-b.service", "ssh.service", "tty@.service"],
            ),
            ("tty@*.service", vec!["tty@.service"]),
            ("tty@1.service", vec!["tty@1.service"]),
            ("gone.service", vec![]),
            ("tty@.service", vec!["tty@.service"]),
            ("none@1.service", vec![]),
        ] {
            assert_eq!(
                services.matching(pattern).into_iter().collect::<Vec<_>>(),
                expected,
                "{pattern}"
            );
        }
        assert!(
            services.service("a-b.service").is_some() && services.service("gone.service").is_none()
        );
    }

    #[test]
    fn the_last_assignment_of_all_files_applies() {
        let root = tempfile::tempdir().unwrap();
        let lib = "usr/lib/systemd/system";
        let fragment = "[Unit]\nUser=no\n[Service]\nUser = ann\nExecStart=-@/bin/\\\n# comment\n  a b\n\
                        Environment=X=1 \"LD_PRELOAD=/a.so /b.so\" 'GODEBUG=x=1'\n";
        write(root.path(), &format!("{lib}/a-b@.service"), fragment);
        let service = |name| Services::read(root.path()).service(name).unwrap();
        let set = |value: &str| Ok(value.to_owned());
        let found = service("a-b@1.service");
        assert_eq!(found.user.as_deref(), Some("ann"));
        assert_eq!(found.programs, ["/bin/"]);
        assert_eq!(
            found.variables,
            [("LD_PRELOAD", set("/a.so /b.so")), ("GODEBUG", set("x=1"))].into()
        );
        // Later files override, in the order of their names; ours does not count.
        write(
            root.path(),
            "etc/systemd/system/a-.service.d/90.conf",
            "[Service]\nEnvironment=GODEBUG=y\n",
        );
        write(
            root.path(),
            "run/systemd/system/a-b@.service.d/50.conf",
            "[Service]\nEnvironment=\n",
        );
        let ours = format!("etc/systemd/system/a-b@1.service.d/{NAME}");
        write(
            root.path(),
            &ours,
            "[Service]\nEnvironment=LD_PRELOAD=/ours.so\n",
        );
        assert_eq!(
            service("a-b@1.service").variables,
            [("GODEBUG", set("y"))].into()
        );
        write(
            root.path(),
            "etc/systemd/system/a-b@1.service.d/95.conf",
            "[Service]\nEnvironment=\"LD_PRELOAD=/a\\x20b.so\"\nUnsetEnvironment=GODEBUG\n",
        );
        let found = service("a-b@1.service");
        assert_eq!(found.variables["LD_PRELOAD"], Err(Uncopied));
        assert_eq!(found.fixed, ["GODEBUG"].into());
    }

    #[test]
    fn defaults_of_systemd_are_read_from_all_its_files() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            "etc/systemd/system.conf",
            "[Manager]\nDefaultEnvironment=GODEBUG=a\n",
        );
        assert_eq!(
            defaults(root.path(), "system.conf"),
            [("GODEBUG", Ok("a".to_owned()))].into()
        );
        let more = "[Manager]\nDefaultEnvironment=GODEBUG=b LD_PRELOAD=/x.so\n";
        write(root.path(), "run/systemd/system.conf.d/1.conf", more);
        write(
            root.path(),
            &format!("etc/systemd/system.conf.d/{NAME}"),
            "[Manager]\nDefaultEnvironment=\n",
        );
        let both = [
            ("GODEBUG", Ok("b".to_owned())),
            ("LD_PRELOAD", Ok("/x.so".to_owned())),
        ];
        assert_eq!(defaults(root.path(), "system.conf"), both.into());
        assert_eq!(defaults(root.path(), "user.conf"), Variables::new());
    }
}
