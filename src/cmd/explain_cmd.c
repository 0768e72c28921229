#include "mcpdiag/explain.h"

#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "mcpdiag/rule.h"
#include "opts.h"

#define WIDTH 80
#define INDENT 9
#define MAX_NAMES 64

static const struct opt options[] = {
	OPTS_STANDARD,
	{ 0 },
};

static const char *const examples[] = {
	"mcpdiag explain", "all detectors, a line each",
	"mcpdiag explain leapfrog", "what it is, who does it, how to cure it",
	NULL,
};

/* A paragraph from column `at`, which has been reached, in lines of WIDTH. */
static void
wrap(const char *text, size_t at)
{
	bool first = true;

	while (*text) {
		size_t gap = strspn(text, " ");
		size_t n = strcspn(text + gap, " ");

		if (!first && at + gap + n > WIDTH) {
			printf("\n%*s", INDENT, "");
			at = INDENT;
			gap = 0;
		}
		printf("%*s%.*s", (int)gap, "", (int)n, text + strspn(text, " "));
		at += gap + n;
		text += strspn(text, " ") + n;
		first = false;
	}
	printf("\n");
}

static void
paragraph(const char *label, const char *text)
{
	if (text == NULL)
		return;
	printf("%-*s", INDENT, label);
	wrap(text, INDENT);
}

static void
picture(const char *wire)
{
	while (*wire) {
		size_t n = strcspn(wire, "\n");

		printf("    %.*s\n", (int)n, wire);
		wire += n + (wire[n] == '\n');
	}
}

static void
list(void)
{
	for (size_t i = 0; rules_table[i]; i++)
		printf("%-24s  %s\n", rules_table[i]->name, rules_table[i]->summary);
	printf("\nmcpdiag explain DETECTOR tells more of one.\n");
}

static void
explain(const struct explain *e)
{
	const struct rule *r = rule_find(e->detector);

	printf("%s: %s\n\n", e->detector, r ? r->summary :
	    "not looked for by this version");
	paragraph("what", e->what);
	printf("\nwire\n");
	picture(e->wire);
	printf("\n");
	paragraph("known", e->known);
	printf("\nfix\n");
	paragraph(" server", e->server);
	paragraph(" client", e->client);
	paragraph(" path", e->path);
	printf("\n");
	paragraph("not", e->not_it);
	if (r && r->reference)
		paragraph("see", r->reference);
}

static int
unknown(const char *word)
{
	const char *names[MAX_NAMES + 1], *near;
	size_t n = 0;

	for (const struct explain *e; n < MAX_NAMES &&
	    (e = explain_at((unsigned)n)) != NULL; n++)
		names[n] = e->detector;
	names[n] = NULL;
	near = opts_nearest(word, names);
	if (near)
		complain("mcpdiag explain: no detector %s; did you mean %s?", word, near);
	else
		complain("mcpdiag explain: no detector %s; `mcpdiag explain` lists "
		    "them", word);
	return STATUS_USAGE;
}

static int
run_explain(const struct command *cmd, int argc, char **argv)
{
	const struct explain *e;
	const char *arg;
	int id, operand;

	id = opts_next(cmd, argc, argv, &arg, &operand);
	if (id == OPT_DONE)
		return STATUS_CLEAN;
	if (id == OPT_BAD)
		return STATUS_USAGE;
	if (operand == argc) {
		list();
		return STATUS_CLEAN;
	}
	/* All names first: half an answer helps nobody. */
	for (int i = operand; i < argc; i++)
		if (explain_find(argv[i]) == NULL)
			return unknown(argv[i]);
	for (int i = operand; i < argc; i++) {
		e = explain_find(argv[i]);
		printf("%s", i > operand ? "\n" : "");
		explain(e);
	}
	return STATUS_CLEAN;
}

const struct command cmd_explain = {
	.name = "explain",
	.synopsis = "[options] [DETECTOR...]",
	.summary = "Tells what a detector's name means, who does it, and the cure.",
	.statuses = "0 told, 2 no such detector",
	.opts = options,
	.examples = examples,
	.run = run_explain,
};
