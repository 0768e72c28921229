/* conv: small conversations as text, turned into the bytes of HTTP/1.1.
 * The language is described in tests/conv/README.md.  A conversation is read
 * once (conv_read) and can be played any number of times (conv_play) to
 * whoever takes ordered bytes: observe, or a writer of fuzzing scripts. */
#ifndef MCPDIAG_TEST_CONV_H
#define MCPDIAG_TEST_CONV_H

#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/limits.h"
#include "mcpdiag/ns.h"
#include "mcpdiag/xmem.h"

#define CONV_EPOCH (1700000000 * NS_S)
#define CONV_WORDS 32
#define CONV_LINE 4096

/* What a connection is told; as in flow.h, dir 0 is the client. */
struct conv_ops {
	void *(*open)(void *arg, const char *a0, const char *a1, bool client0,
	    struct at);
	void (*data)(void *conn, int dir, const char *, size_t, struct at);
	void (*gap)(void *conn, int dir, uint64_t n, struct at);
	void (*close)(void *conn, int dir, const char *how, int by, struct at);
	void (*stall)(void *conn, int dir, uint64_t n, bool zero_window,
	    struct at since, struct at now);
	void (*end)(void *conn, struct at);
};

/* A request as the other side must know it to answer. */
struct conv_request {
	uint32_t id;
	char method[64];
};

struct conv_conn {
	char name[32];
	void *conn;
	char a0[64], a1[64];
	bool mid, ended, closed[2];
	struct conv_request *asked;
	uint32_t n_asked, cap_asked, answered;
	bool chunked;			/* the response being sent */
};

struct conv {
	char title[160];		/* the first comment */
	char *text;
	char **events;			/* lines that happen, in order */
	uint32_t n_events, cap_events;
	char **wants;			/* lines that judge */
	uint32_t n_wants, cap_wants;
	struct limits limits;
	bool data_first;
	bool contract;			/* by its name, it is about that */
	char error[256];		/* why it cannot be read or played */
	/* while it is played */
	const struct conv_ops *ops;
	void *arg;
	struct conv_conn **conns;
	uint32_t n_conns, cap_conns, next_id;
	struct at now;
	unsigned round;			/* of the repeat block */
};

static inline void
conv_fail(struct conv *c, const char *what, const char *line)
{
	if (c->error[0] == '\0')
		(void)snprintf(c->error, sizeof c->error, "%.90s: %.150s", what,
		    line);
}

/* ---- reading ---- */

static inline bool
conv_first_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\0');
}

static inline void
conv_line(struct conv *c, char *line)
{
	static const char *const judges[] = { "want", "absent", "none", "count",
	    "note", "stream", "session" };

	line += strspn(line, " \t");
	if (*line == '\0')
		return;
	if (*line == '#') {
		if (c->title[0] == '\0')
			(void)snprintf(c->title, sizeof c->title, "%.150s",
			    line + 1 + strspn(line + 1, " "));
		return;
	}
	for (size_t i = 0; i < sizeof judges / sizeof judges[0]; i++) {
		if (!conv_first_word(line, judges[i]))
			continue;
		c->wants = xgrow(c->wants, c->n_wants, &c->cap_wants, sizeof *c->wants);
		c->wants[c->n_wants++] = line;
		return;
	}
	if (conv_first_word(line, "limit")) {
		struct errmsg em;

		if (limits_set(&c->limits, str_c(line + 6), &em) < 0)
			conv_fail(c, em.text, line);
		return;
	}
	if (strcmp(line, "data-first") == 0) {
		c->data_first = true;
		return;
	}
	c->events = xgrow(c->events, c->n_events, &c->cap_events, sizeof *c->events);
	c->events[c->n_events++] = line;
}

/* c->error tells when it could not be read. */
static inline void
conv_read(struct conv *c, const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n = 0;

	*c = (struct conv){ .text = xcalloc(1, 1 << 16) };
	c->contract = strstr(path, "/contract-") || strstr(path, "/miss-contract-");
	limits_init(&c->limits);
	if (f) {
		n = fread(c->text, 1, (1 << 16) - 1, f);
		(void)fclose(f);
	}
	if (n == 0)
		conv_fail(c, "cannot be read", path);
	for (char *line = c->text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		conv_line(c, line);
	}
	if (c->title[0] == '\0')
		conv_fail(c, "no comment says what it shows", path);
	if (c->n_wants == 0)
		conv_fail(c, "it wants nothing", path);
}

static inline void
conv_fini(struct conv *c)
{
	free(c->text);
	free(c->events);
	free(c->wants);
}

