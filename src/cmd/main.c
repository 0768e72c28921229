#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "complain.h"
#include "opts.h"

static const struct command *const commands[] = {
	&cmd_analyze, &cmd_watch, &cmd_explain, &cmd_serve, &cmd_replay, &cmd_probe,
	&cmd_demo,
	NULL,
};

static const struct command *
find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static void
short_help(FILE *to)
{
	fprintf(to, "usage: mcpdiag COMMAND [options] ...\n"
	    "Tells why an MCP-over-HTTP connection misbehaves, from its packets.\n\n"
	    "  mcpdiag analyze leapfrog.pcap                "
	    "what is wrong in this capture\n"
	    "  mcpdiag analyze -T json -o out.json *.pcap   "
	    "the same, for a program\n"
	    "  tcpdump -w - port 3000 | mcpdiag analyze -   "
	    "from a pipe, until ^C\n"
	    "  mcpdiag serve --policy replace               "
	    "a server with that fault, to try a client on\n"
	    "  mcpdiag probe http://127.0.0.1:3000/mcp      "
	    "a server of yours, tried out\n\ncommands:\n");
	for (size_t i = 0; commands[i]; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to, "  %-10s %s\n\n", "help",
	    "Shows this, or the options of a command: mcpdiag help analyze.");
	fprintf(to, "`mcpdiag --version` shows the version; man mcpdiag has the rest.\n");
}

static int
no_command(const char *word)
{
	const char *names[sizeof commands / sizeof *commands + 1] = { "help" }, *near;
	struct stat st;
	size_t n = 1;

	if (stat(word, &st) == 0 && !S_ISDIR(st.st_mode)) {
		complain("mcpdiag: no command given; try: "
		    "mcpdiag analyze %s", word);
		return STATUS_USAGE;
	}
	for (size_t i = 0; commands[i]; i++)
		names[n++] = commands[i]->name;
	names[n] = NULL;
	near = opts_nearest(word, names);
	if (near)
		complain("mcpdiag: no command %s; did you mean %s?",
		    word, near);
	else
		complain("mcpdiag: no command %s; `mcpdiag help` lists "
		    "them", word);
	return STATUS_USAGE;
}

static int
help(int argc, char **argv)
{
	const struct command *cmd = argc > 2 ? find(argv[2]) : NULL;

	if (argc > 2 && cmd == NULL && strcmp(argv[2], "help") != 0)
		return no_command(argv[2]);
	if (cmd)
		opts_help(cmd, stdout);
	else
		short_help(stdout);
	return STATUS_CLEAN;
}

/* Results on stdout may still be in its buffer. */
static int
done(int status)
{
	if (fflush(stdout) != 0 && status == STATUS_CLEAN)
		return STATUS_ENVIRONMENT;
	return status;
}

int
main(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2) {
		short_help(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0) {
		printf("mcpdiag %s\n", MCPDIAG_VERSION);
		return done(STATUS_CLEAN);
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		short_help(stdout);
		return done(STATUS_CLEAN);
	}
	if (strcmp(argv[1], "help") == 0)
		return done(help(argc, argv));
	if (argv[1][0] == '-') {
		complain("mcpdiag: options come after the command; try: "
		    "mcpdiag analyze %s", argv[1]);
		return STATUS_USAGE;
	}
	cmd = find(argv[1]);
	if (cmd == NULL)
		return no_command(argv[1]);
	return done(cmd->run(cmd, argc - 1, argv + 1));
}
