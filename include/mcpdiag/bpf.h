/* bpf: libpcap filter expressions on our own packets.
 * One program is compiled for each link type that turns up. */
#ifndef MCPDIAG_BPF_H
#define MCPDIAG_BPF_H

#include "mcpdiag/capfile.h"

struct bpf;

/* NULL and a sentence when the expression is wrong (checked on Ethernet). */
struct bpf *bpf_new(const char *expression, struct errmsg *);
void bpf_free(struct bpf *);
/* Whether the packet passes.  An expression that does not exist for the
 * packet's link type (such as "vlan" on raw IP) lets nothing of it pass. */
bool bpf_match(struct bpf *, const struct packet *);

#endif
