/* store: what it keeps, in which order, and what goes first. */
#include <stdio.h>
#include <stdlib.h>

#include "mcpdiag/store.h"
#include "mcpdiag/xmem.h"
#include "util.h"

static struct store *
store_of(uint64_t bytes)
{
	struct limits lim;

	limits_init(&lim);
	lim.store = bytes;
	return store_new(&lim);
}

static void
put(struct store *s, enum ev_type type, uint32_t x, uint32_t session)
{
	struct ev e = { .type = type, .x = x, .session = session, .t = x * NS_MS };

	store_event(s, &e);
}

/* The numbers of a session's items, forwards; checks the way back, too. */
static const char *
links(const struct store *s, uint32_t session)
{
	static char text[512];
	uint64_t prev = 0, no = store_session_first(s, session);
	int n = 0;

	text[0] = '\0';
	while (no) {
		const struct store_item *it = store_item(s, no);

		assert_non_null(it);
		assert_int_equal(it->no, no);
		assert_int_equal(it->prev, prev);
		assert_int_equal(it->ev->session, session);
		n += snprintf(text + n, sizeof text - (size_t)n, " %u", (unsigned)no);
		prev = no;
		no = it->next;
	}
	assert_int_equal(store_session_last(s, session), prev);
	return text;
}

static void
test_empty(void **state)
{
	struct store *s = store_of(1 << 20);

	(void)state;
	assert_int_equal(store_first(s), 0);
	assert_int_equal(store_last(s), 0);
	assert_null(store_item(s, 0));
	assert_null(store_item(s, 1));
	assert_null(store_item(s, UINT64_MAX));
	assert_int_equal(store_session_first(s, 1), 0);
	assert_int_equal(store_session_last(s, UINT32_MAX), 0);
	assert_int_equal(store_forgot(s), 0);
	store_free(s);
	store_free(NULL);
}

/* Every string and number of every type comes back; lent bytes are copied. */
static void
test_copies(void **state)
{
	struct store *s = store_of(1 << 20);
	const struct store_item *it;
	char lent[] = "tools/call";
	struct ev e = { .type = EV_MESSAGE, .flags = EVF_GAP, .t = 7, .pkt = 9,
	    .conn = 1, .x = 2, .stream = 3, .session = UINT32_MAX, .dir = EV_S2C };

	(void)state;
	e.u.msg.kind = EV_MSG_REQUEST;
	e.u.msg.method = str_c(lent);
	e.u.msg.id = STR("");
	e.u.msg.of = 17;
	store_text(s, STR("{\"a\":1}"), 7, false);
	store_event(s, &e);
	memset(lent, 'x', sizeof lent);
	it = store_item(s, 1);
	assert_non_null(it);
	assert_int_equal(it->ev->type, EV_MESSAGE);
	assert_int_equal(it->ev->flags, EVF_GAP);
	assert_int_equal(it->ev->t, 7);
	assert_int_equal(it->ev->pkt, 9);
	assert_int_equal(it->ev->session, UINT32_MAX);
	assert_true(str_eq(it->ev->u.msg.method, STR("tools/call")));
	assert_non_null(it->ev->u.msg.id.p);
	assert_int_equal(it->ev->u.msg.id.n, 0);
	assert_null(it->ev->u.msg.name.p);
	assert_int_equal(it->ev->u.msg.of, 17);
	assert_true(str_eq(it->text, STR("{\"a\":1}")));
	assert_int_equal(it->bytes, 7);
	assert_false(it->cut);

	/* A text is of one event only; an empty one is there. */
	put(s, EV_END, 0, 0);
	assert_null(store_item(s, 2)->text.p);
	assert_int_equal(store_item(s, 2)->bytes, 0);
	store_text(s, STR(""), 1000, true);
	put(s, EV_REQUEST, 0, 0);
	assert_non_null(store_item(s, 3)->text.p);
	assert_int_equal(store_item(s, 3)->text.n, 0);
	assert_true(store_item(s, 3)->cut);

	/* Findings are not kept: the text waits for the event. */
	store_text(s, STR("t"), 1, false);
	put(s, EV_FINDING, 0, 0);
	assert_int_equal(store_last(s), 3);
	put(s, EV_RESPONSE, 0, 0);
	assert_int_equal(store_item(s, 4)->text.n, 1);
	store_free(s);
}

static void
test_all_types(void **state)
{
	struct store *s = store_of(1 << 20);

	(void)state;
	for (int type = 0; type < EV_N_TYPES; type++) {
		struct ev e;
		const struct ev_field *f;
		const struct ev *got;

		if (type == EV_FINDING)
			continue;
		memset(&e, 0x5a, sizeof e);
		e.type = (enum ev_type)type;
		for (f = ev_fields(e.type); f->name; f++)
			if (f->type == EVT_STR)
				memcpy((char *)&e + f->offset, &STR("some text"),
				    sizeof(struct str));
		store_event(s, &e);
		got = store_item(s, store_last(s))->ev;
		for (f = ev_fields(e.type); f->name; f++) {
			struct str v;

			memcpy(&v, (const char *)got + f->offset, sizeof v);
			if (f->type == EVT_STR)
				assert_true(str_eq(v, STR("some text")));
			else
				assert_memory_equal((const char *)got + f->offset,
				    (const char *)&e + f->offset, 1);
		}
	}
	store_free(s);
}

