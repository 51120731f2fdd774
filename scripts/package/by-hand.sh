#!/usr/bin/env bash
# What a new user does with the package where no systemd runs: a container.
# shellcheck source=scripts/package/common.sh
. /package/common.sh

# The command of the unit.
start() {
    # shellcheck disable=SC2046 # words
    setsid $(sed -n 's/^ExecStart=//p' "$UNIT") >>"$LOG" 2>&1 &
    daemon=$!
    soon endpoint_is_there || fail 'the daemon puts an endpoint in'
}

# Else a machine that happens to have them would run it, and the next one would not.
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
expect 'its libraries come with it' joulepath --version
expect 'the package names them' names_its_libraries
expect 'it has manual pages' zgrep -q 'dry' /usr/share/man/man1/joulepath-live.1.gz
expect 'it completes' grep -q set-intent /usr/share/bash-completion/completions/joulepath
expect 'nothing was started' test ! -e /run/joulepath
expect 'the unit waits to be wanted' test "$(systemctl is-enabled joulepathd || true)" = disabled
expect 'systemd finds no fault in the unit' systemd-analyze --man=no verify "$UNIT"
expect 'its configuration is read' joulepath live --dry-run
same_kernel 'installing changes nothing in the kernel'

start
say 'the daemon puts an endpoint in'
expect 'it tells how it stands' joulepath status
if apt-get -q purge -y joulepath >/package/refusal 2>&1; then
    fail 'a package whose daemon runs without systemd is not purged'
fi
expect 'a package whose daemon runs stays, and says why' grep -q 'stop it first' /package/refusal
expect 'it stays whole' joulepath status
kill "$daemon"
wait "$daemon" || fail 'the daemon ends without an error'
expect 'stopped, the daemon of the unit leaves its endpoint to the next one' endpoint_is_there
expect 'or to undo' joulepath live --undo
same_kernel 'which puts everything back'

start
traffic_begins
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
endpoint_is_there || fail 'a killed daemon leaves its endpoint'
expect 'apt purges it' apt-get -q purge -y joulepath
expect 'a connection goes on' traffic_goes_on
expect 'for which the endpoint stays' endpoint_is_there
expect 'until it ends' traffic_ends
expect 'then purging has put back what a killed daemon has left' soon endpoint_is_gone
is_forgotten() { [[ ! -e /run/joulepath ]]; }
expect 'and what has waited for that ends' soon is_forgotten
same_kernel 'the kernel is as it was'
same_files 'the files are as they were'
