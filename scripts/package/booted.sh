#!/usr/bin/env bash
# The steps of a new user with the package on a system with systemd.
# shellcheck source=scripts/package/common.sh
. /package/common.sh

running() { [[ $(systemctl is-active joulepathd) == active ]]; }
main_pid() { systemctl show --property MainPID --value joulepathd; }
restarted() { running && [[ $(main_pid) != "$1" ]] && endpoint_is_there; }
said() { [[ $(systemctl show --property StatusText --value joulepathd) == *"$1"* ]]; }

# The base of any service, so that its files count as present before the test.
systemctl start basic.target
machine
kernel >/package/kernel.before
files >/package/files.before

expect 'apt installs it' apt-get -q install -y /joulepath.deb
expect 'it does not start before it is enabled' test "$(systemctl is-active joulepathd || true)" = inactive
expect 'systemctl enable --now starts it' systemctl enable --now joulepathd
expect 'it reports to systemd that it is ready' running
expect 'it adds an endpoint' soon endpoint_is_there
expect 'it reports its state to systemd' soon said frugal
# Exposure in hundredths: limits how much new settings of the unit may open it.
expect 'systemd rates the units as confined' systemd-analyze security --no-pager --threshold=20 \
    joulepathd joulepath-relay-serve joulepath-relay-connect
expect 'every user can read its state' setpriv --reuid nobody --regid nogroup --clear-groups joulepath status

# The folder that the package of node_exporter creates, and the units that the guide says to copy.
folder=/var/lib/prometheus/node-exporter
mkdir -p "$folder"
cp /usr/share/doc/joulepath/examples/monitoring/joulepath-metrics.* /run/systemd/system/
systemctl daemon-reload
expect 'the timer for its metrics starts' systemctl start joulepath-metrics.timer
has_metrics() { grep -q '^joulepath_path_role{path="wlan0",role="regular"} 1$' "$folder/joulepath.prom"; }
expect 'the metrics are in the file of node_exporter' soon has_metrics
systemctl stop joulepath-metrics.timer joulepath-metrics.service
rm -r /var/lib/prometheus /run/systemd/system/joulepath-metrics.*

pid=$(main_pid)
sed -i 's/^intent = .*/intent = "aggregate"/' /etc/joulepath/live.toml
expect 'it reads a changed configuration on reload' systemctl reload joulepathd
expect 'it applies the new intent' soon said aggregate
expect 'it is still the same process' test "$(main_pid)" = "$pid"

# The hardened unit may still set the sysctl for [controllers]. The controller is the kernel's own, so nothing is loaded.
controller() { grep -qx "$1" /proc/sys/net/ipv4/tcp_congestion_control; }
expect 'another controller is the default before' bash -c '! grep -qx reno /proc/sys/net/ipv4/tcp_congestion_control'
printf '[controllers]\naggregate = "reno"\n' >>/etc/joulepath/live.toml
expect 'it reads the configuration with a controller' systemctl reload joulepathd
expect 'it sets the controller of the intent' soon controller reno
expect 'the unit that loads controllers succeeds without controllers to load' test "$(systemctl is-active joulepath-controllers)" = active

# A service on MPTCP, and `joulepath on` and `off`.
cat >/etc/systemd/system/test-web.service <<'.'
[Service]
ExecStart=/bin/sleep 1000
Environment=GODEBUG=netdns=go
.
systemctl daemon-reload
systemctl start test-web
changes() { find /etc/systemd -name 'zz-joulepath-*'; }
printf '[[mptcp]]\nunit = "test-web"\n' >>/etc/joulepath/live.toml
expect 'reload puts a service on MPTCP' systemctl reload joulepathd
environment() { systemctl show --property Environment --value test-web | grep -qF "$1"; }
expect 'systemd knows the variable of the service and ours' soon environment GODEBUG=netdns=go,multipathtcp=1
expect 'it names the library' environment LD_PRELOAD=/usr/lib/joulepath/libjoulepath-mptcp.so
waits() { joulepath status --json | grep -A3 '"waiting"' | grep -q test-web; }
expect 'the status names the service that waits for a restart' soon waits
systemctl restart test-web
expect 'the restarted service has the library' grep -q libjoulepath-mptcp "/proc/$(systemctl show -P MainPID test-web)/maps"
expect 'joulepath on restarts it with another intent' joulepath on interactive
expect 'it applies that intent' soon said interactive
expect 'joulepath off stops and disables it' joulepath off
expect 'it does not run after off' test "$(systemctl is-active joulepathd || true)" = inactive
expect 'it is disabled after off' test "$(systemctl is-enabled joulepathd || true)" = disabled
expect 'no drop-in is left' test -z "$(changes)"
expect 'systemd has forgotten the variable' bash -c '! systemctl show --property Environment --value test-web | grep -q multipathtcp'
systemctl stop test-web
rm /etc/systemd/system/test-web.service
systemctl daemon-reload
expect 'it starts again' systemctl enable --now joulepathd
expect 'it adds an endpoint after off' soon endpoint_is_there
pid=$(main_pid)

kill -KILL "$pid"
expect 'systemd restarts it after SIGKILL' soon restarted "$pid"

traffic_begins
expect 'installing it again restarts it' apt-get -q install -y --reinstall /joulepath.deb
expect 'a connection continues' traffic_goes_on
expect 'the changed configuration is kept' grep -q aggregate /etc/joulepath/live.toml
expect 'the daemon runs again' soon endpoint_is_there
undo_waits() { [[ $(systemctl is-active joulepath-undo || true) == "$1" ]]; }
expect 'joulepath-undo stops once the daemon runs again' soon undo_waits inactive

expect 'systemctl stops it' systemctl stop joulepathd
expect 'the connection continues after the stop' traffic_goes_on
expect 'the endpoint that the connection needs stays' endpoint_is_there
expect 'joulepath-undo waits for the end of the connection' soon undo_waits active
expect 'the connection ends' traffic_ends
expect 'the endpoint is removed' soon endpoint_is_gone
expect 'joulepath-undo ends' soon undo_waits inactive

expect 'it starts again' systemctl start joulepathd
expect 'it adds an endpoint again' soon endpoint_is_there
traffic_begins
expect 'apt purges it while it runs' apt-get -q purge -y joulepath
expect 'it does not run after the purge' test "$(systemctl is-active joulepathd || true)" != active
expect 'the connection continues after the purge' traffic_goes_on
expect 'the connection ends after the purge' traffic_ends
expect 'the endpoint is removed after the purge' soon endpoint_is_gone
is_forgotten() { [[ ! -e /run/joulepath ]]; }
expect 'the state folder is removed' soon is_forgotten
same_kernel 'the kernel is as it was'
same_files 'the files are as they were'
