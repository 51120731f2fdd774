use super::*;

use joulepath_kernel::programs::{ALL_GROUPS, Scope};
use joulepath_model::scenario::read_live;
use tempfile::TempDir;

const LIBRARY: &str = "/usr/lib/joulepath/libjoulepath-mptcp.so";
const BOTH: &str = "[Service]\nEnvironment=\"GODEBUG=multipathtcp=1\"\n\
                    Environment=\"LD_PRELOAD=/usr/lib/joulepath/libjoulepath-mptcp.so\"\n";

fn config(entries: &str) -> LiveConfig {
    read_live(&format!("intent = \"frugal\"\n{entries}"))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

fn write(root: &Path, file: &str, text: &str) {
    let file = root.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A machine with some services.
fn machine() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let lib = "usr/lib/systemd/system";
    let unit = |start: &str| format!("[Service]\nExecStart={start}\n");
    write(
        root.path(),
        &format!("{lib}/nginx.service"),
        &unit("/usr/sbin/nginx -g x"),
    );
    write(
        root.path(),
        &format!("{lib}/backup-a.service"),
        &unit("-/usr/bin/restic backup"),
    );
    let own = "[Service]\nExecStart=/usr/bin/restic\nUser=ann\nEnvironment=GODEBUG=netdns=go \
               \"LD_PRELOAD=libjemalloc.so.2\"\n";
    write(root.path(), &format!("{lib}/backup-b.service"), own);
    let quoted = "[Service]\nEnvironment=\"LD_PRELOAD=/a\\x20b.so\"\n";
    write(root.path(), &format!("{lib}/odd.service"), quoted);
    write(
        root.path(),
        &format!("{lib}/user@.service"),
        &unit("/usr/lib/systemd/systemd --user"),
    );
    write(
        root.path(),
        "etc/passwd",
        "root:x:0:0::/:\nann:x:1007:1::/:\n",
    );
    fs::create_dir_all(root.path().join(FOLDER)).unwrap();
    root
}

/// Every path below the root, and what is there.
fn everything(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = if path.is_dir() {
                "folder".into()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, text);
        }
    }
    found
}

fn apply(root: &TempDir, entries: &str) -> Applied {
    apply_in(root.path(), &config(entries), Path::new(LIBRARY)).unwrap()
}

fn body(root: &TempDir, folder: &str) -> String {
    let file = root.path().join("etc/systemd").join(folder).join(NAME);
    match owned::look(&file).unwrap() {
        Found::Ours(own) => own.body,
        other => panic!("{}: {other:?}", file.display()),
    }
}

#[test]
fn services_get_the_variables_and_keep_their_own() {
    let root = machine();
    let before = everything(root.path());
    let applied = apply(
        &root,
        "[[mptcp]]\nunit = \"nginx\"\n[[mptcp]]\nprogram = \"restic\"\n",
    );
    assert_eq!(
        applied.on,
        ["backup-a.service", "backup-b.service", "nginx.service"]
    );
    assert_eq!((applied.changes, applied.notes), (3, vec![]));
    assert_eq!(body(&root, "system/nginx.service.d"), BOTH);
    let kept = "[Service]\nEnvironment=\"GODEBUG=netdns=go,multipathtcp=1\"\n\
                Environment=\"LD_PRELOAD=libjemalloc.so.2 /usr/lib/joulepath/libjoulepath-mptcp.so\"\n";
    assert_eq!(body(&root, "system/backup-b.service.d"), kept);
    // Ours do not count as the service's own.
    assert_eq!(apply(&root, "[[mptcp]]\nunit = \"*\"\n").changes, 1);
    assert_eq!(body(&root, "system/backup-b.service.d"), kept);
    // Files of a daemon elsewhere stay.
    let own = Stamp::now().unwrap();
    assert_eq!(
        undo_in(root.path(), &|stamp| stamp.namespace == own.namespace).unwrap(),
        0
    );
    // What the configuration no longer names goes.
    assert_eq!(apply(&root, "[[mptcp]]\nunit = \"nginx\"\n").changes, 3);
    assert_eq!(undo_in(root.path(), &|_| false).unwrap(), 1);
    assert_eq!(everything(root.path()), before);
}

#[test]
fn a_user_has_services_of_the_system_and_a_systemd_of_their_own() {
    let root = machine();
    for user in ["ann", "1007"] {
        let applied = apply(&root, &format!("[[mptcp]]\nuser = \"{user}\"\n"));
        assert_eq!(
            applied.on,
            ["backup-b.service", "user@1007.service"],
            "{user}"
        );
    }
    assert_eq!(body(&root, "system/user@1007.service.d"), BOTH);
}

