#!/bin/sh
# What udhcpc calls when a lease comes or goes.
export PATH=/bin:/sbin
case $1 in
    bound | renew)
        ip addr flush dev "$interface"
        ip addr add "$ip/${mask:-24}" dev "$interface"
        for each in $router; do ip route add default via "$each" dev "$interface"; done
        for each in $dns; do echo "nameserver $each" >> /etc/resolv.conf; done
        ;;
    deconfig) ip addr flush dev "$interface" ;;
esac
