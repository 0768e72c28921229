/* A message on the screen, from a capture and from events alone. */
#include "../../src/tui/ladder.h"

#include "tui_fix.h"

#define CAPTURE "captures/leapfrog-rmcp0.15.0-eventsource.pcap"

/* The message of that packet, as the ladder opens it. */
static void
start(struct fix *f, int w, int h, uint32_t pkt)
{
	fix_init(f, w, h);
	fix_read(f, CAPTURE, 0);
	tui_push(f->tui, view_ladder_new(f->tui, 1, pkt));
	(void)fix_shows(f, "Ladder");
	fix_keys(f, "\n");
}

static void
test_screens(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 80, 24, 4);
	fix_wants(&f, "message-request-80x24");
	fix_keys(&f, "r");
	fix_wants(&f, "message-hex-80x24");
	fix_keys(&f, "r");
	fix_wants(&f, "message-escaped-80x24");
	(void)tui_key(f.tui, TUI_F6);
	fix_keys(&f, "k");
	fix_wants(&f, "message-request-80x24");
	fix_fini(&f);
	start(&f, 100, 30, 33);
	(void)tui_key(f.tui, TUI_RIGHT);
	(void)tui_key(f.tui, TUI_RIGHT);
	fix_wants(&f, "message-event-100x30");
	fix_fini(&f);
	start(&f, 30, 10, 4);
	fix_wants(&f, "message-30x10");
	fix_fini(&f);
	/* No bytes: what the events tell. */
	fix_init(&f, 80, 24);
	fix_play(&f, "tests/tui/leapfrog.ndjson", 0);
	tui_push(f.tui, view_ladder_new(f.tui, 1, 43));
	(void)fix_shows(&f, "Ladder");
	fix_keys(&f, "\n");
	fix_wants(&f, "message-facts-80x24");
	fix_fini(&f);
}

static void
test_stepping(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 40, 31);
	assert_true(fix_shows(&f, "POST /mcp HTTP/1.1"));
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "HTTP/1.1 200 OK"));
	(void)tui_key(f.tui, TUI_TAB);
	assert_true(fix_shows(&f, "event 1 of 2 on #3"));
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "event 2 of 2 on #3"));
	assert_true(fix_shows(&f, "\"tools\": ["));
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "the last of this exchange"));
	assert_true(fix_shows(&f, "event 2 of 2 on #3"));
	(void)tui_key(f.tui, TUI_BACKTAB);
	assert_true(fix_shows(&f, "event 1 of 2 on #3"));
	(void)tui_key(f.tui, TUI_LEFT);
	(void)tui_key(f.tui, TUI_LEFT);
	(void)tui_key(f.tui, TUI_LEFT);
	assert_true(fix_shows(&f, "the first of this exchange"));
	assert_true(fix_shows(&f, "POST /mcp HTTP/1.1"));
	fix_keys(&f, "q");
	assert_true(fix_shows(&f, "POST tools/list id=1"));
	fix_fini(&f);
}

/* The bytes of secrets are nowhere. */
static void
test_secrets(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 100, 40, 31);
	assert_true(fix_shows(&f, "Mcp-Session-Id: #a8fac9641f"));
	fix_fini(&f);
}

static void
test_search(void **state)
{
	struct fix f;

	(void)state;
	start(&f, 60, 8, 4);
	assert_true(fix_shows(&f, "POST /mcp HTTP/1.1"));
	fix_keys(&f, "/clientinfo\n");
	assert_true(fix_shows(&f, "\"clientInfo\": {"));
	fix_keys(&f, "g");
	assert_true(fix_shows(&f, "POST /mcp HTTP/1.1"));
	fix_keys(&f, "n");
	assert_true(fix_shows(&f, "\"clientInfo\": {"));
	fix_keys(&f, "G");
	assert_true(fix_shows(&f, "content_type     application/json"));
	(void)tui_key(f.tui, TUI_PGUP);
	(void)tui_key(f.tui, TUI_PGDN);
	assert_true(fix_shows(&f, "content_type     application/json"));
	fix_keys(&f, "/nothing like it\n");
	assert_true(fix_shows(&f, "not found"));
	fix_fini(&f);
}

/* An item that is not there is said to be gone; one that goes away while it is
 * shown stays on the screen. */
static void
test_gone(void **state)
{
	struct fix f;
	struct ev e = { .type = EV_REQUEST };
	char *big = xmalloc(8 << 20);

	(void)state;
	memset(big, 'x', 8 << 20);
	fix_init(&f, 80, 24);
	assert_null(view_message_new(f.tui, 0));
	assert_null(view_message_new(f.tui, UINT64_MAX));
	assert_true(fix_shows(&f, "that is gone"));
	store_text(f.store, STR("GET /mcp HTTP/1.1\r\n"), 19, false);
	fix_tap(&f, &e);
	tui_push(f.tui, view_message_new(f.tui, 1));
	assert_true(fix_shows(&f, "GET /mcp"));
	for (int i = 0; i < 12; i++) {
		store_text(f.store, str_of(big, 8 << 20), 8 << 20, false);
		fix_tap(&f, &e);
	}
	assert_null(store_item(f.store, 1));
	assert_true(fix_shows(&f, "GET /mcp"));
	fix_keys(&f, "r");
	assert_true(fix_shows(&f, "gone from the store"));
	(void)tui_key(f.tui, TUI_RIGHT);
	assert_true(fix_shows(&f, "neighbours"));
	assert_true(fix_shows(&f, "GET /mcp"));
	free(big);
	fix_fini(&f);
}

/* Cut, huge, empty, and of no kind that is known. */
static void
test_odd_texts(void **state)
{
	static const char *const texts[] = {
		"", "\n", "{\"a\":\"\x1b[2J\"}", "[[[[[[[[[[", "\xff\x1b]0;x\x07",
		"HTTP/1.1 200 \x1b[31mOK\r\nX: \xc2\x9b\r\n", "data: \x1b\nid: \x07",
	};
	char *deep = xmalloc(60000);

	(void)state;
	memset(deep, '[', 60000);
	for (size_t i = 0; i <= N_ROWS(texts); i++) {
		struct str s = i < N_ROWS(texts) ? str_c(texts[i]) : str_of(deep, 60000);
		static const enum ev_type types[] = { EV_REQUEST, EV_RESPONSE, EV_SSE,
		    EV_MESSAGE, EV_RESPONSE_END };

		for (size_t k = 0; k < N_ROWS(types); k++) {
			struct ev e = { .type = types[k], .x = 1 };
			struct fix f;
			struct buf b;

			fix_init(&f, i == N_ROWS(texts) ? 200 : 40, 12);
			store_text(f.store, s, 1 << 20, true);
			fix_tap(&f, &e);
			tui_push(f.tui, view_message_new(f.tui, 1));
			for (const char *key = "rrrG"; *key; key++) {
				(void)fix_draw(&f, &b);
				buf_fini(&b);
				fix_is_clean(&f);
				(void)tui_key(f.tui, (uint32_t)*key);
			}
			fix_keys(&f, "/... cut\n");
			assert_true(fix_shows(&f, "of 1048576 bytes are kept"));
			fix_fini(&f);
		}
	}
	free(deep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens),
		cmocka_unit_test(test_stepping),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_odd_texts),
	};

	return cmocka_run_group_tests_name("view_message", tests, NULL, NULL);
}
