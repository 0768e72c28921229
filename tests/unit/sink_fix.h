/* sink_fix: one session with hostile names and a finding about it, for the tests
 * of the sinks that are read by other programs. */
#ifndef SINK_FIX_H
#define SINK_FIX_H

#include <stdlib.h>

#include "mcpdiag/sink.h"
#include "util.h"

#define SINK_T0 (1700000000 * NS_S)
/* Markup of XML and of markdown, controls, bad UTF-8, U+FFFE and a BOM. */
#define HOSTILE "</b>&\"'`*_[x](http://e) |#1 @you GH-7 www.e\x1b[31m\x01\n\xff\xef\xbf\xbe\xef\xbb\xbf"

struct sink_fix {
	struct timeline *tl;
	struct verdict *v;
	struct out o;
	struct finding f[2];
};

/* n_findings: 0, 1 (an error) or 2 (and an info of another detector). */
static inline void
sink_fix_init(struct sink_fix *x, unsigned n_findings, uint64_t dropped)
{
	struct ev e = { .type = EV_SESSION, .t = SINK_T0, .pkt = 1, .session = 1 };
	struct limits lim;

	limits_init(&lim);
	x->tl = timeline_new(&lim);
	e.u.session.key = STR("#12" HOSTILE);
	e.u.session.client = STR("cli" HOSTILE "/1");
	e.u.session.server = STR("srv" HOSTILE "/2");
	e.u.session.revision = STR("2025-06-18");
	e.u.session.transport = EV_STREAMABLE;
	timeline_event(x->tl, &e);
	e = (struct ev){ .type = EV_CONN, .t = SINK_T0, .pkt = 1, .conn = 1 };
	timeline_event(x->tl, &e);
	x->f[0] = (struct finding){ .n = 1, .detector = "leapfrog", .severity = SEV_ERROR,
	    .confidence = CONF_HIGH, .session = 1, .first = { SINK_T0 + NS_S, 5 },
	    .last = { SINK_T0 + 2 * NS_S, 9 }, .count = 4, .title = STR("T " HOSTILE),
	    .why = STR("W " HOSTILE), .fix = STR("F " HOSTILE), .n_evidence = 1 };
	x->f[0].evidence[0] = (struct evidence){ { SINK_T0 + NS_S, 5 }, STR("E " HOSTILE) };
	x->f[1] = (struct finding){ .n = 2, .detector = "replay-loop", .variant = "inclusive",
	    .session = 1, .first = { SINK_T0 + NS_S, 6 }, .last = { SINK_T0 + NS_S, 6 },
	    .count = 1, .title = STR("second"), .why = STR("w"), .fix = STR("f"),
	    .consequence_of = 1 };
	for (unsigned i = 0; i < n_findings; i++) {
		e = (struct ev){ .type = EV_FINDING, .flags = EVF_FINAL };
		e.u.finding = &x->f[i];
		timeline_event(x->tl, &e);
	}
	e = (struct ev){ .type = EV_END, .t = SINK_T0 + 3 * NS_S, .pkt = 20 };
	e.u.total.first = SINK_T0;
	e.u.total.last = SINK_T0 + 3 * NS_S;
	e.u.total.packets = 20;
	e.u.total.tcp_connections = 1;
	e.u.total.dropped = dropped;
	timeline_event(x->tl, &e);
	x->v = verdict_new(x->tl);
	out_init(&x->o, -1);
}

static inline void
sink_fix_fini(struct sink_fix *x)
{
	out_fini(&x->o);
	verdict_free(x->v);
	timeline_free(x->tl);
}

static inline bool
sink_has(const struct sink_fix *x, const char *part)
{
	return str_find(str_of(x->o.p, x->o.n), str_c(part)) != SIZE_MAX;
}

static inline unsigned
sink_times(const struct sink_fix *x, const char *part)
{
	struct str rest = str_of(x->o.p, x->o.n);
	unsigned n = 0;
	size_t i;

	for (; (i = str_find(rest, str_c(part))) != SIZE_MAX; n++)
		rest = str_of(rest.p + i + 1, rest.n - i - 1);
	return n;
}

/* Nothing but line ends below the space. */
static inline void
sink_clean(const struct sink_fix *x)
{
	for (size_t i = 0; i < x->o.n; i++)
		if ((unsigned char)x->o.p[i] < ' ' && x->o.p[i] != '\n')
			fail_msg("byte %d at %zu", x->o.p[i], i);
	assert_false(sink_has(x, "\xff"));
	assert_false(sink_has(x, "\xef\xbb\xbf"));
}

#endif
