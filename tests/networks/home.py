"""A network as users of Mininet write it: a class, options of links in a dictionary, and a script around them."""

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import CPULimitedHost, Node
from mininet.topo import Topo
from mininet.util import irange


class LinuxRouter(Node):
    """A router, as in Mininet's examples."""

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl net.ipv4.ip_forward=1")


class Home(Topo):
    """Hosts on a switch, and a router with a link of 10 Mbit/s down and 1 Mbit/s up to a server."""

    def build(self, n=2, **_):
        fast = dict(bw=100, delay="1ms", use_htb=True)
        switch = self.addSwitch("s1", dpid="1")
        for number in irange(1, n):
            host = self.addHost("h%s" % number, ip="10.0.0.%d/24" % (number + 1))
            self.addLink(host, switch, **fast)
        router = self.addNode("r0", cls=LinuxRouter, ip="10.0.0.1/24")
        self.addLink(switch, router, cls=TCLink, **fast)
        server = self.addHost("server", defaultRoute="via 10.1.0.1")
        down = {"bw": 10, "max_queue_size": 100}
        self.addLink(
            server, router, delay="20ms", loss=0.5, params1=down, params2={"bw": 1, "max_queue_size": 20}
        )


topos = {"home": lambda n=2: Home(n=n)}

if __name__ == "__main__":
    setLogLevel("info")
    net = Mininet(topo=Home(), host=CPULimitedHost, link=TCLink)
    net.start()
