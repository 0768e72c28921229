/* Plays every conversation of tests/conv and judges what is found in it.
 *	test_conv [DIR]			all of them
 *	test_conv --events FILE		what one amounts to, event by event
 *	test_conv --script FILE		one as a script for tests/fuzz/fuzz_observe.c
 * Each is played three times: in the pieces it is written in, in pieces of one
 * byte (unless bytes are missing), and, in other processes, under other seeds
 * of the hash tables.  Every byte of output must be the same. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "conv.h"
#include "conv_script.h"
#include "ev_check.h"
#include "mcpdiag/engine.h"
#include "mcpdiag/map.h"
#include "mcpdiag/model.h"
#include "mcpdiag/ndjson.h"
#include "mcpdiag/observe.h"
#include "mcpdiag/sink.h"
#include "mcpdiag/timeline.h"
#include "util.h"

#define MAX_FILES 2000

struct play {
	struct timeline *timeline;
	struct engine *engine;
	struct model *model;
	struct observe *observe;
	struct ndjson *ndjson;
	struct out out;
	struct ev_check check;
	struct model_total total;
	bool bytewise, gaps;
};

/* Role changes that were seen, in all conversations. */
static bool walked[EV_CLOSED + 1][EV_CLOSED + 1];

/* ---- from bytes to events ---- */

struct play_conn {
	struct play *p;
	struct oconn *o;
	bool deaf;
};

static void *
on_open(void *arg, const char *a0, const char *a1, bool client0, struct at at)
{
	struct play *p = arg;
	struct play_conn *k = xcalloc(1, sizeof *k);

	k->p = p;
	k->o = observe_open(p->observe, a0, a1, client0, at);
	if (p->total.tcp_connections++ == 0)
		p->total.first = at.t;
	return k;
}

static void
on_data(void *conn, int dir, const char *bytes, size_t n, struct at at)
{
	struct play_conn *k = conn;
	size_t step = k->p->bytewise ? 1 : n;
	struct guard g = guard_of(bytes, n);

	for (size_t i = 0; i < n && !k->deaf; i += step)
		k->deaf = !observe_data(k->o, dir, g.p + i, step, at);
	guard_free(&g);
}

static void
on_gap(void *conn, int dir, uint64_t n, struct at at)
{
	struct play_conn *k = conn;

	k->p->gaps = true;
	k->p->total.gaps++;
	k->p->total.gap_bytes += n;
	if (!k->deaf)
		observe_gap(k->o, dir, n, at);
}

static void
on_close(void *conn, int dir, const char *how, int by, struct at at)
{
	observe_close(((struct play_conn *)conn)->o, dir, how, by, at);
}

static void
on_stall(void *conn, int dir, uint64_t n, bool zero_window, struct at since, struct at at)
{
	observe_stall(((struct play_conn *)conn)->o, dir, n, zero_window, since, at);
}

static void
on_end(void *conn, struct at at)
{
	struct play_conn *k = conn;

	observe_end(k->o, at);
	free(k);
}

static const struct conv_ops ops = { on_open, on_data, on_gap, on_close, on_stall, on_end };

static void
from_engine(void *arg, const struct ev *e)
{
	struct play *p = arg;

	ev_check(&p->check, e);
	if (e->type == EV_OWNER)
		walked[e->u.owner.from][e->u.owner.to] = true;
	timeline_event(p->timeline, e);
	ndjson_event(p->ndjson, e);
}

static void
from_model(void *arg, const struct ev *e)
{
	engine_event(arg, e);
}

static void
play(struct play *p, struct conv *c, bool bytewise)
{
	struct verdict *v;

	*p = (struct play){ .bytewise = bytewise };
	out_init(&p->out, -1);
	p->ndjson = ndjson_new(&p->out);
	p->timeline = timeline_new(&c->limits);
	p->engine = engine_new(&c->limits, rules_table, from_engine, p);
	p->model = model_new(&c->limits, false, from_model, p->engine);
	p->observe = observe_new(&c->limits, p->model);
	conv_play(c, &ops, p);
	p->total.packets = c->now.pkt;
	p->total.last = c->now.t;
	p->total.encrypted = observe_stats(p->observe)->encrypted;
	p->total.http2 = observe_stats(p->observe)->http2;
	p->total.other = observe_stats(p->observe)->other;
	model_end(p->model, &p->total, c->now);
	v = verdict_new(p->timeline);
	sink_json(&p->out, p->timeline, v, "0");
	verdict_free(v);
}

