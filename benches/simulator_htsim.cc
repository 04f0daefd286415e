// The fat trees of simulator.py in htsim (github.com/Broadcom/csg-htsim). Each of the first FLOWS hosts sends to the
// host whose number is larger by half the number of hosts, over TCP, or over MPTCP with LIA on random paths.
//
//     simulator_htsim HOSTS FLOWS SUBFLOWS SECONDS
//
// In htsim's directory `sim`, after `make libhtsim.a` (with -O3, its default):
//
//     g++ -O3 -std=c++11 -I. -Idatacenter -o simulator_htsim .../simulator_htsim.cc \
//         datacenter/{fat_tree_topology,fat_tree_switch,firstfit,connection_matrix}.cpp libhtsim.a
//
// Prints the CPU time of the event loop in seconds, and the number of packet-hops: data packets that arrived and their
// acknowledgments, multiplied by the number of links that each crossed. Dropped packets do not count.

#include "config.h"
#include "eventlist.h"
#include "fat_tree_topology.h"
#include "firstfit.h"
#include "mtcp.h"
#include "network.h"
#include "tcp.h"
#include "topology.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

EventList eventlist;
uint32_t RTT = 10;  // The topology uses this variable as the delay of each link in microseconds.

struct Subflow
{
    TcpSink* sink;
    std::size_t links;
};

int main(int argc, char** argv)
{
    if (argc != 5)
    {
        return 2;
    }
    const uint32_t hosts = std::atoi(argv[1]), flows = std::atoi(argv[2]), subflows = std::atoi(argv[3]);
    std::cout.setstate(std::ios::failbit);  // htsim reports each timeout there.
    eventlist.setEndtime(timeFromSec(std::atof(argv[4])));
    srand(1);
    FatTreeTopology topology(hosts, speedFromMbps(1000.0), memFromPkt(100), NULL, &eventlist, NULL, RANDOM, 0);
    TcpRtxTimerScanner timers(timeFromMs(10), eventlist);
    std::vector<Subflow> all;
    for (uint32_t from = 0; from < flows; ++from)
    {
        auto* paths = topology.get_bidir_paths(from, (from + hosts / 2) % hosts, true);
        auto* connection = new MultipathTcpSrc(subflows > 1 ? COUPLED_INC : UNCOUPLED, eventlist, NULL);
        for (uint32_t number = 0; number < subflows; ++number)
        {
            const Route* path = paths->at(rand() % paths->size());
            auto* source = new TcpSrc(NULL, NULL, eventlist);
            auto* sink = new TcpSink();
            timers.registerTcp(*source);
            auto *out = new Route(*path), *back = new Route(*path->reverse());
            const std::size_t links = out->size() / 2;  // Each link consists of a queue and a pipe.
            out->push_back(sink);
            back->push_back(source);
            connection->addSubflow(source);
            source->connect(*out, *back, *sink, timeFromMs(0.01 * from));
            all.push_back({sink, links});
        }
    }
    const clock_t began = clock();
    while (eventlist.doNextEvent())
    {
    }
    const double seconds = double(clock() - began) / CLOCKS_PER_SEC;
    double hops = 0;
    for (const Subflow& each : all)
    {
        hops += 2.0 * each.sink->_packets / Packet::data_packet_size() * each.links;
    }
    std::printf("%.3f %.0f\n", seconds, hops);
    return 0;
}
