#!/bin/sh
# The steps of a tenant's rescue system; provisioner/agent/rescue.py begins it, and its inittab
# and udhcpc call the rest. What a tenant wrote is in files that are read, never evaluated.
set -o pipefail
second=$(cat /run/second 2> /dev/null || echo /dev/null)

say() {
  echo "rackwright rescue: ssh root@$1, host key $(cat /run/rescue/fingerprint)" | tee -a "$second"
}

case "$1" in
unpack)
  cd / && busybox xzcat /usr/lib/rescue.cpio.xz | busybox cpio -idmu 2> /dev/null
  ;;

begin)
  mkdir -p /dev/pts
  mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
  busybox --install -s /usr/bin 2> /dev/null
  for each in \
    pvcreate pvdisplay pvs pvscan pvchange pvresize pvmove pvck pvremove \
    vgcreate vgdisplay vgs vgscan vgchange vgextend vgreduce vgck vgcfgrestore vgrename vgremove \
    lvcreate lvdisplay lvs lvscan lvchange lvextend lvreduce lvresize lvconvert lvrename lvremove; do
    ln -sf lvm "/usr/sbin/$each"
  done
  for each in ext2 ext3 ext4; do
    ln -sf e2fsck "/usr/sbin/fsck.$each"
  done
  # a controller's graceful off arrives as the power button
  modprobe -qa button evdev
  if [ -e /dev/input/event0 ]; then
    acpid -l /dev/null
  else
    echo "rackwright rescue: no power button is seen: a graceful off does not reach this system"
  fi
  ;;

announce)
  # 0016 is port 22, 0A a listener
  until grep -q ':0016 [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 1; done
  while read -r address; do say "$address"; done < /run/rescue/addresses
  ;;

deconfig)
  ip addr flush dev "$interface"
  ;;

bound | renew)
  case " $(ip -4 addr show dev "$interface") " in
  *" $ip/${mask:-24} "*) ;;
  *)
    ip addr flush dev "$interface"
    ip addr add "$ip/${mask:-24}" dev "$interface"
    say "$ip"
    ;;
  esac
  # behind a static way out, and the instance's default network before the others
  metric=$((100 + $(cat "/sys/class/net/$interface/ifindex")))
  grep -qxF "$interface" /run/rescue/first && metric=50
  for each in $router; do
    ip route replace default via "$each" dev "$interface" metric "$metric"
    break
  done
  for each in $dns; do
    grep -qxF "nameserver $each" /etc/resolv.conf || echo "nameserver $each" >> /etc/resolv.conf
  done
  ;;

end)
  # everybody else is asked to end before what they may have mounted is taken from them
  kill -TERM -1
  sleep 1
  kill -KILL -1
  sync
  umount -a -r 2> /dev/null
  ;;
esac