#[test]
fn all_is_a_default_and_services_with_their_own_variables_get_both() {
    let root = machine();
    write(
        root.path(),
        "etc/systemd/system.conf",
        "[Manager]\nDefaultEnvironment=GODEBUG=a=1 X=2\n",
    );
    let before = everything(root.path());
    let applied = apply(&root, "[[mptcp]]\nall = true\n");
    assert_eq!(applied.on, ["backup-b.service", "all services"]);
    assert!(
        applied
            .notes
            .iter()
            .any(|note| note.starts_with("odd.service: ")),
        "{:?}",
        applied.notes
    );
    let library = format!("\"LD_PRELOAD={LIBRARY}\"\n");
    let defaults =
        format!("[Manager]\nDefaultEnvironment=\"GODEBUG=a=1,multipathtcp=1\" {library}");
    assert_eq!(body(&root, "system.conf.d"), defaults);
    let of_users = format!("[Manager]\nDefaultEnvironment=\"GODEBUG=multipathtcp=1\" {library}");
    assert_eq!(body(&root, "user.conf.d"), of_users);
    undo_in(root.path(), &|_| false).unwrap();
    assert_eq!(everything(root.path()), before);
}

#[test]
fn what_cannot_be_on_mptcp_is_refused_with_the_reason() {
    let root = machine();
    let file = format!("{FOLDER}/nginx.service.d/{NAME}");
    write(root.path(), &file, "[Service]\n");
    for (entry, note) in [
        (
            "unit = \"none\"",
            "unit none.service: systemd has no such service",
        ),
        (
            "program = \"firefox\"",
            "program firefox: no service starts it, and programs",
        ),
        ("user = \"bob\"", "user bob: there is no such user"),
        (
            "unit = \"odd\"",
            "odd.service: the value of LD_PRELOAD has quotation marks",
        ),
        ("unit = \"nginx\"", "is not ours or was changed: delete it"),
    ] {
        let applied = apply(&root, &format!("[[mptcp]]\n{entry}\n"));
        assert!(applied.notes[0].contains(note), "{:?}", applied.notes);
        assert_eq!((applied.changes, applied.on), (0, vec![]), "{entry}");
    }
    undo_in(root.path(), &|_| false).unwrap();
    assert_eq!(
        fs::read_to_string(root.path().join(file)).unwrap(),
        "[Service]\n"
    );
}

#[test]
fn the_status_names_what_is_missing_and_what_waits_for_a_restart() {
    let root = machine();
    let config = config("[[mptcp]]\nunit = \"nginx\"\n");
    let status = || status_in(root.path(), &config, &boot_id().unwrap(), false).unwrap();
    assert_eq!(status().missing, ["nginx.service"]);
    apply_in(root.path(), &config, Path::new(LIBRARY)).unwrap();
    // Process 7 started with the boot.
    write(
        root.path(),
        "sys/fs/cgroup/system.slice/nginx.service/cgroup.procs",
        "7\n",
    );
    write(
        root.path(),
        "proc/7/stat",
        &format!("7 (nginx) S {}0 0\n", "0 ".repeat(18)),
    );
    let found = status();
    assert_eq!(
        (found.on, found.missing),
        (vec!["nginx.service".to_owned()], vec![])
    );
    assert_eq!(found.waiting, ["nginx.service"]);
    // After a reboot every process is newer than the file.
    assert_eq!(
        status_in(root.path(), &config, "another boot", false)
            .unwrap()
            .waiting,
        Vec::<String>::new()
    );
    assert_eq!(status_in(root.path(), &self::config(""), "", true), None);
}

#[test]
fn programs_that_no_library_reaches_are_named() {
    let root = machine();
    write(root.path(), "usr/sbin/nginx", "#!/no/such/interpreter\n");
    let applied = apply(&root, "[[mptcp]]\nunit = \"nginx\"\n");
    assert_eq!(applied.changes, 1);
    let note = "nginx.service: /no/such/interpreter cannot be read";
    assert!(applied.notes[0].starts_with(note), "{:?}", applied.notes);
}

#[test]
fn bpf_selects_control_groups_of_services_and_users() {
    let root = machine();
    let before = everything(root.path());
    let select = |entries: &str| select(root.path(), &config(entries));
    let mixed = select(
        "[[mptcp]]\nunit = \"nginx\"\n[[mptcp]]\nprogram = \"restic\"\n[[mptcp]]\nuser = \"ann\"\n\
         [[mptcp]]\nunit = \"none\"\n",
    );
    let units = [
        "backup-a.service",
        "backup-b.service",
        "nginx.service",
        "user-1007.slice",
    ];
    assert_eq!(mixed.on, [&units[..], &["user@1007.service"]].concat());
    assert_eq!(
        mixed.notes,
        ["unit none.service: systemd has no such service"]
    );
    let mut scope = Scope::default();
    mixed
        .on
        .iter()
        .for_each(|name| scope.add_unit(name).unwrap());
    assert_eq!(mixed.scope, scope);
    // The service of a user without services is in the slice.
    assert_eq!(
        select("[[mptcp]]\nuser = \"1\"\n").notes,
        Vec::<String>::new()
    );
    let all = select("[[mptcp]]\nall = true\n[[mptcp]]\nunit = \"nginx\"\n");
    assert_eq!(
        (all.scope, all.on),
        (Scope::group(ALL_GROUPS), vec!["all programs".to_owned()])
    );

    let config = config("[[mptcp]]\nunit = \"nginx\"\n");
    let status = status_in(root.path(), &config, "", true).unwrap();
    assert_eq!(
        (status.bpf, status.on, status.missing),
        (true, vec!["nginx.service".to_owned()], vec![])
    );
    assert_eq!(everything(root.path()), before);
}
