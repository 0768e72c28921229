/* save: what is saved of a session tells the same as what it was taken from. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../../src/cmd/save.h"
#include "mcpdiag/capsynth.h"
#include "util.h"

static char dir[] = "/tmp/test_save.XXXXXX";

struct run {
	struct pipeline *p;
	struct save *save;
	struct pipeline_opts opts;
};

static void
tap(void *arg, const struct ev *e)
{
	struct run *r = arg;

	save_event(r->save, e);
}

/* The whole file, to a pipeline and to what saves it: from the file, or as
 * packets that come only once. */
static void
open_run(struct run *r, const char *file, bool live, uint64_t ring)
{
	struct save_opts so = { .file = live ? NULL : file, .interface = live ? "lo" : NULL };
	struct source *s = source_new();
	struct source_file f;
	struct errmsg em = { "" };
	struct packet pk;

	*r = (struct run){ .opts = { .tap = tap, .arg = r } };
	limits_init(&r->opts.limits);
	r->opts.limits.ring = ring;
	so.pipe = r->opts;
	r->save = save_new(&so);
	r->p = pipeline_new(&r->opts);
	save_timeline(r->save, pipeline_timeline(r->p));
	if (source_add(s, file, &em) != 0)
		fail_msg("%s", em.text);
	while (source_next(s, &pk) == 1) {
		save_packets(r->save, &pk, 1);
		assert_int_equal(pipeline_packets(r->p, &pk, 1), 1);
	}
	if (source_file(s, 0, &f))
		pipeline_file(r->p, &f);
	source_free(s);
	pipeline_end(r->p);
}

static void
close_run(struct run *r)
{
	save_free(r->save);
	pipeline_free(r->p);
}

static const char *
path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static bool
is_about(const struct finding *f, uint32_t session)
{
	bool yes = f->session == session;

	for (uint32_t i = 0; !yes && i < f->sessions_alike; i++)
		yes = f->alike[i] == session;
	return yes;
}

static void
list_findings(const struct run *r, uint32_t session, struct buf *b)
{
	const struct finding *f;

	for (uint32_t i = 0; (f = timeline_finding(pipeline_timeline(r->p), i)) != NULL; i++)
		/* Remarks are made once about a server, whichever session it was. */
		if (is_about(f, session) && !f->remark)
			(void)buf_fmt(b, "%s/%s %s %s %llu\n", f->detector,
			    f->variant ? f->variant : "", severity_name(f->severity),
			    confidence_name(f->confidence),
			    f->session == session ? (unsigned long long)f->count : 0);
}

static uint32_t
session_of(const struct run *r, const char *key)
{
	const struct tl_session *t;

	for (uint32_t i = 0; (t = timeline_session(pipeline_timeline(r->p), i)) != NULL; i++)
		if (strcmp(t->key, key) == 0)
			return t->n;
	fail_msg("session %s is not in what was saved", key);
	return 0;
}

static bool
save(struct run *r, enum tui_save what, uint32_t session, const char *path, char said[256])
{
	return save_ask(r->save, what, session, str_c(path), NULL, said, 256);
}

/* Nothing but the files of that name is left in the folder. */
static void
remove_file(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void
saved_is_found_again(struct run *r, const struct tl_session *t)
{
	char path[128], said[256];
	struct buf was, is;
	struct run again;

	(void)snprintf(path, sizeof path, "%s", path_of("s.pcapng"));
	if (!save(r, TUI_SAVE_PCAPNG, t ? t->n : 0, path, said))
		fail_msg("%s", said);
	open_run(&again, path, false, 1 << 20);
	assert_true(timeline_total(pipeline_timeline(again.p))->u.total.last ==
	    timeline_total(pipeline_timeline(r->p))->u.total.last);
	buf_init(&was, 1 << 16);
	buf_init(&is, 1 << 16);
	list_findings(r, t ? t->n : 0, &was);
	list_findings(&again, t ? session_of(&again, t->key) : 0, &is);
	(void)buf_addc(&was, 0);
	(void)buf_addc(&is, 0);
	assert_string_equal(is.p, was.p);
	buf_fini(&was);
	buf_fini(&is);
	close_run(&again);
	remove_file(path);
}

static const char *const captures[] = {
	"captures/leapfrog-rmcp0.15.0-eventsource.pcap",
	"captures/leapfrog-any-sll2-rmcp0.15.0-eventsource.pcap",
	"captures/midstream-leapfrog-rmcp0.15.0-ts1.23.pcap",
	"captures/13-orphan-newest-wins.pcap",
	"captures/06-legacy-sse-ts1.32.pcap",
	"captures/19-duplicated.pcap",
	"captures/19-pcapng-two-linktypes.pcapng",
	"captures/19-gzip.pcap.gz",
	"captures/19-random-loss-leapfrog.pcap",
	"captures/modern-2026-rmcp3.1.4-ts2.4.pcap",
	"captures/silent-loss-half-open-primary-rmcp0.17.0.pcap",
	"captures/shadow-eviction-loop-rmcp0.17.0.pcap",
	"captures/12-replay-token-lost.pcap",
};

static void
same_findings(void **state)
{
	const struct tl_session *t;
	struct run r;

	(void)state;
	for (unsigned i = 0; i < N_ROWS(captures); i++)
		for (int live = 0; live < 2; live++) {
			open_run(&r, captures[i], live, 64 << 20);
			/* Of 2026-07-28: there are no sessions, all is saved. */
			if (timeline_session(pipeline_timeline(r.p), 0) == NULL)
				saved_is_found_again(&r, NULL);
			for (uint32_t k = 0; (t = timeline_session(
			    pipeline_timeline(r.p), k)) != NULL; k++)
				saved_is_found_again(&r, t);
			close_run(&r);
		}
}

static void
read_text(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "r");
	char *to;

	assert_non_null(f);
	buf_init(b, 1 << 20);
	to = buf_room(b, 1 << 19);
	b->n = fread(to, 1, 1 << 19, f);
	(void)buf_addc(b, 0);
	(void)fclose(f);
}

