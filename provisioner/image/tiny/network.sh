#!/bin/sh
# Network configuration version 2, as Rackwright writes it, from standard input. Cards are found
# by their MAC addresses.
export PATH=/bin:/sbin

apply() {
    card=
    for each in /sys/class/net/*; do
        [ "$(cat "$each/address")" = "$mac" ] && card=${each##*/}
    done
    [ -n "$card" ] || { echo "tiny: no card $mac" > /dev/console; return; }
    [ -n "$mtu" ] && ip link set "$card" mtu "$mtu"
    ip link set "$card" up
    for each in $addresses; do ip addr add "$each" dev "$card"; done
    for each in $gateways; do ip route add default via "$each" dev "$card"; done
    for each in $servers; do echo "nameserver $each" >> /etc/resolv.conf; done
    [ "$dhcp" = true ] && udhcpc -b -i "$card" -s /etc/lease.sh > /dev/null 2>&1
}

# one word list a card: "card", then "mac X", "address X", "gateway X", "server X", "mtu X", "dhcp X"
awk '
    function value(line) { sub(/^ *(- )?([a-z0-9-]+: *)?/, "", line); gsub(/["'\'' ]/, "", line); return line }
    /^  [^ ].*:$/ { print "card"; part = "" }
    /^    [a-z]/ { part = $1 }
    /^      macaddress:/ { print "mac", value($0) }
    part == "addresses:" && /^ *- / { print "address", value($0) }
    part == "routes:" && /^ *via:/ { print "gateway", value($0) }
    part == "nameservers:" && /^ *- / { print "server", value($0) }
    /^    mtu:/ { print "mtu", value($0) }
    /^    dhcp4:/ { print "dhcp", value($0) }
    END { print "card" }
' | {
    mac=
    while read -r what word; do
        case $what in
            card) [ -n "$mac" ] && apply; mac= mtu= dhcp= addresses= gateways= servers= ;;
            mac) mac=$word ;;
            mtu) mtu=$word ;;
            dhcp) dhcp=$word ;;
            address) addresses="$addresses $word" ;;
            gateway) gateways="$gateways $word" ;;
            server) servers="$servers $word" ;;
        esac
    done
}
