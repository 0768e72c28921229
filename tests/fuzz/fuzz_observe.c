/* Connections, bytes, gaps and closes under a script, through observe, model,
 * rules, timeline and sinks.  The first byte chooses limits and the pieces of
 * the second run; then each operation is a byte (bits 0-2: what, bits 3-7:
 * which connection) with its operands:
 *	0 stall	n, bit 7: zero window
 *	1 bytes of the client, 2 of the server: two bytes of length, the bytes
 *	3 canned bytes: number, bit 7: of the server
 *	4 gap: n, bit 7: of the server
 *	5 close: bits 0-2: how, bit 3: of the server
 *	6 time: n << (the bits of the connection) ms go by
 *	7 open: bit 0: in mid-stream, bits 1-2: client, 3-4: server; bit 7: end
 * test_conv --script makes one of a conversation.  What must hold of every
 * sequence of events is in ev_check.h; and when nothing is lost and nothing is
 * garbage, the pieces must not matter.  Nor must it, ever, whether somebody
 * wants the texts. */
#include <stdint.h>
#include <stdlib.h>

#include "../unit/ev_check.h"
#include "mcpdiag/engine.h"
#include "mcpdiag/map.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/observe.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define SLOTS 32
#define EPOCH (1700000000 * NS_S)

#define HEAD(first) first "\r\nHost: h\r\nMcp-Session-Id: S\r\n"
#define SSE_HEAD "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n"
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

static const char *const canned[] = {
	HEAD("GET /mcp HTTP/1.1") "\r\n",
	HEAD("GET /mcp HTTP/1.1") "Last-Event-ID: 0\r\n\r\n",
	HEAD("GET /mcp HTTP/1.1") "Last-Event-ID: 0/0\r\n\r\n",
	HEAD("DELETE /mcp HTTP/1.1") "\r\n",
	HEAD("POST /mcp HTTP/1.1") "Content-Length: 46\r\n\r\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
	"POST /mcp HTTP/1.1\r\nContent-Length: 152\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,"
	    "\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
	    "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}} ",
	"HTTP/1.1 202 X\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 409 X\r\nContent-Length: 0\r\n\r\n",
	SSE_HEAD "Transfer-Encoding: chunked\r\n\r\n",
	SSE_HEAD "Mcp-Session-Id: S\r\nTransfer-Encoding: chunked\r\n\r\n",
	SSE_HEAD "\r\n",
	"0\r\n\r\n",
	"3\r\n:\n\n\r\n",
	"1a\r\ndata: \nid: 0\nretry: 3000\n\n\r\n",
	"4a\r\ndata: " NOTE "\nid: 0\n\n\r\n",
	"4a\r\ndata: " NOTE "\nid: 1\n\n\r\n",
	"45\r\ndata: " NOTE "\n\n\r\n",
	"30\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}    \n\n\r\n",
	"30\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nid:2\n\n\r\n",
	"HTTP/1.1 200 X\r\nContent-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
};

struct world {
	struct timeline *timeline;
	struct engine *engine;
	struct model *model;
	struct observe *observe;
	struct ndjson *ndjson;
	struct out out;
	struct ev_check check;
	struct model_total total;
	struct at now;
	struct {
		struct oconn *c;
		bool deaf, closed[2];
	} slot[SLOTS];
	size_t piece;
	bool smooth;
	bool text;		/* one waits for its event */
	uint64_t text_digest;
};

static void
from_engine(void *arg, const struct ev *e)
{
	struct world *w = arg;

	ev_check(&w->check, e);
	w->text = false;
	timeline_event(w->timeline, e);
	ndjson_event(w->ndjson, e);
	if (e->type == EV_ANOMALY || e->type == EV_NOTE || (e->type != EV_FINDING &&
	    e->type != EV_SESSION && (e->flags & (EVF_GAP |
	    EVF_HEAD_LOST | EVF_MIDSTREAM | EVF_INFERRED | EVF_UNDECODED))) ||
	    (e->type == EV_END && e->u.total.unread))	/* they may hide the same */
		w->smooth = false;
}

static void
on_text(void *arg, struct str text, uint64_t bytes, bool cut)
{
	struct world *w = arg;

	(void)bytes;
	if (w->text || text.n > 64 << 10 || (cut && text.n == 0))
		abort();
	w->text = true;
	w->text_digest ^= map_digest(text.p, text.n);	/* all of it is there */
}

static void
from_model(void *arg, const struct ev *e)
{
	engine_event(arg, e);
}

/* ---- the operations ---- */

static void
op_open(struct world *w, unsigned i, unsigned how)
{
	char a0[32], a1[32];

	if (w->slot[i].c)
		return;
	(void)snprintf(a0, sizeof a0, "10.0.0.%u:%u", 1 + (how >> 1 & 3), 5000 + i);
	(void)snprintf(a1, sizeof a1, "10.0.1.%u:80", 1 + (how >> 3 & 3));
	w->slot[i].c = observe_open(w->observe, a0, a1, !(how & 1), w->now);
	w->slot[i].deaf = w->slot[i].closed[0] = w->slot[i].closed[1] = false;
	w->total.tcp_connections++;
	if (how & 1)
		w->smooth = false;
}

static void
op_end(struct world *w, unsigned i)
{
	if (w->slot[i].c)
		observe_end(w->slot[i].c, w->now);
	w->slot[i].c = NULL;
}

/* Copies of their own size, so that a read past the piece is seen. */
static void
op_data(struct world *w, unsigned i, int dir, const void *p, size_t n)
{
	op_open(w, i, 0);
	for (size_t at = 0; at < n && !w->slot[i].deaf && !w->slot[i].closed[dir];) {
		size_t len = n - at < w->piece ? n - at : w->piece;
		uint8_t *copy = xmalloc(len);

		memcpy(copy, (const uint8_t *)p + at, len);
		w->slot[i].deaf = !observe_data(w->slot[i].c, dir, copy, len, w->now);
		free(copy);
		at += len;
	}
}

