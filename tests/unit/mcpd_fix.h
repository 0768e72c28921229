/* mcpd_fix: a server and its clients on one loop, for the tests of mcpd.
 *
 * A scene is a list of steps: what a client sends, and what it then reads.
 * What is sent is a request in short form, "POST\nName: value\n\nbody": Host,
 * Accept, Content-Type and Content-Length are added unless they are there
 * ("-Accept" leaves one out), $0 is the session id that client 0 was told.
 * What is read is given as lines: pieces that must come in that order, later
 * than those of the client's last step; "!piece" must not come before the next
 * one; ^ is a line's end.  In what is read chunks are joined, Date is left out, and [end], [fin]
 * and [rst] stand for the end of a response and of the connection.
 * Whatever comes must be valid: all bodies and all data of events are JSON.
 *
 * What is awaited is a condition; a guard of ten seconds fails the test. */
#ifndef MCPDIAG_TEST_MCPD_FIX_H
#define MCPDIAG_TEST_MCPD_FIX_H

#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/loop.h"
#include "mcpdiag/mcpd.h"

enum { CLIENTS = 8, STEPS = 20, SMALL = 4096 };

struct step {
	int c;
	const char *send, *want;
};

struct scene {
	const char *what, *opts;
	struct step step[STEPS];
};

struct mfix;

struct peer {
	struct mfix *f;
	int fd;
	struct loop_fd *ready;
	struct buf got, text;	/* as it came, and in readable form */
	size_t mark;		/* of text: what steps have seen */
	size_t whole, text_n;	/* of both: what whole responses are */
	bool check;		/* what is not whole, too */
	bool eof, reset, small;
	char sid[64];
};

struct mfix {
	struct loop *loop;
	struct mcpd *m;
	struct loop_timer *guard, *poll;
	struct peer c[CLIENTS];
	bool (*until)(struct mfix *);
	struct peer *at;	/* for the condition */
	const char *want;
	size_t seen;
	bool late, stopped;
	uint32_t sessions, streams;	/* likewise */
	bool forbidden;		/* what must not come came */
};

#define RPC(rest) "{\"jsonrpc\":\"2.0\"," rest "}"
#define REQ(id, method, params) \
	RPC("\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}")
#define NOTE(method, params) \
	RPC("\"method\":\"" method "\",\"params\":{" params "}")
#define INIT_CAPS(version, caps) REQ("0", "initialize", "\"protocolVersion\":\"" version \
	"\",\"capabilities\":{" caps "},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}")
#define INIT(version) INIT_CAPS(version, "")
#define CALL(id, name, args) REQ(id, "tools/call", \
	"\"name\":\"" name "\",\"arguments\":{" args "}")
/* Calls it so that progress is wanted. */
#define CALL_P(id, name, args, token) REQ(id, "tools/call", \
	"\"name\":\"" name "\",\"arguments\":{" args "},\"_meta\":{\"progressToken\":" token "}")
#define SID(n) "Mcp-Session-Id: $" n "\n"
#define POST(n, body) "POST\n" SID(n) "\n" body
#define GET(n) "GET\n" SID(n)
#define GET_AFTER(n, id) "GET\n" SID(n) "Last-Event-ID: " id "\n"
#define OK "HTTP/1.1 200 OK\n"
/* A session on client c. */
#define BEGIN(c, version) { c, "POST\n\n" INIT(version), OK "[end]" }
#define CHANGED "notifications/tools/list_changed"

static inline void
mfix_poke(struct mfix *f)
{
	if (f->until && f->until(f))
		loop_stop(f->loop);
}

static inline void
mfix_late(void *arg)
{
	struct mfix *f = arg;

	f->late = true;
	loop_stop(f->loop);
}

/* Conditions on the server's state: asked again and again. */
static inline void
mfix_poll(void *arg)
{
	struct mfix *f = arg;

	mfix_poke(f);
	if (f->until)
		loop_timer_set(f->poll, NS_MS);
}

static inline bool
mfix_try(struct mfix *f, bool (*until)(struct mfix *))
{
	f->late = false;
	f->until = until;
	loop_timer_set(f->guard, 10 * NS_S);
	loop_timer_set(f->poll, NS_MS);
	if (!until(f))
		loop_run(f->loop);
	loop_timer_clear(f->guard);
	f->until = NULL;
	return !f->late;
}

#define mfix_run(f, until) do { \
	if (!mfix_try((f), (until))) \
		fail_msg("waited in vain for %s", #until); \
} while (0)

/* ---- options: words ---- */

