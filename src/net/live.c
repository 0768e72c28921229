#include "mcpdiag/live.h"

#include <linux/if_packet.h>
#include <pcap.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/xmem.h"

#define TIMEOUT_MS 10
#define LINKTYPE_MASK 0xffffU

struct live {
	pcap_t *p;
	uint32_t linktype, pkt;
	/* pcap_stats() counts in 32 bits, which a long run passes. */
	uint32_t last_recv, last_drop, last_ifdrop;
	struct live_stats stats;
	live_fn *fn;
	void *arg;
};

static int
refuse(struct errmsg *em, const char *name, int rc, pcap_t *p)
{
	switch (rc) {
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		return err_set(em, E_IO, "%s: no permission to capture: run with sudo, or once "
		    "`sudo setcap cap_net_raw=ep MCPDIAG`, or pipe "
		    "`ssh HOST tcpdump -U -w - | mcpdiag watch -r -`", name);
	case PCAP_ERROR_NO_SUCH_DEVICE:
		return err_set(em, E_IO, "%s: no such interface; mcpdiag watch -D lists them",
		    name);
	case PCAP_ERROR_IFACE_NOT_UP:
		return err_set(em, E_IO, "%s: the interface is down", name);
	}
	return err_set(em, E_IO, "%s: %s", name, p ? pcap_geterr(p) : pcap_strerror(rc));
}

struct is_loopback {
	const char *name;
	bool yes;
};

static void
look(void *arg, const struct live_device *d)
{
	struct is_loopback *l = arg;

	if (strcmp(d->name, l->name) == 0)
		l->yes = d->loopback;
}

/* The outgoing copy of loopback packets.  A filter `inbound` would lose the
 * first block of the ring: libpcap issue 1482. */
static void
ignore_outgoing(pcap_t *p, const char *name)
{
	struct is_loopback l = { name, false };
	int one = 1;

	if (live_devices(look, &l, NULL) == 0 && l.yes)
		(void)setsockopt(pcap_fileno(p), SOL_PACKET, PACKET_IGNORE_OUTGOING, &one,
		    sizeof one);
}

static int
set_filter(pcap_t *p, const char *expression, int *code, struct errmsg *em)
{
	struct bpf_program program;
	int rc = 0;

	if (expression == NULL)
		return 0;
	if (pcap_compile(p, &program, expression, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		*code = -E_USAGE;
		return err_set(em, E_USAGE, "filter \"%.80s\": %s", expression, pcap_geterr(p));
	}
	if (pcap_setfilter(p, &program) != 0) {
		*code = -E_IO;
		rc = err_set(em, E_IO, "filter \"%.80s\": %s", expression, pcap_geterr(p));
	}
	pcap_freecode(&program);
	return rc;
}

struct live *
live_open(const struct live_opts *o, int *code, struct errmsg *em)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_create(o->interface, text);
	struct live *l;
	int rc, dummy;

	code = code ? code : &dummy;
	*code = -E_IO;
	if (p == NULL) {
		(void)err_set(em, E_IO, "%s: %s", o->interface, text);
		return NULL;
	}
	(void)pcap_set_snaplen(p, (int)o->snaplen);
	(void)pcap_set_promisc(p, o->promiscuous);
	(void)pcap_set_timeout(p, TIMEOUT_MS);
	(void)pcap_set_buffer_size(p, (int)o->buffer);
	(void)pcap_set_tstamp_precision(p, PCAP_TSTAMP_PRECISION_NANO);
	rc = pcap_activate(p);
	if (rc < 0) {
		(void)refuse(em, o->interface, rc, p);
		pcap_close(p);
		return NULL;
	}
	if (strcmp(o->interface, "any") == 0)
		(void)pcap_set_datalink(p, DLT_LINUX_SLL2);
	ignore_outgoing(p, o->interface);
	if (set_filter(p, o->filter, code, em) != 0 || pcap_setnonblock(p, 1, text) != 0) {
		pcap_close(p);
		return NULL;
	}
	*code = 0;
	l = xcalloc(1, sizeof *l);
	l->p = p;
	l->linktype = (uint32_t)pcap_datalink(p) & LINKTYPE_MASK;
	/* The system's number of raw IP is its own. */
	if (l->linktype == DLT_RAW)
		l->linktype = 101;
	return l;
}

void
live_close(struct live *l)
{
	if (l == NULL)
		return;
	pcap_close(l->p);
	free(l);
}

int
live_fd(const struct live *l)
{
	return pcap_get_selectable_fd(l->p);
}

uint32_t
live_linktype(const struct live *l)
{
	return l->linktype;
}

static void
on_packet(u_char *arg, const struct pcap_pkthdr *h, const u_char *data)
{
	struct live *l = (struct live *)(void *)arg;
	struct packet pk = { .pkt = ++l->pkt, .linktype = l->linktype, .len = h->caplen,
		.wire_len = h->len, .data = data };

	/* tv_usec holds nanoseconds: PCAP_TSTAMP_PRECISION_NANO. */
	pk.t = (ns_t)h->ts.tv_sec * NS_S + (ns_t)h->ts.tv_usec;
	l->fn(l->arg, &pk);
}

int
live_read(struct live *l, unsigned max, live_fn *fn, void *arg, struct errmsg *em)
{
	int n;

	l->fn = fn;
	l->arg = arg;
	n = pcap_dispatch(l->p, (int)max, on_packet, (u_char *)l);
	if (n < 0)
		return err_set(em, E_IO, "%s", pcap_geterr(l->p));
	return n;
}

void
live_stats(struct live *l, struct live_stats *out)
{
	struct pcap_stat s;

	if (pcap_stats(l->p, &s) == 0) {
		l->stats.received += (uint32_t)(s.ps_recv - l->last_recv);
		l->stats.dropped += (uint32_t)(s.ps_drop - l->last_drop);
		l->stats.if_dropped += (uint32_t)(s.ps_ifdrop - l->last_ifdrop);
		l->last_recv = s.ps_recv;
		l->last_drop = s.ps_drop;
		l->last_ifdrop = s.ps_ifdrop;
	}
	*out = l->stats;
}

int
live_devices(live_device_fn *fn, void *arg, struct errmsg *em)
{
	char text[PCAP_ERRBUF_SIZE];
	pcap_if_t *all, *d;

	if (pcap_findalldevs(&all, text) != 0)
		return err_set(em, E_IO, "the interfaces cannot be listed: %s", text);
	for (d = all; d; d = d->next) {
		struct live_device dev = { d->name, d->description,
			(d->flags & PCAP_IF_LOOPBACK) != 0, (d->flags & PCAP_IF_UP) != 0 };

		fn(arg, &dev);
	}
	pcap_freealldevs(all);
	return 0;
}
