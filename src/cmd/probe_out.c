#include "probe_out.h"

#include <stdio.h>

#include "mcpdiag/esc.h"
#include "mcpdiag/matrix.h"

#define LEFT 28			/* columns before the text */
#define SHOWN 3			/* names in one line of text */

static const char *const words[] = {
	[PROBE_OK] = "ok", [PROBE_WARNING] = "warning", [PROBE_FAULT] = "fault",
	[PROBE_UNKNOWN] = "unknown",
};

static struct probe_result
judged(const struct probe *p, enum probe_id id)
{
	return probe_judge(id, probe_seen(p, id));
}

static bool
chosen(const struct probe *p, enum probe_id id)
{
	return probe_seen(p, id)->why != PROBE_NOT_CHOSEN;
}

/* What the rules say to the listeners' session, from *i on; NULL: no more. */
static const struct finding *
next_finding(const struct probe_report *r, uint32_t *i)
{
	const struct finding *f;

	while (r->crowded && (f = timeline_finding(r->timeline, (*i)++)) != NULL) {
		const struct tl_session *s = timeline_session_n(r->timeline, f->session);

		/* Several listeners that each give up look like one that does
		 * not; who they are is known here. */
		if (strcmp(f->detector, "refused-get-loop") == 0 && r->crowd.looping == 0)
			continue;
		/* Those of the scenarios are strange on purpose. */
		if (f->severity >= SEV_WARNING && !f->remark && s && s->client &&
		    strncmp(s->client, "mcpdiag-probe", 13) != 0)
			return f;
	}
	return NULL;
}

unsigned
probe_out_count(const struct probe_report *r, enum probe_verdict v)
{
	const struct finding *f;
	unsigned n = 0;
	uint32_t i = 0;

	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		n += chosen(r->probe, id) && judged(r->probe, id).verdict == v;
	n += r->crowded && crowd_judge(&r->crowd).verdict == v;
	while ((f = next_finding(r, &i)) != NULL)
		n += v == (f->severity == SEV_ERROR ? PROBE_FAULT : PROBE_WARNING);
	return n;
}

/* Scenarios in which a known server does the same, and in which that is known;
 * 0 when it does something else anywhere. */
static unsigned
agrees(const struct probe *p, unsigned k)
{
	unsigned n = 0;

	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++) {
		struct probe_result r = judged(p, id);

		if (probe_contradicts(k, id, &r))
			return 0;
		n += probe_equals(k, id, &r);
	}
	return n;
}

/* Two may agree by chance. */
#define AGREE 3U

/* The known servers it may be, best first: their numbers; how many. */
static unsigned
candidates(const struct probe *p, unsigned *ks, unsigned *ns, unsigned max)
{
	unsigned n = 0;

	for (unsigned k = 0; probe_known(k) && n < max; k++) {
		unsigned a = agrees(p, k), i = n;

		if (a < AGREE)
			continue;
		for (; i > 0 && ns[i - 1] < a; i--) {
			ks[i] = ks[i - 1];
			ns[i] = ns[i - 1];
		}
		ks[i] = k;
		ns[i] = a;
		n++;
	}
	return n;
}

/* ---- text ---- */

/* Goes on at column `at` of the text. */
static unsigned
wrap_on(struct out *o, const char *s, unsigned at, unsigned width)
{
	while (*s) {
		unsigned n = (unsigned)strcspn(s, " ");

		if (at > LEFT && at + 1 + n > width) {
			out_fmt(o, "\n%*s", LEFT, "");
			at = LEFT;
		} else if (at > LEFT) {
			out_c(o, " ");
			at++;
		}
		out_add(o, s, n);
		at += n;
		s += n;
		s += strspn(s, " ");
	}
	return at;
}

static void
wrap(struct out *o, const char *s, unsigned width)
{
	(void)wrap_on(o, s, LEFT, width);
	out_c(o, "\n");
}

static const char *
color_of(enum probe_verdict v)
{
	switch (v) {
	case PROBE_OK:
		return "\033[32m";
	case PROBE_WARNING:
		return "\033[33m";
	case PROBE_FAULT:
		return "\033[31m";
	case PROBE_UNKNOWN:
		break;
	}
	return "\033[2m";
}

