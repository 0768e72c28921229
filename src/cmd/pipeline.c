#include "mcpdiag/pipeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/decode.h"
#include "mcpdiag/engine.h"
#include "mcpdiag/evqueue.h"
#include "mcpdiag/flow.h"
#include "mcpdiag/model.h"
#include "mcpdiag/observe.h"
#include "mcpdiag/xmem.h"

#define TICK (10 * NS_MS)
#define LOOK_EVERY (4U << 20)	/* bytes of work, at memory use */
#define PACKET_WORK 1024	/* what a packet costs at least, in bytes */
#define MAX_LINKTYPES 8

#define ULL(v) ((unsigned long long)(v))

struct pipeline {
	struct pipeline_opts opts;
	struct decode *decode;
	struct flows *flows;
	struct observe *observe;
	struct model *model;
	struct evqueue *queue;		/* empty between our functions */
	struct engine *engine;
	struct timeline *timeline;
	struct model_total total;
	struct at now;			/* the last packet */
	ns_t next_tick;
	uint64_t kept_out;		/* by the filter */
	uint64_t work, next_look;	/* at memory use */
	bool shed;
	struct {
		uint32_t linktype;
		uint64_t n;
	} unknown[MAX_LINKTYPES];	/* packets we cannot read */
	bool events;			/* fed with events */
	struct ev end;			/* their EV_END, held back */
};

static void
from_engine(void *arg, const struct ev *e)
{
	struct pipeline *p = arg;

	timeline_event(p->timeline, e);
	if (p->opts.tap)
		p->opts.tap(p->opts.arg, e);
}

static void
from_model(void *arg, const struct ev *e)
{
	evqueue_put(arg, e);
}

static void
from_queue(void *arg, const struct ev *e)
{
	engine_event(arg, e);
}

static void *
on_open(void *arg, const struct flow_conn *c, struct at at)
{
	struct pipeline *p = arg;
	char a0[64], a1[64];

	(void)addr_print(&c->addr[0], a0);
	(void)addr_print(&c->addr[1], a1);
	return observe_open(p->observe, a0, a1, c->start == FLOW_SYN, at);
}

static bool
on_data(void *conn, int dir, const uint8_t *bytes, size_t n, struct at at)
{
	return observe_data(conn, dir, bytes, n, at);
}

static void
on_gap(void *conn, int dir, uint64_t n, struct at at)
{
	observe_gap(conn, dir, n, at);
}

static void
on_close(void *conn, int dir, enum flow_close how, int by, struct at at)
{
	static const char *const names[] = {
		[FLOW_FIN] = "fin", [FLOW_RST] = "rst", [FLOW_EOF] = "eof",
		[FLOW_EVICTED] = "evicted", [FLOW_REUSED] = "reused",
	};

	observe_close(conn, dir, names[how], by, at);
}

static void
on_stall(void *conn, int dir, uint64_t bytes, bool zero_window, struct at since,
    struct at now)
{
	observe_stall(conn, dir, bytes, zero_window, since, now);
}

static void
on_odd(void *conn, int dir, enum flow_odd odd, struct at at)
{
	static const struct {
		const char *name, *text;
	} odds[] = {
		[FLOW_OVERLAP_CONFLICT] = { "overlap-conflict",
		    "retransmitted bytes differ from those sent first" },
		[FLOW_OOO_LIMIT] = { "ooo-limit",
		    "out-of-order bytes given up at --limit ooo=" },
		[FLOW_DATA_AFTER_FIN] = { "data-after-fin",
		    "payload after the sender's own FIN" },
	};

	observe_odd(conn, dir, odds[odd].name, odds[odd].text, at);
}

static void
on_end(void *conn, struct at at)
{
	observe_end(conn, at);
}

static void
on_expect(const void *conn, int stage)
{
	observe_expect(conn, stage);
}

struct pipeline *
pipeline_new(const struct pipeline_opts *opts)
{
	static const struct flow_ops ops = { on_open, on_data, on_gap, on_close,
	    on_stall, on_odd, on_end, on_expect };
	struct pipeline *p = xcalloc(1, sizeof *p);

	p->opts = *opts;
	p->timeline = timeline_new(&opts->limits);
	p->engine = engine_new(&opts->limits, rules_table, from_engine, p);
	p->queue = evqueue_new(from_queue, p->engine);
	/* A text comes just before its event: then no event may wait. */
	if (opts->text) {
		p->model = model_new(&opts->limits, opts->show_secrets, from_queue, p->engine);
		model_texts(p->model, opts->text, opts->arg);
		model_long_requests(p->model, opts->request_text);
	} else
		p->model = model_new(&opts->limits, opts->show_secrets, from_model, p->queue);
	p->observe = observe_new(&opts->limits, p->model);
	p->flows = flows_new(&opts->limits, &ops, p);
	p->decode = decode_new(&opts->limits);
	p->next_look = LOOK_EVERY;
	return p;
}

void
pipeline_free(struct pipeline *p)
{
	if (p == NULL)
		return;
	flows_free(p->flows);
	decode_free(p->decode);
	observe_free(p->observe);
	model_free(p->model);
	evqueue_free(p->queue);
	engine_free(p->engine);
	timeline_free(p->timeline);
	free(p);
}