/* ---- words ---- */

/* Words of a line, in place: separated by spaces, "quoted" from some place on
 * or not, and one that starts with { or [ (after an = or not) takes the rest. */
static inline unsigned
conv_split(char *line, char *words[CONV_WORDS])
{
	unsigned n = 0;
	char *p = line;

	while (n < CONV_WORDS) {
		bool quoted = false;
		char *to, *eq;

		p += strspn(p, " \t");
		if (*p == '\0')
			break;
		words[n++] = to = p;
		eq = p + strcspn(p, "= {[\"");
		if (*eq == '=')
			eq++;
		if (*eq == '{' || *eq == '[') {
			if (strcmp(eq, "{") != 0)
				break;
		}
		for (; *p && (quoted || *p != ' '); p++) {
			if (*p == '"')
				quoted = !quoted;
			else
				*to++ = *p;
		}
		if (*p)
			p++;
		*to = '\0';
	}
	return n;
}

/* The value of `name=value` among the words, or NULL. */
static inline const char *
conv_opt(char **w, unsigned n, const char *name)
{
	size_t len = strlen(name);

	for (unsigned i = 0; i < n; i++)
		if (strncmp(w[i], name, len) == 0 && w[i][len] == '=')
			return w[i] + len + 1;
	return NULL;
}

/* $i: the round of the block from 0, $n: from 1; $i+N: N more. */
static inline void
conv_expand(struct conv *c, const char *in, char out[CONV_LINE])
{
	size_t at = 0;

	for (; *in && at + 16 < CONV_LINE; in++) {
		if (in[0] == '$' && (in[1] == 'i' || in[1] == 'n')) {
			unsigned long more = 0;
			char *end = NULL;

			if (in[2] == '+')
				more = strtoul(in + 3, &end, 10);
			at += (size_t)snprintf(out + at, CONV_LINE - at, "%lu",
			    c->round + (in[1] == 'n') + more);
			in = end ? end - 1 : in + 1;
		} else
			out[at++] = *in;
	}
	out[at] = '\0';
}

