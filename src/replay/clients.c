#include "mcpdiag/clients.h"

#define MS(n) ((n) * NS_MS)

/* Answers that are refusals, all alike. */
#define REFUSALS(does) [GOT_400] = does, [GOT_401] = does, [GOT_404] = does, \
	[GOT_409] = does, [GOT_4XX] = does
#define LISTENS [GOT_STREAM] = DOES_LISTEN

static const struct client_row rows[] = {
	/* WHATWG HTML 9.2: any answer but 200 with an event stream is the end.
	 * All streams are EventSources, as in the script of listener.h. */
	{ .name = "eventsource", .title = "an EventSource (browsers)",
	  .opens = OPENS_AFTER, .sessionless = true, .posts = true, .answered = true,
	  .all = true, .cursor = true, .keeps = true, .retry = true, .delay = MS(3000),
	  .growth = 1, .delay_max = MS(3000),
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_DEAF,
	    REFUSALS(DOES_DEAF), [GOT_405] = DOES_DEAF, [GOT_5XX] = DOES_DEAF,
	    [GOT_NOTHING] = DOES_RETRY },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_DEAF,
	    REFUSALS(DOES_DEAF), [GOT_405] = DOES_DEAF, [GOT_5XX] = DOES_DEAF,
	    [GOT_NOTHING] = DOES_RETRY } },
