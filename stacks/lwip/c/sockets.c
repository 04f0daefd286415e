/* lwIP's callbacks as sockets that are polled, for the Rust side of this program (src/library.rs): it gives frames and takes
 * frames, and no function waits or calls it back. Sockets are numbers from 1. All calls are from one thread at a time. */
#include <string.h>

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

#define MOST_SOCKETS 4096
#define MOST_ROUTES 256
/* The most connections of a port that are being opened; for a further one, the oldest is reset. lwIP counts them in a byte. */
#define MOST_OPENING 200
/* The most connections of a port that wait to be accepted; further ones are reset. */
#define MOST_WAITING 1024
/* The datagrams that a socket keeps, and their bytes. */
#define MOST_DATAGRAMS 4096
#define MOST_DATAGRAM_BYTES (4u << 20)

/* Results beside lwIP's own errors, which are negative too. */
#define IS_FINISHED (-100)
#define IS_RESET (-101)

struct address {
  uint8_t is_ipv6;
  uint8_t bytes[16];
};

/* Frames to send, what a connection has received, or a socket's datagrams. */
struct packet {
  struct packet *next;
  struct pbuf *data;
  ip_addr_t from;
  u16_t port;
};
struct queue {
  struct packet *first, **last;
  unsigned packets;
  size_t bytes;
};

enum stage { OPENING, OPEN, GONE };

struct socket {
  /* One of these, or none for a connection that lwIP has forgotten. */
  struct tcp_pcb *tcp;
  struct udp_pcb *udp;
  struct queue received;
  /* The bytes of the first packet that were read. */
  u16_t read;
  enum stage stage;
  int has_ended, no_delay;
  ip_addr_t own, peer;
  u16_t own_port, peer_port;
  /* Of a listener: the connections that wait to be accepted, the oldest first. */
  unsigned waiting[MOST_WAITING], waits;
  int is_listener;
};

struct route {
  struct address network;
  unsigned prefix;
  ip_addr_t gateway;
};

int nettrial_more_mss, nettrial_more_wnd, nettrial_more_snd_buf, nettrial_scale;
static struct netif interface;
static uint8_t interface_address[6];
static u16_t interface_mtu;
static struct queue frames;
static struct socket *sockets[MOST_SOCKETS];
static struct route routes[MOST_ROUTES];
static unsigned number_of_routes;
static int has_changed;

static void append(struct queue *queue, struct packet *packet) {
  if (!queue->first) queue->last = &queue->first;
  *queue->last = packet;
  queue->last = &packet->next;
  queue->packets++;
  queue->bytes += packet->data->tot_len;
}

static void remove_first(struct queue *queue) {
  struct packet *first = queue->first;
  queue->first = first->next;
  queue->packets--;
  queue->bytes -= first->data->tot_len;
  pbuf_free(first->data);
  free(first);
}

/* Keeps `data`, which the queue owns then, unless it returns ERR_MEM. */
static err_t keep(struct queue *queue, struct pbuf *data, const ip_addr_t *from, u16_t port) {
  struct packet *packet = calloc(1, sizeof *packet);
  if (!packet) return ERR_MEM;
  packet->data = data;
  if (from) packet->from = *from;
  packet->port = port;
  append(queue, packet);
  return ERR_OK;
}

/* Returns the number of a new socket; 0 if there are too many. */
static unsigned new_socket(void) {
  for (unsigned number = 1; number < MOST_SOCKETS; number++) {
    if (!sockets[number]) {
      sockets[number] = calloc(1, sizeof **sockets);
      return sockets[number] ? number : 0;
    }
  }
  return 0;
}

static struct socket *socket_of(unsigned number) {
  return number < MOST_SOCKETS ? sockets[number] : NULL;
}

static void free_socket(unsigned number) {
  struct socket *socket = socket_of(number);
  if (!socket) return;
  while (socket->received.first) remove_first(&socket->received);
  free(socket);
  sockets[number] = NULL;
}

static ip_addr_t address_of(const struct address *from) {
  ip_addr_t address = {0};
  if (from->is_ipv6) {
    IP_SET_TYPE_VAL(address, IPADDR_TYPE_V6);
    memcpy(ip_2_ip6(&address)->addr, from->bytes, 16);
  } else {
    IP_SET_TYPE_VAL(address, IPADDR_TYPE_V4);
    memcpy(&ip_2_ip4(&address)->addr, from->bytes, 4);
  }
  return address;
}

