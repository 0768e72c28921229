#include "load.h"

#include "cmd.h"
#include "complain.h"
#include "input.h"

#define BATCH 16		/* packets looked at together */

static int
load_captures(const char *who, struct pipeline *p, const char *const *files, unsigned n)
{
	struct source *s = source_new();
	struct source_file f;
	struct packet pk[BATCH];
	struct errmsg em;
	int rc = 0;

	for (unsigned i = 0; i < n && rc == 0; i++)
		if (source_add(s, files[i], &em) != 0) {
			complain("mcpdiag %s: %s", who, em.text);
			rc = STATUS_INPUT;
		}
	while (rc == 0 && source_next(s, pk) == 1)
		(void)pipeline_packets(p, pk, 1 + source_more(s, pk + 1, BATCH - 1));
	for (unsigned i = 0; rc == 0 && source_file(s, i, &f); i++)
		pipeline_file(p, &f);
	source_free(s);
	return rc;
}

static void
to_pipeline(void *arg, const struct ev *e)
{
	pipeline_event(arg, e);
}

static int
load_events(const char *who, struct pipeline *p, const char *file)
{
	struct ndjson_in *in = ndjson_in_new(to_pipeline, p);
	const struct ndjson_stats *s = ndjson_in_stats(in);
	const volatile int stop = 0;
	struct errmsg em;
	int rc = 0;

	if (input_events(file, in, &stop, &em) != 0) {
		complain("mcpdiag %s: %s", who, em.text);
		rc = STATUS_INPUT;
	} else if (s->events == 0) {
		complain("mcpdiag %s: %s: no event in it can be read; it should come from "
		    "`mcpdiag analyze -T ndjson`", who, file);
		rc = STATUS_INPUT;
	}
	ndjson_in_free(in);
	return rc;
}

int
load(const char *who, struct pipeline *p, const char *const *files, unsigned n, bool *events)
{
	int rc;

	*events = false;
	for (unsigned i = 0; i < n && !*events; i++)
		*events = input_is_events(files[i]);
	if (*events && n > 1) {
		complain("mcpdiag %s: an event file goes with no other: its numbers fit none",
		    who);
		return STATUS_USAGE;
	}
	rc = *events ? load_events(who, p, files[0]) : load_captures(who, p, files, n);
	if (rc == 0)
		pipeline_end(p);
	return rc;
}