#define TS .opens = OPENS_AFTER, .sessionless = true, .posts = true, .cursor = true, \
	  .retry = true, .shares = true, .delay = MS(1000), .growth = 1.5, \
	  .delay_max = MS(30000), .tries = 2, .end_counts = true, \
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_RETRY, \
	    REFUSALS(DOES_DEAF), [GOT_405] = DOES_WITHOUT, [GOT_5XX] = DOES_DEAF, \
	    [GOT_NOTHING] = DOES_DEAF }, \
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_RETRY, \
	    REFUSALS(DOES_TRIES), [GOT_405] = DOES_WITHOUT, [GOT_5XX] = DOES_TRIES, \
	    [GOT_NOTHING] = DOES_TRIES }
	{ .name = "ts-1.23", .title = "TypeScript SDK 1.23", .answered = true, TS },
	{ .name = "ts-1.32", .title = "TypeScript SDK 1.24-1.32, 2.x", TS },
	{ .name = "python", .title = "Python SDK 1.x, 2.0", .opens = OPENS_BESIDE,
	  .posts = true, .cursor = true, .keeps = true, .retry = true, .delay = MS(1000),
	  .growth = 1, .delay_max = MS(1000), .tries = 1,
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_TRIES,
	    REFUSALS(DOES_TRIES), [GOT_405] = DOES_TRIES, [GOT_5XX] = DOES_TRIES,
	    [GOT_NOTHING] = DOES_TRIES },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_TRIES,
	    REFUSALS(DOES_TRIES), [GOT_405] = DOES_TRIES, [GOT_5XX] = DOES_TRIES,
	    [GOT_NOTHING] = DOES_TRIES } },
	{ .name = "go", .title = "Go SDK 1.7", .opens = OPENS_BEFORE, .posts = true,
	  .cursor = true, .keeps = true, .retry = true, .delay = MS(1500), .growth = 1.5,
	  .delay_max = MS(30000), .tries = 5, .idle = 5, .on_idle = DOES_FAIL,
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_DEAF,
	    REFUSALS(DOES_DEAF), [GOT_405] = DOES_WITHOUT },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_FAIL,
	    REFUSALS(DOES_FAIL), [GOT_405] = DOES_FAIL, [GOT_5XX] = DOES_TRIES,
	    [GOT_NOTHING] = DOES_TRIES } },
	{ .name = "rmcp", .title = "rmcp 3.1", .opens = OPENS_AFTER, .posts = true,
	  .cursor = true, .keeps = true, .retry = true, .delay = MS(1000), .growth = 2,
	  .delay_max = INT64_MAX,
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_RETRY,
	    [GOT_401] = DOES_RETRY, [GOT_404] = DOES_REINIT, [GOT_405] = DOES_WITHOUT,
	    [GOT_409] = DOES_RETRY, [GOT_4XX] = DOES_RETRY, [GOT_5XX] = DOES_RETRY,
	    [GOT_NOTHING] = DOES_RETRY },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_RETRY,
	    [GOT_401] = DOES_RETRY, [GOT_404] = DOES_REINIT, [GOT_405] = DOES_WITHOUT,
	    [GOT_409] = DOES_RETRY, [GOT_4XX] = DOES_RETRY, [GOT_5XX] = DOES_RETRY,
	    [GOT_NOTHING] = DOES_RETRY } },
	{ .name = "vscode", .title = "VS Code", .opens = OPENS_ON_HEAD, .sessionless = true,
	  .cursor = true, .keeps = true, .retry = true, .delay = MS(1000), .growth = 1,
	  .step = MS(1000), .delay_max = MS(30000),
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, REFUSALS(DOES_DEAF),
	    [GOT_405] = DOES_WITHOUT, [GOT_5XX] = DOES_DEAF, [GOT_NOTHING] = DOES_RETRY },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, REFUSALS(DOES_DEAF),
	    [GOT_405] = DOES_WITHOUT, [GOT_5XX] = DOES_DEAF, [GOT_NOTHING] = DOES_RETRY } },
	{ .name = "java", .title = "Java SDK 2.0.1", .opens = OPENS_ON_HEAD,
	  .sessionless = true, .delay = MS(1000), .growth = 1, .delay_max = MS(1000),
	  .first = { LISTENS, [GOT_END] = DOES_DEAF, [GOT_400] = DOES_REINIT,
	    [GOT_404] = DOES_REINIT, [GOT_405] = DOES_WITHOUT, [GOT_409] = DOES_DEAF,
	    [GOT_4XX] = DOES_DEAF, [GOT_5XX] = DOES_DEAF, [GOT_NOTHING] = DOES_DEAF },
	  .later = { LISTENS, [GOT_END] = DOES_DEAF, [GOT_400] = DOES_REINIT,
	    [GOT_404] = DOES_REINIT, [GOT_405] = DOES_WITHOUT, [GOT_409] = DOES_DEAF,
	    [GOT_4XX] = DOES_DEAF, [GOT_5XX] = DOES_DEAF, [GOT_NOTHING] = DOES_DEAF } },
	{ .name = "csharp", .title = "C# SDK 2.2", .opens = OPENS_BEFORE, .posts = true,
	  .cursor = true, .keeps = true, .retry = true, .delay = MS(1000), .growth = 1,
	  .delay_max = MS(1000), .tries = 5, .idle = 5, .on_idle = DOES_DEAF,
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_DEAF,
	    [GOT_401] = DOES_DEAF, [GOT_404] = DOES_FAIL, [GOT_405] = DOES_WITHOUT,
	    [GOT_409] = DOES_DEAF, [GOT_4XX] = DOES_DEAF, [GOT_5XX] = DOES_TRIES,
	    [GOT_NOTHING] = DOES_TRIES },
	  /* With an event id seen, refusals are tried again for ever. */
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_RETRY,
	    [GOT_401] = DOES_RETRY, [GOT_404] = DOES_FAIL, [GOT_405] = DOES_RETRY,
	    [GOT_409] = DOES_RETRY, [GOT_4XX] = DOES_RETRY, [GOT_5XX] = DOES_TRIES,
	    [GOT_NOTHING] = DOES_TRIES } },
	{ .name = "kotlin", .title = "Kotlin SDK 0.14", .opens = OPENS_AFTER,
	  .sessionless = true, .posts = true, .cursor = true, .keeps = true, .retry = true,
	  .delay = MS(1000), .growth = 1, .delay_max = MS(1000), .tries = 1,
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_DEAF,
	    [GOT_400] = DOES_TRIES, [GOT_401] = DOES_TRIES, [GOT_404] = DOES_DEAF,
	    [GOT_405] = DOES_WITHOUT, [GOT_409] = DOES_TRIES, [GOT_4XX] = DOES_TRIES,
	    [GOT_5XX] = DOES_TRIES, [GOT_NOTHING] = DOES_TRIES },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_TYPE] = DOES_DEAF,
	    [GOT_400] = DOES_TRIES, [GOT_401] = DOES_TRIES, [GOT_404] = DOES_DEAF,
	    [GOT_405] = DOES_WITHOUT, [GOT_409] = DOES_TRIES, [GOT_4XX] = DOES_TRIES,
	    [GOT_5XX] = DOES_TRIES, [GOT_NOTHING] = DOES_TRIES } },
	{ .name = "mcp-go", .title = "mcp-go, WithContinuousListening",
	  .opens = OPENS_BEFORE, .sessionless = true, .delay = MS(1000), .growth = 1,
	  .delay_max = MS(1000),
	  .first = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_RETRY,
	    [GOT_401] = DOES_RETRY, [GOT_404] = DOES_DEAF, [GOT_405] = DOES_WITHOUT,
	    [GOT_409] = DOES_RETRY, [GOT_4XX] = DOES_RETRY, [GOT_5XX] = DOES_RETRY,
	    [GOT_NOTHING] = DOES_RETRY },
	  .later = { LISTENS, [GOT_END] = DOES_RETRY, [GOT_400] = DOES_RETRY,
	    [GOT_401] = DOES_RETRY, [GOT_404] = DOES_DEAF, [GOT_405] = DOES_WITHOUT,
	    [GOT_409] = DOES_RETRY, [GOT_4XX] = DOES_RETRY, [GOT_5XX] = DOES_RETRY,
	    [GOT_NOTHING] = DOES_RETRY } },
};

