#!/usr/bin/env bash
# The surroundings of the machine under test, in namespaces: two access points of one network (air), a modem's cell (cell), and the
# Internet (net) with a web server and the far end of a relay. Sourced by steps.sh.

readonly SERVER=198.51.100.80 RELAY=198.51.100.90
readonly SSID=cafe PASSPHRASE=joulepath

in_air() { ip netns exec air "$@"; }
in_cell() { ip netns exec cell "$@"; }
in_net() { ip netns exec net "$@"; }

# link SPACE PREFIX RATE DELAY: joins a namespace to the Internet. The rate is of the direction to the machine.
link() {
    local space=$1 prefix=$2 rate=$3 delay=$4
    ip link add "to-$space" netns net type veth peer name to-net netns "$space"
    ip -n "$space" address add "$prefix.254.1/30" dev to-net
    ip -n net address add "$prefix.254.2/30" dev "to-$space"
    ip -n "$space" link set to-net up
    ip -n net link set "to-$space" up
    ip -n net route add "$prefix.0.0/16" via "$prefix.254.1"
    ip -n "$space" route add default via "$prefix.254.2"
    ip netns exec "$space" sh -c "echo 1 >/proc/sys/net/ipv4/ip_forward"
    in_net tc qdisc add dev "to-$space" root netem rate "$rate" delay "$delay" limit 200
}

# access_points COMMAND ARGUMENT...: runs a command for each, with its number as last argument.
access_points() {
    local number
    for number in 1 2; do
        "$@" "$number"
    done
}

# access_point NUMBER: starts it, also again.
access_point() {
    cat >"/run/ap$1.conf" <<.
interface=wlan$1
bridge=br0
ssid=$SSID
channel=$(($1 * 5 - 4))
hw_mode=g
wpa=2
wpa_key_mgmt=WPA-PSK
wpa_passphrase=$PASSPHRASE
rsn_pairwise=CCMP
.
    in_air hostapd -B -P "/run/ap$1.pid" -f "/run/ap$1.log" "/run/ap$1.conf" >/dev/null
}
access_point_ends() { kill "$(<"/run/ap$1.pid")"; }
# heard_at DBM NUMBER: sets the signal at which others hear it. The driver adds the sender's power, and takes no sign.
heard_at() {
    local dbm
    dbm=$(in_air iw dev "wlan$2" info | sed -n 's/.*txpower \([0-9]*\).*/\1/p')
    printf '%u' "$(($1 - dbm))" >"/sys/kernel/debug/ieee80211/phy$2/hwsim/rx_rssi"
}
bssid() { in_air cat "/sys/class/net/wlan$1/address"; }

# Radio 0 belongs to the machine, 1 and 2 to the access points. A radio hears the others in all namespaces.
radios() {
    local number
    modprobe mac80211_hwsim radios=3
    for number in 1 2; do
        iw phy "phy$number" set netns name air
    done
    ip -n air link add br0 type bridge
    ip -n air address add 10.1.0.1/24 dev br0
    ip -n air link set br0 up
    access_points access_point
    in_air dnsmasq --port=0 --interface=br0 --bind-interfaces --dhcp-range=10.1.0.50,10.1.0.99,1h --leasefile-ro --pid-file=/run/dnsmasq.pid
}

modem() {
    ip link add wwan0 type veth peer name tower netns cell
    ip -n cell address add 10.2.0.1/24 dev tower
    ip -n cell link set tower up
}

# The server speaks plain TCP only, as most do.
internet() {
    ip -n net address add "$SERVER/32" dev lo
    ip -n net address add "$RELAY/32" dev lo
    mkdir -p /srv/www
    truncate -s 2M /srv/www/file
    truncate -s 1G /srv/www/stream
    in_net busybox httpd -p "$SERVER:80" -h /srv/www
}

world() {
    local space
    for space in air cell net; do
        ip netns add "$space"
        ip -n "$space" link set lo up
    done
    link air 10.1 3mbit 10ms
    link cell 10.2 2mbit 30ms
    internet
    radios
    modem
}
