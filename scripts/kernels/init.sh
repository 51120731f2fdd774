#!/bin/busybox sh
# shellcheck shell=dash
# The first process of the guest: mounts, loads modules, runs /command, reports its exit code, powers off.
# ttyS0 is the kernel's console, ttyS1 gets the output of the command, ttyS2 its exit code.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TERM=dumb
mount -t devtmpfs none /dev
mkdir -p /dev/pts /dev/shm
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mount -t tmpfs none /tmp
mount -t cgroup2 none /sys/fs/cgroup
mount -t bpf none /sys/fs/bpf
exec >/dev/console 2>&1
for line in /dev/ttyS1 /dev/ttyS2; do
    stty -F "$line" raw -echo # no carriage returns
done
[ -e /dev/net/tun ] || { mkdir -p /dev/net && mknod /dev/net/tun c 10 200; }
for module in /modules/*.ko; do
    [ -e "$module" ] && insmod "$module"
done
ip link set lo up
cd / || exit
sh /command >/dev/ttyS1 2>&1 </dev/null
echo $? >/dev/ttyS2
sync
poweroff -f