static void
put_equals(struct out *o, enum probe_id id, const struct probe_result *r, unsigned width)
{
	unsigned n = 0, more = 0;
	struct buf b;

	buf_init(&b, 1024);
	for (unsigned k = 0; probe_known(k); k++) {
		if (!probe_equals(k, id, r))
			continue;
		if (n++ < SHOWN)
			(void)buf_fmt(&b, "%s%s", n == 1 ? "= " : "; ", probe_known(k));
		else
			more++;
	}
	if (more > 0)
		(void)buf_fmt(&b, "; %u more", more);
	(void)buf_addc(&b, '\0');
	if (n > 0) {
		out_fmt(o, "%*s", LEFT, "");
		wrap(o, b.p, width);
	}
	buf_fini(&b);
}

static void
put_row(struct out *o, const struct probe *p, enum probe_id id, bool color, unsigned width)
{
	struct probe_result r = judged(p, id);
	unsigned at;
	const char *say = r.outcome || probe_seen(p, id)->why == PROBE_JUDGED ? r.say : r.note;

	out_fmt(o, "%s%-8s%s %-18s ", color ? color_of(r.verdict) : "", words[r.verdict],
	    color ? "\033[0m" : "", probe_name(id));
	at = wrap_on(o, probe_title(id), LEFT, width);
	out_c(o, ":");
	(void)wrap_on(o, say, at + 1, width);
	out_c(o, "\n");
	if (*r.note && say != r.note) {
		out_fmt(o, "%*s", LEFT, "");
		wrap(o, r.note, width);
	}
	if (r.outcome)
		put_equals(o, id, &r, width);
}

static void
put_server(struct out *o, const struct probe_server *v, const char *url)
{
	struct buf b;

	buf_init(&b, 4096);
	esc_text(&b, str_c(url), 2048);
	out_str(o, buf_str(&b));
	buf_fini(&b);
	if (v->legacy)
		out_fmt(o, ": %s %s, revision %s%s, %s%s%s\n", *v->name ? v->name : "no name",
		    v->version, *v->revision ? v->revision : "untold",
		    v->modern ? " and 2026-07-28" : "",
		    v->session ? "sessions" : "no sessions",
		    v->answered_sse ? ", answers in streams" : ", answers in JSON",
		    v->primed ? " with event ids" : "");
	else if (v->modern)
		out_fmt(o, ": revision 2026-07-28 only\n");
	else if (v->sse_only)
		out_fmt(o, ": HTTP+SSE of 2024-11-05; there is nothing more to try on it\n");
	else
		out_fmt(o, ": no MCP server\n");
}

static void
put_likeness(struct out *o, const struct probe *p)
{
	unsigned ks[64], ns[64], n = candidates(p, ks, ns, 64), known = 0;

	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		known += judged(p, id).outcome != 0;
	/* Of those without sessions none is known. */
	if (known < AGREE || !probe_server(p)->session)
		return;
	if (n == 0) {
		out_c(o, "No known server does the same in all of these.\n");
		return;
	}
	out_c(o, "Does the same as");
	for (unsigned i = 0; i < n; i++)
		out_fmt(o, "%s\n  %s (in %u scenarios)", i == 1 ?
		    "; or, as far as is known, as" : "",
		    probe_known(ks[i]), ns[i]);
	out_c(o, "\n");
}

/* A column that no client has a cell in is left out. */
static bool
used(enum matrix_column m, const struct probe_seen *all)
{
	const struct client_row *row;

	for (unsigned i = 0; (row = clients_row(i)) != NULL; i++)
		if (matrix_cell(row, m, all).known)
			return true;
	return false;
}

#define CELL 14

/* One line of the matrix, without blanks at its end. */
static void
put_cells(struct out *o, const char *left, const struct matrix_cell *cells, unsigned n,
    bool color)
{
	out_fmt(o, "%-11s", left);
	for (unsigned i = 0; i < n; i++) {
		const char *c = cells[i].text;

		out_fmt(o, " %s%s%s", color && cells[i].bad ? "\033[31m" : "", c,
		    color && cells[i].bad ? "\033[0m" : "");
		if (i + 1 < n && strlen(c) < CELL)
			out_fmt(o, "%*s", CELL - (int)strlen(c), "");
	}
	out_c(o, "\n");
}