static inline bool
word_value(const char *word, const char *name, const char **value)
{
	size_t n = strlen(name);

	*value = word + n + 1;
	return strncmp(word, name, n) == 0 && word[n] == '=';
}

static inline void
mfix_option(struct mcpd_opts *o, const char *w)
{
	static const char *const hosts[] = { "example.org", NULL }, *const any[] = { "*", NULL };
	struct errmsg em = { "" };
	const char *v;

	if (word_value(w, "policy", &v)) {
		int i = 0;

		while (strcmp(v, chan_policy_names[i]) != 0)
			assert_non_null(chan_policy_names[++i]);
		chan_opts_init(&o->channel, (enum chan_policy)i);
	} else if (word_value(w, "fault", &v)) {
		if (fault_set(&o->faults, str_c(v), &em) != 0)
			fail_msg("%s", em.text);
	} else if (word_value(w, "sessions", &v)) {
		o->sessions = (uint32_t)strtoul(v, NULL, 10);
	} else if (word_value(w, "keepalive", &v)) {
		o->keepalive = (ns_t)strtoul(v, NULL, 10) * NS_MS;
	} else if (word_value(w, "emit", &v)) {
		o->emit = (ns_t)strtoul(v, NULL, 10) * NS_MS;
	} else if (word_value(w, "emissions", &v)) {
		o->emissions = (uint32_t)strtoul(v, NULL, 10);
	} else if (word_value(w, "body", &v)) {
		o->http.body = strtoul(v, NULL, 10);
	} else if (word_value(w, "backlog", &v)) {
		o->http.backlog = strtoul(v, NULL, 10);
	} else if (word_value(w, "cap", &v)) {
		o->channel.cap = (uint32_t)strtoul(v, NULL, 10);
	} else if (word_value(w, "retry", &v)) {
		o->channel.retry_ms = (int64_t)strtoul(v, NULL, 10);
	} else if (strcmp(w, "json") == 0) {
		o->json = true;
	} else if (strcmp(w, "legacy") == 0) {
		o->legacy = true;
	} else if (strcmp(w, "conformance") == 0) {
		o->conformance = true;
	} else if (strcmp(w, "401") == 0) {
		o->lost_session_401 = true;
	} else if (strcmp(w, "inclusive") == 0) {
		o->channel.inclusive = true;
	} else if (strcmp(w, "hosts") == 0 || strcmp(w, "any-host") == 0) {
		o->hosts = w[0] == 'h' ? hosts : any;
	} else {
		fail_msg("no such word: %s", w);
	}
}

static inline void
mfix_options(struct mcpd_opts *o, const char *words)
{
	char text[256], *save = NULL;

	mcpd_opts_init(o, CHAN_SHADOW_PROMOTE);
	assert_true(strlen(words) < sizeof text);
	memcpy(text, words, strlen(words) + 1);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		mfix_option(o, w);
}

static inline void
mfix_init(struct mfix *f, const struct mcpd_opts *o)
{
	struct errmsg em = { "" };

	*f = (struct mfix){ .late = false };
	for (size_t i = 0; i < CLIENTS; i++)
		f->c[i].fd = -1;
	f->loop = loop_new(&em);
	assert_non_null(f->loop);
	f->guard = loop_timer_new(f->loop, mfix_late, f);
	f->poll = loop_timer_new(f->loop, mfix_poll, f);
	f->m = mcpd_new(f->loop, o, &em);
	if (f->m == NULL)
		fail_msg("%s", em.text);
}

static inline void
peer_free(struct peer *c)
{
	loop_fd_free(c->ready);
	if (c->fd >= 0)
		(void)close(c->fd);
	buf_fini(&c->got);
	buf_fini(&c->text);
	c->ready = NULL;
	c->fd = -1;
}

static inline void
mfix_fini(struct mfix *f)
{
	mcpd_free(f->m);
	for (size_t i = 0; i < CLIENTS; i++)
		peer_free(&f->c[i]);
	loop_timer_free(f->guard);
	loop_timer_free(f->poll);
	loop_free(f->loop);
}

/* ---- what comes ---- */

static inline void
valid_json(struct str s, const char *where)
{
	json_error_t e;
	json_t *j = json_loadb(s.p, s.n,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &e);

	if (j == NULL)
		fail_msg("%s is no JSON: %s\n%.*s", where, e.text, (int)(s.n < 2000 ? s.n : 2000),
		    s.p);
	json_decref(j);
}