static void
unknown_linktype(struct pipeline *p, uint32_t linktype)
{
	unsigned i;

	for (i = 0; i < MAX_LINKTYPES - 1; i++)
		if (p->unknown[i].n == 0 || p->unknown[i].linktype == linktype)
			break;
	p->unknown[i].linktype = linktype;
	p->unknown[i].n++;
}

/* Tells the flows the time every 10 ms of it.  It goes back where several
 * interfaces or a reordered file make it; then the steps start anew. */
static void
tick(struct pipeline *p, ns_t now)
{
	if (now < p->next_tick && now > p->next_tick - NS_S)
		return;
	flows_tick(p->flows, now);
	p->next_tick = now + TICK;
}

void
pipeline_tick(struct pipeline *p, ns_t now)
{
	if (p->total.packets == 0 || now <= p->now.t)
		return;
	tick(p, now);
	evqueue_flush(p->queue);
	engine_tick(p->engine, now);
}

/* False when there is no segment in it to go on with. */
static bool
decode(struct pipeline *p, const struct packet *pk, struct seg *seg)
{
	if (p->total.packets++ == 0)
		p->total.first = p->total.last = pk->t;
	if (pk->t > p->total.last)
		p->total.last = pk->t;
	p->total.truncated += pk->len < pk->wire_len;
	p->now = (struct at){ pk->t, pk->pkt };
	switch (decode_packet(p->decode, pk, seg)) {
	case DECODE_TCP:
		return true;
	case DECODE_LINKTYPE:
		unknown_linktype(p, pk->linktype);
		break;
	case DECODE_OTHER: case DECODE_FRAGMENT: case DECODE_BAD:
		break;
	}
	return false;
}

/* The other limits bound each part; this one bounds their sum.  What has been
 * idle longest goes, by halves, until it fits.  A few bytes may unpack to many:
 * so it is looked at after as much work, not after as many packets. */
static void
mind_memory(struct pipeline *p)
{
	size_t max = (size_t)p->opts.limits.memory, used;
	uint64_t work = p->work + observe_stats(p->observe)->work;

	if (work < p->next_look)
		return;
	p->next_look = work + LOOK_EVERY;
	if (xmem_peak() <= max)
		return;
	for (int i = 0; i < 8 && (used = xmem_used()) > max; i++) {
		flows_shed(p->flows, p->now);
		model_shed(p->model);
		evqueue_flush(p->queue);
		engine_shed(p->engine);
		if (!p->shed)
			pipeline_note(p, "limit", "memory use reached --limit memory=; "
			    "the longest idle connections and sessions are forgotten");
		p->shed = true;
		if (xmem_used() + (used >> 6) > used)
			break;			/* it is not held there */
	}
}

static void
flush(struct pipeline *p, struct seg *segs, unsigned n)
{
	if (n > 1)
		flows_expect(p->flows, segs, n);
	for (unsigned i = 0; i < n; i++) {
		tick(p, segs[i].at.t);
		flows_seg(p->flows, &segs[i]);
		p->work += PACKET_WORK + segs[i].len;
		mind_memory(p);
	}
}

unsigned
pipeline_packets(struct pipeline *p, const struct packet *pk, unsigned n)
{
	struct seg segs[FLOWS_EXPECT];
	unsigned n_segs = 0, passed = 0;

	for (unsigned i = 0; i < n; i++) {
		struct seg *seg = &segs[n_segs];

		if (p->opts.filter && !bpf_match(p->opts.filter, &pk[i])) {
			p->kept_out++;
			continue;
		}
		passed++;
		if (!decode(p, &pk[i], seg))
			continue;
		n_segs++;
		/* A datagram made of fragments is lent for a moment only. */
		if (n_segs == FLOWS_EXPECT || (seg->len &&
		    (seg->data < pk[i].data || seg->data > pk[i].data + pk[i].len))) {
			flush(p, segs, n_segs);
			n_segs = 0;
		}
	}
	flush(p, segs, n_segs);
	evqueue_flush(p->queue);
	return passed;
}

/* Totals of an event file that was cut before its end. */
static void
guess_totals(struct pipeline *p, const struct ev *e)
{
	p->total.tcp_connections += e->type == EV_CONN;
	if (e->pkt == 0)
		return;
	if (p->total.packets == 0 || e->t < p->total.first)
		p->total.first = e->t;
	if (p->total.packets == 0 || e->t > p->total.last) {
		p->total.last = e->t;
		p->now = (struct at){ e->t, e->pkt };
	}
	if (e->pkt > p->total.packets)
		p->total.packets = e->pkt;
}

void
pipeline_event(struct pipeline *p, const struct ev *e)
{
	p->events = true;
	guess_totals(p, e);
	/* What the reader has to say still comes before the end. */
	if (e->type == EV_END) {
		p->end = *e;
		return;
	}
	engine_event(p->engine, e);
	p->work += PACKET_WORK;
	mind_memory(p);
}