static void
put_matrix(struct out *o, const struct probe *p, bool color)
{
	const struct probe_seen *all = probe_seen(p, 0);
	const struct client_row *row;
	struct matrix_cell cells[3][MATRIX_N] = { 0 };
	unsigned ms[MATRIX_N], n = 0;

	for (unsigned m = 0; m < MATRIX_N; m++) {
		if (!used(m, all))
			continue;
		(void)snprintf(cells[0][n].text, sizeof cells[0][n].text, "%s",
		    matrix_title(m));
		(void)snprintf(cells[1][n].text, sizeof cells[1][n].text, "%s",
		    matrix_answer(m, all));
		ms[n++] = m;
	}
	if (n == 0)
		return;
	out_c(o, "\nWhat clients make of it:\n");
	put_cells(o, "", cells[0], n, false);
	put_cells(o, "", cells[1], n, false);
	for (unsigned i = 0; (row = clients_row(i)) != NULL; i++) {
		for (unsigned k = 0; k < n; k++)
			cells[2][k] = matrix_cell(row, ms[k], all);
		put_cells(o, row->name, cells[2], n, color);
	}
}

static void
put_wire(struct out *o, struct str s, unsigned width)
{
	struct buf b;

	buf_init(&b, 16384);
	esc_text(&b, s, 4096);
	(void)buf_addc(&b, '\0');
	wrap(o, b.p, width);
	buf_fini(&b);
}

static void
put_crowd(struct out *o, const struct probe_report *r)
{
	struct probe_result j = crowd_judge(&r->crowd);
	int64_t retry_ms = probe_server(r->probe)->retry_ms;
	const struct finding *f;
	uint32_t i = 0;

	out_fmt(o, "%s%-8s%s %-18s ", r->color ? color_of(j.verdict) : "", words[j.verdict],
	    r->color ? "\033[0m" : "", "listeners");
	wrap(o, j.say, r->width);
	if (*j.note) {
		out_fmt(o, "%*s", LEFT, "");
		wrap(o, j.note, r->width);
	}
	out_fmt(o, "%*s%s: %u GETs, %u streams, %u ended, %u refused, %u messages\n", LEFT, "",
	    r->client, r->crowd.gets, r->crowd.streams, r->crowd.ended, r->crowd.refused,
	    r->crowd.messages);
	if (retry_ms > 0 && 3 * retry_ms * NS_MS > r->duration)
		out_fmt(o, "%*sthe server wants clients back after %lld s: --duration %lld "
		    "shows more\n", LEFT, "", (long long)(retry_ms / 1000),
		    (long long)(retry_ms * 3 / 1000 + 1));
	while ((f = next_finding(r, &i)) != NULL) {
		out_fmt(o, "%*s%s %s%s%s: ", LEFT, "", severity_name(f->severity), f->detector,
		    f->variant ? "/" : "", f->variant ? f->variant : "");
		put_wire(o, f->title, r->width);
	}
}

void
probe_out_text(struct out *o, const struct probe_report *r)
{
	const struct probe *p = r->probe;
	const struct probe_server *v = probe_server(p);

	put_server(o, v, r->url);
	if (!v->legacy && !v->modern)
		return;
	out_c(o, "\n");
	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++)
		if (chosen(p, id))
			put_row(o, p, id, r->color, r->width);
	if (r->crowded)
		put_crowd(o, r);
	out_fmt(o, "\n%u faults, %u warnings, %u ok, %u unknown\n",
	    probe_out_count(r, PROBE_FAULT), probe_out_count(r, PROBE_WARNING),
	    probe_out_count(r, PROBE_OK), probe_out_count(r, PROBE_UNKNOWN));
	if (v->legacy) {
		put_likeness(o, p);
		put_matrix(o, p, r->color);
	}
}

/* ---- JSON ---- */

