/* The routes that lwIP asks this program for. */
#ifndef NETTRIAL_HOOKS_H
#define NETTRIAL_HOOKS_H

#include "lwip/ip_addr.h"

/* Return the gateway of the route to a destination that is not on the link; NULL if there is no route. */
const ip4_addr_t *nettrial_gateway_of_ipv4(const ip4_addr_t *destination);
const ip6_addr_t *nettrial_gateway_of_ipv6(const ip6_addr_t *destination);

#endif
