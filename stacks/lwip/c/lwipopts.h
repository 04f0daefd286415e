/* The options of lwIP for a host with one interface, whose MTU and buffers are known when the program starts.
 *
 * An option that is a variable here has a constant summand, because lwIP also reads its options in conditions of the
 * preprocessor, for which the name of a variable is zero: they hold for Ethernet's MTU and lwIP's own windows. */
#ifndef NETTRIAL_LWIPOPTS_H
#define NETTRIAL_LWIPOPTS_H

/* What TCP_MSS, TCP_WND and TCP_SND_BUF have more than lwIP's usual values, bytes, and the shift of windows. */
extern int nettrial_more_mss, nettrial_more_wnd, nettrial_more_snd_buf, nettrial_scale;

/* No operating system: the program gives lwIP its frames and the time. */
#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_SINGLE_NETIF 1

#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_TCP 1
#define LWIP_UDP 1
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_IGMP 0
#define LWIP_IPV6_MLD 0
#define LWIP_ACD 0
/* The program has its addresses, routes and MTU from its argument. */
#define LWIP_IPV6_AUTOCONFIG 0
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 0
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 0
#define LWIP_ND6_ALLOW_RA_UPDATES 0
#define LWIP_HOOK_FILENAME "hooks.h"
#define LWIP_HOOK_ETHARP_GET_GW(netif, destination) nettrial_gateway_of_ipv4(destination)
#define LWIP_HOOK_ND6_GET_GW(netif, destination) nettrial_gateway_of_ipv6(destination)

/* TCP. The last two are variables of the scenario. */
#define TCP_MSS (1460 + nettrial_more_mss)
#define TCP_OVERSIZE TCP_MSS
#define LWIP_TCP_TIMESTAMPS 1
#define LWIP_TCP_SACK_OUT 1
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE (0 + nettrial_scale)
#define TCP_WND (4 * 1460 + nettrial_more_wnd)
#define TCP_SND_BUF (4 * 1460 + nettrial_more_snd_buf)
#define TCP_SND_QUEUELEN 0xfff0
/* A sender that leaves out one byte of each segment may not fill the memory. */
#define TCP_OOSEQ_MAX_PBUFS 16384
#define TCP_LISTEN_BACKLOG 1

/* Memory. The pools limit what strangers can make lwIP keep; a full pool of connections takes the oldest that waits out its
 * last segments. */
#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_NUM_TCP_PCB 2048
#define MEMP_NUM_TCP_PCB_LISTEN 256
#define MEMP_NUM_TCP_SEG 0xffff
#define MEMP_NUM_UDP_PCB 512
#define MEMP_NUM_PBUF 1024
#define MEMP_NUM_FRAG_PBUF 1024
#define MEMP_NUM_REASSDATA 64
#define PBUF_POOL_BUFSIZE 1536

/* The neighbours of a host on a link with many, the packets that wait for each, and the fragments of the largest
 * datagrams. Packets for hosts that do not exist may not take the room of those for others. */
#define ARP_TABLE_SIZE 64
#define ARP_QUEUEING 1
#define MEMP_NUM_ARP_QUEUE 256
#define MEMP_NUM_ND6_QUEUE 256
#define LWIP_ND6_NUM_NEIGHBORS 64
#define LWIP_ND6_NUM_DESTINATIONS 64
#define IP_REASS_MAX_PBUFS 512
#define LWIP_IPV6_FRAG 1
/* A pointer is larger than half of a fragment's header. */
#define IPV6_FRAG_COPYHEADER 1

#endif
