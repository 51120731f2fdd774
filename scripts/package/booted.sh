#!/usr/bin/env bash
# What a new user does with the package where systemd runs.
# shellcheck source=scripts/package/common.sh
. /package/common.sh

running() { [[ $(systemctl is-active joulepathd) == active ]]; }
main_pid() { systemctl show --property MainPID --value joulepathd; }
restarted() { running && [[ $(main_pid) != "$1" ]] && endpoint_is_there; }
said() { [[ $(systemctl show --property StatusText --value joulepathd) == *"$1"* ]]; }

# What any service has below it, so that its files count as there before.
systemctl start basic.target
machine
kernel >/package/kernel.before
files >/package/files.before

expect 'apt installs it' apt-get -q install -y /joulepath.deb
expect 'it is not started before it is wanted' test "$(systemctl is-active joulepathd || true)" = inactive
expect 'systemctl enable --now starts it' systemctl enable --now joulepathd
expect 'it tells systemd that it is ready' running
expect 'it puts an endpoint in' soon endpoint_is_there
expect 'it tells systemd how it stands' soon said frugal
# 17 of 100 when this was written: what is added to the unit must not open it again.
expect 'systemd finds it confined' systemd-analyze security --no-pager --threshold=20 joulepathd
expect 'it tells everybody' setpriv --reuid nobody --regid nogroup --clear-groups joulepath status

# The folder that node_exporter's package makes, and the units that the guide says to copy.
folder=/var/lib/prometheus/node-exporter
mkdir -p "$folder"
cp /usr/share/doc/joulepath/examples/monitoring/joulepath-metrics.* /run/systemd/system/
systemctl daemon-reload
expect 'a timer takes its metrics to node_exporter' systemctl start joulepath-metrics.timer
has_metrics() { grep -q '^joulepath_path_role{path="wlan0",role="regular"} 1$' "$folder/joulepath.prom"; }
expect 'they are in the file' soon has_metrics
systemctl stop joulepath-metrics.timer joulepath-metrics.service
rm -r /var/lib/prometheus /run/systemd/system/joulepath-metrics.*

pid=$(main_pid)
sed -i 's/^intent = .*/intent = "aggregate"/' /etc/joulepath/live.toml
expect 'it reads a changed configuration on reload' systemctl reload joulepathd
expect 'it does what that says' soon said aggregate
expect 'it is still the same process' test "$(main_pid)" = "$pid"

# Under all that hardens the unit it may still set the one tunable that [controllers] is about. A controller of the kernel's own: nothing is loaded.
controller() { grep -qx "$1" /proc/sys/net/ipv4/tcp_congestion_control; }
expect 'another controller is the default at first' bash -c '! grep -qx reno /proc/sys/net/ipv4/tcp_congestion_control'
printf '[controllers]\naggregate = "reno"\n' >>/etc/joulepath/live.toml
expect 'it reads the configuration with a controller' systemctl reload joulepathd
expect 'it sets the controller of the intent' soon controller reno
expect 'the unit that loads controllers has had nothing to load' test "$(systemctl is-active joulepath-controllers)" = active

kill -KILL "$pid"
expect 'killed, it is started again' soon restarted "$pid"

traffic_begins
expect 'installing it again restarts it' apt-get -q install -y --reinstall /joulepath.deb
expect 'a connection goes on' traffic_goes_on
expect 'with the configuration that was changed' grep -q aggregate /etc/joulepath/live.toml
expect 'and it runs' soon endpoint_is_there
undo_waits() { [[ $(systemctl is-active joulepath-undo || true) == "$1" ]]; }
expect 'what puts back has seen that it runs again' soon undo_waits inactive

expect 'systemctl stops it' systemctl stop joulepathd
expect 'the connection goes on' traffic_goes_on
expect 'the endpoint that it needs stays' endpoint_is_there
expect 'a unit waits for its end' soon undo_waits active
expect 'then it ends' traffic_ends
expect 'and the endpoint goes' soon endpoint_is_gone
expect 'with what has waited' soon undo_waits inactive

expect 'it starts again' systemctl start joulepathd
expect 'it puts an endpoint in again' soon endpoint_is_there
traffic_begins
expect 'apt purges it while it runs' apt-get -q purge -y joulepath
expect 'it does not run any more' test "$(systemctl is-active joulepathd || true)" != active
expect 'the connection goes on after the purge' traffic_goes_on
expect 'it ends' traffic_ends
expect 'then the endpoint goes' soon endpoint_is_gone
is_forgotten() { [[ ! -e /run/joulepath ]]; }
expect 'and so does what has waited' soon is_forgotten
same_kernel 'the kernel is as it was'
same_files 'the files are as they were'
