// One case of the cross-validation in ns-3 (3.37):
//   v --rate=BPS --delay=S --queue=PACKETS --loss=P --mark=PACKETS --start=S --stop=S --seed=N
//     --jitter=S --socket=TYPE --recovery=TYPE --flows="GROUP:START:DELAY,GROUP:START:DELAY..."
//
// A dumbbell: each flow has a sending and a receiving host of its own, whose access links have no queue that
// matters; DELAY is the one-way delay of both access links together. validate.py calls this and explains it.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t kSegment = 1460;
// The point-to-point device adds a header of 2 bytes to the packet of 1500; rates are raised by as much.
constexpr double kFraming = 1502.0 / 1500.0;
const char* const kAccessRate = "10Gbps";

// A channel that holds each packet of its first device for a random time, without changing their order: the
// time that a host needs before it sends.
class HostDelay : public PointToPointChannel
{
  public:
    explicit HostDelay(double most_s)
        : m_random(CreateObject<UniformRandomVariable>())
    {
        m_random->SetAttribute("Max", DoubleValue(most_s));
    }

    bool TransmitStart(Ptr<const Packet> p, Ptr<PointToPointNetDevice> src, Time txTime) override
    {
        if (src == GetPointToPointDevice(0))
        {
            Time leaves = Simulator::Now() + txTime + Seconds(m_random->GetValue());
            m_last = Max(m_last + NanoSeconds(1), leaves);
            txTime = m_last - Simulator::Now();
        }
        return PointToPointChannel::TransmitStart(p, src, txTime);
    }

  private:
    Ptr<UniformRandomVariable> m_random;
    Time m_last;
};

// What the bottleneck has done since the measurement began.
struct Bottleneck
{
    uint64_t offered = 0;
    uint64_t drops = 0;
    uint64_t losses = 0;
    uint64_t marked = 0;
    uint32_t inDevice = 0;
    uint32_t inDisc = 0;
    double area = 0;
    double since = 0;

    void Integrate()
    {
        double now = Simulator::Now().GetSeconds();
        area += (inDevice + inDisc) * (now - since);
        since = now;
    }

    void Begin()
    {
        Integrate();
        offered = drops = losses = marked = 0;
        area = 0;
    }
};

Bottleneck g_link;

void
DeviceQueue(uint32_t, uint32_t now)
{
    g_link.Integrate();
    g_link.inDevice = now;
}

void
DiscQueue(uint32_t, uint32_t now)
{
    g_link.Integrate();
    g_link.inDisc = now;
}

void
QueueDrop(Ptr<const Packet>)
{
    ++g_link.drops;
}

void
DiscDrop(Ptr<const QueueDiscItem>)
{
    ++g_link.drops;
}

void
DiscMark(Ptr<const QueueDiscItem>, const char*)
{
    ++g_link.marked;
}

void
WireLoss(Ptr<const Packet>)
{
    ++g_link.losses;
}

// Joins two nodes. The first device's queue holds `limit` packets.
NetDeviceContainer
Cable(Ptr<Node> a, Ptr<Node> b, const DataRate& rate, double delay_s, uint32_t limit, double hold_s)
{
    Ptr<PointToPointChannel> channel =
        hold_s > 0 ? Ptr<PointToPointChannel>(CreateObject<HostDelay>(hold_s)) : CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(Seconds(delay_s)));
    NetDeviceContainer devices;
    for (Ptr<Node> node : {a, b})
    {
        auto device = CreateObject<PointToPointNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(rate);
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, node == a ? limit : 100000));
        node->AddDevice(device);
        device->SetQueue(queue);
        device->Attach(channel);
        auto queues = CreateObject<NetDeviceQueueInterface>();
        queues->GetTxQueue(0)->ConnectQueueTraces(queue);
        device->AggregateObject(queues);
        devices.Add(device);
    }
    return devices;
}

} // namespace

