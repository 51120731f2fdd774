#!/usr/bin/env bash
# The steps of a new user in the virtual machine. One line per step: "ok", "FAILED" or "skipped". Last line: their numbers.
# shellcheck source=scripts/vm/world.sh
. /test/world.sh

passed=0 failed=0 skipped=0
network=$(sed 's/.*test\.network=\([a-z]*\).*/\1/' /proc/cmdline)
readonly network
readonly NOTES=/run/steps
mkdir -p "$NOTES"

# step NAME COMMAND...: prints the command's output if it fails.
step() {
    local name=$1 began=$SECONDS
    shift
    if "$@" >"$NOTES/said" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - began)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        tail -n 40 "$NOTES/said" | sed 's/^/          /'
    fi
}

skip() {
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}

# within SECONDS COMMAND...: waits until the command succeeds.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >"$NOTES/try" 2>&1; do
        ((SECONDS < end)) || {
            cat "$NOTES/try"
            return 1
        }
        sleep 0.5
    done
}

as_ada() { (cd /home/ada && runuser -u ada -- "$@"); }

# --- the network managers ---------------------------------------------------------------------------------------------

connects_networkmanager() {
    # Debian's rules leave veth devices alone.
    mkdir -p /etc/NetworkManager/conf.d
    printf '[device-modem]\nmatch-device=interface-name:wwan0\nmanaged=1\n' >/etc/NetworkManager/conf.d/test.conf
    nmcli general reload
    nmcli connection add type ethernet ifname wwan0 con-name modem ipv4.method manual ipv4.addresses 10.2.0.2/24 \
        ipv4.gateway 10.2.0.1 ipv4.route-metric 700 ipv6.method disabled
    nmcli connection up modem
    within 60 nmcli device wifi connect "$SSID" password "$PASSPHRASE"
}

# own_endpoints FLAGS NAME...: sets NetworkManager's own endpoints of connections; "": its default.
own_endpoints() {
    local name
    for name in "${@:2}"; do
        nmcli connection modify "$name" connection.mptcp-flags "$1"
        nmcli connection up "$name" >/dev/null
    done
}

supplicant() {
    printf 'ctrl_interface=/run/wpa_supplicant\nnetwork={\nssid="%s"\npsk="%s"\n}\n' "$SSID" "$PASSPHRASE" >"$1"
}

connects_networkd() {
    supplicant /etc/wpa_supplicant/wpa_supplicant-wlan0.conf
    printf '[Match]\nName=wlan0\n[Network]\nDHCP=ipv4\n[DHCPv4]\nRouteMetric=600\n' >/etc/systemd/network/wlan0.network
    printf '[Match]\nName=wwan0\n[Network]\nAddress=10.2.0.2/24\n[Route]\nGateway=10.2.0.1\nMetric=700\n' >/etc/systemd/network/wwan0.network
    networkctl reload
    systemctl start wpa_supplicant@wlan0
}

connects_ifupdown() {
    supplicant /etc/wpa_supplicant/cafe.conf
    cat >/etc/network/interfaces <<.
iface wlan0 inet dhcp
    metric 600
    wpa-conf /etc/wpa_supplicant/cafe.conf
iface wwan0 inet static
    address 10.2.0.2/24
    gateway 10.2.0.1
    metric 700
.
    ifup wwan0
    ifup wlan0
}

has_default_routes() { [[ $(ip route show default dev wlan0) && $(ip route show default dev wwan0) ]]; }

# --- what the machine has ---------------------------------------------------------------------------------------------

received() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

# carries DEVICE BYTES SECONDS: this many bytes arrive in this time.
carries() {
    local begin
    begin=$(received "$1")
    within "$3" grew "$1" $((begin + $2))
}
grew() { (($(received "$1") >= $2)); }

# rests DEVICE: under 20 kB arrive in 5 s.
rests() {
    local begin
    begin=$(received "$1")
    sleep 5
    echo "$(($(received "$1") - begin)) bytes"
    (($(received "$1") - begin < 20000))
}

