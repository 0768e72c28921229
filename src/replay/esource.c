#include "mcpdiag/esource.h"

#include <stdlib.h>

#include "mcpdiag/buf.h"
#include "mcpdiag/sse.h"
#include "mcpdiag/xmem.h"

struct esource {
	esource_fn *fn;
	void *arg;
	struct sse *sse;	/* of the stream that is open, or NULL */
	struct buf cursor;
	struct buf data;	/* of the event being read */
	bool cut, moved;
	ns_t retry;
};

static void
on_data(void *arg, const void *p, size_t n)
{
	struct esource *es = arg;
	size_t room = es->data.max - es->data.n;

	if (n > room) {
		es->cut = true;
		n = room;
	}
	(void)buf_add(&es->data, p, n);
}

static void
on_event(void *arg, const struct sse_event *e)
{
	struct esource *es = arg;
	struct esource_msg m = {
		.type = e->type.n ? e->type : STR("message"),
		.data = buf_str(&es->data), .cut = es->cut,
	};

	/* A complete retry line counts at once, even in a block without an
	 * end; the rest of such a block is dropped. */
	if (e->retry_ms >= 0)
		es->retry = e->retry_ms < ESOURCE_RETRY_MAX / NS_MS ?
		    e->retry_ms * NS_MS : ESOURCE_RETRY_MAX;
	if (!e->tail) {
		/* Of a field that was cut nobody knows what it was. */
		if (e->id.p != NULL && !e->cut) {
			es->moved = true;
			buf_clear(&es->cursor);
			(void)buf_adds(&es->cursor, e->id);
		}
		m.id = buf_str(&es->cursor);
		if (es->data.n > 0)
			es->fn(es->arg, &m);
	}
	buf_clear(&es->data);
	es->cut = false;
}

static const struct sse_cb cb = { .data = on_data, .event = on_event };

struct esource *
esource_new(esource_fn *fn, void *arg, size_t max, ns_t retry)
{
	struct esource *es = xcalloc(1, sizeof *es);

	es->fn = fn;
	es->arg = arg;
	es->retry = retry;
	buf_init(&es->cursor, ESOURCE_ID);
	buf_init(&es->data, max);
	return es;
}

void
esource_free(struct esource *es)
{
	if (es == NULL)
		return;
	sse_free(es->sse);
	buf_fini(&es->cursor);
	buf_fini(&es->data);
	free(es);
}

bool
esource_head(struct esource *es, unsigned status, struct str content_type)
{
	/* The cursor goes on into the new stream, as in browsers: HTML 9.2.6
	 * would have an event without an id forget it. */
	if (status != 200 || !content_type_is(content_type, STR("text/event-stream")))
		return false;
	es->moved = false;
	sse_free(es->sse);
	es->sse = sse_new(&cb, es, ESOURCE_ID, UINT64_MAX);
	return true;
}

void
esource_feed(struct esource *es, const void *p, size_t n)
{
	if (es->sse != NULL)
		sse_feed(es->sse, p, n);
}

void
esource_eof(struct esource *es)
{
	if (es->sse == NULL)
		return;
	sse_eof(es->sse);
	sse_free(es->sse);
	es->sse = NULL;
	buf_fini(&es->data);
	es->cut = false;
}

struct str
esource_cursor(const struct esource *es)
{
	return buf_str(&es->cursor);
}

bool
esource_moved(const struct esource *es)
{
	return es->moved;
}

void
esource_forget(struct esource *es)
{
	buf_clear(&es->cursor);
}

ns_t
esource_retry(const struct esource *es)
{
	return es->retry;
}

bool
content_type_is(struct str content_type, struct str type)
{
	size_t semicolon = str_find(content_type, STR(";"));

	if (semicolon < content_type.n)
		content_type.n = semicolon;
	return str_ieq(str_trim(content_type), type);
}
