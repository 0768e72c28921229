/* opts: the table, and what becomes of slips. */
#include <getopt.h>
#include <stdio.h>

#include "../../src/cmd/opts.h"
#include "util.h"

static const struct opt options[] = {
	{ OPT_OWN, 'r', "read", "FILE", "read" },
	{ OPT_OWN + 1, 'q', "quiet", NULL, "quiet" },
	{ OPT_OWN + 2, 0, "format", "FORMAT", "format" },
	{ OPT_OWN + 3, 0, "fail-on", "LEVEL", "level" },
	{ OPT_OWN + 4, 0, "hidden", "N", NULL },
	OPTS_STANDARD,
	{ 0 },
};
static const struct command cmd = { .name = "test", .synopsis = "[options]",
	.summary = "Tests.", .opts = options };

#define R OPT_OWN
#define MAX_ARGS 8

static const struct {
	const char *what, *args[MAX_ARGS];
	int ids[MAX_ARGS];	/* as they come, up to END, BAD or DONE */
	const char *arg;	/* of the last one with an argument */
	const char *err;	/* a part of what stderr says */
	const char *operand;	/* the first one after END */
} rows[] = {
	{ "nothing", { NULL }, { OPT_END }, NULL, NULL, NULL },
	{ "letters in one word", { "-qqr", "x" }, { R + 1, R + 1, R, OPT_END }, "x", NULL, NULL },
	{ "value in the word", { "-rx" }, { R, OPT_END }, "x", NULL, NULL },
	{ "long with =", { "--format=json" }, { R + 2, OPT_END }, "json", NULL, NULL },
	{ "long with a space", { "--format", "json" }, { R + 2, OPT_END }, "json", NULL, NULL },
	{ "an abbreviation", { "--form=json" }, { R + 2, OPT_END }, "json", NULL, NULL },
	{ "operands between options", { "a", "-q", "b" }, { R + 1, OPT_END }, NULL, NULL, "a" },
	{ "after --", { "--", "-q" }, { OPT_END }, NULL, NULL, "-q" },
	{ "- is an operand", { "-q", "-" }, { R + 1, OPT_END }, NULL, NULL, "-" },
	{ "-h anywhere", { "a", "-h" }, { OPT_DONE }, NULL, NULL, NULL },
	{ "--version", { "--version" }, { OPT_DONE }, NULL, NULL, NULL },
	{ "a hidden one works", { "--hidden", "3" }, { R + 4, OPT_END }, "3", NULL, NULL },
	{ "two letters swapped", { "--fromat", "json" }, { OPT_BAD }, NULL,
	  "no option --fromat; did you mean --format?", NULL },
	{ "a letter too few", { "--fal-on=x" }, { OPT_BAD }, NULL, "did you mean --fail-on?", NULL },
	{ "nothing like it", { "--zzzzzzzz" }, { OPT_BAD }, NULL, "no option --zzzzzzzz; `mcpdiag", NULL },
	{ "a hidden one is not suggested", { "--hidde1" }, { OPT_BAD }, NULL,
	  "no option --hidde1; `mcpdiag", NULL },
	{ "an abbreviation of two", { "--f" }, { OPT_BAD }, NULL,
	  "--f may mean --format --fail-on", NULL },
	{ "an unknown letter", { "-z" }, { OPT_BAD }, NULL, "no option -z", NULL },
	{ "an unknown letter in a word", { "-qz" }, { R + 1, OPT_BAD }, NULL, "no option -z", NULL },
	{ "a value missing", { "--format" }, { OPT_BAD }, NULL,
	  "--format needs a value: --format FORMAT", NULL },
	{ "a value missing after a letter", { "-r" }, { OPT_BAD }, NULL,
	  "--read needs a value: --read FILE", NULL },
	{ "a value too many", { "--quiet=3" }, { OPT_BAD }, NULL, "--quiet takes no value", NULL },
};

/* stdout and stderr of the code between begin() and end(). */
struct caught {
	FILE *file[2];
	int saved[2];
	char text[2][8192];
};

static void
begin(struct caught *c)
{
	for (int i = 0; i < 2; i++) {
		(void)fflush(i ? stderr : stdout);
		c->file[i] = tmpfile();
		assert_non_null(c->file[i]);
		c->saved[i] = dup(i + 1);
		assert_int_equal(dup2(fileno(c->file[i]), i + 1), i + 1);
	}
}

static void
end(struct caught *c)
{
	for (int i = 0; i < 2; i++) {
		size_t n;

		(void)fflush(i ? stderr : stdout);
		rewind(c->file[i]);
		n = fread(c->text[i], 1, sizeof c->text[i] - 1, c->file[i]);
		c->text[i][n] = '\0';
		(void)dup2(c->saved[i], i + 1);
		(void)close(c->saved[i]);
		(void)fclose(c->file[i]);
	}
}