static void put_address(struct address *to, const ip_addr_t *address) {
  memset(to, 0, sizeof *to);
  to->is_ipv6 = IP_IS_V6(address);
  if (to->is_ipv6) memcpy(to->bytes, ip_2_ip6(address)->addr, 16);
  else memcpy(to->bytes, &ip_2_ip4(address)->addr, 4);
}

/* The interface. */

static err_t send_frame(struct netif *netif, struct pbuf *frame) {
  LWIP_UNUSED_ARG(netif);
  /* TCP keeps its segments, which it sends again if they are lost. */
  struct pbuf *copy = pbuf_clone(PBUF_RAW, PBUF_RAM, frame);
  if (!copy) return ERR_MEM;
  err_t error = keep(&frames, copy, NULL, 0);
  if (error) pbuf_free(copy);
  return error;
}

static err_t begin_interface(struct netif *netif) {
  netif->name[0] = 'e';
  netif->name[1] = 'n';
  netif->output = etharp_output;
  netif->output_ip6 = ethip6_output;
  netif->linkoutput = send_frame;
  netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
  netif->mtu = interface_mtu;
  netif->hwaddr_len = sizeof interface_address;
  memcpy(netif->hwaddr, interface_address, sizeof interface_address);
  return ERR_OK;
}

const char *nettrial_version(void) { return LWIP_VERSION_STRING; }

/* Starts the host with an interface that has an Ethernet address and an MTU, and the buffers of its connections. */
void nettrial_start(const uint8_t *ethernet, unsigned mtu, unsigned receive_bytes, unsigned send_bytes) {
  nettrial_more_mss = (int)mtu - 40 - 1460;
  nettrial_more_wnd = (int)receive_bytes - 4 * 1460;
  nettrial_more_snd_buf = (int)send_bytes - 4 * 1460;
  while (receive_bytes >> nettrial_scale > 0xffff) nettrial_scale++;
  interface_mtu = (u16_t)mtu;
  memcpy(interface_address, ethernet, sizeof interface_address);
  lwip_init();
  netif_add(&interface, NULL, NULL, NULL, NULL, begin_interface, ethernet_input);
  netif_create_ip6_linklocal_address(&interface, 1);
  netif_ip6_addr_set_state(&interface, 0, IP6_ADDR_PREFERRED);
  netif_set_default(&interface);
  netif_set_up(&interface);
}

/* Gives the interface an address of a network; returns an error of lwIP. */
int nettrial_add_address(const struct address *given, unsigned prefix) {
  ip_addr_t address = address_of(given);
  if (IP_IS_V6(&address)) {
    s8_t index;
    /* The networks of lwIP's addresses have 64 bits. */
    if (prefix != 64) return ERR_ARG;
    err_t error = netif_add_ip6_address(&interface, ip_2_ip6(&address), &index);
    if (error) return error;
    netif_ip6_addr_set_state(&interface, index, IP6_ADDR_PREFERRED);
  } else {
    if (!ip4_addr_isany(netif_ip4_addr(&interface))) return ERR_MEM;
    ip4_addr_t mask = {prefix ? lwip_htonl(0xffffffffu << (32 - prefix)) : 0};
    netif_set_addr(&interface, ip_2_ip4(&address), &mask, IP4_ADDR_ANY4);
  }
  return ERR_OK;
}

int nettrial_add_route(const struct address *network, unsigned prefix, const struct address *gateway) {
  if (number_of_routes == MOST_ROUTES) return ERR_MEM;
  routes[number_of_routes++] = (struct route){*network, prefix, address_of(gateway)};
  return ERR_OK;
}

/* Returns the gateway of the longest prefix that an address has. */
static const ip_addr_t *gateway(int is_ipv6, const void *bytes) {
  const uint8_t *destination = bytes;
  const struct route *best = NULL;
  for (const struct route *route = routes; route < routes + number_of_routes; route++) {
    unsigned whole = route->prefix / 8, rest = route->prefix % 8;
    if (route->network.is_ipv6 != is_ipv6 || memcmp(route->network.bytes, destination, whole)) continue;
    if (rest && (route->network.bytes[whole] ^ destination[whole]) >> (8 - rest)) continue;
    if (!best || route->prefix > best->prefix) best = route;
  }
  return best ? &best->gateway : NULL;
}

const ip4_addr_t *nettrial_gateway_of_ipv4(const ip4_addr_t *destination) {
  const ip_addr_t *address = gateway(0, &destination->addr);
  return address ? ip_2_ip4(address) : NULL;
}

