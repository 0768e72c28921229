#include <stdio.h>

#include "ladder.h"
#include "mcpdiag/esc.h"

#define TIME_W 13
#define PKT_W 9			/* with what marks a row */
#define SLACK 1024		/* of a saved ladder: room for the last line */
#define PRINT_W 132

struct columns {
	int time, pkt, client, server;	/* < 0: not shown */
};

static struct columns
columns(struct area a)
{
	struct columns c = { a.x, a.x + TIME_W, a.x + TIME_W + PKT_W, a.x + a.w - 1 };

	if (a.w < 60) {
		c.pkt = -1;
		c.client -= PKT_W - 2;
	}
	if (a.w < 40) {
		c.time = -1;
		c.client = a.x + 2;
	}
	return c;
}

void
ladder_draw_head(struct tui *t, struct grid *g, struct area a, uint32_t session)
{
	const struct tl_session *s = timeline_session_n(tui_timeline(t), session);
	struct columns c = columns(a);
	int half = (c.server - c.client) / 2, w;
	char client[96], server[96];

	if (c.time >= 0)
		(void)grid_text(g, a.y, c.time, TIME_W - 1, STYLE_TITLE, STR("Time"));
	if (c.pkt >= 0)
		(void)grid_text(g, a.y, c.pkt, PKT_W - 3, STYLE_TITLE, STR("Packet"));
	(void)snprintf(client, sizeof client, "client %s", s && s->client ? s->client : "");
	(void)grid_text(g, a.y, c.client, half, STYLE_CLIENT, str_c(client));
	(void)snprintf(server, sizeof server, "server %s", s && s->endpoint ? s->endpoint : "");
	w = grid_width(str_c(server));
	w = w < half ? w : half;
	(void)grid_text(g, a.y, c.server + 1 - w, w, STYLE_SERVER, str_c(server));
}

static void
draw_arrow(struct grid *g, int y, struct columns c, const struct ladder_row *r)
{
	int w = c.server - c.client - 1, at, used;
	bool c2s = r->way == LADDER_C2S;

	grid_glyph(g, y, c.client, STYLE_BORDER, c2s ? GLYPH_TEE_LEFT : GLYPH_VLINE);
	grid_glyph(g, y, c.server, STYLE_BORDER, c2s ? GLYPH_VLINE : GLYPH_TEE_RIGHT);
	grid_fill(g, y, c.client + 1, w, r->style, GLYPH_HLINE);
	grid_glyph(g, y, c2s ? c.server - 1 : c.client + 1, r->style,
	    r->glyph < GLYPH_N ? r->glyph : c2s ? GLYPH_RIGHT : GLYPH_LEFT);
	at = c.client + (c2s ? 3 : 4);
	w -= c2s ? 6 : 6;
	if (w <= 0)
		return;
	grid_glyph(g, y, at - 1, r->style, GLYPH_HLINE);
	used = grid_text(g, y, at + 1, w - 1, r->style, buf_str(&r->text));
	(void)grid_text(g, y, at, 1, r->style, STR(" "));
	(void)grid_text(g, y, at + 1 + used, 1, r->style, STR(" "));
}

static void
draw_note(struct grid *g, int y, struct columns c, const struct ladder_row *r)
{
	int at = c.client + 2;

	grid_glyph(g, y, c.client, STYLE_BORDER, GLYPH_VLINE);
	grid_glyph(g, y, c.server, STYLE_BORDER, GLYPH_VLINE);
	if (r->glyph < GLYPH_N) {
		grid_glyph(g, y, at, r->style, r->glyph);
		at += 2;
	}
	(void)grid_text(g, y, at, c.server - at - 1, r->style, buf_str(&r->text));
}

static enum style
severity_style(enum glyph gl)
{
	return gl == GLYPH_ERROR ? STYLE_ERROR : gl == GLYPH_WARNING ? STYLE_WARNING :
	    STYLE_INFO;
}

void
ladder_draw(struct tui *t, struct grid *g, struct area a, int y,
    const struct ladder_row *r, ns_t previous, bool marked, enum glyph evidence)
{
	struct columns c = columns(a);
	char text[24];

	if (c.time >= 0) {
		tui_time(t, r->t, previous, text);
		(void)grid_text(g, y, c.time, TIME_W - 1, STYLE_DIM, str_c(text));
	}
	if (c.pkt >= 0 && r->pkt)
		(void)grid_fmt(g, y, c.pkt, PKT_W - 3, STYLE_DIM, "%6u", r->pkt);
	if (evidence < GLYPH_N)
		grid_glyph(g, y, c.client - 2, severity_style(evidence), evidence);
	if (marked)
		grid_glyph(g, y, c.client - 1, STYLE_MARK, GLYPH_MARK);
	if (c.server - c.client < 3)
		return;
	if (r->way == LADDER_NOTE)
		draw_note(g, y, c, r);
	else
		draw_arrow(g, y, c, r);
}

static void
print_one(struct tui *t, uint32_t session, bool detail, struct buf *out)
{
	struct changes changes = { 0 };
	struct ladder l = { tui_store(t), tui_timeline(t), session, detail, 0, &changes };
	const struct tl_session *ts = timeline_session_n(l.timeline, session);
	struct area a = { 0, 0, 1, PRINT_W };
	uint64_t forgot = store_session_forgot(l.store, session);
	struct ladder_row r;
	ns_t previous = 0;
	struct grid g;

	if (ts)
		changes_fill(&changes, l.timeline, ts);
	grid_init(&g, PRINT_W, 1, false);
	buf_init(&r.text, 4096);
	ladder_draw_head(t, &g, a, session);
	grid_print(&g, out);
	if (forgot)
		(void)buf_fmt(out, "(%llu earlier items are gone: --limit store=)\n",
		    (unsigned long long)forgot);
	for (uint64_t no = ladder_first(&l); no; no = ladder_next(&l, no)) {
		if (out->max - out->n < SLACK) {
			(void)buf_adds(out, STR("(and so on: it is longer than is saved)\n"));
			break;
		}
		(void)ladder_row(&l, no, &r);
		grid_clear(&g);
		ladder_draw(t, &g, a, 0, &r, previous, false, GLYPH_N);
		grid_print(&g, out);
		previous = r.t;
	}
	buf_fini(&r.text);
	grid_fini(&g);
	changes_fini(&changes);
}

static void
print_title(const struct tl_session *s, struct buf *out)
{
	(void)buf_adds(out, out->n ? STR("\nSession ") : STR("Session "));
	esc_text(out, str_c(s->key ? s->key : ""), 200);
	(void)buf_addc(out, '\n');
}

void
ladder_print(struct tui *t, uint32_t session, bool detail, struct buf *out)
{
	const struct tl_session *s;

	if (session) {
		print_one(t, session, detail, out);
		return;
	}
	for (uint32_t i = 0; (s = timeline_session(tui_timeline(t), i)) != NULL; i++) {
		if (out->max - out->n < SLACK)
			return;
		print_title(s, out);
		print_one(t, s->n, detail, out);
	}
	if (store_session_first(tui_store(t), 0)) {
		(void)buf_adds(out, STR("\nWithout a session\n"));
		print_one(t, 0, detail, out);
	}
}