/* \r \n \t \\ and \xNN of a raw text. */
static inline size_t
conv_unescape(char *s)
{
	static const char hex[] = "0123456789abcdef";
	char *to = s, *from = s;

	while (*from) {
		char c = *from++;

		if (c == '\\' && *from) {
			c = *from++;
			if (c == 'x' && from[0] && from[1]) {
				const char *a = strchr(hex, from[0]);
				const char *b = strchr(hex, from[1]);

				c = a && b ? (char)((a - hex) << 4 | (b - hex)) : '?';
				from += 2;
			} else
				c = c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		*to++ = c;
	}
	return (size_t)(to - s);
}

/* ---- bytes ---- */

static inline void
conv_send(struct conv *c, struct conv_conn *k, int dir, struct str bytes)
{
	if (k->closed[dir])
		conv_fail(c, "bytes on a closed connection", k->name);
	else if (bytes.n)
		c->ops->data(k->conn, dir, bytes.p, bytes.n, c->now);
}

#define CONV_RPC "{\"jsonrpc\":\"2.0\","

/* The word that is no option. */
static inline const char *
conv_method(char **w, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		if (w[i][0] == '{' || w[i][0] == '[' || strchr(w[i], '=') == NULL)
			return w[i];
	return "";
}

/* The body of a request: METHOD or {json}. */
static inline void
conv_body(struct conv *c, struct conv_conn *k, char **w, unsigned n, struct buf *b)
{
	struct conv_request *a = &k->asked[k->n_asked - 1];
	const char *method = conv_method(w, n), *token = conv_opt(w, n, "token");
	const char *name = conv_opt(w, n, "name"), *id = conv_opt(w, n, "id");

	if (*method == '{' || *method == '[') {
		(void)buf_adds(b, str_c(method));
		return;
	}
	(void)buf_adds(b, STR(CONV_RPC));
	if (strncmp(method, "notifications/", 14) != 0) {
		a->id = id ? (uint32_t)strtoul(id, NULL, 10) : ++c->next_id;
		(void)buf_fmt(b, "\"id\":%u,", a->id);
	}
	(void)buf_fmt(b, "\"method\":\"%s\",\"params\":{", method);
	(void)snprintf(a->method, sizeof a->method, "%.60s", method);
	if (strcmp(method, "initialize") == 0)
		(void)buf_adds(b, STR("\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
		    "\"clientInfo\":{\"name\":\"conv\",\"version\":\"1\"}"));
	else if (name || token) {
		(void)buf_fmt(b, "%s%s%s", name ? "\"name\":\"" : "", name ? name : "",
		    name ? token ? "\"," : "\"" : "");
		if (token)
			(void)buf_fmt(b, "\"_meta\":{\"progressToken\":\"%s\"}", token);
	}
	(void)buf_adds(b, STR("}}"));
}

static inline void
conv_client(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	const char *method = w[0], *sid = conv_opt(w, n, "sid"), *o;
	bool post = strcmp(method, "POST") == 0;
	struct buf head, body;

	if (strcmp(method, "raw") == 0 && n > 1) {
		conv_send(c, k, 0, str_of(w[1], conv_unescape(w[1])));
		return;
	}
	if ((post && *conv_method(w, n) == '\0') || (!post &&
	    strcmp(method, "GET") && strcmp(method, "DELETE") &&
	    strcmp(method, "OPTIONS"))) {
		conv_fail(c, "no such request", method);
		return;
	}
	buf_init(&head, 1 << 16);
	buf_init(&body, 1 << 16);
	k->asked = xgrow(k->asked, k->n_asked, &k->cap_asked, sizeof *k->asked);
	k->asked[k->n_asked++] = (struct conv_request){ 0, "" };
	if (post)
		conv_body(c, k, w, n, &body);
	o = conv_opt(w, n, "path");
	(void)buf_fmt(&head, "%s %s HTTP/1.1\r\nHost: h\r\nAccept: %stext/event-stream\r\n",
	    method, o ? o : "/mcp", post ? "application/json, " : "");
	if (sid == NULL && strcmp(k->asked[k->n_asked - 1].method, "initialize") != 0)
		sid = "S";
	if (sid && strcmp(sid, "-") != 0)
		(void)buf_fmt(&head, "Mcp-Session-Id: %s\r\n", sid);
	if ((o = conv_opt(w, n, "lei")) != NULL)
		(void)buf_fmt(&head, "Last-Event-ID: %s\r\n", o);
	if ((o = conv_opt(w, n, "ver")) != NULL)
		(void)buf_fmt(&head, "MCP-Protocol-Version: %s\r\n", o);
	if ((o = conv_opt(w, n, "hdr")) != NULL)
		(void)buf_fmt(&head, "%s\r\n", o);
	if (post)
		(void)buf_fmt(&head, "Content-Type: application/json\r\n"
		    "Content-Length: %zu\r\n", body.n);
	(void)buf_adds(&head, STR("\r\n"));
	(void)buf_adds(&head, buf_str(&body));
	conv_send(c, k, 0, buf_str(&head));
	buf_fini(&head);
	buf_fini(&body);
}

/* Data of an event, or a JSON body, from its shorthand. */
static inline void
conv_data(struct conv *c, const struct conv_conn *k, const char *what, struct buf *b)
{
	const char *colon = strchr(what, ':'), *v = colon ? colon + 1 : "";
	const struct conv_request *a = k->answered ? &k->asked[k->answered - 1] : NULL;
	unsigned long id = *v ? strtoul(v, NULL, 10) : a ? a->id : 0;
	size_t n = colon ? (size_t)(colon - what) : strlen(what);
	struct str word = str_of(what, n);

	if (*what == '\0' || *what == '{' || *what == '[' || *what == '/')
		(void)buf_adds(b, str_c(what));
	else if (str_eq(word, STR("result")) && a && strcmp(a->method, "initialize") == 0)
		(void)buf_fmt(b, CONV_RPC "\"id\":%lu,\"result\":{\"protocolVersion\":"
		    "\"2025-06-18\",\"capabilities\":{\"tools\":{\"listChanged\":true}},"
		    "\"serverInfo\":{\"name\":\"server\",\"version\":\"1\"}}}", id);
	else if (str_eq(word, STR("result")))
		(void)buf_fmt(b, CONV_RPC "\"id\":%lu,\"result\":{}}", id);
	else if (str_eq(word, STR("error")))
		(void)buf_fmt(b, CONV_RPC "\"id\":%lu,\"error\":{\"code\":-32601,"
		    "\"message\":\"no\"}}", id);
	else if (str_eq(word, STR("list_changed")))
		(void)buf_adds(b, STR(CONV_RPC
		    "\"method\":\"notifications/tools/list_changed\"}"));
	else if (str_eq(word, STR("message")))
		(void)buf_fmt(b, CONV_RPC "\"method\":\"notifications/message\","
		    "\"params\":{\"level\":\"info\",\"data\":\"%s\"}}", v);
	else if (str_eq(word, STR("progress")))
		(void)buf_fmt(b, CONV_RPC "\"method\":\"notifications/progress\","
		    "\"params\":{\"progressToken\":\"%s\",\"progress\":1}}", v);
	else if (str_eq(word, STR("ping")))
		(void)buf_fmt(b, CONV_RPC "\"id\":\"s%s\",\"method\":\"ping\"}", v);
	else
		conv_fail(c, "no such data", what);
}

static inline void
conv_chunk(struct conv *c, struct conv_conn *k, struct str text)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	if (k->chunked)
		(void)buf_fmt(&b, "%zx\r\n%.*s\r\n", text.n, STR_ARG(text));
	else
		(void)buf_adds(&b, text);
	conv_send(c, k, 1, buf_str(&b));
	buf_fini(&b);
}

