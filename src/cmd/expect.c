#include "expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "complain.h"
#include "mcpdiag/json.h"
#include "mcpdiag/rule.h"
#include "mcpdiag/xmem.h"
#include "value.h"

#define MAX_BYTES (256U << 20)	/* of a report: each stream is in it */
#define MAX_ENTRIES 10000
#define MAX_NAME 128
#define MAX_NAMED 20		/* lines of each kind */

enum member { M_DETECTOR, M_VARIANT, M_SEVERITY, M_VERDICT, N_MEMBERS };

struct expect_entry {
	char *text[N_MEMBERS];	/* NULL: not there, or null */
	bool wanted;		/* else it may come or not */
	bool truth;		/* of that kind of document: any variant will do */
	bool any;		/* with any severity but info */
	enum severity severity;
	bool found;
};

/* ---- the file ---- */

enum document { NONE, REPORT, REPLAY, TRUTH, N_DOCUMENTS };

/* Where the list of findings begins in each kind of document. */
struct outline {
	size_t at;		/* of the byte that is read */
	size_t list[N_DOCUMENTS];
	char schema[32];
};

static void
outline_value(void *arg, const struct json_value *v)
{
	struct outline *o = arg;

	if (v->path == NONE)
		(void)snprintf(o->schema, sizeof o->schema, "%.*s", STR_ARG(v->raw));
	else if (v->kind == JSON_ARRAY)
		o->list[v->path] = o->at;
}

static const char *const lists[N_DOCUMENTS] = {
	[NONE] = "schema", [REPORT] = "findings", [REPLAY] = "analysis.findings",
	[TRUTH] = "expected_findings",
};

/* Which of them it is; NONE: no JSON, or another. */
static enum document
outline(struct str text, struct outline *o)
{
	static const struct json_cb cb = { .value = outline_value };
	struct json *j = json_new(&cb, o, lists, N_DOCUMENTS, 64, sizeof o->schema);
	int rc = 0;

	for (o->at = 0; rc == 0 && o->at < text.n; o->at++)
		rc = json_feed(j, text.p + o->at, 1);
	if (rc == 0)
		rc = json_eof(j);
	json_free(j);
	if (rc != 0)
		return NONE;
	if (o->list[REPORT] && strcmp(o->schema, "mcpdiag/1") == 0)
		return REPORT;
	if (o->list[REPLAY] && strcmp(o->schema, "mcpdiag-replay/1") == 0)
		return REPLAY;
	return o->list[TRUTH] ? TRUTH : NONE;
}

/* The array that begins at p, in text that is known to be JSON. */
static struct str
array_at(struct str text, size_t at)
{
	size_t depth = 0, i = at;
	bool quoted = false;

	for (; i < text.n; i++) {
		char c = text.p[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '[' || c == '{'))
			depth++;
		else if (!quoted && (c == ']' || c == '}') && --depth == 0)
			break;
	}
	return str_of(text.p + at, i + 1 - at);
}

struct reading {
	struct expect *expect;
	enum document kind;
	struct expect_entry e;
};

static void
entry_begin(void *arg, enum json_kind kind)
{
	struct reading *r = arg;

	(void)kind;
	r->e = (struct expect_entry){ .wanted = true };
}

static void
entry_value(void *arg, const struct json_value *v)
{
	struct reading *r = arg;

	if (v->kind == JSON_STRING && r->e.text[v->path] == NULL)
		r->e.text[v->path] = xmemdup0(v->raw.p, v->raw.n);
}

static void
entry_free(struct expect_entry *e)
{
	for (int i = 0; i < N_MEMBERS; i++)
		free(e->text[i]);
}

static bool
is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* Remarks are told apart by their rule. */
static bool
remark(const char *detector, enum severity severity)
{
	const struct rule *rule = rule_find(detector);

	return rule && rule->remark && severity < SEV_ERROR;
}

/* Whether it asks for, or allows, anything. */
static bool
counts(struct reading *r)
{
	struct expect_entry *e = &r->e;
	const char *severity = e->text[M_SEVERITY], *verdict = e->text[M_VERDICT];

	if (e->text[M_DETECTOR] == NULL || r->expect->n >= MAX_ENTRIES)
		return false;
	e->severity = is(severity, "error") ? SEV_ERROR : is(severity, "warning") ?
	    SEV_WARNING : SEV_INFO;
	if (r->kind != TRUTH)
		return e->severity >= r->expect->from &&
		    !remark(e->text[M_DETECTOR], e->severity);
	e->truth = true;
	e->any = severity == NULL;
	e->wanted = is(verdict, "present") && (e->any || e->severity >= r->expect->from);
	return verdict && !is(verdict, "absent");
}