const ip6_addr_t *nettrial_gateway_of_ipv6(const ip6_addr_t *destination) {
  const ip_addr_t *address = gateway(1, destination->addr);
  return address ? ip_2_ip6(address) : NULL;
}

/* Resets the oldest connections that are being opened, if they are too many, so that one who only begins them can't keep
 * others from opening theirs. */
static void bound_opening(void) {
  for (struct tcp_pcb_listen *listener = tcp_listen_pcbs.listen_pcbs; listener; listener = listener->next) {
    while (listener->accepts_pending > MOST_OPENING) {
      struct tcp_pcb *oldest = NULL;
      for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->state == SYN_RCVD && pcb->listener == listener) oldest = pcb;
      }
      if (!oldest) break;
      tcp_abort(oldest);
    }
  }
}

/* Takes a frame that has arrived. */
void nettrial_take_frame(const uint8_t *bytes, unsigned length) {
  struct pbuf *frame = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
  if (!frame) return;
  pbuf_take(frame, bytes, (u16_t)length);
  if (interface.input(frame, &interface) != ERR_OK) pbuf_free(frame);
  bound_opening();
}

/* Copies the next frame to send, if it has at most `room` bytes, and returns its length; 0 if there is none. */
unsigned nettrial_next_frame(uint8_t *bytes, unsigned room) {
  while (frames.first) {
    unsigned length = frames.first->data->tot_len;
    if (length <= room) pbuf_copy_partial(frames.first->data, bytes, (u16_t)length, 0);
    remove_first(&frames);
    if (length <= room) return length;
  }
  return 0;
}

/* Does what is due. Returns whether a socket has changed since the last call. */
int nettrial_poll(void) {
  sys_check_timeouts();
  int changed = has_changed;
  has_changed = 0;
  return changed;
}

/* Returns the time until something is due, ms. */
unsigned nettrial_due(void) { return sys_timeouts_sleeptime(); }

/* TCP. */

static err_t on_received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error) {
  struct socket *socket = argument;
  LWIP_UNUSED_ARG(error);
  has_changed = 1;
  if (data) return keep(&socket->received, data, NULL, 0);
  socket->has_ended = 1;
  if (pcb->state != CLOSE_WAIT) {
    /* Both ends have sent all, and lwIP may forget the connection without another call. */
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    socket->tcp = NULL;
  }
  return ERR_OK;
}

static err_t on_sent(void *argument, struct tcp_pcb *pcb, u16_t length) {
  LWIP_UNUSED_ARG(argument);
  LWIP_UNUSED_ARG(pcb);
  LWIP_UNUSED_ARG(length);
  has_changed = 1;
  return ERR_OK;
}

static void on_error(void *argument, err_t error) {
  struct socket *socket = argument;
  has_changed = 1;
  socket->tcp = NULL;
  /* ERR_CLSD: the other end has acknowledged the last byte. */
  if (error != ERR_CLSD) socket->stage = GONE;
}

static err_t on_connected(void *argument, struct tcp_pcb *pcb, err_t error) {
  struct socket *socket = argument;
  LWIP_UNUSED_ARG(pcb);
  LWIP_UNUSED_ARG(error);
  has_changed = 1;
  socket->stage = OPEN;
  return ERR_OK;
}

static void watch(struct socket *socket, struct tcp_pcb *pcb) {
  socket->tcp = pcb;
  socket->own = pcb->local_ip;
  socket->own_port = pcb->local_port;
  tcp_arg(pcb, socket);
  tcp_recv(pcb, on_received);
  tcp_sent(pcb, on_sent);
  tcp_err(pcb, on_error);
  if (socket->no_delay) tcp_nagle_disable(pcb);
}

static err_t on_accepted(void *argument, struct tcp_pcb *pcb, err_t error) {
  struct socket *listener = argument;
  unsigned number = error || listener->waits == MOST_WAITING ? 0 : new_socket();
  if (!number) return ERR_MEM;
  struct socket *socket = sockets[number];
  socket->stage = OPEN;
  socket->no_delay = listener->no_delay;
  watch(socket, pcb);
  socket->peer = pcb->remote_ip;
  socket->peer_port = pcb->remote_port;
  listener->waiting[listener->waits++] = number;
  has_changed = 1;
  return ERR_OK;
}