#define N_ROWS (sizeof rows / sizeof *rows)

const struct client_row *
clients_row(unsigned i)
{
	return i < N_ROWS ? &rows[i] : NULL;
}

const struct client_row *
clients_find(const char *name)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

enum client_got
clients_got(unsigned status, bool stream)
{
	switch (status) {
	case 0:
		return GOT_NOTHING;
	case 400:
		return GOT_400;
	case 401: case 403:
		return GOT_401;
	case 404:
		return GOT_404;
	case 405:
		return GOT_405;
	case 409:
		return GOT_409;
	}
	if (status >= 500)
		return GOT_5XX;
	if (status >= 300)
		return GOT_4XX;
	return stream ? GOT_STREAM : GOT_TYPE;
}

enum client_does
clients_do(const struct client_row *c, enum client_got got, bool first, unsigned failures)
{
	enum client_does does = first ? c->first[got] : c->later[got];

	if (does == DOES_TRIES)
		return failures < c->tries ? DOES_RETRY : DOES_DEAF;
	return does;
}

ns_t
clients_delay(const struct client_row *c, unsigned failures, ns_t retry)
{
	double d = (double)c->delay;

	if (c->retry && retry >= 0)
		return retry;
	for (unsigned i = 0; i < failures && d < (double)c->delay_max; i++)
		d = d * c->growth + (double)c->step;
	/* Days are as good as for ever. */
	if (d > 7 * 24 * 3600e9)
		d = 7 * 24 * 3600e9;
	return d < (double)c->delay_max ? (ns_t)d : c->delay_max;
}

const char *
clients_got_name(enum client_got got)
{
	static const char *const names[] = {
		[GOT_STREAM] = "stays open", [GOT_END] = "ends",
		[GOT_TYPE] = "no stream", [GOT_400] = "400", [GOT_401] = "401",
		[GOT_404] = "404", [GOT_405] = "405", [GOT_409] = "409", [GOT_4XX] = "4xx",
		[GOT_5XX] = "5xx", [GOT_NOTHING] = "no answer",
	};

	return names[got];
}