static inline void
conv_event(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	const char *id = conv_opt(w, n, "id"), *retry = conv_opt(w, n, "retry");
	const char *name = conv_opt(w, n, "name"), *what = conv_opt(w, n, "data");
	struct buf b, data;

	buf_init(&b, 1 << 16);
	buf_init(&data, 1 << 16);
	if (what)
		conv_data(c, k, what, &data);
	if (name)
		(void)buf_fmt(&b, "event: %s\n", name);
	if (what && c->data_first)
		(void)buf_fmt(&b, "data: %.*s\n", STR_ARG(buf_str(&data)));
	if (id)
		(void)buf_fmt(&b, "id: %s\n", id);
	if (retry)
		(void)buf_fmt(&b, "retry: %s\n", retry);
	if (what && !c->data_first)
		(void)buf_fmt(&b, "data: %.*s\n", STR_ARG(buf_str(&data)));
	(void)buf_addc(&b, '\n');
	conv_chunk(c, k, buf_str(&b));
	buf_fini(&b);
	buf_fini(&data);
}

static inline void
conv_response(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	const char *sid = conv_opt(w, n, "sid"), *hdr = conv_opt(w, n, "hdr");
	bool sse = n > 1 && strcmp(w[1], "sse") == 0;
	bool json = n > 2 && strcmp(w[1], "json") == 0;
	bool until_close = n > 2 && strcmp(w[2], "close") == 0;
	struct buf b, body;

	if (k->answered == k->n_asked) {
		conv_fail(c, "an answer to no request", w[0]);
		return;
	}
	if (strcmp(k->asked[k->answered++].method, "initialize") == 0 && sid == NULL)
		sid = "S";
	buf_init(&b, 1 << 16);
	buf_init(&body, 1 << 16);
	if (json)
		conv_data(c, k, w[2], &body);
	(void)buf_fmt(&b, "HTTP/1.1 %s X\r\n", w[0]);
	if (sid && w[0][0] == '2' && strcmp(sid, "-") != 0)
		(void)buf_fmt(&b, "Mcp-Session-Id: %s\r\n", sid);
	if (hdr)
		(void)buf_fmt(&b, "%s\r\n", hdr);
	k->chunked = sse && !until_close;
	if (sse)
		(void)buf_fmt(&b, "Content-Type: text/event-stream\r\n%s\r\n",
		    k->chunked ? "Transfer-Encoding: chunked\r\n" : "");
	else
		(void)buf_fmt(&b, "%sContent-Length: %zu\r\n\r\n",
		    json ? "Content-Type: application/json\r\n" : "", body.n);
	(void)buf_adds(&b, buf_str(&body));
	conv_send(c, k, 1, buf_str(&b));
	buf_fini(&b);
	buf_fini(&body);
}

static inline void
conv_server(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	if ((strcmp(w[0], "raw") == 0 || strcmp(w[0], "chunk") == 0) && n < 2)
		conv_fail(c, "no bytes", w[0]);
	else if (strcmp(w[0], "raw") == 0)
		conv_send(c, k, 1, str_of(w[1], conv_unescape(w[1])));
	else if (strcmp(w[0], "chunk") == 0)
		conv_chunk(c, k, str_of(w[1], conv_unescape(w[1])));
	else if (strcmp(w[0], "ev") == 0)
		conv_event(c, k, w + 1, n - 1);
	else if (strcmp(w[0], "comment") == 0) {
		char text[200];

		(void)snprintf(text, sizeof text, ":%s%.180s\n\n", n > 1 ? " " : "",
		    n > 1 ? w[1] : "");
		conv_chunk(c, k, str_c(text));
	} else if (strcmp(w[0], "prime") == 0) {
		static char id[] = "id=0", retry[] = "retry=3000", data[] = "data=";
		char *ev[] = { id, retry, data };

		conv_event(c, k, ev, 3);
	} else if (strcmp(w[0], "end") == 0)
		conv_send(c, k, 1, STR("0\r\n\r\n"));
	else if (w[0][0] >= '1' && w[0][0] <= '5')
		conv_response(c, k, w, n);
	else
		conv_fail(c, "the server cannot say that", w[0]);
}

