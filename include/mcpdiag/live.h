/* live: packets of an interface as they pass, by libpcap.
 * TPACKET_V3 with a timeout of 10 ms, never immediate mode (which loses bursts
 * by design); nanosecond times; not promiscuous unless asked.  On a loopback
 * interface every packet passes twice: the outgoing copy is ignored.  "any" is
 * read as LINUX_SLL2, which says on which interface a packet was. */
#ifndef MCPDIAG_LIVE_H
#define MCPDIAG_LIVE_H

#include "mcpdiag/capfile.h"

#define LIVE_BUFFER (64U << 20)
#define LIVE_SNAPLEN 262144U

struct live_opts {
	const char *interface;
	const char *filter;	/* libpcap expression, or NULL */
	uint32_t snaplen;
	size_t buffer;		/* of the ring, bytes */
	bool promiscuous;
};

struct live_stats {
	uint64_t received;	/* by the ring */
	uint64_t dropped;	/* the ring was full */
	uint64_t if_dropped;	/* by the interface or its driver */
};

struct live;

/* NULL and a sentence that says what to do: no permission (-E_IO), no such
 * interface, a filter that is none (-E_USAGE in *code, which may be NULL). */
struct live *live_open(const struct live_opts *, int *code, struct errmsg *);
void live_close(struct live *);
/* To be watched for reading. */
int live_fd(const struct live *);
uint32_t live_linktype(const struct live *);
typedef void live_fn(void *arg, const struct packet *);
/* What waits, at most `max` packets (numbered from 1, borrowed until fn
 * returns); how many, or -E_IO and a sentence: the interface is gone. */
int live_read(struct live *, unsigned max, live_fn *, void *arg, struct errmsg *);
void live_stats(struct live *, struct live_stats *);

struct live_device {
	const char *name, *what;	/* what: NULL: nothing is known */
	bool loopback, up;
};

typedef void live_device_fn(void *arg, const struct live_device *);
/* Interfaces of this machine that can be captured from. */
int live_devices(live_device_fn *, void *arg, struct errmsg *);

#endif