static void
entry_end(void *arg, unsigned flaws)
{
	struct reading *r = arg;
	struct expect *x = r->expect;

	(void)flaws;
	if (!counts(r)) {
		entry_free(&r->e);
		return;
	}
	x->entries = xgrow(x->entries, x->n, &x->cap, sizeof *x->entries);
	x->entries[x->n++] = r->e;
}

int
expect_read(struct expect *x)
{
	static const struct json_cb cb = { entry_begin, entry_value, entry_end };
	static const char *const members[N_MEMBERS] = { "detector", "variant", "severity",
		"verdict" };
	struct outline o = { 0 };
	struct reading r = { .expect = x };
	struct str list;
	struct json *j;
	struct buf text;
	int rc;

	if (x->path == NULL)
		return 0;
	buf_init(&text, MAX_BYTES);
	rc = value_file("--expect", x->path, &text);
	if (rc != 0)
		goto out;
	r.kind = outline(buf_str(&text), &o);
	if (r.kind == NONE) {
		complain("mcpdiag: --expect %s: it is no report of mcpdiag analyze or replay "
		    "(-T json), and has no expected_findings", x->path);
		rc = STATUS_INPUT;
		goto out;
	}
	list = array_at(buf_str(&text), o.list[r.kind]);
	j = json_new(&cb, &r, members, N_MEMBERS, 64, MAX_NAME);
	(void)json_feed(j, list.p, list.n);
	json_free(j);
out:
	buf_fini(&text);
	return rc;
}

void
expect_fini(struct expect *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		entry_free(&x->entries[i]);
	free(x->entries);
	x->entries = NULL;
	x->n = x->cap = 0;
}

/* ---- the run ---- */

static bool
matches(const struct expect_entry *e, const struct finding *f)
{
	if (!is(e->text[M_DETECTOR], f->detector))
		return false;
	if ((e->text[M_VARIANT] || !e->truth) &&
	    strcmp(e->text[M_VARIANT] ? e->text[M_VARIANT] : "", f->variant ? f->variant : ""))
		return false;
	return e->any ? f->severity > SEV_INFO : f->severity == e->severity;
}

static void
tell_one(struct verdict *v, const struct expect *x, bool tell, const char *detector,
    const char *variant, const char *severity, const char *what)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "%s%s%s%s%s %s", severity, *severity ? " " : "",
	    detector, variant ? "/" : "", variant ? variant : "", what);
	verdict_fail(v, "expect", text);
	if (tell)
		complain("mcpdiag: --expect %s: %s", x->path, text);
}

/* One of several alike is named. */
static bool
named_before(const struct timeline *tl, uint32_t i, const struct finding *f)
{
	const struct finding *g;

	for (uint32_t k = 0; k < i; k++) {
		g = timeline_finding(tl, k);
		if (strcmp(g->detector, f->detector) == 0 && g->severity == f->severity &&
		    strcmp(g->variant ? g->variant : "", f->variant ? f->variant : "") == 0)
			return true;
	}
	return false;
}

static uint32_t
say_new(struct expect *x, const struct timeline *tl, struct verdict *v, bool tell)
{
	const struct finding *f;
	uint32_t n = 0;

	for (uint32_t i = 0; (f = timeline_finding(tl, i)) != NULL; i++) {
		bool known = false;

		for (uint32_t k = 0; k < x->n; k++) {
			struct expect_entry *e = &x->entries[k];

			if (!matches(e, f))
				continue;
			known = true;
			e->found = true;
		}
		if (known || f->severity < x->from || f->remark || named_before(tl, i, f))
			continue;
		if (n++ < MAX_NAMED)
			tell_one(v, x, tell, f->detector, f->variant,
			    severity_name(f->severity), "was found, and is not expected");
	}
	return n;
}

static uint32_t
say_missing(struct expect *x, struct verdict *v, bool tell)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		const struct expect_entry *e = &x->entries[i];

		if (e->found || !e->wanted)
			continue;
		if (n++ < MAX_NAMED)
			tell_one(v, x, tell, e->text[M_DETECTOR], e->text[M_VARIANT],
			    e->any ? "" : severity_name(e->severity),
			    "is expected, and was not found");
	}
	return n;
}

int
expect_judge(struct expect *x, const struct timeline *tl, struct verdict *v, bool tell)
{
	uint32_t wanted = 0, wrong = say_new(x, tl, v, tell);
	char text[512];

	for (uint32_t i = 0; i < x->n; i++)
		wanted += x->entries[i].wanted;
	if (!v->hidden)
		wrong += say_missing(x, v, tell);
	if (wrong > 0)
		return STATUS_FOUND;
	if (v->hidden)
		return STATUS_INCOMPLETE;
	(void)snprintf(text, sizeof text, "it is as %s says: %u expected, nothing else found",
	    x->path, wanted);
	verdict_note(v, "expect", text);
	return STATUS_CLEAN;
}
