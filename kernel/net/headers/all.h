/* SPDX-License-Identifier: GPL-2.0-only */
/* The headers that most files of the kernel include. They are compiled once, and not 700 times (compile.sh). */
#include <linux/compiler-version.h>
#include <linux/kconfig.h>
#include <linux/compiler_types.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/device.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/tty.h>
#include <linux/skbuff.h>
#include <linux/netdevice.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/pkt_sched.h>