static void
play_fini(struct play *p)
{
	observe_free(p->observe);
	model_free(p->model);
	engine_free(p->engine);
	timeline_free(p->timeline);
	ndjson_free(p->ndjson);
	out_fini(&p->out);
	ev_check_fini(&p->check);
}

/* ---- judging: want, absent, none, count, note, stream, session ---- */

static bool
is_called(const struct finding *f, const char *name)
{
	char full[100];

	(void)snprintf(full, sizeof full, "%s%s%s", f->detector, f->variant ? "/" : "",
	    f->variant ? f->variant : "");
	return strcmp(name, full) == 0 || strcmp(name, f->detector) == 0;
}

static bool
has_fact(const struct play *p, const struct finding *f, const char *name, const char *value)
{
	char text[64];

	if (strcmp(name, "of") == 0) {
		for (uint32_t i = 0; timeline_finding(p->timeline, i); i++) {
			const struct finding *root = timeline_finding(p->timeline, i);
			if (root->n == f->consequence_of)
				return is_called(root, value);
		}
		return strcmp(value, "-") == 0;
	}
	if (strcmp(name, "count") == 0 || strcmp(name, "alike") == 0)
		return strtoull(value, NULL, 10) ==
		    (name[0] == 'c' ? f->count : f->sessions_alike);
	for (uint32_t i = 0; i < f->n_facts; i++) {
		const struct fact *a = &f->facts[i];

		if (strcmp(a->name, name) != 0)
			continue;
		if (a->type == FACT_TEXT)
			return str_eq(a->text, str_c(value));
		(void)snprintf(text, sizeof text, "%g", a->num);
		return strcmp(text, value) == 0;
	}
	return false;
}

static bool
fits(const struct play *p, const struct finding *f, char **w, unsigned n)
{
	if (!is_called(f, w[1]))
		return false;
	for (unsigned i = 2; i < n; i++) {
		char name[64], *eq = strchr(w[i], '=');

		if (eq == NULL) {
			if (strcmp(w[i], severity_name(f->severity)) != 0 &&
			    strcmp(w[i], confidence_name(f->confidence)) != 0)
				return false;
			continue;
		}
		(void)snprintf(name, sizeof name, "%.*s", (int)(eq - w[i]), w[i]);
		if (!has_fact(p, f, name, eq + 1))
			return false;
	}
	return true;
}

static bool
counted(const struct play *p, const char *name, uint64_t *out)
{
	const struct tl_counts *k = timeline_counts(p->timeline);
	const struct ev *t = timeline_total(p->timeline);
	uint64_t sessions = 0;

	while (timeline_session(p->timeline, (uint32_t)sessions))
		sessions++;
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {
		{ "http_exchanges", k->http_exchanges }, { "sse_streams", k->sse_streams },
		{ "sse_events", k->sse_events }, { "sse_comments", k->sse_comments },
		{ "request", k->jsonrpc[EV_MSG_REQUEST] },
		{ "notification", k->jsonrpc[EV_MSG_NOTIFICATION] },
		{ "response", k->jsonrpc[EV_MSG_RESPONSE] },
		{ "error", k->jsonrpc[EV_MSG_ERROR] },
		{ "post-response", k->sse_by_kind[EV_POST_RESPONSE] },
		{ "standalone", k->sse_by_kind[EV_STANDALONE] },
		{ "resumed", k->sse_by_kind[EV_RESUMED] },
		{ "legacy", k->sse_by_kind[EV_LEGACY] },
		{ "listen", k->sse_by_kind[EV_LISTEN] },
		{ "unknown-kind", k->sse_by_kind[EV_UNKNOWN_KIND] },
		{ "sessions", sessions }, { "gaps", k->gaps }, { "undecoded", k->undecoded },
		{ "encrypted", t->u.total.encrypted }, { "http2", t->u.total.http2 },
		{ "other", t->u.total.other }, { "unread", t->u.total.unread },
	};

	for (size_t i = 0; i < N_ROWS(all); i++) {
		*out = all[i].n;
		if (strcmp(name, all[i].name) == 0)
			return true;
	}
	return false;
}