/* The blocks of an event stream so far: fields as we write them, and no other. */
static inline void
valid_events(struct str body, bool legacy)
{
	size_t n;

	while ((n = str_find(body, STR("\n"))) != SIZE_MAX) {
		struct str line = str_of(body.p, n);

		body = str_of(body.p + n + 1, body.n - n - 1);
		if (str_pre(line, STR("data: /")) && legacy)
			continue;
		if (str_pre(line, STR("data: ")) && line.n > 6)
			valid_json(str_of(line.p + 6, line.n - 6), "data");
		else if (line.n > 0 && line.p[0] != ':' && !str_pre(line, STR("id: ")) &&
		    !str_pre(line, STR("retry: ")) && !str_pre(line, STR("event: ")) &&
		    !str_pre(line, STR("data: ")))
			fail_msg("a line that is no field: %.*s", STR_ARG(line));
	}
}

/* The value of a header in a head; absent when there is none. */
static inline struct str
head_value(struct str head, const char *name)
{
	size_t at = str_find(head, str_c(name)), end;

	if (at == SIZE_MAX)
		return STR_NONE;
	head = str_of(head.p + at + strlen(name), head.n - at - strlen(name));
	end = str_find(head, STR("\r\n"));
	return str_of(head.p, end);
}

/* Chunks at s, joined to out; how much of s that was; *whole at their end. */
static inline size_t
join_chunks(struct str s, struct buf *out, bool *whole)
{
	size_t at = 0;

	*whole = false;
	for (;;) {
		size_t line = str_find(str_of(s.p + at, s.n - at), STR("\r\n"));
		unsigned long n;

		if (line == SIZE_MAX)
			return at;
		n = strtoul(s.p + at, NULL, 16);
		line += 2;
		if (s.n - at < line + n + 2)
			return at;
		assert_memory_equal(s.p + at + line + n, "\r\n", 2);
		(void)buf_adds(out, str_of(s.p + at + line, n));
		at += line + n + 2;
		if (n == 0) {
			*whole = true;
			return at;
		}
	}
}

/* The next response in `s`: to c->text; 0 when it is not complete. */
static inline size_t
read_response(struct peer *c, struct str s)
{
	size_t head_n = str_find(s, STR("\r\n\r\n")), date, body_at, used;
	struct str head, type, length;
	bool whole;

	if (head_n == SIZE_MAX)
		return 0;
	head_n += 4;
	head = str_of(s.p, head_n);
	date = str_find(head, STR("Date: "));
	(void)buf_adds(&c->text, str_of(s.p, date));
	(void)buf_adds(&c->text, str_of(s.p + date + 37, head_n - date - 37));
	type = head_value(head, "Content-Type: ");
	length = head_value(head, "Content-Length: ");
	if (head_value(head, "Mcp-Session-Id: ").p)
		(void)snprintf(c->sid, sizeof c->sid, "%.*s",
		    STR_ARG(head_value(head, "Mcp-Session-Id: ")));
	s = str_of(s.p + head_n, s.n - head_n);
	body_at = c->text.n;
	if (head_value(head, "Transfer-Encoding: ").p) {
		used = join_chunks(s, &c->text, &whole);
	} else {
		uint64_t n = 0;

		if (length.p)
			assert_true(str_u64(length, &n));
		whole = s.n >= n;
		used = whole ? n : s.n;
		(void)buf_adds(&c->text, str_of(s.p, used));
	}
	s = str_of(c->text.p + body_at, c->text.n - body_at);
	if (!whole && !c->check)
		return 0;
	if (str_eq(type, STR("text/event-stream")))
		valid_events(s, str_find(head, STR("endpoint")) == SIZE_MAX);
	else if (whole && str_eq(type, STR("application/json")))
		valid_json(s, "a body");
	if (!whole)
		return 0;
	(void)buf_adds(&c->text, STR("[end]"));
	return head_n + used;
}

static inline void
read_text(struct peer *c)
{
	size_t n;

	c->text.n = c->text_n;
	while (c->whole < c->got.n) {
		n = read_response(c, str_of(c->got.p + c->whole, c->got.n - c->whole));
		if (n == 0)
			break;
		c->whole += n;
		c->text_n = c->text.n;
	}
	if (c->eof)
		(void)buf_adds(&c->text, c->reset ? STR("[rst]") : STR("[fin]"));
}