/* What comes before the session is known is given to it, in order. */
static void
test_late_session(void **state)
{
	struct store *s = store_of(1 << 20);

	(void)state;
	put(s, EV_CONN, 0, 0);			/* 1 */
	put(s, EV_REQUEST, 1, 0);
	put(s, EV_MESSAGE, 1, 0);
	put(s, EV_REQUEST, 2, 0);		/* 4: of another exchange */
	put(s, EV_SESSION, 0, 7);
	assert_string_equal(links(s, 0), " 1 2 3 4");
	assert_string_equal(links(s, 7), " 5");
	put(s, EV_RESPONSE, 1, 7);		/* 6 */
	assert_string_equal(links(s, 7), " 2 3 5 6");
	assert_string_equal(links(s, 0), " 1 4");
	put(s, EV_MESSAGE, 1, 7);		/* 7 */
	put(s, EV_MESSAGE, 2, 0);		/* 8 */
	put(s, EV_MESSAGE, 3, 7);		/* 9 */
	put(s, EV_RESPONSE, 2, 7);		/* 10 */
	assert_string_equal(links(s, 7), " 2 3 4 5 6 7 8 9 10");
	assert_string_equal(links(s, 0), " 1");
	/* After its end nothing comes; a number does not come twice. */
	put(s, EV_REQUEST, 4, 0);
	put(s, EV_RESPONSE_END, 4, 0);
	put(s, EV_SSE, 4, 8);
	assert_string_equal(links(s, 8), " 13");
	assert_string_equal(links(s, 0), " 1 11 12");
	store_free(s);
}

static void
put_conn(struct store *s, enum ev_type type, uint32_t conn, uint32_t x, uint32_t session)
{
	struct ev e = { .type = type, .conn = conn, .x = x, .session = session };

	store_event(s, &e);
}

/* A gap or an end of a connection belongs to the session that uses it. */
static void
test_connections(void **state)
{
	struct store *s = store_of(1 << 20);

	(void)state;
	put_conn(s, EV_CONN, 1, 0, 0);		/* 1: not known yet */
	put_conn(s, EV_REQUEST, 1, 1, 7);
	put_conn(s, EV_GAP, 1, 0, 0);
	put_conn(s, EV_GAP, 2, 0, 0);		/* 4: of nobody */
	put_conn(s, EV_REQUEST, 1, 2, 8);
	put_conn(s, EV_ANOMALY, 1, 0, 0);	/* 6 */
	put_conn(s, EV_REQUEST, 1, 3, 0);	/* 7: waits for its own */
	put_conn(s, EV_CONN_END, 1, 0, 0);
	put_conn(s, EV_CONN_END, 1, 0, 0);	/* 9 */
	put_conn(s, EV_GAP, 1, 0, 0);		/* 10: it is closed */
	assert_string_equal(links(s, 7), " 2 3");
	assert_string_equal(links(s, 8), " 5 6 8 9");
	assert_string_equal(links(s, 0), " 1 4 7 10");
	store_free(s);
	/* Many of them are within the limit. */
	s = store_of(64 << 10);
	for (uint32_t i = 1; i < 20000; i++) {
		put_conn(s, EV_REQUEST, i, i, 1);
		assert_true(store_bytes(s) <= 64 << 10);
	}
	assert_true(store_last(s) - store_first(s) > 50);
	store_free(s);
}

/* The search for the place is bounded. */
static void
test_far_back(void **state)
{
	struct store *s = store_of(16 << 20);
	uint64_t no;

	(void)state;
	put(s, EV_REQUEST, 1, 0);
	for (unsigned i = 0; i < STORE_SEARCH + 10; i++)
		put(s, EV_COMMENT, 2, 5);
	put(s, EV_RESPONSE, 1, 5);
	no = store_session_first(s, 5);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(no, i + 2);
		no = store_item(s, no)->next;
	}
	assert_int_equal(no, 1);
	assert_int_equal(store_item(s, 1)->next, 12);
	assert_int_equal(store_item(s, 12)->prev, 1);
	store_free(s);
}