/* ---- connections ---- */

static inline struct conv_conn *
conv_conn(struct conv *c, const char *name, char **w, unsigned n)
{
	struct conv_conn *k;
	const char *o;

	for (uint32_t i = 0; i < c->n_conns; i++)
		if (strcmp(c->conns[i]->name, name) == 0)
			return c->conns[i];
	k = xcalloc(1, sizeof *k);
	c->conns = xgrow(c->conns, c->n_conns, &c->cap_conns, sizeof *c->conns);
	c->conns[c->n_conns++] = k;
	(void)snprintf(k->name, sizeof k->name, "%.30s", name);
	o = conv_opt(w, n, "client");
	if (o)
		(void)snprintf(k->a0, sizeof k->a0, "%.60s", o);
	else
		(void)snprintf(k->a0, sizeof k->a0, "10.0.0.1:%u", 50000 + c->n_conns);
	o = conv_opt(w, n, "server");
	(void)snprintf(k->a1, sizeof k->a1, "%.60s", o ? o : "10.0.0.2:3000");
	for (unsigned i = 0; i < n; i++)
		k->mid |= strcmp(w[i], "mid") == 0;
	k->conn = c->ops->open(c->arg, k->a0, k->a1, !k->mid, c->now);
	return k;
}

static inline void
conv_close_one(struct conv *c, struct conv_conn *k, int dir, const char *how, int by)
{
	if (k->closed[dir])
		return;
	k->closed[dir] = true;
	c->ops->close(k->conn, dir, how, by, c->now);
	if (k->closed[!dir]) {
		k->ended = true;
		c->ops->end(k->conn, c->now);
	}
}

static inline void
conv_close(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	int dir = strcmp(w[0], "server") == 0;
	const char *how = n > 1 ? w[1] : "";

	if (strcmp(how, "fin") == 0) {
		conv_close_one(c, k, dir, "fin", dir);
	} else if (strcmp(how, "rst") == 0) {
		conv_close_one(c, k, dir, "rst", dir);
		conv_close_one(c, k, !dir, "rst", dir);
	} else if (strcmp(w[0], "evicted") == 0 || strcmp(w[0], "reused") == 0) {
		conv_close_one(c, k, 0, w[0], -1);
		conv_close_one(c, k, 1, w[0], -1);
	} else
		conv_fail(c, "closes like nothing", w[0]);
}

/* ---- playing ---- */

static inline ns_t
conv_time(const char *s)
{
	return (ns_t)(strtod(s, NULL) * 1e6 + 0.5) * NS_US;
}

/* A millisecond later, in the next packet. */
static inline void
conv_then(struct conv *c)
{
	c->now.t += NS_MS;
	c->now.pkt++;
}

/* Whole exchanges in a word: start, get, call.  w[0] is that word. */
static inline bool
conv_exchange(struct conv *c, struct conv_conn *k, char **w, unsigned n)
{
	static char post[] = "POST", get[] = "GET", init[] = "initialize", ok[] = "200",
	    inited[] = "notifications/initialized", accepted[] = "202", sse[] = "sse",
	    json[] = "json", result[] = "result";
	char *more[CONV_WORDS + 2] = { w[0] };
	char **a = more + 1;

	for (unsigned i = 1; i < n; i++)
		a[i] = w[i];
	if (strcmp(w[0], "start") == 0) {
		a[-1] = post;
		a[0] = init;
		conv_client(c, k, a - 1, n + 1);
		conv_then(c);
		a[-1] = ok;
		a[0] = json;
		memmove(a + 2, a + 1, (n - 1) * sizeof *a);
		a[1] = result;
		conv_server(c, k, a - 1, n + 2);
		memmove(a + 1, a + 2, (n - 1) * sizeof *a);
		conv_then(c);
		a[-1] = post;
		a[0] = inited;
		conv_client(c, k, a - 1, n + 1);
		conv_then(c);
		a[-1] = accepted;
		conv_server(c, k, a - 1, 1);
		return true;
	}
	if (strcmp(w[0], "get") == 0) {
		a[0] = get;
		conv_client(c, k, a, n);
		conv_then(c);
		a[0] = ok;
		a[1] = sse;
		conv_server(c, k, a, 2);
		return true;
	}
	if (strcmp(w[0], "call") == 0) {
		a[0] = post;
		conv_client(c, k, a, n);
		conv_then(c);
		a[0] = ok;
		a[1] = json;
		a[2] = result;
		conv_server(c, k, a, 3);
		return true;
	}
	return false;
}

