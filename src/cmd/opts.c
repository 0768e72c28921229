#include "opts.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

#include "complain.h"
#include "mcpdiag/buf.h"

#define MAX_OPTS 48
#define MAX_WORD 32

/* Edits between two words: insertions, deletions, replacements, and two
 * neighbours swapped, which is the commonest slip. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned d[MAX_WORD + 1][MAX_WORD + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > MAX_WORD || m > MAX_WORD)
		return MAX_WORD;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

const char *
opts_nearest(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	unsigned least = MAX_WORD;
	size_t n = strlen(word);

	for (; *candidates; candidates++) {
		unsigned d = distance(word, *candidates);

		if (n >= 3 && strncmp(word, *candidates, n) == 0)
			d = 1;
		if (d < least) {
			least = d;
			best = *candidates;
		}
	}
	/* A third of the word may be wrong, and one letter always. */
	return least <= 1 || least <= n / 3 ? best : NULL;
}

static const char *
nearest_option(const struct command *cmd, const char *word)
{
	const char *names[MAX_OPTS + 1];
	size_t n = 0;

	for (const struct opt *o = cmd->opts; o->name && n < MAX_OPTS; o++)
		if (o->help)
			names[n++] = o->name;
	names[n] = NULL;
	return opts_nearest(word, names);
}

static int
unknown(const struct command *cmd, char *word, int letter)
{
	const char *near;
	char *eq;

	if (letter) {
		complain("mcpdiag %s: no option -%c; `mcpdiag %s --help` "
		    "lists them", cmd->name, letter, cmd->name);
		return OPT_BAD;
	}
	eq = strchr(word, '=');
	if (eq)
		*eq = '\0';
	near = nearest_option(cmd, word + 2);
	if (near)
		complain("mcpdiag %s: no option %s; did you mean --%s?",
		    cmd->name, word, near);
	else
		complain("mcpdiag %s: no option %s; `mcpdiag %s --help` "
		    "lists them", cmd->name, word, cmd->name);
	return OPT_BAD;
}

static int
misused(const struct command *cmd, const struct opt *o, bool missing)
{
	if (missing)
		complain("mcpdiag %s: --%s needs a value: --%s %s",
		    cmd->name, o->name, o->name, o->arg ? o->arg : "");
	else
		complain("mcpdiag %s: --%s takes no value", cmd->name,
		    o->name);
	return OPT_BAD;
}

static const struct opt *
by_id(const struct command *cmd, int id)
{
	const struct opt *o = cmd->opts;

	while (o->name && o->id != id)
		o++;
	return o->name ? o : NULL;
}

static const struct opt *
by_letter(const struct command *cmd, int letter)
{
	const struct opt *o = cmd->opts;

	while (o->name && (o->letter == 0 || o->letter != letter))
		o++;
	return o->name ? o : NULL;
}

static void
list_options(const struct command *cmd)
{
	for (const struct opt *o = cmd->opts; o->name; o++) {
		if (o->help == NULL)
			continue;
		if (o->letter)
			printf("-%c ", o->letter);
		printf("--%s\n", o->name);
	}
}

/* Whether a word is a long option of that name, or an abbreviation of it. */
static bool
names_long(const char *word, const char *name)
{
	size_t n = strcspn(word, "=");

	return strncmp(word, name, n) == 0;
}

static void
ambiguous(const struct command *cmd, const char *word)
{
	struct buf b;

	buf_init(&b, 4096);
	for (const struct opt *o = cmd->opts; o->name; o++)
		if (o->help && names_long(word + 2, o->name))
			(void)buf_fmt(&b, " --%s", o->name);
	complain("mcpdiag %s: %s may mean%.*s", cmd->name, word, STR_ARG(buf_str(&b)));
	buf_fini(&b);
}

static int
failure(const struct command *cmd, char **argv, int what)
{
	const struct opt *o;
	char *word = argv[optind - 1];

	if (optopt >= 1000) {
		o = by_id(cmd, optopt);
		return misused(cmd, o, what == ':');
	}
	if (optopt) {
		o = by_letter(cmd, optopt);
		return o ? misused(cmd, o, what == ':') :
		    unknown(cmd, word, optopt);
	}
	if (strncmp(word, "--", 2) == 0) {
		unsigned n = 0;

		for (o = cmd->opts; o->name; o++)
			n += o->help && word[2] && names_long(word + 2, o->name);
		if (n > 1) {
			ambiguous(cmd, word);
			return OPT_BAD;
		}
	}
	return unknown(cmd, word, 0);
}

void
opts_restart(void)
{
	optind = 0;		/* getopt(3): starts anew, options and all */
}

int
opts_next(const struct command *cmd, int argc, char **argv, const char **arg,
    int *operand)
{
	struct option longs[MAX_OPTS + 1];
	char shorts[2 * MAX_OPTS + 2];
	const struct opt *o;
	size_t n = 0, k = 0;
	int c;

	shorts[k++] = ':';
	for (o = cmd->opts; o->name && n < MAX_OPTS; o++) {
		longs[n++] = (struct option){ o->name,
		    o->arg ? required_argument : no_argument, NULL, o->id };
		if (o->letter) {
			shorts[k++] = o->letter;
			if (o->arg)
				shorts[k++] = ':';
		}
	}
	shorts[k] = '\0';
	longs[n] = (struct option){ 0 };
	opterr = 0;
	c = getopt_long(argc, argv, shorts, longs, NULL);
	*arg = optarg;
	*operand = optind;
	if (c == '?' || c == ':')
		return failure(cmd, argv, c);
	if (c > 0 && c < 1000)
		c = by_letter(cmd, c)->id;
	switch (c) {
	case OPT_HELP:
		opts_help(cmd, stdout);
		return OPT_DONE;
	case OPT_VERSION:
		printf("mcpdiag %s\n", MCPDIAG_VERSION);
		return OPT_DONE;
	case OPT_LIST:
		list_options(cmd);
		return OPT_DONE;
	}
	return c;
}

int
opts_each(const struct command *cmd, int argc, char **argv, opts_fn *take, void *run,
    int *operand)
{
	const char *arg;
	int id, rc;

	while ((id = opts_next(cmd, argc, argv, &arg, operand)) != OPT_END) {
		rc = id == OPT_BAD ? STATUS_USAGE : id == OPT_DONE ? id : take(run, id, arg);
		if (rc != 0)
			return rc;
	}
	return 0;
}

void
opts_help(const struct command *cmd, FILE *to)
{
	fprintf(to, "usage: mcpdiag %s %s\n%s\n\n", cmd->name, cmd->synopsis,
	    cmd->summary);
	for (const char *const *e = cmd->examples; e && *e; e += 2)
		fprintf(to, "  %-44s  %s\n", e[0], e[1]);
	if (cmd->examples)
		fprintf(to, "\n");
	for (const struct opt *o = cmd->opts; o->name; o++) {
		char left[64];

		if (o->help == NULL)
			continue;
		(void)snprintf(left, sizeof left, "  %c%c%s --%s%s%s",
		    o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		    o->letter ? "," : " ", o->name, o->arg ? " " : "",
		    o->arg ? o->arg : "");
		fprintf(to, "%-30s %s\n", left, o->help);
	}
	fprintf(to, "\nexit status: %s.\nMore: man mcpdiag-%s\n", cmd->statuses,
	    cmd->name);
}