static void
key(struct out *o, bool *first, const char *name)
{
	out_fmt(o, "%s\"%s\": ", *first ? "" : ", ", name);
	*first = false;
}

static void
put_time(struct out *o, bool *first, const char *name, ns_t t)
{
	if (t < 0)
		return;
	key(o, first, name);
	out_fmt(o, "%lld.%06lld", (long long)(t / NS_S), (long long)(t % NS_S / NS_US));
}

static void
put_number(struct out *o, bool *first, const char *name, uint64_t n)
{
	key(o, first, name);
	out_u64(o, n);
}

static void
put_bool(struct out *o, bool *first, const char *name, bool v)
{
	key(o, first, name);
	out_c(o, v ? "true" : "false");
}

static void
put_stream(struct out *o, const struct probe_stream *s, const char *name)
{
	bool first = true;

	out_c(o, "{");
	key(o, &first, "request");
	out_json(o, str_c(name));
	key(o, &first, "answer");
	out_json(o, str_c(probe_answer_name(s->answer)));
	put_number(o, &first, "status", s->status);
	if (s->end >= 0 && !s->dropped) {
		key(o, &first, "end");
		out_json(o, str_c(client_end_name(s->how)));
	}
	if (s->late)
		put_bool(o, &first, "late", true);
	put_number(o, &first, "events", s->events);
	put_number(o, &first, "comments", s->comments);
	put_number(o, &first, "replayed", s->replayed);
	put_number(o, &first, "heard", (unsigned)__builtin_popcount(s->heard));
	if (s->retry_ms >= 0)
		put_number(o, &first, "retry_ms", (uint64_t)s->retry_ms);
	put_time(o, &first, "asked", s->asked);
	put_time(o, &first, "answered", s->head);
	put_time(o, &first, s->dropped ? "dropped" : "ended", s->end);
	out_c(o, "}");
}

static void
put_scenario(struct out *o, const struct probe *p, enum probe_id id)
{
	static const char *const names[] = { "first", "second", "third", "post", "further" };
	const struct probe_seen *seen = probe_seen(p, id);
	struct probe_result r = judged(p, id);
	bool first = true, none = true;

	out_c(o, "    {");
	key(o, &first, "scenario");
	out_json(o, str_c(probe_name(id)));
	key(o, &first, "verdict");
	out_json(o, str_c(words[r.verdict]));
	key(o, &first, "observed");
	out_json(o, str_c(r.say));
	key(o, &first, "note");
	out_json(o, str_c(r.note));
	key(o, &first, "equals");
	out_c(o, "[");
	for (unsigned k = 0; probe_known(k); k++)
		if (probe_equals(k, id, &r)) {
			out_c(o, none ? "" : ", ");
			out_json(o, str_c(probe_known(k)));
			none = false;
		}
	out_c(o, "]");
	put_number(o, &first, "emitted", seen->emitted);
	if (seen->fill.calls > 0) {
		put_number(o, &first, "calls", seen->fill.calls);
		put_number(o, &first, "calls_answered", seen->fill.answered);
		put_number(o, &first, "calls_late", seen->fill.stuck);
		put_number(o, &first, "bytes_of_each", seen->fill.each);
		put_number(o, &first, "bytes_needed", seen->fill.need);
		put_number(o, &first, "bytes_read_late", seen->fill.bytes);
	}
	put_time(o, &first, "took", seen->took);
	key(o, &first, "requests");
	out_c(o, "[");
	none = true;
	for (unsigned i = 0; i < PROBE_SLOTS; i++) {
		if (seen->s[i].answer == PROBE_NOT_ASKED)
			continue;
		out_c(o, none ? "\n      " : ",\n      ");
		put_stream(o, &seen->s[i], names[i]);
		none = false;
	}
	out_c(o, "]}");
}

static void
put_text(struct out *o, bool *first, const char *name, const char *s)
{
	key(o, first, name);
	out_json(o, str_c(s));
}