/* `T CONN VERB ...` */
static inline void
conv_happen(struct conv *c, const char *text, ns_t shift)
{
	char line[CONV_LINE], *w[CONV_WORDS];
	struct conv_conn *k;
	unsigned n;

	conv_expand(c, text, line);
	n = conv_split(line, w);
	if (n == 2 && strcmp(w[1], "stop") == 0) {
		c->now.t = CONV_EPOCH + shift + conv_time(w[0]);
		c->now.pkt++;
		return;
	}
	if (n < 3) {
		conv_fail(c, "too few words", text);
		return;
	}
	c->now.t = w[0][0] == '+' ? c->now.t + conv_time(w[0] + 1) :
	    CONV_EPOCH + shift + conv_time(w[0]);
	c->now.pkt++;
	k = conv_conn(c, w[1], w + 3, n - 3);
	if (k->ended)
		conv_fail(c, "the connection is over", text);
	else if (conv_exchange(c, k, w + 2, n - 2) || strcmp(w[2], "open") == 0)
		;
	else if (n < 4)
		conv_fail(c, "too few words", text);
	else if (strcmp(w[2], ">") == 0)
		conv_client(c, k, w + 3, n - 3);
	else if (strcmp(w[2], "<") == 0)
		conv_server(c, k, w + 3, n - 3);
	else if (strcmp(w[2], "x") == 0)
		conv_close(c, k, w + 3, n - 3);
	else if (strcmp(w[2], "gap") == 0 && n == 5)
		c->ops->gap(k->conn, strcmp(w[3], "server") == 0,
		    strtoul(w[4], NULL, 10), c->now);
	else if (strcmp(w[2], "stall") == 0 && n >= 5)
		c->ops->stall(k->conn, 1, strtoul(w[3], NULL, 10),
		    n > 5 && strcmp(w[5], "zero") == 0,
		    (struct at){ CONV_EPOCH + conv_time(w[4]), 1 }, c->now);
	else
		conv_fail(c, "no such thing happens", text);
}

/* `repeat N every T {` ... `}`; gives the line after the block. */
static inline uint32_t
conv_repeat(struct conv *c, uint32_t at)
{
	char line[CONV_LINE], *w[CONV_WORDS];
	uint32_t end = at + 1;
	unsigned n, rounds;
	ns_t every;

	conv_expand(c, c->events[at], line);
	n = conv_split(line, w);
	if (n != 5 || strcmp(w[2], "every") != 0 || strcmp(w[4], "{") != 0) {
		conv_fail(c, "want: repeat N every T {", c->events[at]);
		return c->n_events;
	}
	rounds = (unsigned)strtoul(w[1], NULL, 10);
	every = conv_time(w[3]);
	while (end < c->n_events && strcmp(c->events[end], "}") != 0)
		end++;
	for (c->round = 0; c->round < rounds; c->round++)
		for (uint32_t i = at + 1; i < end; i++)
			conv_happen(c, c->events[i], c->round * every);
	c->round = 0;
	return end + 1;
}

/* Plays it, and ends what is open as the end of a capture does.  c->now is
 * then the last packet, c->error what was wrong. */
static inline void
conv_play(struct conv *c, const struct conv_ops *ops, void *arg)
{
	c->ops = ops;
	c->arg = arg;
	c->now = (struct at){ CONV_EPOCH, 0 };
	c->next_id = 0;
	for (uint32_t i = 0; i < c->n_events;) {
		if (conv_first_word(c->events[i], "repeat"))
			i = conv_repeat(c, i);
		else
			conv_happen(c, c->events[i++], 0);
	}
	for (uint32_t i = 0; i < c->n_conns; i++) {
		struct conv_conn *k = c->conns[i];

		conv_close_one(c, k, 0, "eof", -1);
		conv_close_one(c, k, 1, "eof", -1);
		free(k->asked);
		free(k);
	}
	free(c->conns);
	c->conns = NULL;
	c->n_conns = c->cap_conns = 0;
}

#endif
