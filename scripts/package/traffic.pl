# Opens a Multipath TCP connection from the address of wlan0 to this machine and sends data in both directions.
#   perl traffic.pl BEATS STOP     adds a byte per second to BEATS while all data arrives intact; ends when the file STOP exists
use strict;
use warnings;
use Socket;

my ($beats, $stop) = @ARGV;
my $proto = 262;                                    # IPPROTO_MPTCP
my $place = pack_sockaddr_in(0, inet_aton('192.0.2.17'));
socket(my $listener, AF_INET, SOCK_STREAM, $proto) or die "socket: $!";
bind($listener, $place) or die "bind: $!";
listen($listener, 1) or die "listen: $!";
socket(my $client, AF_INET, SOCK_STREAM, $proto) or die "socket: $!";
bind($client, $place) or die "bind: $!";
connect($client, getsockname($listener)) or die "connect: $!";
accept(my $server, $listener) or die "accept: $!";
alarm 300;

sub carry {
    my ($from, $to, $text) = @_;
    syswrite($from, $text) == length $text or die "write: $!";
    my $got = '';
    while (length $got < length $text) {
        my $ready = '';
        vec($ready, fileno($to), 1) = 1;
        select($ready, undef, undef, 20) or die 'nothing arrives';
        sysread($to, $got, length($text) - length $got, length $got) or die "read: $!";
    }
    $got eq $text or die 'something else arrives';
}

open(my $file, '>', $beats) or die "$beats: $!";
for (my $round = 0; !-e $stop; $round++) {
    carry($client, $server, "up $round " x 100);
    carry($server, $client, "down $round " x 100);
    syswrite($file, '.') if $round % 10 == 0;
    select(undef, undef, undef, 0.1);
}
