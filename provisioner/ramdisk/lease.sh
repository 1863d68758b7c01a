#!/bin/sh
# Called by udhcpc with the lease in the environment. DHCP's words are never evaluated.
case "$1" in
bound | renew)
  ip addr flush dev "$interface"
  ip addr add "$ip/${mask:-24}" dev "$interface"
  for each in $router; do
    ip route replace default via "$each" dev "$interface"
    break
  done
  echo "$ip" > /run/address
  ;;
esac
