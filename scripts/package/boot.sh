#!/usr/bin/env bash
# Boots systemd in the bare Debian to run booted.sh. Process 1 of its namespace becomes systemd.
set -euo pipefail

mount -t tmpfs none /run
mkdir -p /run/systemd/system
cat >/run/systemd/system/check.service <<'UNIT'
[Unit]
Description=The check of the package
DefaultDependencies=no
SuccessAction=exit-force
FailureAction=exit-force

[Service]
Type=oneshot
Environment=DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
StandardOutput=file:/said
StandardError=file:/said
ExecStart=/bin/bash /package/booted.sh
ExecStopPost=/bin/bash -c "echo $SERVICE_RESULT >/result"
UNIT

# The journal does not run.
mkdir -p /run/systemd/system/joulepathd.service.d
printf '[Service]\nStandardError=append:/package/daemon.log\n' >/run/systemd/system/joulepathd.service.d/log.conf

mount -t sysfs none /sys
mount -t cgroup2 none /sys/fs/cgroup
export container=bare # makes systemd mount and check less
exec /lib/systemd/systemd --show-status=no --log-target=console --log-level=err --unit=check.service