# The state that `joulepath off` restores. Lifetimes of routes run; the network manager gives its endpoints new ids.
state() {
    ip rule show
    ip -6 rule show
    { ip route show table all && ip -6 route show table all; } | sed 's/ expires [0-9]*sec//' | sort
    ip mptcp endpoint show | sed 's/ id [0-9]*//' | sort
    ip mptcp limits show
    { grep -rs '' /proc/sys/net/mptcp /proc/sys/net/ipv4 /proc/sys/net/core || true; } | grep -v '/tcp_a[a-z]*_congestion_control:' | sort
    systemctl list-unit-files --no-legend --no-pager | grep joulepath
    find /etc /run/systemd/system -regex '/etc/\(systemd\|joulepath\).*\|/run.*' -printf '%p %y %m %l\n' | sort
    find /etc -regex '/etc/\(systemd\|joulepath\)/.*' -type f -print0 | sort -z | xargs -0r sha256sum
}
same_state() { state | diff "$NOTES/$1" -; }

role() { joulepath status --json | tr -d ' \n' | grep -oP "\"name\":\"$1\".*?\"role\":\"\K[a-z]*" | head -n 1; }
has_role() {
    joulepath status
    [[ $(role "$1") == "$2" ]]
}
# says WORDS...: each is in the status, which breaks lines at spaces.
says() {
    local words
    joulepath status | tr -s ' \n' ' ' >"$NOTES/status"
    cat "$NOTES/status"
    for words in "$@"; do
        grep -qF -- "$words" "$NOTES/status" || return 1
    done
}
# The daemon's endpoint of a device, not the network manager's.
endpoint() { ip mptcp endpoint show | grep -q "dev $1 *\$"; }
no_endpoint() { ! endpoint "$1"; }

# stream_begins COMMAND...: a download by curl that lasts until it is ended.
stream_begins() {
    setpriv --reuid ada --regid ada --init-groups "$@" -s -o /dev/null "http://$SERVER/stream" &
    stream=$!
}
stream_goes_on() { kill -0 "$stream"; }
stream_ends() { kill "$stream" && ! wait "$stream"; }

# changes NAME FUNCTION: something happens to the network while a connection carries data; the connection must go on.
changes() {
    step "$1" "${@:2}"
    step '  the same connection goes on' stream_goes_on
}

readonly PROXY=socks5h://127.0.0.1:1080
readonly CONFIG=/etc/joulepath/live.toml

# --- the steps --------------------------------------------------------------------------------------------------------

step 'the world is there: two access points, a cell, a server' world
step "$network connects WiFi and the modem" "connects_$network"
step 'both have a default route' within 60 has_default_routes
step 'a plain server answers' within 30 curl -sf --max-time 20 -o /dev/null "http://$SERVER/file"

useradd --create-home ada
echo "127.0.1.1 $(</etc/hostname)" >>/etc/hosts # sudo looks it up
echo 'ada ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ada
cp /test/joulepath.deb /home/ada/
state >"$NOTES/fresh"
step 'apt installs the package' as_ada sudo apt-get -q install -y ./joulepath.deb
programs() { joulepath doctor --json | tr -s ' \n' ' ' | grep -oP '"name": "programs".*?"detail": "\K[^"]*'; }
step 'doctor says how programs get MPTCP' programs
sed 's/^/          /' "$NOTES/said"
state >"$NOTES/before"
step 'on --dry-run says what it would do' as_ada joulepath on frugal --dry-run
step 'and changes nothing' same_state before
on_frugal() { as_ada sudo joulepath on frugal | tee "$NOTES/on"; }
step 'joulepath on frugal' on_frugal

if [[ $network == networkmanager ]]; then
    # It has set endpoints of its own, also on the modem, which the intent does not use.
    step "on names NetworkManager's endpoints and the command" grep -q 'endpoints of wlan0, wwan0.*connection.mptcp-flags disabled' "$NOTES/on"
    own_endpoints disabled modem "$SSID"
    quiet() { ! says 'another program has set'; }
    step 'after the command the daemon manages both' within 60 quiet
fi
step 'WiFi is regular' within 60 has_role wlan0 regular
step 'its endpoint is the only one' within 60 no_endpoint wwan0

