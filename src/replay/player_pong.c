/* Pings of the server are answered, which is in no plan. */
#include <stdlib.h>

#include "mcpdiag/xmem.h"
#include "player_priv.h"

static void
extra_head(void *arg, const struct client_head *h)
{
	(void)arg;
	(void)h;
}

static void
extra_body(void *arg, const void *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
}

static void
extra_end(void *arg, enum client_end how, const char *why)
{
	struct extra *e = arg;

	(void)how;
	(void)why;
	DL_DELETE(e->player->extras, e);
	free(e);
}

void
player_pong(struct live *l, struct str id)
{
	static const struct client_cb cb = { extra_head, extra_body, extra_end };
	struct player *p = l->player;
	struct live *h = of(p, l->x.plan->handshake);
	struct str lines[72] = { STR("Content-Type: application/json"),
		STR("Accept: application/json, text/event-stream") };
	struct buf body, text;
	struct client_request q = { .method = "POST", .url = p->opts.url, .headers = lines,
		.n_headers = 2, .connect_timeout = p->opts.connect_timeout,
		.timeout = p->opts.answer_timeout };
	struct extra *e;
	size_t n;

	if (h == NULL)
		h = l;
	if (h->x.plan->legacy)
		return;
	buf_init(&body, 65536);
	buf_init(&text, 65536);
	(void)buf_adds(&body, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
	(void)buf_adds(&body, id);
	(void)buf_adds(&body, STR(",\"result\":{}}"));
	q.body = buf_str(&body);
	(void)buf_adds(&text, STR("Mcp-Session-Id: "));
	(void)buf_adds(&text, buf_str(&h->sid));
	n = text.n;
	(void)buf_adds(&text, STR("MCP-Protocol-Version: "));
	(void)buf_adds(&text, h->version);
	if (h->sid.n > 0)
		lines[q.n_headers++] = str_of(text.p, n);
	if (h->version.n > 0)
		lines[q.n_headers++] = str_of(text.p + n, text.n - n);
	for (unsigned i = 0; i < p->opts.n_headers && q.n_headers < 72; i++)
		lines[q.n_headers++] = p->opts.headers[i];
	e = xcalloc(1, sizeof *e);
	e->player = p;
	e->req = client_start(player_client(p, l->x.plan->client), &q, &cb, e, NULL);
	if (e->req)
		DL_APPEND(p->extras, e);
	else
		free(e);
	buf_fini(&body);
	buf_fini(&text);
}
