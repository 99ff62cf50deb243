#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