void
pipeline_note(struct pipeline *p, const char *name, const char *text)
{
	model_note(p->model, name, text, (struct at){ p->now.t, 0 });
	evqueue_flush(p->queue);
}

/* Names of the link types, as a list. */
static void
print_linktypes(const struct source_file *f, struct buf *out)
{
	for (uint32_t i = 0; i < f->n_linktypes; i++) {
		const char *name = decode_linktype_name(f->linktypes[i]);

		(void)buf_fmt(out, "%s", i ? ", " : "");
		if (name)
			(void)buf_adds(out, str_c(name));
		else
			(void)buf_fmt(out, "LINKTYPE_%u", f->linktypes[i]);
	}
}

void
pipeline_file(struct pipeline *p, const struct source_file *f)
{
	struct ev e = { .type = EV_FILE };
	struct buf b;

	/* Nothing came after the last packet for so long. */
	if (p->total.packets && f->stats.end > p->total.last) {
		pipeline_tick(p, f->stats.end);
		p->now.t = p->total.last = f->stats.end;
	}
	e.t = p->now.t;
	buf_init(&b, 4096);
	print_linktypes(f, &b);
	e.u.file.name = str_c(f->path);
	e.u.file.format = str_c(f->format);
	e.u.file.packing = str_c(f->packing);
	e.u.file.linktypes = buf_str(&b);
	e.u.file.error = str_c(f->error);
	e.u.file.packets = f->stats.packets;
	e.u.file.dropped = f->stats.dropped;
	e.u.file.truncated = f->stats.truncated;
	p->total.dropped += f->stats.dropped;
	engine_event(p->engine, &e);
	if (f->stats.cut && f->error == NULL) {
		buf_clear(&b);
		(void)buf_adds(&b, str_c(f->path));
		(void)buf_adds(&b, STR(" ends inside a record: it was copied "
		    "while it grew, or cut"));
		(void)buf_addc(&b, '\0');
		pipeline_note(p, "cut-file", b.p ? b.p : "");
	}
	buf_fini(&b);
}

static void
forgotten(struct pipeline *p, uint64_t n, const char *limit)
{
	char text[160];

	if (n == 0)
		return;
	(void)snprintf(text, sizeof text, "%llu open TCP connection%s forgotten "
	    "at --limit %s=", ULL(n), n == 1 ? " was" : "s were", limit);
	pipeline_note(p, "limit", text);
}

static void
decode_notes(struct pipeline *p)
{
	const struct decode_stats *d = decode_stats(p->decode);
	char text[160];

	if (p->kept_out) {
		(void)snprintf(text, sizeof text, "the filter let %llu of %llu "
		    "packets pass", ULL(p->total.packets),
		    ULL(p->total.packets + p->kept_out));
		pipeline_note(p, "filter", text);
	}
	for (unsigned i = 0; i < MAX_LINKTYPES && p->unknown[i].n; i++) {
		(void)snprintf(text, sizeof text, "%llu packet%s of link type %u, "
		    "which is not read", ULL(p->unknown[i].n),
		    p->unknown[i].n == 1 ? " is" : "s are", p->unknown[i].linktype);
		pipeline_note(p, "linktype", text);
	}
	if (d->bad) {
		(void)snprintf(text, sizeof text, "%llu packet%s headers that are "
		    "cut or contradict themselves", ULL(d->bad),
		    d->bad == 1 ? " has" : "s have");
		pipeline_note(p, "undecodable", text);
	}
	if (d->fragments_dropped) {
		(void)snprintf(text, sizeof text, "%llu IP fragment%s never "
		    "completed", ULL(d->fragments_dropped),
		    d->fragments_dropped == 1 ? " was" : "s were");
		pipeline_note(p, "fragments", text);
	}
	if (d->fragments_full) {
		(void)snprintf(text, sizeof text, "%llu IP fragment%s given up at "
		    "--limit fragments=", ULL(d->fragments_full),
		    d->fragments_full == 1 ? " was" : "s were");
		pipeline_note(p, "fragments", text);
	}
	forgotten(p, flows_stats(p->flows)->evicted, "flows");
	forgotten(p, flows_stats(p->flows)->shed, "memory");
}

void
pipeline_end(struct pipeline *p)
{
	const struct observe_stats *seen = observe_stats(p->observe);
	const struct flow_stats *flows = flows_stats(p->flows);

	if (p->events && p->end.type == EV_END) {
		engine_event(p->engine, &p->end);
		return;
	}
	if (!p->events) {
		flows_eof(p->flows, p->now);
		decode_notes(p);
		p->total.tcp_connections = flows->connections;
		p->total.gaps = flows->gaps;
		p->total.gap_bytes = flows->gap_bytes;
		p->total.encrypted = seen->encrypted;
		p->total.http2 = seen->http2;
		p->total.other = seen->other;
	}
	model_end(p->model, &p->total, p->now);
	evqueue_flush(p->queue);
}

ns_t
pipeline_first(const struct pipeline *p)
{
	return p->total.first;
}

struct timeline *
pipeline_timeline(const struct pipeline *p)
{
	return p->timeline;
}
