# One case of the cross-validation in ns-2 (2.35):
#   ns v.tcl -rate BPS -delay S -queue PACKETS -loss P -mark PACKETS -start S -stop S
#            -seed N -jitter S -agent CLASS -cc NAME -flows "GROUP:START:DELAY,GROUP:START:DELAY..."
#
# A dumbbell: each flow has a sending and a receiving host of its own, whose access links have no queue that
# matters; DELAY is the one-way delay of both access links together.  validate.py calls this and explains it.

array set opt {
    -rate 10e6 -delay 0.01 -queue 100 -loss 0 -mark 0 -start 20 -stop 120 -seed 1 -jitter 0
    -agent Sack1 -cc reno -minrto 0.2 -flows {0:0:0} -tick 0.001 -slots 1 -tcp {}
}
foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "unknown option $key"; exit 2 }
    set opt($key) $value
}

remove-all-packet-headers
add-packet-header IP TCP Flags

# 1460 bytes of payload and 40 of headers; every data packet is acknowledged at once.
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 100000
Agent/TCP set maxcwnd_ 0
Agent/TCP set windowInit_ 10
Agent/TCP set windowInitOption_ 1
Agent/TCP set tcpTick_ $opt(-tick)
Agent/TCP set minrto_ $opt(-minrto)
Agent/TCP/Linux set minrto_ $opt(-minrto)
Agent/TCP set rtxcur_init_ 1.0
Agent/TCP/Linux set rtxcur_init_ 1.0
Agent/TCP set overhead_ $opt(-jitter)
Agent/TCP set ecn_ [expr {$opt(-mark) > 0}]
Agent/TCPSink set packetSize_ 40
Trace set show_tcphdr_ 0
# What else an explanation switches, VARIABLE=VALUE,VARIABLE=VALUE...
foreach assignment [split $opt(-tcp) ,] {
    lassign [split $assignment =] variable value
    Agent/TCP set $variable $value
    catch { Agent/TCP/$opt(-agent) set $variable $value }
}

# A queue that marks each packet that finds at least `thresh_` others waiting: RED without averaging, with a
# probability of 1 from there on (gentle_: up to twice the threshold, linterm_: 1/max_p).
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ 1500
Queue/RED set q_weight_ 1.0
Queue/RED set setbit_ true
Queue/RED set gentle_ true
Queue/RED set linterm_ 1
Queue/RED set use_mark_p_ false
Queue/RED set wait_ false
Queue/RED set thresh_ $opt(-mark)
Queue/RED set maxthresh_ $opt(-mark)

global defaultRNG
$defaultRNG seed [expr {12345 + 1000 * $opt(-seed)}]

set ns [new Simulator]
$ns use-scheduler Heap
set left [$ns node]
set right [$ns node]
set kind [expr {$opt(-mark) > 0 ? "RED" : "DropTail"}]
$ns simplex-link $left $right $opt(-rate) $opt(-delay) $kind
$ns simplex-link $right $left $opt(-rate) $opt(-delay) DropTail
# ns-2's DropTail refuses a packet when `limit_` would be reached with it, so one less than `limit_` wait.
$ns queue-limit $left $right [expr {$opt(-queue) + $opt(-slots)}]
$ns queue-limit $right $left 100000
set bottleneck [$ns monitor-queue $left $right ""]
set waiting [$bottleneck get-pkts-integrator]

# Random loss after the queue, of data only: ACKs take the other link.
set lost [new QueueMonitor]
if {$opt(-loss) > 0} {
    set error [new ErrorModel]
    $error unit pkt
    $error set rate_ $opt(-loss)
    set chance [new RandomVariable/Uniform]
    $chance set min_ 0.0
    $chance set max_ 1.0
    $error ranvar $chance
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $lost
    $snoop target [new Agent/Null]
    $ns link-lossmodel $error $left $right
    $error drop-target $snoop
}

set flows {}
foreach flow [split $opt(-flows) ,] {
    lassign [split $flow :] group at access
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left 10Gb [expr {$access / 2.0}] DropTail
    $ns duplex-link $right $to 10Gb [expr {$access / 2.0}] DropTail
    foreach {a b} [list $from $left $left $from $right $to $to $right] { $ns queue-limit $a $b 100000 }
    set tcp [new Agent/TCP/$opt(-agent)]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    if {$opt(-agent) eq "Linux"} { $ns at 0 "$tcp select_ca $opt(-cc)" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $at "$ftp start"
    lappend flows $tcp
}

proc counts {} {
    global flows bottleneck waiting lost ns
    set acks {}
    set timeouts 0
    set resent 0
    set sent 0
    foreach f $flows {
        lappend acks [$f set ack_]
        incr timeouts [$f set nrexmit_]
        incr resent [$f set nrexmitpack_]
        incr sent [$f set ndatapack_]
    }
    # Brings the integral up to now.
    $waiting newpoint [$ns now] [$bottleneck set pkts_]
    return [list $acks [$bottleneck set parrivals_] [$bottleneck set pdrops_] [$bottleneck set pmarks_] \
        [$lost set parrivals_] [$waiting set sum_] $timeouts $resent $sent]
}

proc begin {} {
    global before
    set before [counts]
}

proc finish {} {
    global opt before
    set s [expr {$opt(-stop) - $opt(-start)}]
    set rates {}
    foreach new [lindex [set now [counts]] 0] old [lindex $before 0] {
        lappend rates [format %.1f [expr {($new - $old) * 1460 * 8.0 / $s}]]
    }
    foreach name {offered queue_drops marked wire_losses waiting timeouts resent sent} \
        new [lrange $now 1 end] old [lrange $before 1 end] {
        set $name [expr {$new - $old}]
    }
    puts [format {{"goodput_bps":[%s],"offered":%.0f,"queue_drops":%.0f,"wire_losses":%.0f,"marked":%.0f,"mean_queue":%.4f,"timeouts":%d,"resent":%d,"sent":%d}} \
        [join $rates ,] $offered $queue_drops $wire_losses $marked [expr {$waiting / $s}] \
        $timeouts $resent $sent]
    exit 0
}

$ns at $opt(-start) begin
$ns at $opt(-stop) finish
$ns run
