#!/bin/sh
# Blanks the seed's partition on the root disk, once cloud-init has finished with it.
set -e
disk=/dev/$(lsblk -no PKNAME "$(findmnt -no SOURCE /)")
seed=$(lsblk -rno PATH,PARTLABEL,LABEL "$disk" | awk '$2 == "cidata" && $3 == "CIDATA" { print $1 }')
if [ -n "$seed" ] && [ -e /var/lib/cloud/instance/boot-finished ]; then
    blkdiscard --force --zeroout "$seed"
    sync
fi
echo "RACKWRIGHT-DEBIAN-READY $(hostname)" > /dev/console
