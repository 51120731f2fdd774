#!/usr/bin/env bash
# The steps of a new user with the package on a system without systemd, such as a container.
# shellcheck source=scripts/package/common.sh
. /package/common.sh

# The command of the unit.
start() {
    # shellcheck disable=SC2046 # words
    setsid $(sed -n 's/^ExecStart=//p' "$UNIT") >>"$LOG" 2>&1 &
    daemon=$!
    soon endpoint_is_there || fail 'the daemon adds an endpoint'
}

# Otherwise the program would run only on machines that happen to have the libraries.
names_its_libraries() {
    local named library
    named=$(dpkg-query --show --showformat='${Depends}' joulepath)
    for library in libc6 libelf1; do
        [[ $named == *"$library"* ]] || return 1
    done
}

mount -t sysfs -o ro none /sys
machine
kernel >/package/kernel.before
files >/package/files.before

expect 'apt installs it' apt-get -q install -y /joulepath.deb
expect 'its libraries are installed with it' joulepath --version
expect 'the package names them' names_its_libraries
expect 'it has manual pages' zgrep -q 'dry' /usr/share/man/man1/joulepath-live.1.gz
# shellcheck disable=SC2016 # the inner shell expands them
expect 'bash completes commands' bash -c 'COMP_WORDS=(joulepath live set-) COMP_CWORD=2 COMP_LINE="joulepath live set-"
    source /usr/share/bash-completion/completions/joulepath; _joulepath; [[ ${COMPREPLY[*]} == set-intent ]]'
expect 'nothing is started' test ! -e /run/joulepath
expect 'the unit is disabled' test "$(systemctl is-enabled joulepathd || true)" = disabled
expect 'systemd finds no error in the units' systemd-analyze --man=no verify "$UNIT" "${UNIT%/*}"/joulepath-relay-{serve,connect}.service
expect 'it reads its configuration' joulepath live --dry-run
same_kernel 'installing changes nothing in the kernel'

start
say 'the daemon adds an endpoint'
expect 'it reports its state' joulepath status
if apt-get -q purge -y joulepath >/package/refusal 2>&1; then
    fail 'apt does not purge the package while its daemon runs without systemd'
fi
expect 'the refusal gives the reason' grep -q 'stop it first' /package/refusal
expect 'the package still works' joulepath status
kill "$daemon"
wait "$daemon" || fail 'the daemon ends without an error'
expect 'the stopped daemon of the unit leaves its endpoint for the next start' endpoint_is_there
expect 'live --undo succeeds' joulepath live --undo
same_kernel 'live --undo restores everything'

start
traffic_begins
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
endpoint_is_there || fail 'a killed daemon leaves its endpoint'
expect 'apt purges it' apt-get -q purge -y joulepath
expect 'a connection continues' traffic_goes_on
expect 'the endpoint of the connection stays' endpoint_is_there
expect 'the connection ends' traffic_ends
expect 'the purge removes the endpoint of the killed daemon' soon endpoint_is_gone
is_forgotten() { [[ ! -e /run/joulepath ]]; }
expect 'the state folder is removed' soon is_forgotten
same_kernel 'the kernel is as it was'
same_files 'the files are as they were'
