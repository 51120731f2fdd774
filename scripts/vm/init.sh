#!/bin/busybox sh
# shellcheck shell=dash
# The first process of the virtual machine: mounts the first disk, unpacks the second onto it, starts systemd from it.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
for module in /modules/*.ko; do
    insmod "$module"
done
mount -t ext4 /dev/vda /root
tar -xf /dev/vdb -C /root
umount /proc
exec switch_root /root /sbin/init
