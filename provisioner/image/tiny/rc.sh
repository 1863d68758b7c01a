#!/bin/sh
# The tiny system's one start script: drivers, the NoCloud seed, network, SSH, the marker.
export PATH=/bin:/sbin
/bin/busybox --install -s /bin

say() { echo "tiny: $*" > /dev/console; }

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2> /dev/null
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/seed
while read -r module; do insmod "/modules/$module" 2> /dev/null; done < /etc/modules
ip link set lo up

# a controller may need some seconds to show its disks
volume=
tries=0
while [ -z "$volume" ] && [ $tries -lt 50 ]; do
    volume=$(findfs LABEL=CIDATA 2> /dev/null || findfs LABEL=cidata 2> /dev/null)
    [ -n "$volume" ] || usleep 200000
    tries=$((tries + 1))
done

hostname tiny
if [ -n "$volume" ] && mount -t vfat -o ro "$volume" /run/seed; then
    name=$(sed -n 's/^local-hostname: *"\{0,1\}\([A-Za-z0-9.-]*\)"\{0,1\} *$/\1/p' /run/seed/meta-data)
    [ -n "$name" ] && hostname "$name"
    awk '/^[^ ]/ { keys = ($1 == "public-keys:") }
         keys && /^ *- / { sub(/^ *- *"?/, ""); sub(/"? *$/, ""); print }' \
        /run/seed/meta-data > /root/.ssh/authorized_keys
    umask 077
    cp /run/seed/user-data /run/user-data 2> /dev/null
    umask 022
    /etc/network.sh < /run/seed/network-config
    umount /run/seed
else
    say "no seed found"
fi
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" > /etc/hosts

dropbearkey -t ed25519 -f /etc/dropbear/key > /dev/null 2>&1
dropbear -s -r /etc/dropbear/key
acpid -c /etc/acpi -l /dev/null
echo "RACKWRIGHT-TINY-READY $(hostname)" > /dev/console
