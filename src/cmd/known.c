#include "known.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "complain.h"
#include "mcpdiag/xmem.h"
#include "output.h"
#include "value.h"

#define MAX_NAMED 20		/* stale entries */

int
known_read(struct known *k)
{
	struct errmsg em;
	struct buf text;
	int rc;

	if (k->path == NULL)
		return 0;
	k->baseline = baseline_new();
	buf_init(&text, BASELINE_MAX_BYTES);
	rc = value_file("--baseline", k->path, &text);
	if (rc == 0 && baseline_parse(k->baseline, buf_str(&text), &em) != 0) {
		complain("mcpdiag: --baseline %s: %s", k->path, em.text);
		rc = STATUS_INPUT;
	}
	buf_fini(&text);
	return rc;
}

void
known_fini(struct known *k)
{
	baseline_free(k->baseline);
	k->baseline = NULL;
}

bool
known_has(const struct known *k, const struct timeline *tl, const struct finding *f)
{
	return k->baseline && baseline_known(k->baseline, tl, f, false);
}

struct hiding {
	struct known *k;
	struct timeline *tl;
};

static bool
is_known(void *arg, const struct finding *f)
{
	struct hiding *h = arg;

	return baseline_known(h->k->baseline, h->tl, f, true);
}

uint32_t
known_hide(struct known *k, struct timeline *tl)
{
	struct hiding h = { k, tl };

	return k->baseline ? timeline_hide(tl, is_known, &h) : 0;
}

/* Whether --only and --ignore would let through what an entry is about. */
static bool
passes(const struct gate *g, const char *entry)
{
	size_t n = strcspn(entry, "/");
	char *detector = xmemdup0(entry, n);
	struct finding f = { .detector = detector,
		.variant = entry[n] ? entry + n + 1 : NULL };
	bool yes = gate_passes(g, &f);

	free(detector);
	return yes;
}

static void
stale(const struct known *k, const struct baseline_entry *e, struct verdict *v, bool tell)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "%s, line %u is stale: \"%s %s %s\" was not found; "
	    "take it out", k->path, e->line, e->detector, e->server, e->client);
	verdict_fail(v, "baseline", text);
	if (tell)
		complain("mcpdiag: %s", text);
}

uint32_t
known_say(const struct known *k, const struct gate *g, uint32_t hidden, struct verdict *v,
    bool tell)
{
	const struct baseline_entry *e;
	uint32_t n = 0;
	char text[512];

	if (k->baseline == NULL)
		return 0;
	if (hidden) {
		(void)snprintf(text, sizeof text, "%u known finding%s of the baseline %s %s "
		    "not shown", hidden, hidden == 1 ? "" : "s", k->path,
		    hidden == 1 ? "is" : "are");
		verdict_note(v, "baseline", text);
	}
	for (uint32_t i = 0; !v->hidden && (e = baseline_entry(k->baseline, i)) != NULL; i++) {
		if (e->found || !passes(g, e->detector))
			continue;
		if (n++ < MAX_NAMED)
			stale(k, e, v, tell);
	}
	return n;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
print_lines(struct out *o, const struct timeline *tl)
{
	const struct finding *f;
	char **lines = NULL;
	uint32_t n = 0, cap = 0;
	struct buf b;

	buf_init(&b, 65536);
	for (uint32_t i = 0; (f = timeline_finding(tl, i)) != NULL; i++) {
		buf_clear(&b);
		baseline_line(tl, f, &b);
		lines = xgrow(lines, n, &cap, sizeof *lines);
		lines[n++] = xmemdup0(b.p, b.n);
	}
	buf_fini(&b);
	if (n)
		qsort(lines, n, sizeof *lines, by_text);
	out_c(o, "# Known findings, for mcpdiag analyze --baseline.\n"
	    "# DETECTOR[/VARIANT] SERVER CLIENT; * is any name.\n");
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || strcmp(lines[i - 1], lines[i]) != 0) {
			out_c(o, lines[i]);
			out_eol(o);
		}
	for (uint32_t i = 0; i < n; i++)
		free(lines[i]);
	free(lines);
}

int
known_write(const struct known *k, const struct timeline *tl, const char *const *inputs,
    unsigned n_inputs)
{
	struct output o = { .fd = -1 };
	struct errmsg em;
	int rc;

	if (k->write == NULL)
		return 0;
	rc = output_open(&o, k->write, inputs, n_inputs, &em);
	if (rc == 0) {
		print_lines(&o.out, tl);
		rc = output_done(&o, &em);
	}
	output_fini(&o);
	if (rc >= 0)
		return rc > 0 ? STATUS_PIPE : 0;
	complain("mcpdiag: --write-baseline %s", em.text);
	return rc == -E_USAGE ? STATUS_USAGE : STATUS_ENVIRONMENT;
}