static void
put_clients(struct out *o, const struct probe *p)
{
	const struct probe_seen *all = probe_seen(p, 0);
	const struct client_row *row;

	out_c(o, "  \"clients\": [");
	for (unsigned i = 0; (row = clients_row(i)) != NULL; i++) {
		bool first = true;

		out_c(o, i ? ",\n    {" : "\n    {");
		put_text(o, &first, "client", row->name);
		for (unsigned m = 0; m < MATRIX_N; m++) {
			struct matrix_cell c = matrix_cell(row, m, all);

			if (c.known)
				put_text(o, &first, matrix_title(m), c.text);
		}
		out_c(o, "}");
	}
	out_c(o, "],\n");
}

static void
put_finding(struct out *o, const struct finding *f)
{
	bool first = true;

	out_c(o, "{");
	put_text(o, &first, "detector", f->detector);
	key(o, &first, "variant");
	out_json(o, str_c(f->variant));
	put_text(o, &first, "severity", severity_name(f->severity));
	put_text(o, &first, "confidence", confidence_name(f->confidence));
	put_number(o, &first, "count", f->count);
	key(o, &first, "title");
	out_json(o, f->title);
	key(o, &first, "why");
	out_json(o, f->why);
	key(o, &first, "fix");
	out_json(o, f->fix);
	out_c(o, "}");
}

static void
put_listeners(struct out *o, const struct probe_report *r)
{
	struct probe_result j = crowd_judge(&r->crowd);
	const struct finding *f;
	bool first = true, none = true;
	uint32_t i = 0;

	out_c(o, "  \"listeners\": {");
	put_text(o, &first, "client", r->client);
	put_number(o, &first, "listeners", r->crowd.listeners);
	put_text(o, &first, "verdict", words[j.verdict]);
	put_text(o, &first, "observed", j.say);
	put_text(o, &first, "note", j.note);
	put_number(o, &first, "gets", r->crowd.gets);
	put_number(o, &first, "streams", r->crowd.streams);
	put_number(o, &first, "ended", r->crowd.ended);
	put_number(o, &first, "refused", r->crowd.refused);
	put_number(o, &first, "messages", r->crowd.messages);
	out_c(o, ",\n    \"findings\": [");
	while ((f = next_finding(r, &i)) != NULL) {
		out_c(o, none ? "\n      " : ",\n      ");
		put_finding(o, f);
		none = false;
	}
	out_c(o, "]},\n");
}

void
probe_out_json(struct out *o, const struct probe_report *r)
{
	const struct probe *p = r->probe;
	const struct probe_server *v = probe_server(p);
	unsigned ks[64], ns[64], n = candidates(p, ks, ns, 64);
	bool first = true;

	out_c(o, "{\"schema\": \"mcpdiag-probe/1\",\n  \"url\": ");
	out_json(o, str_c(r->url));
	out_c(o, ",\n  \"server\": {");
	put_bool(o, &first, "reached", v->reached);
	put_number(o, &first, "status", v->status);
	put_text(o, &first, "why", v->why);
	put_text(o, &first, "name", v->name);
	put_text(o, &first, "version", v->version);
	put_text(o, &first, "revision", v->revision);
	put_bool(o, &first, "modern", v->modern);
	put_bool(o, &first, "sse_only", v->sse_only);
	put_bool(o, &first, "sessions", v->session);
	out_c(o, "},\n  \"counts\": {");
	first = true;
	for (unsigned i = PROBE_OK; i <= PROBE_UNKNOWN; i++)
		put_number(o, &first, words[i], probe_out_count(r, i));
	out_c(o, "},\n  \"scenarios\": [\n");
	first = true;
	for (unsigned id = PROBE_HANDSHAKE + 1; id < PROBE_N; id++) {
		if (!chosen(p, id))
			continue;
		out_c(o, first ? "" : ",\n");
		first = false;
		put_scenario(o, p, id);
	}
	out_c(o, "],\n");
	if (r->crowded)
		put_listeners(o, r);
	put_clients(o, p);
	out_c(o, "  \"same_as\": [");
	for (unsigned i = 0; i < n; i++) {
		out_fmt(o, "%s{\"name\": ", i ? ", " : "");
		out_json(o, str_c(probe_known(ks[i])));
		out_fmt(o, ", \"scenarios\": %u}", ns[i]);
	}
	out_c(o, "]}\n");
}
