/* Any keys over any events, in screens of any size, with a store that forgets:
 * nothing that a terminal would obey comes out, and nothing falls over. */
#include "../../src/tui/ladder.h"

#include "tui_fix.h"

#define ROUNDS 30
#define KEYS 200

static const char *const texts[] = {
	"", "a", "\x1b[2J", "\xff\xfe", "\xe4\xb8\xad\xe6\x96\x87", "POST", "GET", "rst",
	"{\"a\":[1,2,{\"b\":\"c\"}]}", "data: {\"a\":1}\nid: 3\n", "tools/call", "x\r\ny\r\n",
};

static const uint32_t keys[] = {
	'j', 'j', 'k', 'g', 'G', ' ', 'd', 'x', 'r', 'u', 'p', 'A', 'w', 'n', 'N', 'q', '{', '}',
	TUI_ENTER, TUI_ENTER, TUI_PGUP, TUI_PGDN, TUI_LEFT, TUI_RIGHT, TUI_TAB, TUI_BACKTAB,
	TUI_UP, TUI_DOWN, TUI_ESC, TUI_HOME, TUI_END,
};

struct random {
	uint64_t x;
};

static uint32_t
below(struct random *r, size_t n)
{
	r->x = r->x * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((r->x >> 33) % n);
}

static struct str
any_text(struct random *r)
{
	return str_c(texts[below(r, N_ROWS(texts))]);
}

static void
any_member(struct random *r, char *p, const struct ev_field *f)
{
	struct str s = below(r, 3) ? any_text(r) : STR_NONE;
	int64_t i64 = (int64_t)below(r, 1000) - 5;
	uint32_t u32 = below(r, 600), n = 0;
	bool yes = below(r, 2);

	switch ((enum ev_field_type)f->type) {
	case EVT_STR:
		memcpy(p, &s, sizeof s);
		break;
	case EVT_BOOL:
		memcpy(p, &yes, sizeof yes);
		break;
	case EVT_U32: case EVT_FLAGS:
		memcpy(p, &u32, sizeof u32);
		break;
	case EVT_U64: case EVT_HASH: case EVT_I64: case EVT_NS:
		memcpy(p, &i64, sizeof i64);
		break;
	case EVT_ENUM:
		while (f->names[n])
			n++;
		u32 = below(r, n);
		memcpy(p, &u32, sizeof u32);
		break;
	}
}

/* Into the store and the views; the timeline wants numbers that make sense. */
static void
any_event(struct random *r, struct fix *f, uint32_t pkt)
{
	struct ev e;

	memset(&e, 0, sizeof e);
	do
		e.type = (enum ev_type)below(r, EV_N_TYPES);
	while (e.type == EV_FINDING);
	e.x = below(r, 20);
	e.session = below(r, 3);
	e.stream = below(r, 10);
	e.conn = below(r, 5);
	e.flags = below(r, 512);
	e.dir = below(r, 2) ? EV_C2S : EV_S2C;
	e.pkt = pkt;
	e.t = pkt * NS_MS;
	for (const struct ev_field *d = ev_fields(e.type); d->name; d++)
		any_member(r, (char *)&e + d->offset, d);
	if (below(r, 2)) {
		struct str s = any_text(r);

		store_text(f->store, s, below(r, 2) ? s.n : 100000, below(r, 2));
	}
	store_event(f->store, &e);
	tui_event(f->tui, &e);
}

static void
any_key(struct random *r, struct fix *f)
{
	uint32_t key = keys[below(r, N_ROWS(keys))];

	/* Not back all the time. */
	if ((key == 'q' || key == TUI_ESC || key == TUI_LEFT) && below(r, 2))
		key = 'j';
	(void)tui_key(f->tui, key);
	if (below(r, 40) == 0)
		tui_push(f->tui, view_ladder_new(f->tui, below(r, 3), below(r, 2) * 50));
	if (below(r, 40) == 0) {
		(void)tui_key(f->tui, '/');
		(void)tui_key(f->tui, 'a');
		(void)tui_key(f->tui, TUI_ENTER);
	}
	if (below(r, 60) == 0)
		grid_resize(&f->g, 1 + (int)below(r, 200), 1 + (int)below(r, 60));
	if (below(r, 20) == 0)
		(void)tui_mouse(f->tui, TUI_CLICK, (int)below(r, 40), (int)below(r, 80));
}

static void
test_any(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct random r = { round * 7919 + 1 };
		struct tui_opts to = { .source = "test.pcap" };
		struct limits lim;
		struct fix f;
		struct buf b;

		fix_init(&f, 1 + (int)below(&r, 130), 1 + (int)below(&r, 45));
		limits_init(&lim);
		lim.store = (uint64_t)(64 << 10) << below(&r, 4);
		tui_free(f.tui);
		store_free(f.store);
		f.store = store_new(&lim);
		to.timeline = pipeline_timeline(f.p);
		to.store = f.store;
		f.tui = tui_new(&to);
		tui_push(f.tui, view_ladder_new(f.tui, below(&r, 3), 0));
		for (uint32_t i = 1; i < KEYS; i++) {
			uint32_t burst = below(&r, 30) ? below(&r, 4) : 400;

			while (burst--)
				any_event(&r, &f, i);
			any_key(&r, &f);
			(void)fix_draw(&f, &b);
			buf_fini(&b);
			fix_is_clean(&f);
		}
		buf_init(&b, (size_t)1 << below(&r, 22));
		ladder_print(f.tui, below(&r, 3), below(&r, 2), &b);
		buf_fini(&b);
		fix_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests_name("tui_any", tests, NULL, NULL);
}