static void
roles_of(const struct tl_stream *s, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < s->n_roles && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%s", i ? "," : "",
		    ev_role_names[s->roles[i].role]);
}

struct member {
	const char *name;
	struct str text;		/* absent: the number */
	int64_t num;
};

/* Prints a member of `stream N`, or "-". */
static void
stream_member(const struct tl_stream *s, const char *name, char *got, size_t size)
{
	char roles[200];
	const struct member all[] = {
		{ "kind", str_c(ev_kind_names[s->kind]), 0 },
		{ "end", str_c(ev_end_names[s->end]), 0 },
		{ "roles", str_of(roles, 0), 0 },
		{ "cursor", s->cursor ? str_c(s->cursor) : STR("-"), 0 },
		{ "lineage", STR_NONE, s->lineage }, { "previous", STR_NONE, s->previous },
		{ "resumes", STR_NONE, s->resumes }, { "givers", STR_NONE, s->givers },
		{ "session", STR_NONE, s->session }, { "events", STR_NONE, s->events },
		{ "comments", STR_NONE, s->comments }, { "delay", STR_NONE, s->delay_ms },
		{ "retry", STR_NONE, s->retry_ms },
	};

	roles_of(s, roles, sizeof roles);
	for (size_t i = 0; i < N_ROWS(all); i++) {
		if (strcmp(name, all[i].name) != 0)
			continue;
		if (all[i].text.p == roles)
			(void)snprintf(got, size, "%s", roles);
		else if (all[i].text.p)
			(void)snprintf(got, size, "%.*s", STR_ARG(all[i].text));
		else
			(void)snprintf(got, size, "%lld", (long long)all[i].num);
	}
}

static struct str
or_dash(const char *s)
{
	return s ? str_c(s) : STR("-");
}

static void
session_member(const struct tl_session *s, const char *name, char *got, size_t size)
{
	const struct member all[] = {
		{ "transport", str_c(ev_transport_names[s->transport]), 0 },
		{ "revision", or_dash(s->revision), 0 }, { "client", or_dash(s->client), 0 },
		{ "server", or_dash(s->server), 0 }, { "endpoint", or_dash(s->endpoint), 0 },
		{ "looks_like", or_dash(s->looks_like), 0 },
		{ "deleted", STR_NONE, s->deleted }, { "offered", STR_NONE, s->offered },
		{ "list_changed", STR_NONE, s->list_changed },
		{ "exchanges", STR_NONE, s->exchanges }, { "posts", STR_NONE, s->posts },
		{ "gets", STR_NONE, s->gets },
	};

	for (size_t i = 0; i < N_ROWS(all); i++) {
		if (strcmp(name, all[i].name) != 0)
			continue;
		if (all[i].text.p)
			(void)snprintf(got, size, "%.*s", STR_ARG(all[i].text));
		else
			(void)snprintf(got, size, "%lld", (long long)all[i].num);
	}
}

/* `stream N name=value ...` and the same of sessions; *got is the first value
 * that is another. */
static bool
has_members(const struct play *p, char **w, unsigned n, char *got, size_t size)
{
	uint32_t number = (uint32_t)strtoul(w[1], NULL, 10);
	const struct tl_stream *st = timeline_stream_n(p->timeline, number);
	const struct tl_session *s = timeline_session_n(p->timeline, number);
	bool stream = strcmp(w[0], "stream") == 0;

	(void)snprintf(got, size, "there is none");
	if (stream ? st == NULL : s == NULL)
		return false;
	for (unsigned i = 2; i < n; i++) {
		char *eq = strchr(w[i], '=');

		(void)snprintf(got, size, "no such member");
		if (eq == NULL)
			return false;
		*eq = '\0';
		if (stream)
			stream_member(st, w[i], got, size);
		else
			session_member(s, w[i], got, size);
		if (strcmp(got, eq + 1) != 0)
			return false;
	}
	got[0] = '\0';
	return true;
}

