/* ns: time and place of a packet.
 * Time is nanoseconds since the epoch, always from a packet, never from a
 * clock.  `pkt` counts packets from 1 in the order they were read, so that it
 * is the number Wireshark shows for a single file; 0 means "no packet". */
#ifndef MCPDIAG_NS_H
#define MCPDIAG_NS_H

#include <stdint.h>

typedef int64_t ns_t;

#define NS_US 1000LL
#define NS_MS 1000000LL
#define NS_S  1000000000LL

struct at {
	ns_t t;
	uint32_t pkt;
};

#endif