static inline void
peer_ready(void *arg, int fd, unsigned ready)
{
	struct peer *c = arg;
	size_t room = c->small ? SMALL : 1 << 20;
	char *p = buf_room(&c->got, room);
	ssize_t n = recv(fd, p, room, MSG_DONTWAIT);

	(void)ready;
	if (n > 0) {
		c->got.n += (size_t)n;
	} else if (n == 0 || errno != EAGAIN) {
		c->eof = true;
		c->reset = n < 0;
		loop_fd_want(c->ready, 0);
	}
	mfix_poke(c->f);
}

static inline struct peer *
peer_connect(struct mfix *f, int i, bool small)
{
	struct peer *c = &f->c[i];
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(strrchr(mcpd_url(f->m), ':') + 1, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int size = SMALL;

	peer_free(c);
	c->f = f;
	c->mark = c->whole = c->text_n = 0;
	c->eof = c->reset = false;
	c->small = small;
	buf_init(&c->got, SIZE_MAX / 4);
	buf_init(&c->text, SIZE_MAX / 4);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(c->fd >= 0);
	if (small)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
	/* The kernel accepts for the server, which need not run. */
	assert_int_equal(connect(c->fd, (struct sockaddr *)&in, sizeof in), 0);
	c->ready = loop_fd_new(f->loop, c->fd, LOOP_READ, peer_ready, c);
	assert_non_null(c->ready);
	return c;
}

static inline void
peer_close(struct peer *c, bool reset)
{
	struct linger now = { 1, 0 };

	if (reset)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	loop_fd_free(c->ready);
	c->ready = NULL;
	(void)close(c->fd);
	c->fd = -1;
}

/* ---- what is sent ---- */

/* Adds text with $n replaced by session ids. */
static inline void
add_text(struct mfix *f, struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '$' && i + 1 < s.n && s.p[i + 1] >= '0' && s.p[i + 1] <= '7')
			(void)buf_adds(b, str_c(f->c[s.p[++i] - '0'].sid));
		else
			(void)buf_addc(b, s.p[i]);
}

/* A header that is added, unless the request has it or forbids it. */
static inline void
add_default(struct buf *b, struct str head, const char *name, const char *value)
{
	char own[40], without[40];

	(void)snprintf(own, sizeof own, "\n%s:", name);
	(void)snprintf(without, sizeof without, "\n-%s\n", name);
	if (str_find(head, str_c(own)) == SIZE_MAX &&
	    str_find(head, str_c(without)) == SIZE_MAX)
		(void)buf_fmt(b, "%s: %s\r\n", name, value);
}

static inline void
build_request(struct mfix *f, struct buf *b, const char *text)
{
	struct str s = str_c(text), head = s, body = STR("");
	size_t blank = str_find(s, STR("\n\n")), n;
	bool post = str_pre(s, STR("POST"));
	struct buf tmp;

	if (blank != SIZE_MAX) {
		head = str_of(s.p, blank + 1);
		body = str_of(s.p + blank + 2, s.n - blank - 2);
	}
	n = str_find(head, STR("\n"));
	s = str_of(head.p, n == SIZE_MAX ? head.n : n);
	add_text(f, b, s);
	(void)buf_fmt(b, "%s HTTP/1.1\r\n", str_find(s, STR(" ")) == SIZE_MAX ? " /mcp" : "");
	add_default(b, head, "Host", "localhost");
	if (post)
		add_default(b, head, "Content-Type", "application/json");
	add_default(b, head, "Accept", post ? "application/json, text/event-stream" :
	    "text/event-stream");
	while (n != SIZE_MAX && n + 1 < head.n) {
		head = str_of(head.p + n + 1, head.n - n - 1);
		n = str_find(head, STR("\n"));
		s = str_of(head.p, n == SIZE_MAX ? head.n : n);
		if (s.n == 0 || s.p[0] == '-')
			continue;
		add_text(f, b, s);
		(void)buf_adds(b, STR("\r\n"));
	}
	buf_init(&tmp, SIZE_MAX / 4);
	add_text(f, &tmp, body);
	if (post)
		(void)buf_fmt(b, "Content-Length: %zu\r\n", tmp.n);
	(void)buf_adds(b, STR("\r\n"));
	(void)buf_adds(b, buf_str(&tmp));
	buf_fini(&tmp);
}

static inline void
peer_send(struct peer *c, const char *text)
{
	struct buf b;
	size_t at = 0;

	buf_init(&b, SIZE_MAX / 4);
	build_request(c->f, &b, text);
	while (at < b.n) {
		ssize_t n = send(c->fd, b.p + at, b.n - at, MSG_NOSIGNAL);

		assert_true(n > 0);
		at += (size_t)n;
	}
	buf_fini(&b);
}

