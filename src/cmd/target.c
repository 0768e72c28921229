#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd.h"
#include "complain.h"
#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"

#define FILE_MAX (64U << 10)

static void
add(struct target *t, struct str line)
{
	t->headers = xgrow(t->headers, t->n_headers, &t->cap_headers, sizeof *t->headers);
	t->headers[t->n_headers++] = str_of(xmemdup0(line.p, line.n), line.n);
}

static int
add_header(struct target *t, const char *command, struct str line)
{
	size_t colon = str_find(line, STR(":"));

	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == '\r' || line.p[i] == '\n')
			colon = SIZE_MAX;
	if (colon == SIZE_MAX || colon == 0) {
		complain("mcpdiag %s: -H: give 'Name: value', or @FILE", command);
		return STATUS_USAGE;
	}
	add(t, line);
	return 0;
}

static int
read_file(struct buf *b, const char *command, const char *path)
{
	FILE *f = fopen(path, "re");
	char piece[4096];
	size_t n;
	int rc = 0;

	buf_init(b, FILE_MAX);
	if (f == NULL) {
		complain("mcpdiag %s: %s: %s", command, path, strerror(errno));
		return STATUS_USAGE;
	}
	while (rc == 0 && (n = fread(piece, 1, sizeof piece, f)) > 0)
		rc = buf_add(b, piece, n);
	if (rc != 0 || ferror(f)) {
		complain("mcpdiag %s: %s: %s", command, path, rc ? "is too long" :
		    "cannot be read");
		rc = STATUS_USAGE;
	}
	(void)fclose(f);
	return rc;
}

/* The first line of s, which loses it. */
static struct str
take_line(struct str *s)
{
	size_t n = str_find(*s, STR("\n"));
	struct str line = str_of(s->p, n < s->n ? n : s->n);

	s->p += line.n + (n < s->n);
	s->n -= line.n + (n < s->n);
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

int
target_header(struct target *t, const char *command, const char *arg)
{
	struct buf b;
	struct str rest;
	int rc;

	if (*arg != '@')
		return add_header(t, command, str_c(arg));
	rc = read_file(&b, command, arg + 1);
	rest = buf_str(&b);
	while (rc == 0 && rest.n > 0) {
		struct str line = take_line(&rest);

		if (str_trim(line).n > 0)
			rc = add_header(t, command, line);
	}
	buf_fini(&b);
	return rc;
}

static int
add_token(struct target *t, const char *command, struct str token)
{
	struct buf b;
	int rc = 0;

	token = str_trim(token);
	buf_init(&b, FILE_MAX);
	(void)buf_adds(&b, STR("Authorization: Bearer "));
	(void)buf_adds(&b, token);
	for (size_t i = 0; i < token.n; i++)
		if (token.p[i] <= ' ' || token.p[i] > '~')
			rc = STATUS_USAGE;
	if (rc != 0 || token.n == 0) {
		complain("mcpdiag %s: the bearer token is empty, or has a byte that no token "
		    "has", command);
		rc = STATUS_USAGE;
	} else {
		add(t, buf_str(&b));
	}
	buf_fini(&b);
	return rc;
}

int
target_token_file(struct target *t, const char *command, const char *path)
{
	struct buf b;
	struct str rest;
	int rc = read_file(&b, command, path);

	rest = buf_str(&b);
	if (rc == 0)
		rc = add_token(t, command, take_line(&rest));
	buf_fini(&b);
	return rc;
}

int
target_token_env(struct target *t, const char *command, const char *name)
{
	const char *token = getenv(name);

	if (token == NULL) {
		complain("mcpdiag %s: --bearer-env %s: there is no such variable", command, name);
		return STATUS_USAGE;
	}
	return add_token(t, command, str_c(token));
}

int
target_url(struct target *t, const char *command, int n, char **operands)
{
	struct str url;

	if (n != 1) {
		complain("mcpdiag %s: give one URL, that of the MCP endpoint: "
		    "http://127.0.0.1:3000/mcp", command);
		return STATUS_USAGE;
	}
	url = str_c(operands[0]);
	if (!str_ipre(url, STR("http://")) && !str_ipre(url, STR("https://"))) {
		complain("mcpdiag %s: %s: is no URL; it begins with http:// or https://",
		    command, operands[0]);
		return STATUS_USAGE;
	}
	t->url = operands[0];
	return 0;
}

void
target_fini(struct target *t)
{
	for (uint32_t i = 0; i < t->n_headers; i++)
		free((char *)(uintptr_t)t->headers[i].p);
	free(t->headers);
	*t = (struct target){ 0 };
}

bool
target_tells(void)
{
	return isatty(STDERR_FILENO) == 1;
}