/* Appends what is wrong with that line. */
static void
judge_line(const struct play *p, const char *line, struct buf *bad)
{
	char copy[CONV_LINE], *w[CONV_WORDS], got[300] = "";
	uint64_t n_got = 0;
	unsigned n;
	bool ok = false;

	(void)snprintf(copy, sizeof copy, "%s", line);
	n = conv_split(copy, w);
	if (strcmp(w[0], "none") == 0)		/* what is not wanted is seen below */
		return;
	if (strcmp(w[0], "want") == 0 && n > 1) {
		for (uint32_t i = 0; timeline_finding(p->timeline, i); i++)
			ok |= fits(p, timeline_finding(p->timeline, i), w, n);
	} else if (strcmp(w[0], "absent") == 0 && n > 1) {
		ok = true;
		for (uint32_t i = 0; timeline_finding(p->timeline, i); i++)
			ok &= !is_called(timeline_finding(p->timeline, i), w[1]);
	} else if (strcmp(w[0], "count") == 0 && n > 2) {
		ok = counted(p, w[1], &n_got) && n_got == strtoull(w[2], NULL, 10);
		(void)snprintf(got, sizeof got, "%llu", (unsigned long long)n_got);
	} else if (strcmp(w[0], "note") == 0 && n > 1) {
		for (uint32_t i = 0; timeline_note(p->timeline, i); i++)
			ok |= strcmp(timeline_note(p->timeline, i)->name, w[1]) == 0;
	} else if (n > 2) {
		ok = has_members(p, w, n, got, sizeof got);
	}
	if (!ok)
		(void)buf_fmt(bad, "not so: %s%s%s\n", line, *got ? "; but " : "", got);
}

/* A finding louder than info that no `want` line names is one too many. */
static void
judge_rest(const struct play *p, const struct conv *c, struct buf *bad)
{
	const struct finding *f;

	for (uint32_t i = 0; (f = timeline_finding(p->timeline, i)) != NULL; i++) {
		/* What the specification says of it is for the files about that,
		 * and all that counts in them. */
		bool named = f->severity == SEV_INFO ||
		    (strcmp(f->detector, "contract") == 0) != c->contract;

		for (uint32_t j = 0; j < c->n_wants && !named; j++) {
			char copy[CONV_LINE], *w[CONV_WORDS];
			unsigned n;

			(void)snprintf(copy, sizeof copy, "%s", c->wants[j]);
			n = conv_split(copy, w);
			named = n > 1 && strcmp(w[0], "want") == 0 && is_called(f, w[1]);
		}
		if (!named)
			(void)buf_adds(bad, STR("not wanted, but found\n"));
	}
}

static void
print_all(const struct play *p, struct buf *b)
{
	const struct finding *f;
	const struct tl_stream *s;

	for (uint32_t i = 0; (f = timeline_finding(p->timeline, i)) != NULL; i++) {
		(void)buf_fmt(b, "  found %u: %s%s%s %s %s of=%u count=%llu %.*s\n   ", f->n,
		    f->detector, f->variant ? "/" : "", f->variant ? f->variant : "",
		    severity_name(f->severity), confidence_name(f->confidence),
		    f->consequence_of, (unsigned long long)f->count, STR_ARG(f->title));
		for (uint32_t j = 0; j < f->n_facts; j++)
			(void)buf_fmt(b, " %s=%g%.*s", f->facts[j].name, f->facts[j].num,
			    STR_ARG(f->facts[j].text));
		(void)buf_addc(b, '\n');
	}
	for (uint32_t i = 0; (s = timeline_stream(p->timeline, i)) != NULL; i++) {
		char roles[200];

		roles_of(s, roles, sizeof roles);
		(void)buf_fmt(b, "  stream %u %s session %u lineage %u previous %u "
		    "givers %u end %s roles %s\n", s->n, ev_kind_names[s->kind], s->session,
		    s->lineage, s->previous, s->givers, ev_end_names[s->end], roles);
	}
}

