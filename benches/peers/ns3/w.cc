// Peer workloads for ns-3 (3.37):
//   w W1|W2|W3 [--scale=F] [--sndSegs=N] [--scheduler=TYPE] [--check]
//
// Prints one line of JSON.  Packet-hops are packets delivered at the far end of
// a link: one counter, incremented by the PhyRxEnd trace of every device.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/version.h"

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kSegment = 1460;

uint64_t g_hops = 0;
uint64_t g_drops = 0;
uint32_t g_maxCwnd = 0;

void
RxEnd(Ptr<const Packet>)
{
    ++g_hops;
}

void
Drop(Ptr<const Packet>)
{
    ++g_drops;
}

void
Cwnd(uint32_t, uint32_t now)
{
    if (now > g_maxCwnd)
    {
        g_maxCwnd = now;
    }
}

void
HookCwnd(Ptr<BulkSendApplication> app)
{
    app->GetSocket()->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Cwnd));
}

struct Peers
{
    NodeContainer nodes;
    Ipv4Address server;
};

// A pair of nodes joined by one duplex link, with drop-tail device queues and
// no queue disc above them.
Peers
Duplex(const char* rate, const char* delay, uint32_t limit, const char* subnet, bool check)
{
    Peers p;
    p.nodes.Create(2);

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
    NetDeviceContainer devices = link.Install(p.nodes);
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        devices.Get(i)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&RxEnd));
    }

    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(p.nodes);

    Ipv4AddressHelper address;
    address.SetBase(subnet, "255.255.255.0");
    p.server = address.Assign(devices).GetAddress(1);

    // Assign() installs the default queue disc (FqCoDel); take it off again.
    // What is left drops a packet when the device queue is full.
    TrafficControlHelper().Uninstall(devices);
    if (check)
    {
        for (uint32_t i = 0; i < p.nodes.GetN(); ++i)
        {
            auto tc = p.nodes.Get(i)->GetObject<TrafficControlLayer>();
            tc->TraceConnectWithoutContext("TcDrop", MakeCallback(&Drop));
        }
    }
    return p;
}

Ptr<PacketSink>
Flow(const Peers& p, uint16_t port, double at, bool check)
{
    InetSocketAddress to(p.server, port);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer server = sink.Install(p.nodes.Get(1));
    server.Start(Seconds(0));

    BulkSendHelper bulk("ns3::TcpSocketFactory", to);
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    // Large writes: the same packets on the wire, a shorter queue of them to fill.
    bulk.SetAttribute("SendSize", UintegerValue(100 * kSegment));
    ApplicationContainer client = bulk.Install(p.nodes.Get(0));
    client.Start(Seconds(at));
    if (check)
    {
        auto app = DynamicCast<BulkSendApplication>(client.Get(0));
        Simulator::Schedule(Seconds(at) + NanoSeconds(1), &HookCwnd, app);
    }
    return DynamicCast<PacketSink>(server.Get(0));
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string workload;
    double scale = 1.0;
    uint32_t sndSegs = 10000;
    bool check = false;
    std::string scheduler = "ns3::MapScheduler";

    CommandLine cmd(__FILE__);
    cmd.AddNonOption("workload", "W1, W2 or W3", workload);
    cmd.AddValue("scale", "factor on the simulated time", scale);
    cmd.AddValue("sndSegs", "send buffer in segments", sndSegs);
    cmd.AddValue("scheduler", "event scheduler", scheduler);
    cmd.AddValue("check", "also print drops, peak window, profile", check);
    cmd.Parse(argc, argv);

    GlobalValue::Bind("SchedulerType", StringValue(scheduler));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sndSegs * kSegment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(10000 * kSegment));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    // 200 ms, as in ns-2 and in Linux; the ns-3 default is 1 s.
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    double stop = 200.0;
    std::vector<Ptr<PacketSink>> sinks;
    if (workload == "W1")
    {
        stop = 1000.0;
        Peers p = Duplex("10Mbps", "40ms", 100, "10.1.1.0", check);
        sinks.push_back(Flow(p, 5000, 0.0, check));
    }
    else if (workload == "W2")
    {
        Peers p = Duplex("100Mbps", "20ms", 250, "10.1.1.0", check);
        for (uint16_t i = 0; i < 100; ++i)
        {
            sinks.push_back(Flow(p, 5000 + i, i * 0.01, check));
        }
    }
    else if (workload == "W3")
    {
        sinks.push_back(Flow(Duplex("10Mbps", "40ms", 50, "10.1.1.0", check), 5000, 0.0, check));
        sinks.push_back(Flow(Duplex("20Mbps", "100ms", 50, "10.1.2.0", check), 5000, 0.0, check));
    }
    else
    {
        std::fprintf(stderr, "usage: w W1|W2|W3 [--scale=F] [--check]\n");
        return 2;
    }
    stop *= scale;

    Simulator::Stop(Seconds(stop));
    Simulator::Run();

    uint64_t bytes = 0;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
    }
    std::printf("{\"workload\":\"%s\",\"engine\":\"ns3\",\"packet_hops\":%" PRIu64
                ",\"goodput_bps\":%.0f,\"sim_s\":%g",
                workload.c_str(),
                g_hops,
                stop > 0 ? static_cast<double>(bytes) * 8 / stop : 0.0,
                stop);
    if (check)
    {
        std::printf(",\"check_drops\":%" PRIu64
                    ",\"max_cwnd_segments\":%u,\"version\":\"%s\",\"profile\":\"%s\"",
                    g_drops,
                    g_maxCwnd / kSegment,
                    Version::ShortVersion().c_str(),
                    Version::BuildProfile().c_str());
    }
    std::printf("}\n");
    Simulator::Destroy();
    return 0;
}