static struct tcp_pcb *bound(const struct address *given, err_t *error) {
  ip_addr_t address = address_of(given);
  struct tcp_pcb *pcb = tcp_new_ip_type(IP_GET_TYPE(&address));
  *error = pcb ? tcp_bind(pcb, &address, 0) : ERR_MEM;
  if (pcb && *error) tcp_close(pcb);
  return *error ? NULL : pcb;
}

/* Opens a port of an address that accepts connections, and returns its socket, or an error of lwIP. */
int nettrial_listen(const struct address *address, int no_delay, uint16_t *port) {
  err_t error;
  unsigned number = new_socket();
  if (!number) return ERR_MEM;
  struct tcp_pcb *pcb = bound(address, &error);
  struct tcp_pcb *listener = pcb ? tcp_listen_with_backlog_and_err(pcb, 0xff, &error) : NULL;
  if (!listener) {
    if (pcb) tcp_close(pcb);
    free_socket(number);
    return error;
  }
  struct socket *socket = sockets[number];
  socket->is_listener = 1;
  socket->no_delay = no_delay;
  tcp_arg(listener, socket);
  tcp_accept(listener, on_accepted);
  *port = listener->local_port;
  return (int)number;
}

/* Returns the next connection that was opened to a listener's port; 0 if there is none. */
unsigned nettrial_accept(unsigned number) {
  struct socket *listener = socket_of(number);
  if (!listener || !listener->waits) return 0;
  unsigned first = listener->waiting[0];
  listener->waits--;
  memmove(listener->waiting, listener->waiting + 1, listener->waits * sizeof *listener->waiting);
  return first;
}

/* Begins to open a connection, and returns its socket, or an error of lwIP. */
int nettrial_connect(const struct address *own, const struct address *peer, uint16_t port, int no_delay) {
  err_t error;
  unsigned number = new_socket();
  if (!number) return ERR_MEM;
  struct tcp_pcb *pcb = bound(own, &error);
  if (pcb) {
    struct socket *socket = sockets[number];
    socket->no_delay = no_delay;
    socket->peer = address_of(peer);
    socket->peer_port = port;
    watch(socket, pcb);
    error = tcp_connect(pcb, &socket->peer, port, on_connected);
    if (!error) return (int)number;
    tcp_err(pcb, NULL);
    tcp_abort(pcb);
  }
  free_socket(number);
  return error;
}

int nettrial_stage(unsigned number) {
  struct socket *socket = socket_of(number);
  return socket ? (int)socket->stage : GONE;
}

/* Returns whether there is such a connection, and its ends. */
int nettrial_ends(unsigned number, struct address *own, uint16_t *own_port, struct address *peer, uint16_t *peer_port) {
  struct socket *socket = socket_of(number);
  if (!socket) return 0;
  put_address(own, &socket->own);
  put_address(peer, &socket->peer);
  *own_port = socket->own_port;
  *peer_port = socket->peer_port;
  return 1;
}

/* Takes as many bytes as there is room for, and returns their number, or IS_FINISHED or IS_RESET. */
int nettrial_write(unsigned number, const uint8_t *bytes, unsigned length) {
  struct socket *socket = socket_of(number);
  if (!socket || socket->stage == GONE) return IS_RESET;
  if (!socket->tcp) return IS_FINISHED;
  if (socket->tcp->state != ESTABLISHED && socket->tcp->state != CLOSE_WAIT) {
    return socket->stage == OPENING ? 0 : IS_FINISHED;
  }
  unsigned written = 0;
  while (written < length) {
    unsigned piece = LWIP_MIN(LWIP_MIN(length - written, tcp_sndbuf(socket->tcp)), 0xffff);
    if (!piece || tcp_write(socket->tcp, bytes + written, (u16_t)piece, TCP_WRITE_FLAG_COPY)) break;
    written += piece;
  }
  tcp_output(socket->tcp);
  return (int)written;
}