int
main(int argc, char* argv[])
{
    double rate = 10e6;
    double delay = 0.01;
    double loss = 0;
    double start = 20;
    double stop = 120;
    double jitter = 0;
    double minRto = 0.2;
    uint32_t queue = 100;
    uint32_t mark = 0;
    uint32_t seed = 1;
    std::string socket = "ns3::TcpLinuxReno";
    std::string recovery = "ns3::TcpPrrRecovery";
    std::string flows = "0:0:0";

    CommandLine cmd(__FILE__);
    cmd.AddValue("rate", "of the bottleneck, bit/s", rate);
    cmd.AddValue("delay", "of the bottleneck, s", delay);
    cmd.AddValue("queue", "packets that may wait at the bottleneck", queue);
    cmd.AddValue("loss", "random loss after the bottleneck, 0 to 1", loss);
    cmd.AddValue("mark", "ECN threshold in packets; 0: no ECN", mark);
    cmd.AddValue("start", "begin of the measurement, s", start);
    cmd.AddValue("stop", "end, s", stop);
    cmd.AddValue("seed", "number of the run", seed);
    cmd.AddValue("jitter", "a host sends after a delay of up to this, s", jitter);
    cmd.AddValue("minrto", "s", minRto);
    cmd.AddValue("socket", "congestion control", socket);
    cmd.AddValue("recovery", "what governs the window in recovery", recovery);
    cmd.AddValue("flows", "group:start:access delay, s, for each flow", flows);
    cmd.Parse(argc, argv);

    RngSeedManager::SetSeed(20260101);
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(socket)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName(recovery)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000 * kSegment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(20000 * kSegment));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
    if (mark)
    {
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    }

    auto left = CreateObject<Node>();
    auto right = CreateObject<Node>();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(NodeContainer(left, right));

    // A queue disc marks, and the device behind it holds one packet; without marks there is no disc.
    DataRate bottleneck(static_cast<uint64_t>(rate * kFraming));
    auto devices = Cable(left, right, bottleneck, delay, mark ? 1 : queue, 0);
    auto device = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    if (loss > 0)
    {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(loss);
        DynamicCast<PointToPointNetDevice>(devices.Get(1))->SetReceiveErrorModel(errors);
        devices.Get(1)->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&WireLoss));
    }
    device->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DeviceQueue));

    Ipv4AddressHelper address;
    address.SetBase("10.0.0.0", "255.255.255.252");
    TrafficControlHelper disc;
    if (mark)
    {
        // As in ns2/v.tcl: no average, probability 1 from the threshold on. One packet more waits in the device.
        disc.SetRootQueueDisc("ns3::RedQueueDisc",
                              "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
                              "QW", DoubleValue(1.0), "LInterm", DoubleValue(1.0), "Wait", BooleanValue(false),
                              "MinTh", DoubleValue(mark - 1), "MaxTh", DoubleValue(mark - 1),
                              "LinkBandwidth", DataRateValue(bottleneck), "MeanPktSize", UintegerValue(1500),
                              "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue - 1)));
        auto discs = disc.Install(device);
        discs.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&DiscQueue));
        discs.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&DiscDrop));
        discs.Get(0)->TraceConnectWithoutContext("Mark", MakeCallback(&DiscMark));
    }
    auto bottleneckAddresses = address.Assign(devices);
    TrafficControlHelper().Uninstall(devices.Get(1));
    if (!mark)
    {
        TrafficControlHelper().Uninstall(device);
        left->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&QueueDrop));
        device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&QueueDrop));
    }

    std::vector<Ptr<PacketSink>> sinks;
    // Commas: the parser of options ends a text at a space.
    std::istringstream list(flows);
    std::string flow;
    while (std::getline(list, flow, ','))
    {
        double at = 0;
        double access = 0;
        int group = 0;
        if (std::sscanf(flow.c_str(), "%d:%lf:%lf", &group, &at, &access) != 3)
        {
            std::fprintf(stderr, "v: what is the flow `%s`?\n", flow.c_str());
            return 2;
        }
        // Without access delay both ends are the bottleneck's own nodes: a third of the events.
        Ptr<Node> from = left;
        Ptr<Node> to = right;
        Ipv4Address server = bottleneckAddresses.GetAddress(1);
        if (access > 0)
        {
            from = CreateObject<Node>();
            to = CreateObject<Node>();
            stack.Install(NodeContainer(from, to));
            DataRate fast(kAccessRate);
            auto near = Cable(from, left, fast, access / 2, 100000, jitter);
            auto far = Cable(right, to, fast, access / 2, 100000, 0);
            address.NewNetwork();
            address.Assign(near);
            address.NewNetwork();
            server = address.Assign(far).GetAddress(1);
            TrafficControlHelper().Uninstall(near);
            TrafficControlHelper().Uninstall(far);
        }

        uint16_t port = 5000 + sinks.size();
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        auto receiving = sink.Install(to);
        receiving.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(receiving.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(server, port));
        bulk.SetAttribute("SendSize", UintegerValue(10 * kSegment));
        bulk.Install(from).Start(Seconds(at));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    // Counts what the left router forwards to the right one: the data.
    left->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
        "Tx",
        MakeCallback(+[](Ptr<const Packet>, Ptr<Ipv4>, uint32_t interface) {
            g_link.offered += interface == 1;
        }));

    std::vector<uint64_t> before(sinks.size());
    Simulator::Schedule(Seconds(start), [&] {
        g_link.Begin();
        for (size_t i = 0; i < sinks.size(); ++i)
        {
            before[i] = sinks[i]->GetTotalRx();
        }
    });
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    g_link.Integrate();

    std::printf("{\"goodput_bps\":[");
    for (size_t i = 0; i < sinks.size(); ++i)
    {
        std::printf("%s%.1f", i ? "," : "", (sinks[i]->GetTotalRx() - before[i]) * 8.0 / (stop - start));
    }
    std::printf("],\"offered\":%" PRIu64 ",\"queue_drops\":%" PRIu64 ",\"wire_losses\":%" PRIu64
                ",\"marked\":%" PRIu64 ",\"mean_queue\":%.4f}\n",
                g_link.offered, g_link.drops, g_link.losses, g_link.marked, g_link.area / (stop - start));
    Simulator::Destroy();
    return 0;
}