# The kernel's mean over beacons follows slowly.
signal() {
    local dbm
    dbm=$(joulepath status --json | tr -d ' \n' | grep -oP '"signal_strength":\{"dbm":\K-[0-9]*' | head -n 1)
    echo "$dbm dBm"
    ((dbm >= $1 - 2 && dbm <= $1 + 2))
}
for dbm in -50 -80; do
    access_points heard_at "$dbm"
    step "status shows the signal of $dbm dBm" within 120 signal "$dbm"
done
access_points heard_at -30

# The far end is on another machine.
readonly FAR=/run/systemd/system/joulepath-relay-serve.service.d
relay() {
    cd /home/ada && joulepath relay new --server "$RELAY:8443"
    sed -i "s|^# allow_private = .*|allow_private = [\"$SERVER/32\"]|" relay-serve.toml
    install -m 600 relay-serve.toml relay-connect.toml /etc/joulepath/
    mkdir -p "$FAR"
    printf '[Service]\nNetworkNamespacePath=/run/netns/net\n' >"$FAR/test.conf"
    systemctl daemon-reload
    systemctl enable --now joulepath-relay-serve joulepath-relay-connect
}
step 'both ends of a relay start as services' relay
step '  with least rights' systemd-analyze security --no-pager --threshold=15 joulepath-relay-serve joulepath-relay-connect
step 'curl gets a file of a plain server through the relay' \
    within 30 as_ada curl -sf --max-time 20 --proxy "$PROXY" -o /dev/null "http://$SERVER/file"
stream_begins curl --proxy "$PROXY"
step 'frugal: a download uses WiFi' carries wlan0 500000 60
step '  and lets the modem rest' rests wwan0

# The radio of the machine only: the access points are radios of the same kernel.
radio() {
    local switch
    switch=$(basename /sys/class/net/wlan0/phy80211/rfkill*)
    rfkill "$1" "${switch#rfkill}"
}
roams() {
    local to
    to=$(bssid 1)
    [[ $(iw dev wlan0 link) != *"$to"* ]] || to=$(bssid 2)
    within 60 sees "$to" && wpa_cli -i wlan0 roam "$to" && within 60 associated "$to" && carries wlan0 500000 60
}
# One of three tries: a busy host needs longer to roam than the daemon waits.
roams_alone() {
    local begin
    for _ in 1 2 3; do
        begin=$(received wwan0)
        if roams && (($(received wwan0) - begin < 20000)); then
            return
        fi
        echo "$(($(received wwan0) - begin)) bytes over the modem"
        within 60 rests wwan0
    done
    return 1
}
# A scan waits for pauses in the traffic.
sees() {
    wpa_cli -i wlan0 scan && sleep 2
    wpa_cli -i wlan0 scan_results | grep "$1"
}
associated() { iw dev wlan0 link | grep "Connected to $1"; }
# Longer than anybody's patience with a lost radio: the supplicant scans at growing intervals.
readonly BACK=240

if [[ -e /run/wpa_supplicant/wlan0 ]]; then
    if [[ $network == ifupdown ]]; then
        changes 'WiFi roams to the other access point' roams
        skip '  and the modem rests meanwhile' 'dhcpcd removes the address with the carrier'
    else
        changes 'WiFi roams to the other access point, the modem rests' roams_alone
    fi
else
    skip 'roaming' 'the supplicant has no control socket'
fi
changes 'the modem takes over when the access points vanish' eval 'access_points access_point_ends && carries wwan0 500000 60'
step '  and the daemon gives it an endpoint' within 30 endpoint wwan0
changes 'WiFi takes over when they are back' eval "access_points access_point && within $BACK has_role wlan0 regular && carries wlan0 500000 60"
step '  and the modem rests again' within 60 rests wwan0
changes 'the modem takes over when rfkill blocks WiFi' eval 'radio block && carries wwan0 500000 60'
changes 'WiFi takes over after the unblocking' eval "radio unblock && within $BACK has_role wlan0 regular && carries wlan0 500000 60"
step '  and the modem rests again' within 60 rests wwan0
changes 'a clock that jumps by 8 hours, as after a suspend, changes nothing' \
    eval 'date -s "8 hours" && carries wlan0 500000 30 && date -s "8 hours ago" && has_role wlan0 regular'