static void
every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		char words[MAX_ARGS + 1][32], *argv[MAX_ARGS + 2];
		const char *arg, *last = NULL;
		int argc = 0, id, operand, k = 0;
		struct caught c;

		(void)snprintf(words[0], sizeof words[0], "test");
		argv[argc++] = words[0];
		for (; argc <= MAX_ARGS && rows[i].args[argc - 1]; argc++) {
			(void)snprintf(words[argc], sizeof words[argc], "%s",
			    rows[i].args[argc - 1]);
			argv[argc] = words[argc];
		}
		argv[argc] = NULL;
		optind = 0;		/* getopt starts anew */
		begin(&c);
		do {
			id = opts_next(&cmd, argc, argv, &arg, &operand);
			if (arg)
				last = arg;
		} while (id == rows[i].ids[k++] && id >= OPT_OWN);
		end(&c);
		if (id != rows[i].ids[k - 1])
			fail_msg("%s: %d instead of %d", rows[i].what, id,
			    rows[i].ids[k - 1]);
		if (rows[i].err ? !strstr(c.text[1], rows[i].err) : c.text[1][0])
			fail_msg("%s: stderr is %s", rows[i].what, c.text[1]);
		if (rows[i].arg)
			assert_string_equal(last, rows[i].arg);
		if (rows[i].operand)
			assert_string_equal(argv[operand], rows[i].operand);
	}
}

struct taken {
	int ids[4];
	unsigned n, stop_at;
};

static int
take(void *run, int id, const char *arg)
{
	struct taken *t = run;

	(void)arg;
	assert_true(t->n < 4);
	t->ids[t->n++] = id;
	return t->n == t->stop_at ? 77 : 0;
}

/* Each in its turn, up to the first that is not taken. */
static void
each_is_taken(void **state)
{
	static const struct {
		const char *args[4];
		unsigned stop_at;
		int rc;
		unsigned n;
	} calls[] = {
		{ { "-q", "-r", "x", "file" }, 0, 0, 2 },
		{ { "-q", "-q", "-q", "-q" }, 3, 77, 3 },
		{ { "-q", "--nope", "-q", "-q" }, 0, STATUS_USAGE, 1 },
		{ { "-q", "--help", "-q", "-q" }, 0, OPT_DONE, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		char words[5][8] = { "test" }, *argv[6] = { words[0] };
		struct taken t = { .stop_at = calls[i].stop_at };
		struct caught c;
		int operand = 0, rc;

		for (int k = 1; k < 5; k++) {
			(void)snprintf(words[k], sizeof words[k], "%s", calls[i].args[k - 1]);
			argv[k] = words[k];
		}
		optind = 0;
		begin(&c);
		rc = opts_each(&cmd, 5, argv, take, &t, &operand);
		end(&c);
		assert_int_equal(rc, calls[i].rc);
		assert_int_equal(t.n, calls[i].n);
		if (rc == 0)
			assert_string_equal(argv[operand], "file");
	}
}

static void
help_and_list_follow_the_table(void **state)
{
	char *help[] = { (char[]){ "test" }, (char[]){ "--help" }, NULL };
	char *list[] = { (char[]){ "test" }, (char[]){ "--list-options" }, NULL };
	struct caught c;
	const char *arg;
	int operand;

	(void)state;
	optind = 0;
	begin(&c);
	assert_int_equal(opts_next(&cmd, 2, help, &arg, &operand), OPT_DONE);
	end(&c);
	assert_non_null(strstr(c.text[0], "usage: mcpdiag test [options]\n"));
	assert_non_null(strstr(c.text[0], "  -r, --read FILE              read\n"));
	assert_non_null(strstr(c.text[0], "      --format FORMAT          format\n"));
	assert_null(strstr(c.text[0], "hidden"));
	optind = 0;
	begin(&c);
	assert_int_equal(opts_next(&cmd, 2, list, &arg, &operand), OPT_DONE);
	end(&c);
	assert_string_equal(c.text[0], "-r --read\n-q --quiet\n--format\n--fail-on\n"
	    "-h --help\n-V --version\n");
}

static void
nearest_words(void **state)
{
	static const char *const words[] = { "analyze", "help", "watch", NULL };

	(void)state;
	assert_string_equal(opts_nearest("analyse", words), "analyze");
	assert_string_equal(opts_nearest("anaylze", words), "analyze");
	assert_string_equal(opts_nearest("ana", words), "analyze");
	assert_string_equal(opts_nearest("hepl", words), "help");
	assert_string_equal(opts_nearest("wtach", words), "watch");
	assert_null(opts_nearest("x", words));
	assert_null(opts_nearest("", words));
	assert_null(opts_nearest("frobnicate", words));
	assert_null(opts_nearest("a-word-that-is-longer-than-anything-here", words));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(each_is_taken),
		cmocka_unit_test(help_and_list_follow_the_table),
		cmocka_unit_test(nearest_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
