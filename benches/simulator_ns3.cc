// The scenarios of simulator.py in ns-3. simulator.py compiles and runs this program.
//
//     simulator_ns3 dumbbell|fat_tree SIZE SECONDS COUNT
//
// SIZE is the number of flows, or of a switch's ports. Prints the CPU time of Simulator::Run in seconds and, if COUNT
// is 1, the number of frames that all devices sent. Counting costs time, so it needs a separate run. Routes are nix
// vectors, the fastest of ns-3: they need one lookup for each packet instead of one for each hop.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

static std::uint64_t frames = 0;

static void CountFrame(Ptr<const Packet>)
{
    ++frames;
}

struct Network
{
    bool counts = false;
    int networks = 0;

    void Join(Ptr<Node> a, Ptr<Node> b, const std::string& rate, const std::string& delay, const std::string& queue)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetChannelAttribute("Delay", StringValue(delay));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4AddressHelper addresses;
        std::string base = "10." + std::to_string(networks / 250) + "." + std::to_string(networks % 250) + ".0";
        addresses.SetBase(base.c_str(), "255.255.255.0");
        addresses.Assign(devices);
        ++networks;
        // The only queue is the device's own, without a queue discipline before it.
        TrafficControlHelper().Uninstall(devices);
        for (std::uint32_t i = 0; counts && i < devices.GetN(); ++i)
        {
            devices.Get(i)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&CountFrame));
        }
    }
};

static void Flow(Ptr<Node> from, Ptr<Node> to, int number)
{
    const std::uint16_t port = 5001;
    Ipv4Address address = to->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    source.SetAttribute("SendSize", UintegerValue(14480));
    source.Install(from).Start(MicroSeconds(10 * number));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    sink.Install(to).Start(Seconds(0));
}

static void Dumbbell(Network& network, InternetStackHelper& stack, int flows)
{
    NodeContainer senders(flows), receivers(flows), routers(2);
    stack.Install(senders);
    stack.Install(receivers);
    stack.Install(routers);
    for (int i = 0; i < flows; ++i)
    {
        network.Join(senders.Get(i), routers.Get(0), "1Gbps", "100us", "1000p");
        network.Join(receivers.Get(i), routers.Get(1), "1Gbps", "100us", "1000p");
    }
    network.Join(routers.Get(0), routers.Get(1), "1Gbps", "10ms", "1000p");
    for (int i = 0; i < flows; ++i)
    {
        Flow(senders.Get(i), receivers.Get(i), i);
    }
}

static void FatTree(Network& network, InternetStackHelper& stack, int k)
{
    const int half = k / 2;
    const int count = k * half * half;
    NodeContainer hosts(count), edges(k * half), aggregations(k * half), cores(half * half);
    for (NodeContainer* nodes : {&hosts, &edges, &aggregations, &cores})
    {
        stack.Install(*nodes);
    }
    const std::string rate = "1Gbps", delay = "10us", queue = "100p";
    for (int host = 0; host < count; ++host)
    {
        network.Join(hosts.Get(host), edges.Get(host / half), rate, delay, queue);
    }
    for (int edge = 0; edge < k * half; ++edge)
    {
        for (int up = 0; up < half; ++up)
        {
            network.Join(edges.Get(edge), aggregations.Get(edge / half * half + up), rate, delay, queue);
        }
    }
    for (int aggregation = 0; aggregation < k * half; ++aggregation)
    {
        for (int up = 0; up < half; ++up)
        {
            network.Join(aggregations.Get(aggregation), cores.Get(aggregation % half * half + up), rate, delay, queue);
        }
    }
    for (int host = 0; host < count; ++host)
    {
        Flow(hosts.Get(host), hosts.Get((host + count / 2) % count), host);
    }
}

static double ProcessorSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int main(int argc, char** argv)
{
    if (argc != 5)
    {
        std::cerr << "simulator_ns3 dumbbell|fat_tree SIZE SECONDS COUNT\n";
        return 2;
    }
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(512 << 10));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(512 << 10));
    Ipv4NixVectorHelper routing;
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    Network network;
    network.counts = std::string(argv[4]) == "1";
    const int size = std::stoi(argv[2]);
    std::string(argv[1]) == "dumbbell" ? Dumbbell(network, stack, size) : FatTree(network, stack, size);
    Simulator::Stop(Seconds(std::stod(argv[3])));
    const double started = ProcessorSeconds();
    Simulator::Run();
    std::cout << ProcessorSeconds() - started << ' ' << frames << '\n';
    Simulator::Destroy();
    return 0;
}