/* Reads what has arrived, and returns the number of bytes, 0 if there are none, or IS_FINISHED or IS_RESET. */
int nettrial_read(unsigned number, uint8_t *bytes, unsigned room) {
  struct socket *socket = socket_of(number);
  if (!socket) return IS_RESET;
  unsigned done = 0;
  while (done < room && socket->received.first) {
    struct pbuf *data = socket->received.first->data;
    u16_t piece = (u16_t)LWIP_MIN(room - done, (unsigned)(data->tot_len - socket->read));
    done += pbuf_copy_partial(data, bytes + done, piece, socket->read);
    socket->read += piece;
    if (socket->read == data->tot_len) {
      remove_first(&socket->received);
      socket->read = 0;
    }
  }
  for (unsigned told = 0; socket->tcp && told < done;) {
    u16_t piece = (u16_t)LWIP_MIN(done - told, 0xffff);
    tcp_recved(socket->tcp, piece);
    told += piece;
  }
  if (done || !room || socket->received.first) return (int)done;
  if (socket->stage == GONE) return IS_RESET;
  return socket->has_ended ? IS_FINISHED : 0;
}

/* Sends no more than what was written. */
void nettrial_finish(unsigned number) {
  struct socket *socket = socket_of(number);
  if (!socket || !socket->tcp) return;
  /* This fails only if there is no memory for the last segment. */
  if (tcp_shutdown(socket->tcp, 0, 1) == ERR_MEM) tcp_abort(socket->tcp);
}

void nettrial_abort(unsigned number) {
  struct socket *socket = socket_of(number);
  if (!socket) return;
  if (socket->tcp) tcp_abort(socket->tcp);
  socket->stage = GONE;
  has_changed = 1;
}

/* Closes a connection. The other end is reset if it has sent what nobody has read. */
void nettrial_release(unsigned number) {
  struct socket *socket = socket_of(number);
  if (!socket || socket->udp || socket->is_listener) return;
  struct tcp_pcb *pcb = socket->tcp;
  if (pcb) {
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    /* A new connection may take its place, if there are too many. */
    tcp_setprio(pcb, TCP_PRIO_MIN);
    if (tcp_close(pcb)) tcp_abort(pcb);
  }
  free_socket(number);
}

/* UDP. */

static void on_datagram(void *argument, struct udp_pcb *pcb, struct pbuf *data, const ip_addr_t *from, u16_t port) {
  struct queue *received = &((struct socket *)argument)->received;
  LWIP_UNUSED_ARG(pcb);
  int is_full = received->packets >= MOST_DATAGRAMS || received->bytes + data->tot_len > MOST_DATAGRAM_BYTES;
  if (is_full || keep(received, data, from, port)) pbuf_free(data);
  has_changed = 1;
}

/* Opens a UDP socket at a port of an address, and returns it, or an error of lwIP. */
int nettrial_bind(const struct address *given, uint16_t *port) {
  ip_addr_t address = address_of(given);
  unsigned number = new_socket();
  if (!number) return ERR_MEM;
  struct socket *socket = sockets[number];
  socket->udp = udp_new_ip_type(IP_GET_TYPE(&address));
  err_t error = socket->udp ? udp_bind(socket->udp, &address, 0) : ERR_MEM;
  if (error) {
    if (socket->udp) udp_remove(socket->udp);
    free_socket(number);
    return error;
  }
  udp_recv(socket->udp, on_datagram, socket);
  *port = socket->udp->local_port;
  return (int)number;
}

/* Sends a datagram, and returns an error of lwIP. */
int nettrial_send(unsigned number, const struct address *to, uint16_t port, const uint8_t *bytes, unsigned length) {
  struct socket *socket = socket_of(number);
  if (!socket || !socket->udp) return ERR_CLSD;
  ip_addr_t address = address_of(to);
  struct pbuf *data = pbuf_alloc(PBUF_TRANSPORT, (u16_t)length, PBUF_RAM);
  if (!data) return ERR_MEM;
  pbuf_take(data, bytes, (u16_t)length);
  err_t error = udp_sendto(socket->udp, data, &address, port);
  pbuf_free(data);
  return error;
}

/* Copies the next datagram that has at most `room` bytes. Returns its length and its sender; -1 if there is none. */
int nettrial_receive(unsigned number, uint8_t *bytes, unsigned room, struct address *from, uint16_t *port) {
  struct socket *socket = socket_of(number);
  while (socket && socket->received.first) {
    struct packet *first = socket->received.first;
    unsigned length = first->data->tot_len;
    if (length <= room) {
      pbuf_copy_partial(first->data, bytes, (u16_t)length, 0);
      put_address(from, &first->from);
      *port = first->port;
    }
    remove_first(&socket->received);
    if (length <= room) return (int)length;
  }
  return -1;
}

void nettrial_unbind(unsigned number) {
  struct socket *socket = socket_of(number);
  if (!socket || !socket->udp) return;
  udp_remove(socket->udp);
  free_socket(number);
}