static inline void
mfix_stopped(void *arg)
{
	struct mfix *f = arg;

	f->stopped = true;
	mfix_poke(f);
}

static inline void
mfix_send(struct mfix *f, int i, const char *what)
{
	struct peer *c = &f->c[i];

	if (strcmp(what, "@close") == 0 || strcmp(what, "@reset") == 0) {
		peer_close(c, what[1] == 'r');
	} else if (strcmp(what, "@half") == 0) {
		assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	} else if (strcmp(what, "@small") == 0) {
		(void)peer_connect(f, i, true);
	} else if (strcmp(what, "@deaf") == 0) {
		loop_fd_want(c->ready, 0);
	} else if (strcmp(what, "@hear") == 0) {
		loop_fd_want(c->ready, LOOP_READ);
	} else if (strcmp(what, "@emit") == 0) {
		mcpd_emit(f->m);
	} else if (strcmp(what, "@stop") == 0) {
		mcpd_shutdown(f->m, mfix_stopped, f);
	} else {
		assert_int_not_equal(what[0], '@');
		if (c->fd < 0)
			c = peer_connect(f, i, false);
		peer_send(c, what);
	}
}

/* ---- what is wanted ---- */

static inline struct str
with_ends(struct str piece, char *text)
{
	for (size_t i = 0; i < piece.n; i++)
		text[i] = piece.p[i] == '^' ? '\n' : piece.p[i];
	return str_of(text, piece.n);
}

/* The pieces of f->want in the client's text; f->seen: behind them. */
static inline bool
mfix_came(struct mfix *f)
{
	struct peer *c = f->at;
	const char *w = f->want;
	struct str no = STR_NONE;
	size_t at = c->mark;

	read_text(c);
	while (*w) {
		struct str piece = str_of(w, strcspn(w, "\n"));
		char text[256];
		struct str rest = str_of(c->text.p + at, c->text.n - at);
		size_t i, n;

		w += piece.n + (w[piece.n] == '\n');
		assert_true(piece.n < sizeof text);
		if (piece.n > 0 && piece.p[0] == '!') {
			no = str_of(piece.p + 1, piece.n - 1);
			continue;
		}
		piece = with_ends(piece, text);
		i = str_find(rest, piece);
		if (i == SIZE_MAX)
			return false;
		n = piece.n;	/* `text` is needed again */
		if (no.p && str_find(str_of(rest.p, i), with_ends(no, text)) != SIZE_MAX)
			f->forbidden = true;
		no = STR_NONE;
		at += i + n;
	}
	f->seen = at;
	return true;
}

static inline bool
came_or_over(struct mfix *f)
{
	return mfix_came(f) || f->at->eof;
}

static inline bool
mfix_reads(struct mfix *f, int i, const char *want, const char *what, size_t step)
{
	struct peer *c = &f->c[i];
	bool ok;

	f->at = c;
	f->want = want;
	f->seen = c->mark;
	f->forbidden = false;
	ok = mfix_try(f, came_or_over) && mfix_came(f) && !f->forbidden;
	if (!ok)
		print_error("%s, step %zu: client %d read\n%.*s\n--- wanted\n%s\n", what,
		    step, i, (int)(c->text.n - c->mark < 4000 ? c->text.n - c->mark : 4000),
		    c->text.p + c->mark, want);
	c->check = true;
	read_text(c);
	c->check = false;
	c->mark = f->seen;
	return ok;
}

#define mfix_want(f, i, want) \
	assert_true(mfix_reads((f), (i), (want), __func__, __LINE__))

static inline bool
mfix_scene(const struct scene *s)
{
	struct mcpd_opts o;
	bool ok = true;
	struct mfix f;

	mfix_options(&o, s->opts);
	mfix_init(&f, &o);
	for (size_t i = 0; ok && i < STEPS && (s->step[i].send || s->step[i].want); i++) {
		const struct step *t = &s->step[i];

		if (t->send)
			mfix_send(&f, t->c, t->send);
		if (t->want)
			ok = mfix_reads(&f, t->c, t->want, s->what, i);
	}
	mfix_fini(&f);
	return ok;
}

static inline void
mfix_scenes(const struct scene *s, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += !mfix_scene(&s[i]);
	assert_int_equal(bad, 0);
}

/* Until the server has so many sessions and streams. */
static inline bool
mfix_has(struct mfix *f)
{
	struct mcpd_stats st;

	mcpd_stats(f->m, &st);
	return st.sessions == f->sessions && st.streams == f->streams;
}

#endif
