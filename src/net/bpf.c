#include "mcpdiag/bpf.h"

#include <pcap/pcap.h>
#include <stdlib.h>

#include "mcpdiag/map.h"
#include "mcpdiag/xmem.h"

/* What a file says (tcpdump.org/linktypes.html). */
#define LINKTYPE_NULL 0
#define LINKTYPE_ETHERNET 1
#define LINKTYPE_ATM_RFC1483 100
#define LINKTYPE_RAW 101
#define LINKTYPE_SLIP_BSDOS 102
#define LINKTYPE_PPP_BSDOS 103
#define LINKTYPE_LOOP 108

#define SNAPLEN 262144
#define FAMILY_LEN 4		/* of the header of NULL and LOOP */

struct program {
	uint32_t linktype;
	bool usable;		/* the expression exists for this type */
	struct bpf_program code;
	UT_hash_handle hh;
};

struct bpf {
	char *expression;
	struct program *all, *last;
};

static bool
is_loopback(uint32_t linktype)
{
	return linktype == LINKTYPE_NULL || linktype == LINKTYPE_LOOP;
}

/* The number libpcap uses inside on this system.  The two are the same but
 * for the few that differ between systems.  A loopback packet is a raw IP
 * packet behind an address family whose value for IPv6 and byte order are
 * those of the capturing system, which need not be ours. */
static int
dlt_of(uint32_t linktype)
{
	if (is_loopback(linktype))
		return DLT_RAW;
	switch (linktype) {
	case LINKTYPE_ATM_RFC1483: return DLT_ATM_RFC1483;
	case LINKTYPE_RAW: return DLT_RAW;
	case LINKTYPE_SLIP_BSDOS: return DLT_SLIP_BSDOS;
	case LINKTYPE_PPP_BSDOS: return DLT_PPP_BSDOS;
	default: return (int)linktype;
	}
}

static struct program *
compile(struct bpf *b, uint32_t linktype, struct errmsg *em)
{
	struct program *g = xcalloc(1, sizeof *g);
	pcap_t *p = pcap_open_dead(dlt_of(linktype), SNAPLEN);

	g->linktype = linktype;
	if (p == NULL)
		(void)err_set(em, E_LIMIT, "filter: libpcap does not start");
	else if (pcap_compile(p, &g->code, b->expression, 1,
	    PCAP_NETMASK_UNKNOWN) != 0)
		(void)err_set(em, E_USAGE, "filter \"%.80s\": %s",
		    b->expression, pcap_geterr(p));
	else
		g->usable = true;
	if (p)
		pcap_close(p);
	HASH_ADD(hh, b->all, linktype, sizeof g->linktype, g);
	return g;
}

struct bpf *
bpf_new(const char *expression, struct errmsg *em)
{
	struct bpf *b = xcalloc(1, sizeof *b);

	b->expression = xmemdup0(expression, strlen(expression));
	b->last = compile(b, LINKTYPE_ETHERNET, em);
	if (!b->last->usable) {
		bpf_free(b);
		return NULL;
	}
	return b;
}

void
bpf_free(struct bpf *b)
{
	struct program *g, *next;

	if (b == NULL)
		return;
	HASH_ITER(hh, b->all, g, next) {
		HASH_DEL(b->all, g);
		if (g->usable)
			pcap_freecode(&g->code);
		free(g);
	}
	free(b->expression);
	free(b);
}

bool
bpf_match(struct bpf *b, const struct packet *p)
{
	struct pcap_pkthdr h = { .caplen = p->len, .len = p->wire_len };
	const uint8_t *data = p->data;

	if (b->last->linktype != p->linktype) {
		struct program *g;

		HASH_FIND(hh, b->all, &p->linktype, sizeof p->linktype, g);
		b->last = g ? g : compile(b, p->linktype, NULL);
	}
	if (!b->last->usable)
		return false;
	if (is_loopback(p->linktype)) {
		if (h.caplen < FAMILY_LEN)
			return false;
		data += FAMILY_LEN;
		h.caplen -= FAMILY_LEN;
	}
	return pcap_offline_filter(&b->last->code, &h, data) != 0;
}