#define HAS(b, what) \
	if (strstr((b).p, (what)) == NULL) \
		fail_msg("no \"%s\" in:\n%s", (what), (b).p)
#define HAS_NOT(b, what) \
	if (strstr((b).p, (what)) != NULL) \
		fail_msg("\"%s\" in:\n%s", (what), (b).p)

static void
reports(void **state)
{
	char path[128], said[256];
	struct run r;
	struct buf b;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", path_of("s.txt"));
	open_run(&r, captures[0], false, 1 << 20);
	assert_true(save(&r, TUI_SAVE_TEXT, 1, path, said));
	assert_non_null(strstr(said, "203 packets of 17 TCP connections"));
	read_text(path, &b);
	HAS(b, "leapfrog: 2 listeners take the channel");
	HAS(b, "packet 181 ");		/* as in the capture */
	buf_fini(&b);
	remove_file(path);
	assert_true(save(&r, TUI_SAVE_JSON, 0, path, said));
	read_text(path, &b);
	HAS(b, "\"schema\": \"mcpdiag/1\"");
	HAS(b, "\"detector\": \"leapfrog\"");
	buf_fini(&b);
	remove_file(path);
	close_run(&r);
}

/* Two sessions in one file: what is saved of one says nothing of the other. */
static void
one_of_two(void **state)
{
	const char *file = "captures/19-pcapng-two-linktypes.pcapng";
	const struct tl_session *t[2];
	char path[128], said[256];
	struct run r;
	struct buf b;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", path_of("s.txt"));
	open_run(&r, file, false, 1 << 20);
	for (uint32_t i = 0; i < 2; i++) {
		t[i] = timeline_session(pipeline_timeline(r.p), i);
		assert_non_null(t[i]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(save(&r, TUI_SAVE_TEXT, t[i]->n, path, said));
		read_text(path, &b);
		HAS(b, t[i]->key);
		HAS_NOT(b, t[!i]->key);
		buf_fini(&b);
		remove_file(path);
	}
	close_run(&r);
}

/* And of both, each packet on its link type. */
static void
both_of_two(void **state)
{
	char path[128], said[256];
	const struct tl_session *t;
	struct run r, again;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", path_of("s.pcapng"));
	open_run(&r, "captures/19-pcapng-two-linktypes.pcapng", true, 1 << 20);
	assert_true(save(&r, TUI_SAVE_PCAPNG, 0, path, said));
	open_run(&again, path, false, 1 << 20);
	for (uint32_t i = 0; (t = timeline_session(pipeline_timeline(r.p), i)) != NULL; i++)
		(void)session_of(&again, t->key);
	close_run(&again);
	close_run(&r);
	remove_file(path);
}

static void
put_start(struct capsynth *c, const char *sid, ns_t t)
{
	static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}";
	static const char answer[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
	    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}";
	char text[1024];
	int n = snprintf(text, sizeof text, "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: "
	    "application/json\r\nAccept: application/json, text/event-stream\r\n"
	    "Content-Length: %zu\r\n\r\n%s", strlen(body), body);

	assert_int_equal(capsynth_data(c, 1, false, text, (size_t)n, t), 0);
	n = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "Mcp-Session-Id: %s\r\nContent-Length: %zu\r\n\r\n%s", sid, strlen(answer),
	    answer);
	assert_int_equal(capsynth_data(c, 1, true, text, (size_t)n, t + NS_MS), 0);
}

/* Two sessions on one connection come out together, which is said; a report is
 * still of one. */
