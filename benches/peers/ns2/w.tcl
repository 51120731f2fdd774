# Peer workloads for ns-2 (2.35):
#   ns w.tcl W1|W2|W3 [-scale F] [-check 0|1] [-sched NAME]
#
# Prints one line of JSON.  Packet-hops are packets delivered at the far end of
# a link, taken from the TCP agents' own counters, so nothing is traced and
# counting costs nothing: the sink acknowledges every data packet it receives
# (no delayed ACK), every path is one link long, so
#     packet-hops = data packets delivered + ACKs delivered
#                 = 2 * nackpack_
# short of the ACKs still on the way back when the clock stops (fewer than a
# few hundred).  -check 1 adds queue monitors and prints the departures too.

set wl [lindex $argv 0]
set opt(-scale) 1.0
set opt(-check) 0
set opt(-sched) Splay                  ;# the fastest of the five on all three
foreach {k v} [lrange $argv 1 end] {
    if {![info exists opt($k)]} { puts stderr "unknown option $k"; exit 2 }
    set opt($k) $v
}

# Carry only the headers TCP needs: the standard way to make ns-2 fast.
remove-all-packet-headers
add-packet-header IP TCP Flags

Agent/TCP set packetSize_ 1460          ;# + 40 bytes of header = 1500 on wire
Agent/TCP set window_ 20000
Agent/TCP set maxcwnd_ 0
Agent/TCP set windowInit_ 10
Agent/TCP set windowInitOption_ 1
Agent/TCP set syn_ true
Agent/TCP set delay_growth_ false
Agent/TCPSink set packetSize_ 40
Trace set show_tcphdr_ 0

set ns [new Simulator]
$ns use-scheduler $opt(-sched)
set monitors {}

proc duplex {bw delay limit} {
    global ns opt monitors
    set a [$ns node]
    set b [$ns node]
    $ns duplex-link $a $b $bw $delay DropTail
    $ns queue-limit $a $b $limit
    $ns queue-limit $b $a $limit
    if {$opt(-check)} {
        lappend monitors [$ns monitor-queue $a $b ""] [$ns monitor-queue $b $a ""]
    }
    return [list $a $b]
}

proc flow {ends at} {
    global ns
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent [lindex $ends 0] $tcp
    $ns attach-agent [lindex $ends 1] $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $at "$ftp start"
    return $tcp
}

set flows {}
switch -- $wl {
    W1 {
        set stop 1000.0
        lappend flows [flow [duplex 10Mb 40ms 100] 0.0]
    }
    W2 {
        set stop 200.0
        set ends [duplex 100Mb 20ms 250]
        for {set i 0} {$i < 100} {incr i} {
            lappend flows [flow $ends [expr {$i * 0.01}]]
        }
    }
    W3 {
        set stop 200.0
        lappend flows [flow [duplex 10Mb 40ms 50] 0.0]
        lappend flows [flow [duplex 20Mb 100ms 50] 0.0]
    }
    default {
        puts stderr "usage: ns w.tcl W1|W2|W3 ?-scale F? ?-check 0|1? ?-sched NAME?"
        exit 2
    }
}
set stop [expr {$stop * $opt(-scale)}]

proc finish {} {
    global wl flows stop opt monitors
    set hops 0.0
    set segments 0.0
    set rexmit 0
    set timeouts 0
    foreach f $flows {
        set hops [expr {$hops + 2.0 * [$f set nackpack_]}]
        set segments [expr {$segments + [$f set ack_] + 1.0}]
        incr rexmit [$f set nrexmitpack_]
        incr timeouts [$f set nrexmit_]
    }
    set goodput [expr {$stop > 0 ? $segments * 1460 * 8 / $stop : 0.0}]
    set extra ""
    if {$opt(-check)} {
        set dep 0.0
        set drop 0
        foreach m $monitors {
            set dep [expr {$dep + [$m set pdepartures_]}]
            incr drop [$m set pdrops_]
        }
        set extra [format {,"check_departures":%.0f,"check_drops":%d} $dep $drop]
        append extra [format {,"retransmits":%d,"timeouts":%d} $rexmit $timeouts]
    }
    puts [format {{"workload":"%s","engine":"ns2","packet_hops":%.0f,"goodput_bps":%.0f,"sim_s":%g%s}} \
        $wl $hops $goodput $stop $extra]
    exit 0
}

$ns at $stop finish
$ns run