static void
op_close(struct world *w, unsigned i, unsigned how, int dir)
{
	static const char *const names[] = { "fin", "rst", "eof", "evicted", "reused", "fin",
	    "fin", "rst" };
	const char *name = names[how & 7];
	int by = name[0] == 'f' || name[0] == 'r' ? dir : -1;

	if (w->slot[i].c == NULL || w->slot[i].closed[dir])
		return;
	w->slot[i].closed[dir] = true;
	observe_close(w->slot[i].c, dir, name, by, w->now);
	if (strcmp(name, "fin") != 0 && !w->slot[i].closed[!dir]) {
		w->slot[i].closed[!dir] = true;
		observe_close(w->slot[i].c, !dir, name, by, w->now);
	}
	if (w->slot[i].closed[!dir])
		op_end(w, i);
}

static void
op_gap(struct world *w, unsigned i, int dir, uint64_t n)
{
	op_open(w, i, 0);
	w->smooth = false;
	if (!w->slot[i].deaf && !w->slot[i].closed[dir])
		observe_gap(w->slot[i].c, dir, n, w->now);
}

struct script {
	const uint8_t *p, *end;
};

static unsigned
next(struct script *s)
{
	return s->p < s->end ? *s->p++ : 0;
}

static void
operation(struct world *w, struct script *s)
{
	unsigned op = next(s), i = op >> 3, n = next(s);
	size_t len;

	w->now.pkt++;
	w->now.t += NS_MS;
	switch (op & 7) {
	case 0:
		if (w->slot[i].c)
			observe_stall(w->slot[i].c, 1, n & 127, n >> 7,
			    (struct at){ w->now.t - 10 * NS_S, 1 }, w->now);
		break;
	case 1: case 2:
		len = (size_t)n << 8 | next(s);
		len = len < (size_t)(s->end - s->p) ? len : (size_t)(s->end - s->p);
		op_data(w, i, (op & 7) == 2, s->p, len);
		s->p += len;
		break;
	case 3:
		if ((n & 127) < sizeof canned / sizeof canned[0])
			op_data(w, i, n >> 7, canned[n & 127], strlen(canned[n & 127]));
		break;
	case 4:
		op_gap(w, i, n >> 7, (n & 127) < 100 ? (n & 127) + 1 :
		    1ULL << ((n & 127) - 90));
		break;
	case 5:
		op_close(w, i, n & 7, n >> 3 & 1);
		break;
	case 6:
		w->now.t += (ns_t)n * NS_MS << (i < 20 ? i : 20);
		break;
	case 7:
		if (n >> 7)
			op_end(w, i);
		else
			op_open(w, i, n);
		break;
	}
}

/* ---- one run ---- */

static void
world_end(struct world *w)
{
	struct text_opts opts = { .all = true, .width = 80 };
	struct verdict *v;
	struct out text;

	for (unsigned i = 0; i < SLOTS; i++) {
		op_close(w, i, 2, 0);
		op_close(w, i, 2, 1);
		op_end(w, i);
	}
	w->total.packets = w->now.pkt;
	w->total.first = EPOCH;
	w->total.last = w->now.t;
	w->total.encrypted = observe_stats(w->observe)->encrypted;
	w->total.http2 = observe_stats(w->observe)->http2;
	w->total.other = observe_stats(w->observe)->other;
	model_end(w->model, &w->total, w->now);
	if (w->total.encrypted + w->total.http2 + w->total.other)
		w->smooth = false;
	v = verdict_new(w->timeline);
	sink_json(&w->out, w->timeline, v, "0");
	out_init(&text, -1);
	sink_text(&text, w->timeline, v, &opts);
	out_fini(&text);
	verdict_free(v);
	observe_free(w->observe);
	model_free(w->model);
	engine_free(w->engine);
	timeline_free(w->timeline);
	ndjson_free(w->ndjson);
	ev_check_fini(&w->check);
}

/* Digest of all output; whether pieces must not matter. */
static uint64_t
run(const uint8_t *p, size_t n, size_t piece, bool texts, bool *smooth)
{
	struct script s = { p + 1, p + n };
	struct world w = { .piece = piece, .smooth = true, .now = { EPOCH, 0 } };
	struct limits lim;
	uint64_t digest;

	limits_init(&lim);
	if (p[0] & 1)
		limits_shrink(&lim, 64);
	if (p[0] & 2)
		limits_shrink(&lim, 1 << 20);
	out_init(&w.out, -1);
	w.ndjson = ndjson_new(&w.out);
	w.timeline = timeline_new(&lim);
	w.engine = engine_new(&lim, rules_table, from_engine, &w);
	w.model = model_new(&lim, p[0] & 4, from_model, w.engine);
	if (texts)
		model_texts(w.model, on_text, &w);
	w.observe = observe_new(&lim, w.model);
	while (s.p < s.end)
		operation(&w, &s);
	world_end(&w);
	digest = map_digest(w.out.p, w.out.n);
	out_fini(&w.out);
	*smooth = w.smooth;
	return digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint64_t whole, cut;
	bool smooth, too;

	if (n == 0)
		return 0;
	whole = run(p, n, SIZE_MAX, false, &smooth);
	if (run(p, n, SIZE_MAX, true, &too) != whole)
		abort();
	if (!smooth)
		return 0;
	cut = run(p, n, 1 + p[0] / 8 % 8, true, &too);
	if (too && cut != whole)
		abort();
	return 0;
}
