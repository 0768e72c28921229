/* Clients and a callee that do anything at any time: each request is handed
 * out once and ends once, nothing is told from within a call, and in the end
 * nothing is left.  Under ASan also: nothing is used after it is freed. */
#include "httpd_fix.h"

struct play {
	uint64_t seed;
	unsigned answered;
	bool junk[4];		/* that client has sent some */
};

static unsigned
pick(struct play *p, unsigned n)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return (unsigned)(p->seed >> 33) % n;
}

static bool
rang(struct fix *f)
{
	return f->rang;
}

/* Some turns of the loop. */
static void
turn(struct fix *f, struct play *p)
{
	for (unsigned i = pick(p, 3); i > 0; i--) {
		f->rang = false;
		loop_timer_set(f->alarm, 0);
		fix_run(f, rang);
	}
}

static void
client_does(struct fix *f, struct play *p)
{
	static const char *const bytes[] = {
		"GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /later HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /later HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"HEAD /later HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"GET /end HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n",
		"Content-Length: 5\r\n\r\n",
		"12345", "GET /dr", "op HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /reset HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n", "\r\n", "\0",
	};
	static char junk[70000];
	unsigned i = pick(p, N_ROWS(f->c)), what = pick(p, 24);
	struct client *c = &f->c[i];
	const char *s = bytes[pick(p, N_ROWS(bytes))];

	if (c->fd < 0) {
		(void)fix_connect(f, i, pick(p, 2) ? 4096 : 0);
		p->junk[i] = false;
		return;
	}
	if (what < 16)
		(void)send(c->fd, s, strlen(s) + (*s == '\0'), MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (what == 16 && !p->junk[i])
		/* Once: a FIN behind more than the window takes is not seen. */
		p->junk[i] = send(c->fd, junk, pick(p, sizeof junk),
		    MSG_NOSIGNAL | MSG_DONTWAIT) != 0;
	else if (what == 17)
		(void)shutdown(c->fd, SHUT_WR);
	else if (what == 18 || c->eof)
		client_close(c, pick(p, 2));
	else if (what < 21)
		loop_fd_want(c->ready, 0);
	else
		loop_fd_want(c->ready, LOOP_READ);
}

static void
callee_does(struct fix *f, struct play *p)
{
	static char chunk[100000];
	unsigned i = pick(p, STREAMS), what = pick(p, 8);
	struct hreq *r;
	bool begun, over = true;

	if (i >= f->n_req)
		return;
	r = f->req[i];
	begun = hreq_user(r) != NULL || str_pre(hreq_target(r), STR("/stream"));
	f->in_call = true;
	if (what == 0) {
		hreq_drop(r, pick(p, 2));
	} else if (what == 1 && begun) {
		hreq_end(r);
	} else if (!begun && what < 5) {
		hreq_reply(r, 200 + 4 * pick(p, 2), STR("A: b\r\n"),
		    str_of(chunk, pick(p, sizeof chunk)));
	} else if (!begun) {
		hreq_begin(r, 200, STR(""));
		hreq_set_user(r, f);
		over = false;
	} else {
		int e = hreq_write(r, str_of(chunk, 1 + pick(p, sizeof chunk)));

		assert_true(e == 0 || e == -E_LIMIT || e == -E_IO);
		over = false;
	}
	f->in_call = false;
	if (over) {
		f->req[i] = f->req[--f->n_req];
		p->answered++;
	}
}

static bool
all_closed(struct fix *f)
{
	return f->closed == f->opened && httpd_conns(f->d) == 0;
}

static void
test_anything(void **state)
{
	struct httpd_opts o;

	(void)state;
	httpd_opts_init(&o);
	o.backlog = 300000;
	o.body = 1000;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct play p = { .seed = seed * 0x9e3779b97f4a7c15ULL };
		struct fix f;

		o.request_timeout = seed % 4 == 0 ? NS_MS : 30 * NS_S;
		o.idle_timeout = seed % 4 == 1 ? NS_MS : 0;
		fix_init(&f, &o);
		for (int i = 0; i < 300; i++) {
			client_does(&f, &p);
			callee_does(&f, &p);
			turn(&f, &p);
		}
		if (seed % 2 == 0) {
			for (size_t i = 0; i < N_ROWS(f.c); i++)
				client_free(&f.c[i]);
			if (!fix_try(&f, all_closed))
				fail_msg("seed %llu: %u of %u closed, %u requests",
				    (unsigned long long)seed, f.closed, f.opened, f.n_req);
			assert_int_equal(f.n_req, 0);
		}
		fix_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
