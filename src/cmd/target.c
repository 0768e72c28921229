#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "complain.h"
#include "mcpdiag/buf.h"
#include "mcpdiag/xmem.h"
#include "value.h"

#define FILE_MAX (64U << 10)

static int
add(struct target *t, const char *command, struct str line)
{
	if (t->n_headers == TARGET_MAX) {
		complain("mcpdiag %s: more than %d headers", command, TARGET_MAX);
		return STATUS_USAGE;
	}
	t->headers[t->n_headers++] = str_of(xmemdup0(line.p, line.n), line.n);
	return 0;
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
	return add(t, command, line);
}

static int
read_file(struct buf *b, const char *command, const char *path)
{
	int err;

	buf_init(b, FILE_MAX);
	err = value_text(path, b);
	if (err == 0)
		return 0;
	complain("mcpdiag %s: %s: %s", command, path, err == EFBIG ? "is too long" :
	    strerror(err));
	return STATUS_USAGE;
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

static int
set_header(struct target *t, const char *command, const char *arg)
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
	buf_init(&b, FILE_MAX + 64);
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
		rc = add(t, command, buf_str(&b));
	}
	buf_fini(&b);
	return rc;
}

static int
set_token_file(struct target *t, const char *command, const char *path)
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

static int
set_token_env(struct target *t, const char *command, const char *name)
{
	const char *token = getenv(name);

	if (token == NULL) {
		complain("mcpdiag %s: --bearer-env %s: there is no such variable", command, name);
		return STATUS_USAGE;
	}
	return add_token(t, command, str_c(token));
}

int
target_set(struct target *t, const char *command, int id, const char *arg)
{
	switch (id) {
	case TARGET_HEADER:
		return set_header(t, command, arg);
	case TARGET_BEARER_FILE:
		return set_token_file(t, command, arg);
	case TARGET_BEARER_ENV:
		return set_token_env(t, command, arg);
	case TARGET_INSECURE:
		t->client.insecure = true;
		return 0;
	case TARGET_CACERT:
		t->client.ca_file = arg;
		return access(arg, R_OK) == 0 ? 0 :
		    value_bad(command, "--cacert", arg, strerror(errno));
	case TARGET_RESOLVE:
		if (t->n_resolve == TARGET_MAX)
			return value_bad(command, "--resolve", arg, "these are too many");
		t->resolve[t->n_resolve++] = arg;
		t->client.resolve = t->resolve;
		return 0;
	case TARGET_UNIX:
		t->client.unix_socket = arg;
		return 0;
	case TARGET_HTTP2:
		t->client.http = CLIENT_HTTP2;
		return 0;
	}
	return STATUS_USAGE;
}

bool
target_is_url(const char *s)
{
	return str_ipre(str_c(s), STR("http://")) || str_ipre(str_c(s), STR("https://"));
}

int
target_url(struct target *t, const char *command, const char *url)
{
	if (!target_is_url(url)) {
		complain("mcpdiag %s: %s: is no URL; it begins with http:// or https://",
		    command, url);
		return STATUS_USAGE;
	}
	t->url = url;
	/* Without TLS nobody asks for it: it is spoken, or not. */
	if (t->client.http == CLIENT_HTTP2 && str_ipre(str_c(url), STR("https:")))
		t->client.http = CLIENT_HTTP2_TLS;
	return 0;
}

void
target_init(struct target *t)
{
	*t = (struct target){ 0 };
	client_opts_init(&t->client);
}

void
target_fini(struct target *t)
{
	for (uint32_t i = 0; i < t->n_headers; i++)
		free((char *)(uintptr_t)t->headers[i].p);
	t->n_headers = 0;
}

bool
target_tells(void)
{
	return isatty(STDERR_FILENO) == 1;
}
