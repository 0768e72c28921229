#include "value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "complain.h"
#include "gate.h"
#include "mcpdiag/str.h"
#include "opts.h"

int
value_bad(const char *command, const char *option, const char *value, const char *want)
{
	complain("mcpdiag %s: %s %s: %s", command, option, value, want);
	return STATUS_USAGE;
}

int
value_word(const char *command, const char *option, const char *word,
    const char *const *words, const char *want, int *index)
{
	const char *near = opts_nearest(word, words);
	char text[128];

	for (*index = 0; words[*index]; ++*index)
		if (strcmp(word, words[*index]) == 0)
			return 0;
	(void)snprintf(text, sizeof text, near ? "%s; did you mean %s?" : "%s", want,
	    near ? near : "");
	return value_bad(command, option, word, text);
}

int
value_number(const char *command, const char *option, const char *value, uint64_t min,
    uint64_t max, uint64_t *out)
{
	char text[80];

	if (str_u64(str_c(value), out) && *out >= min && *out <= max)
		return 0;
	if (max == UINT64_MAX)
		(void)snprintf(text, sizeof text, "give a number from %llu up",
		    (unsigned long long)min);
	else
		(void)snprintf(text, sizeof text, "give a number from %llu to %llu",
		    (unsigned long long)min, (unsigned long long)max);
	return value_bad(command, option, value, text);
}

int
value_fail_on(const char *command, const char *value, bool *fail, enum severity *from)
{
	static const char *const words[] = { "info", "warning", "error", "none", NULL };
	int i, rc = value_word(command, "--fail-on", value, words,
	    "it is info, warning, error or none", &i);

	*fail = i < 3;
	*from = *fail ? (enum severity)i : SEV_ERROR;
	return rc;
}

int
value_color(const char *command, const char *value, const char **when)
{
	static const char *const words[] = { "auto", "always", "never", NULL };
	int i, rc = value_word(command, "--color", value, words,
	    "it is auto, always or never", &i);

	*when = words[i];
	return rc;
}

int
value_where(const char *command, const char *value, struct where **out)
{
	struct gate_names names;
	struct errmsg em;
	uint32_t column;

	where_free(*out);
	gate_names(&names);
	*out = where_new(value, names.name, &column, &em);
	if (*out)
		return 0;
	complain("mcpdiag %s: --where: %s", command, em.text);
	if (column < 200 && strlen(value) < 400) {
		complain("  %s", value);
		complain("  %*s", (int)column, "^");
	}
	return STATUS_USAGE;
}

int
value_text(const char *path, struct buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? errno : 0;
	ssize_t n = 1;

	while (err == 0 && n > 0) {
		char piece[4096];

		n = read(fd, piece, sizeof piece);
		if (n < 0)
			err = errno;
		else if (buf_add(text, piece, (size_t)n) != 0)
			err = EFBIG;
	}
	if (fd >= 0)
		(void)close(fd);
	return err;
}

int
value_file(const char *option, const char *path, struct buf *text)
{
	int err = value_text(path, text);

	if (err == 0)
		return 0;
	complain("mcpdiag: %s %s: %s", option, path, strerror(err));
	return STATUS_INPUT;
}