/* ---- the tests ---- */

struct seeded {				/* what other processes made of it */
	char path[300];
	char name[512];
	uint64_t digest[2];
};

static struct str
output(const struct play *p)
{
	return str_of(p->out.p, p->out.n);
}

static void
test_one(void **state)
{
	const struct seeded *s = *state;
	struct conv c;
	struct play p, q;
	struct buf bad;

	conv_read(&c, s->path);
	play(&p, &c, false);
	buf_init(&bad, 1 << 16);
	if (c.error[0])
		(void)buf_fmt(&bad, "%s\n", c.error);
	for (uint32_t i = 0; i < c.n_wants; i++)
		judge_line(&p, c.wants[i], &bad);
	judge_rest(&p, &c, &bad);
	if (!p.gaps) {
		play(&q, &c, true);
		if (!str_eq(output(&p), output(&q)))
			(void)buf_adds(&bad, STR("byte by byte it is something else\n"));
		play_fini(&q);
	}
	for (int i = 0; i < 2; i++)
		if (s->digest[i] != map_digest(p.out.p, p.out.n))
			(void)buf_adds(&bad, STR("under another hash seed the output is "
			    "another\n"));
	if (bad.n)
		print_all(&p, &bad);
	(void)buf_addc(&bad, '\0');
	play_fini(&p);
	conv_fini(&c);
	if (bad.n > 1) {
		(void)fputs(bad.p, stderr);	/* print_error() would cut it */
		buf_fini(&bad);
		fail();
	}
	buf_fini(&bad);
}

/* The table of roles (DESIGN 5): every edge is walked, and no other. */
static void
test_roles(void **state)
{
	enum { N = EV_CLOSED + 1 };
	static const char edges[N][N + 1] = {
		/* to:		pPsorC: presumed Primary shadow orphan request Closed */
		[EV_PRESUMED] =	"-Ps-rC",
		[EV_PRIMARY] =	"---orC",
		[EV_SHADOW] =	"pP--rC",
		[EV_ORPHAN] =	"pP--rC",
		[EV_REQUEST_STREAM] = "-P---C",
		[EV_CLOSED] =	"p-s-r-",
	};

	(void)state;
	for (int from = 0; from < N; from++)
		for (int to = 0; to < N; to++)
			if (walked[from][to] != (edges[from][to] != '-'))
				fail_msg("%s to %s: %s", ev_role_names[from],
				    ev_role_names[to], walked[from][to] ?
				    "is not in the table" : "is never walked");
}

/* Every detector has a conversation that fires it, and a near miss. */
static void
test_detectors(void **state)
{
	const struct seeded *all = *state;

	for (uint32_t i = 0; rules_table[i]; i++) {
		bool fires = false, misses = false;

		for (uint32_t j = 0; all[j].name[0]; j++) {
			struct conv c;
			bool fired = false;

			conv_read(&c, all[j].path);
			for (uint32_t k = 0; k < c.n_wants; k++)
				fired |= strncmp(c.wants[k], "want ", 5) == 0 &&
				    str_pre(str_c(c.wants[k] + 5), str_c(rules_table[i]->name));
			fires |= fired;
			misses |= !fired && strncmp(all[j].name, "miss-", 5) == 0 &&
			    strncmp(all[j].name + 5, rules_table[i]->name, 6) == 0;
			conv_fini(&c);
		}
		if (!fires || !misses)
			fail_msg("%s has no conversation that %s it", rules_table[i]->name,
			    fires ? "just misses" : "fires");
	}
}

/* Digests of all outputs under a seed: it is read once in a process, so this
 * one must not have hashed anything yet. */
