/* Where httpd listens. */
#include "httpd_fix.h"

static bool
one_closed(struct fix *f)
{
	return f->closed == f->want;
}

static bool
got_eof(struct fix *f)
{
	return f->c[0].eof;
}

static void
try_host(const char *host, const char *first)
{
	struct httpd_opts o;
	struct errmsg em = { "" };
	struct loop *loop = loop_new(&em);
	struct httpd *d, *e;

	httpd_opts_init(&o);
	o.host = host;
	d = httpd_new(loop, &o, &fix_cb, NULL, &em);
	if (d == NULL)
		fail_msg("%s", em.text);
	assert_true(str_pre(str_c(httpd_address(d, 0)), str_c(first)));
	for (unsigned i = 0; httpd_address(d, i); i++)
		assert_int_equal(strtoul(strrchr(httpd_address(d, i), ':') + 1, NULL, 10),
		    httpd_port(d));
	assert_null(httpd_address(d, 100));
	/* Taken. */
	o.port = httpd_port(d);
	e = httpd_new(loop, &o, &fix_cb, NULL, &em);
	assert_null(e);
	assert_non_null(strstr(em.text, "address already in use: another program "
	    "listens there; choose --port"));
	httpd_free(d);
	/* And free again. */
	e = httpd_new(loop, &o, &fix_cb, NULL, &em);
	assert_non_null(e);
	httpd_free(e);
	loop_free(loop);
}

static bool
has_ipv6(void)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&in6, sizeof in6) == 0;

	if (fd >= 0)
		(void)close(fd);
	return ok;
}

/* A port of which connections are in TIME-WAIT can be had again. */
static void
test_again(void **state)
{
	static const char get[] =
	    "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
	struct httpd_opts o;
	struct errmsg em = { "" };
	struct client *c;
	struct httpd *d;
	struct fix f;

	(void)state;
	fix_init(&f, NULL);
	c = fix_connect(&f, 0, 0);
	client_send(c, get, sizeof get - 1);
	fix_run(&f, got_eof);
	client_close(c, false);
	f.want = 1;
	fix_run(&f, one_closed);
	assert_int_equal(f.closed_by_client, 0);
	httpd_opts_init(&o);
	o.port = httpd_port(f.d);
	httpd_close_listeners(f.d);
	d = httpd_new(f.loop, &o, &fix_cb, &f, &em);
	if (d == NULL)
		fail_msg("%s", em.text);
	httpd_free(d);
	fix_fini(&f);
}

/* The wildcard of IPv6 leaves IPv4 alone. */
static void
test_only_ipv6(void **state)
{
	struct httpd_opts o;
	struct errmsg em = { "" };
	struct loop *loop = loop_new(&em);
	struct httpd *d, *e = NULL;

	(void)state;
	if (!has_ipv6())
		skip();
	for (int i = 0; e == NULL && i < 20; i++) {
		httpd_opts_init(&o);
		o.host = "::";
		d = httpd_new(loop, &o, &fix_cb, NULL, &em);
		assert_non_null(d);
		o.host = "0.0.0.0";
		o.port = httpd_port(d);
		e = httpd_new(loop, &o, &fix_cb, NULL, &em);
		httpd_free(d);
	}
	if (e == NULL)
		fail_msg("%s", em.text);
	httpd_free(e);
	loop_free(loop);
}

static void
test_bind(void **state)
{
	static const struct row {
		const char *host, *why;
	} bad[] = {
		{ "192.0.2.1", "192.0.2.1:0: not an address of this machine; choose --host" },
		{ "::::", "::::: no such host (" },
	};
	struct httpd_opts o;
	struct errmsg em = { "" };
	struct loop *loop = loop_new(&em);

	(void)state;
	try_host(NULL, "127.0.0.1:");
	try_host("127.0.0.1", "127.0.0.1:");
	try_host("0.0.0.0", "0.0.0.0:");
	try_host("localhost", "");
	if (has_ipv6()) {
		try_host("::1", "[::1]:");
		try_host("[::1]", "[::1]:");
		try_host("::", "[::]:");
	}
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		httpd_opts_init(&o);
		o.host = bad[i].host;
		assert_null(httpd_new(loop, &o, &fix_cb, NULL, &em));
		if (!str_pre(str_c(em.text), str_c(bad[i].why)))
			fail_msg("%s", em.text);
	}
	loop_free(loop);
}

/* The second address has the port of the first, or both have another. */
static void
test_both_loopbacks(void **state)
{
	struct errmsg em = { "" };
	struct loop *loop = loop_new(&em);
	struct httpd_opts o;

	(void)state;
	httpd_opts_init(&o);
	if (!has_ipv6())
		skip();
	for (int i = 0; i < 50; i++) {
		struct httpd *d = httpd_new(loop, &o, &fix_cb, NULL, &em);

		assert_non_null(d);
		assert_true(str_pre(str_c(httpd_address(d, 1)), STR("[::1]:")));
		assert_null(httpd_address(d, 2));
		httpd_free(d);
	}
	loop_free(loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_both_loopbacks),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_only_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