/* Against a plain array, at a limit so low that most is forgotten. */
static void
test_random(void **state)
{
	enum { N = 20000, SESSIONS = 5, XS = 40 };
	struct store *s = store_of(64 << 10);
	uint32_t *session = xcalloc(N + 1, sizeof *session);
	uint32_t *x_of = xcalloc(N + 1, sizeof *x_of);
	uint32_t seed = 12345, forgot = 0;
	char big[3000];

	(void)state;
	memset(big, 'b', sizeof big);
	for (uint32_t no = 1; no <= N; no++) {
		uint32_t r = seed = seed * 1664525 + 1013904223;
		uint32_t x = (no / 400) * XS + (r >> 8) % XS + 1;
		struct ev e = { .type = EV_COMMENT, .x = x, .conn = no };

		e.session = (r >> 16) % 3 ? 0 : x % SESSIONS + 1;
		e.u.comment.text = str_of(big, (r >> 20) % 200);
		if (r % 50 == 0)
			store_text(s, str_of(big, sizeof big), sizeof big, false);
		for (uint32_t i = no; e.session && i-- > 1 && i + 2000 > no;)
			if (session[i] == 0 && x_of[i] == x)
				session[i] = e.session;
		session[no] = e.session;
		x_of[no] = x;
		store_event(s, &e);
		assert_int_equal(store_last(s), no);
		assert_true(store_bytes(s) <= 64 << 10);
		if (no % 997)
			continue;
		for (uint32_t i = 1; i <= no; i++) {
			const struct store_item *it = store_item(s, i);

			assert_int_equal(it == NULL, i <= store_forgot(s));
			if (it == NULL)
				continue;
			assert_int_equal(it->ev->conn, i);
			assert_int_equal(it->ev->session, session[i]);
		}
		for (uint32_t n = 0; n <= SESSIONS; n++) {
			uint64_t at = store_session_first(s, n);

			for (uint32_t i = (uint32_t)store_forgot(s) + 1; i <= no; i++) {
				if (session[i] != n)
					continue;
				assert_int_equal(at, i);
				at = store_item(s, at)->next;
			}
			assert_int_equal(at, 0);
		}
		assert_true(store_forgot(s) >= forgot);
		forgot = (uint32_t)store_forgot(s);
	}
	assert_true(forgot > N / 2);
	free(session);
	free(x_of);
	store_free(s);
}

/* What is larger than there is room for is cut, and said to be. */
static void
test_too_big(void **state)
{
	size_t n = 1 << 20;
	char *big = xmalloc(n);
	struct store *s = store_of(64 << 10);
	struct ev e = { .type = EV_REQUEST, .session = 1 };
	const struct store_item *it;

	(void)state;
	memset(big, 'x', n);
	e.u.req.target = e.u.req.agent = e.u.req.host = str_of(big, n);
	for (int i = 0; i < 20; i++) {
		store_text(s, str_of(big, n), n, false);
		store_event(s, &e);
		it = store_item(s, store_last(s));
		assert_true(it->cut);
		assert_int_equal(it->bytes, n);
		assert_true(it->text.n > 0 && it->text.n <= 8 << 10);
		assert_true(it->ev->flags & EVF_CUT);
		assert_int_equal(it->ev->u.req.target.n, 256);
		assert_true(store_bytes(s) <= 64 << 10);
	}
	assert_true(store_forgot(s) > 0);
	store_free(s);
	free(big);
}

/* How much of a session has gone is known while some of it is there. */
static void
test_forgot(void **state)
{
	struct store *s = store_of(64 << 10);

	(void)state;
	put(s, EV_REQUEST, 1, 1);
	for (uint32_t i = 0; i < 2000; i++)
		put(s, EV_COMMENT, 2, 2);
	assert_int_equal(store_session_first(s, 1), 0);
	assert_int_equal(store_session_forgot(s, 1), 0);
	assert_true(store_forgot(s) > 1);
	assert_int_equal(store_session_forgot(s, 2), store_forgot(s) - 1);
	assert_int_equal(store_session_first(s, 2), store_forgot(s) + 1);
	assert_int_equal(store_first(s), store_forgot(s) + 1);
	store_free(s);
}

/* What shows messages must not be what uses up the memory. */
static void
test_memory(void **state)
{
	struct limits lim;
	struct store *s;

	(void)state;
	limits_init(&lim);
	lim.memory = 1 << 20;
	s = store_new(&lim);
	for (uint32_t i = 0; i < 20000; i++) {
		put(s, EV_REQUEST, i, 1);
		assert_true(store_bytes(s) <= 1 << 19);
	}
	assert_true(store_forgot(s) > 0);
	store_free(s);
}

/* Many exchanges that wait and many sessions are within the limit, too. */
static void
test_many(void **state)
{
	struct store *s = store_of(64 << 10);

	(void)state;
	for (uint32_t i = 1; i < 50000; i++) {
		put(s, EV_REQUEST, i, 0);
		if (i % 3 == 0)
			put(s, EV_RESPONSE, i - 2, i);
		assert_true(store_bytes(s) <= 64 << 10);
	}
	store_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_late_session),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_far_back),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_too_big),
		cmocka_unit_test(test_forgot),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