if [[ $network == networkmanager ]]; then
    changes 'nmcli takes the modem away' eval 'nmcli connection down modem && carries wlan0 500000 30'
    changes 'nmcli brings it back' eval 'nmcli connection up modem && within 60 has_default_routes && carries wlan0 500000 30'
    changes 'nmcli prefers the modem by its metric, the daemon does not' \
        eval 'nmcli connection modify modem ipv4.route-metric 50 && nmcli connection up modem && sleep 5 && has_role wlan0 regular && carries wlan0 500000 30'
    nmcli connection modify modem ipv4.route-metric 700
    nmcli connection up modem >/dev/null
    changes "status warns of NetworkManager's endpoint on the modem, should it come back" \
        eval 'own_endpoints "" modem && within 60 says "endpoints of wwan0"'
    own_endpoints disabled modem
fi
step 'nothing is left to warn of' within 60 eval '! says warning:'

both() {
    cp -p "$CONFIG" "$NOTES/live.toml"
    sed -i 's/^metered = true.*/metered = false/' "$CONFIG"
    joulepath on aggregate && carries wwan0 500000 90 && carries wlan0 500000 30
}
changes 'aggregate: the same download uses both radios' both
stream_ends

injected() {
    local status=0
    stream_begins joulepath run -- curl
    sleep 3
    joulepath why --json "$SERVER" >"$NOTES/why" || status=$?
    stream_ends
    cat "$NOTES/why"
    ((status == 10)) && tr -d ' ' <"$NOTES/why" | grep -q "\"cause\":\"$1\""
}
step 'why says that the server does not speak MPTCP' injected fallback

# No preloaded library reaches a setuid program.
install -m 4755 -o nobody /usr/bin/curl /usr/local/bin/setuid-curl
readonly GET="/usr/local/bin/setuid-curl -sf --max-time 20 -o /dev/null http://$SERVER/file"
printf '[Service]\nType=oneshot\nExecStart=%s\n' "$GET" >/run/systemd/system/web.service
systemctl daemon-reload
printf '[[mptcp]]\nunit = "web"\n' >>"$CONFIG"
# asks TRUTH COMMAND...: the command succeeds, and asks for MPTCP (1) or not (0).
asks() {
    local before after
    before=$(asked)
    "${@:2}" || return 1
    after=$(asked)
    echo "MPCapableSYNTX: $before, then $after"
    (((after > before) == $1))
}
asked() { awk '/^MPTcpExt:/ { if (!n) for (i = 2; i <= NF; i++) { if ($i == "MPCapableSYNTX") n = i } else print $n }' /proc/net/netstat; }
# shellcheck disable=SC2086
{
    step 'a setuid program asks for TCP' asks 0 $GET
    step '  by run it asks for MPTCP' asks 1 joulepath run -- $GET
}
step '[[mptcp]] takes a service to MPTCP by BPF' eval 'systemctl reload joulepathd && within 90 says "On MPTCP by BPF: web.service"'
step '  without a drop-in' test ! -e /etc/systemd/system/web.service.d
step '  it asks for MPTCP' asks 1 systemctl start web
systemctl stop joulepathd
step '  and for TCP after the daemon' asks 0 systemctl start web
systemctl start joulepathd
rm /run/systemd/system/web.service /usr/local/bin/setuid-curl
systemctl daemon-reload

systemctl disable --now joulepath-relay-serve joulepath-relay-connect
rm -r /etc/joulepath/relay-*.toml "$FAR"
systemctl daemon-reload
cp -p "$NOTES/live.toml" "$CONFIG"
step 'joulepath off' as_ada sudo joulepath off
[[ $network != networkmanager ]] || own_endpoints '' modem "$SSID"
step 'rules, routes, endpoints, sysctls, units and files are as before' within 60 same_state before
step 'apt purges the package' apt-get -q purge -y joulepath
step 'everything is as before the installation' within 60 same_state fresh

echo "vm: $passed passed, $failed failed, $skipped skipped"
((failed == 0))