static bool
play_seeded(struct seeded *all, uint32_t n, int which, const char *seed)
{
	int fd[2], status;
	pid_t pid;
	bool ok = true;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		return false;
	if (pid == 0) {
		(void)close(fd[0]);
		(void)setenv("MCPDIAG_HASH_SEED", seed, 1);
		for (uint32_t i = 0; i < n; i++) {
			struct conv c;
			struct play p;
			uint64_t d;

			conv_read(&c, all[i].path);
			play(&p, &c, false);
			d = map_digest(p.out.p, p.out.n);
			play_fini(&p);
			conv_fini(&c);
			if (write(fd[1], &d, sizeof d) != sizeof d)
				_exit(1);
		}
		_exit(0);
	}
	(void)close(fd[1]);
	for (uint32_t i = 0; i < n && ok; i++)
		ok = read(fd[0], &all[i].digest[which], sizeof(uint64_t)) == sizeof(uint64_t);
	(void)close(fd[0]);
	return waitpid(pid, &status, 0) == pid && ok && status == 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct seeded *)a)->path, ((const struct seeded *)b)->path);
}

static uint32_t
list(const char *dir, struct seeded *all)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t n = 0;

	while (d && (e = readdir(d)) != NULL && n < MAX_FILES) {
		size_t len = strlen(e->d_name);
		struct conv c;

		if (len < 6 || len > 80 || strcmp(e->d_name + len - 5, ".conv") != 0)
			continue;
		(void)snprintf(all[n].path, sizeof all[n].path, "%.200s/%.90s", dir,
		    e->d_name);
		conv_read(&c, all[n].path);
		(void)snprintf(all[n].name, sizeof all[n].name, "%.*s: %s", (int)len - 5,
		    e->d_name, c.title);
		conv_fini(&c);
		n++;
	}
	if (d)
		(void)closedir(d);
	qsort(all, n, sizeof *all, by_path);
	return n;
}

/* As named by the caller, or in the source tree: where this file was compiled,
 * or from build/VARIANT/unit. */
static uint32_t
find_all(int argc, char **argv, struct seeded *all)
{
	const char *env = getenv("MCPDIAG_CONV_DIR");
	char path[300];
	uint32_t n;

	if (argc > 1 || env)
		return list(argc > 1 ? argv[1] : env, all);
	(void)snprintf(path, sizeof path, "%.*s../conv",
	    (int)(strlen(__FILE__) - strlen("test_conv.c")), __FILE__);
	if ((n = list(path, all)) > 0)
		return n;
	(void)snprintf(path, sizeof path, "%.200s/../../../../tests/conv", argv[0]);
	return list(path, all);
}

/* ---- other uses ---- */

static int
show_events(const char *path)
{
	struct conv c;
	struct play p;

	conv_read(&c, path);
	play(&p, &c, false);
	(void)fwrite(p.out.p, 1, p.out.n, stdout);
	if (c.error[0])
		(void)fprintf(stderr, "%s\n", c.error);
	play_fini(&p);
	conv_fini(&c);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct seeded all[MAX_FILES + 1];	/* ended by one without name */
	static struct CMUnitTest tests[MAX_FILES + 2];
	uint32_t n;

	if (argc == 3 && strcmp(argv[1], "--events") == 0)
		return show_events(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--script") == 0)
		return conv_write_script(argv[2]);
	n = find_all(argc, argv, all);
	if (n == 0) {
		(void)fprintf(stderr, "no *.conv found: name the folder\n");
		return 1;
	}
	if (!play_seeded(all, n, 0, "1") || !play_seeded(all, n, 1, "0x7777")) {
		(void)fprintf(stderr, "a conversation ends the program: see which with "
		    "--events FILE\n");
		return 1;
	}
	for (uint32_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ .name = all[i].name, .test_func = test_one,
		    .initial_state = &all[i] };
	if (argc > 1)
		return _cmocka_run_group_tests("conv", tests, n, NULL, NULL);
	/* Only of all of them together: */
	tests[n] = (struct CMUnitTest){ .name = "every change of role is seen",
	    .test_func = test_roles };
	tests[n + 1] = (struct CMUnitTest){ .name = "every detector fires and misses",
	    .test_func = test_detectors, .initial_state = all };
	return _cmocka_run_group_tests("conv", tests, n + 2, NULL, NULL);
}