static void
shared_connection(void **state)
{
	static const struct capwrite_opts o = { .linktype = CAPSYNTH_LINKTYPE };
	const struct tl_session *t[2];
	char in[128], path[128], said[256];
	struct capwrite *w;
	struct capsynth *c;
	struct run r;
	struct buf b;

	(void)state;
	(void)snprintf(in, sizeof in, "%s", path_of("in.pcapng"));
	(void)snprintf(path, sizeof path, "%s", path_of("s.txt"));
	w = capwrite_new(in, &o, NULL);
	c = capsynth_new(w, 4);
	assert_int_equal(capsynth_open(c, 1, "10.0.0.1:4000", "10.0.0.2:80", NS_S), 0);
	put_start(c, "0123456789abcdef-a", NS_S + NS_MS);
	put_start(c, "0123456789abcdef-b", NS_S + 5 * NS_MS);
	capsynth_free(c);
	capwrite_free(w);
	open_run(&r, in, false, 1 << 20);
	for (uint32_t i = 0; i < 2; i++) {
		t[i] = timeline_session(pipeline_timeline(r.p), i);
		assert_non_null(t[i]);
	}
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(save(&r, TUI_SAVE_TEXT, t[i]->n, path, said));
		assert_non_null(strstr(said, "shared with 1 other session"));
		read_text(path, &b);
		HAS(b, t[i]->key);
		HAS_NOT(b, t[!i]->key);
		buf_fini(&b);
		assert_int_equal(unlink(path), 0);
	}
	close_run(&r);
	remove_file(in);
}

static void
ladder_as_it_is(void **state)
{
	char path[128], said[256];
	struct run r;
	struct buf b, text;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", path_of("l.txt"));
	open_run(&r, captures[0], false, 1 << 20);
	buf_init(&text, 100);
	(void)buf_adds(&text, STR("client -> server\n"));
	assert_true(save_ask(r.save, TUI_SAVE_LADDER, 1, str_c(path), &text, said, sizeof said));
	read_text(path, &b);
	assert_string_equal(b.p, "client -> server\n");
	buf_fini(&b);
	buf_fini(&text);
	remove_file(path);
	close_run(&r);
}

static void
never_over_a_file(void **state)
{
	char path[128], said[256];
	struct stat was, is;
	struct run r;
	int fd;

	(void)state;
	open_run(&r, captures[0], false, 1 << 20);
	assert_int_equal(stat(captures[0], &was), 0);
	assert_false(save(&r, TUI_SAVE_PCAPNG, 1, captures[0], said));
	assert_non_null(strstr(said, "is being read"));
	assert_int_equal(stat(captures[0], &is), 0);
	assert_int_equal(is.st_ino, was.st_ino);
	assert_int_equal(is.st_size, was.st_size);

	(void)snprintf(path, sizeof path, "%s", path_of("mine"));
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mine", 4), 4);
	(void)close(fd);
	assert_false(save(&r, TUI_SAVE_PCAPNG, 1, path, said));
	assert_non_null(strstr(said, "there already"));
	assert_int_equal(stat(path, &is), 0);
	assert_int_equal(is.st_size, 4);
	remove_file(path);

	/* Somebody takes the name while it is being written. */
	assert_int_equal(save_begin(r.save, TUI_SAVE_PCAPNG, 1, str_c(path), STR_NONE, NULL), 0);
	assert_int_equal(save_begin(r.save, TUI_SAVE_PCAPNG, 1, str_c(path), STR_NONE, NULL),
	    -E_USAGE);
	assert_int_equal(save_turn(r.save, 10, NULL), 1);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	(void)close(fd);
	assert_true(save_turn(r.save, UINT32_MAX, NULL) < 0);
	assert_int_equal(stat(path, &is), 0);
	assert_int_equal(is.st_size, 0);
	remove_file(path);

	assert_false(save(&r, TUI_SAVE_PCAPNG, 1, "/nonexistent/folder/x", said));
	assert_non_null(strstr(said, "cannot be written"));
	assert_false(save(&r, TUI_SAVE_PCAPNG, 1, "", said));
	assert_false(save(&r, TUI_SAVE_PCAPNG, 77, path, said));
	assert_non_null(strstr(said, "no connection"));

	/* A job that is left in the middle leaves nothing. */
	assert_int_equal(save_begin(r.save, TUI_SAVE_PCAPNG, 1, str_c(path), STR_NONE, NULL), 0);
	assert_int_equal(save_turn(r.save, 10, NULL), 1);
	assert_true(save_progress(r.save) > 0.04 && save_progress(r.save) < 0.06);
	close_run(&r);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
}

/* What the ring has lost is said. */
static void
ring_too_small(void **state)
{
	char path[128], said[256];
	struct run r;

	(void)state;
	(void)snprintf(path, sizeof path, "%s", path_of("s.pcapng"));
	open_run(&r, captures[0], true, 16 << 10);
	assert_true(save(&r, TUI_SAVE_PCAPNG, 1, path, said));
	assert_non_null(strstr(said, "are no longer kept"));
	remove_file(path);
	close_run(&r);
}

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	(void)rmdir(dir);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_findings),
		cmocka_unit_test(reports),
		cmocka_unit_test(one_of_two),
		cmocka_unit_test(both_of_two),
		cmocka_unit_test(shared_connection),
		cmocka_unit_test(ladder_as_it_is),
		cmocka_unit_test(never_over_a_file),
		cmocka_unit_test(ring_too_small),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
