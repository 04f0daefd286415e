// The cases of radio.py in ns-3. radio.py compiles and runs this program.
//
//     radio_ns3 KEY=VALUE...
//
// Prints the sum of the flows' goodputs in bits per second, measured from half a second after their start, and the
// CPU time of Simulator::Run in seconds. The keys are the fields of `Case` in radio.py.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/propagation-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <ctime>
#include <iostream>
#include <map>
#include <string>

using namespace ns3;

static const double BEGIN = 1.0;  // All stations are associated by then.
static const double SETTLED = 0.5;
static double counted_from = 0;
static double counted_to = 0;
static std::uint64_t received_bytes = 0;

static void Count(Ptr<const Packet> packet, const Address&)
{
    const double now = Simulator::Now().GetSeconds();
    if (now > counted_from && now <= counted_to)
    {
        received_bytes += packet->GetSize();
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
    std::map<std::string, std::string> text;
    for (int i = 1; i < argc; ++i)
    {
        const std::string argument = argv[i];
        const auto at = argument.find('=');
        text[argument.substr(0, at)] = argument.substr(at + 1);
    }
    const auto number = [&](const std::string& key) { return std::stod(text.at(key)); };
    const auto whole = [&](const std::string& key) { return std::stoi(text.at(key)); };
    const std::string standard = text.at("standard"), transport = text.at("transport");
    const std::string direction = text.at("direction");
    const int stations = whole("stations"), streams = whole("streams"), mcs = whole("mcs");
    const double seconds = number("seconds");

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(512 << 10));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(512 << 10));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue(text.at("queue") + "p"));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(whole("rts") ? 500 : 4692480));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    RngSeedManager::SetSeed(whole("seed"));

    NodeContainer access_point(1), hosts(stations), all(access_point, hosts);
    YansWifiChannelHelper air;
    air.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    const Ptr<MatrixPropagationLossModel> loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(56);  // A transmit power of 16 dBm arrives with -40 dBm.
    YansWifiPhyHelper radio;
    const Ptr<YansWifiChannel> channel = air.Create();
    channel->SetPropagationLossModel(loss);
    radio.SetChannel(channel);
    radio.Set("ChannelSettings", StringValue("{0, " + text.at("width") + ", BAND_5GHZ, 0}"));
    radio.Set("Antennas", UintegerValue(streams));
    radio.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
    radio.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));
    WifiHelper wifi;
    const int guard = whole("guard_ns");
    std::string mode;
    if (standard == "n")
    {
        wifi.SetStandard(WIFI_STANDARD_80211n);
        mode = "HtMcs" + std::to_string(mcs + 8 * (streams - 1));
    }
    else if (standard == "ac")
    {
        wifi.SetStandard(WIFI_STANDARD_80211ac);
        mode = "VhtMcs" + std::to_string(mcs);
    }
    else
    {
        wifi.SetStandard(WIFI_STANDARD_80211ax);
        mode = "HeMcs" + std::to_string(mcs);
        wifi.ConfigHeOptions("GuardInterval", TimeValue(NanoSeconds(guard)));
    }
    wifi.ConfigHtOptions("ShortGuardIntervalSupported", BooleanValue(guard == 400));
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode), "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    const std::uint32_t aggregate = !whole("aggregation") ? 0 : standard == "n" ? 65535 : standard == "ac" ? 1048575 : 6500631;
    WifiMacHelper mac;
    const Ssid ssid("bench");
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(aggregate));
    NetDeviceContainer devices = wifi.Install(radio, mac, access_point);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(aggregate));
    devices.Add(wifi.Install(radio, mac, hosts));
    MobilityHelper places;
    places.SetPositionAllocator("ns3::GridPositionAllocator", "DeltaX", DoubleValue(0.1), "DeltaY", DoubleValue(0.1));
    places.Install(all);
    if (whole("hidden"))
    {
        loss->SetLoss(hosts.Get(0)->GetObject<MobilityModel>(), hosts.Get(1)->GetObject<MobilityModel>(), 1000);
    }
    if (number("mpdu_loss") > 0)
    {
        // All data goes to the access point, so that only data is lost, and no acknowledgments.
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(number("mpdu_loss"));
        const auto lossy = DynamicCast<WifiNetDevice>(devices.Get(0))->GetPhy();
        Simulator::Schedule(Seconds(BEGIN), [=] { lossy->SetPostReceptionErrorModel(errors); });
    }
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(all);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.0.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // The only queue is the radio's own, without a queue discipline before it.
    TrafficControlHelper().Uninstall(devices);

    const std::string factory = transport == "udp" ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
    const int flows = direction == "across" ? stations / 2 : stations;
    for (int flow = 0; flow < flows; ++flow)
    {
        // These are indices in `all`: 0 is the access point, and the stations follow.
        const int from = direction == "down" ? 0 : flow + 1;
        const int to = direction == "up" ? 0 : direction == "down" ? flow + 1 : flow + 1 + flows;
        const auto port = static_cast<std::uint16_t>(5001 + flow);
        const InetSocketAddress target(interfaces.GetAddress(to), port);
        ApplicationContainer sender;
        if (transport == "udp")
        {
            OnOffHelper source(factory, target);
            source.SetConstantRate(DataRate(static_cast<std::uint64_t>(number("rate_bps"))), whole("size"));
            sender = source.Install(all.Get(from));
        }
        else
        {
            BulkSendHelper source(factory, target);
            source.SetAttribute("SendSize", UintegerValue(14480));
            sender = source.Install(all.Get(from));
        }
        sender.Start(Seconds(BEGIN) + MicroSeconds(37 * flow));
        PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receiver = sink.Install(all.Get(to));
        receiver.Start(Seconds(0));
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Count));
    }
    counted_from = BEGIN + SETTLED;
    counted_to = BEGIN + seconds;
    Simulator::Stop(Seconds(counted_to));
    const double started = ProcessorSeconds();
    Simulator::Run();
    const double took = ProcessorSeconds() - started;
    std::cout << static_cast<double>(received_bytes) * 8 / (seconds - SETTLED) << ' ' << took << '\n';
    Simulator::Destroy();
    return 0;
}
