#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcpdiag/xmem.h"

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool
is_input(const struct stat *target, const char *const *inputs, unsigned n)
{
	struct stat st;

	for (unsigned i = 0; i < n; i++) {
		bool is_stdin = strcmp(inputs[i], "-") == 0;

		if ((is_stdin ? fstat(STDIN_FILENO, &st) : stat(inputs[i], &st)) == 0 &&
		    same_file(target, &st))
			return true;
	}
	return false;
}

static int
open_temp(struct output *o, const char *path, mode_t mode)
{
	size_t n = strlen(path);

	o->temp = xmalloc(n + sizeof ".XXXXXX");
	memcpy(o->temp, path, n);
	memcpy(o->temp + n, ".XXXXXX", sizeof ".XXXXXX");
	o->fd = mkstemp(o->temp);
	if (o->fd < 0) {
		free(o->temp);
		o->temp = NULL;
		return -1;
	}
	return fchmod(o->fd, mode);
}

int
output_open(struct output *o, const char *path, const char *const *inputs,
    unsigned n_inputs, struct errmsg *em)
{
	struct stat st;
	mode_t mask = umask(0);
	bool exists;

	(void)umask(mask);
	*o = (struct output){ .fd = STDOUT_FILENO };
	if (path == NULL || strcmp(path, "-") == 0) {
		o->tty = isatty(STDOUT_FILENO);
		out_init(&o->out, o->fd);
		return 0;
	}
	o->path = path;
	exists = stat(path, &st) == 0;
	out_init(&o->out, -1);
	if (exists && S_ISREG(st.st_mode) && is_input(&st, inputs, n_inputs))
		return err_set(em, E_USAGE, "%s: is an input too; give -o another "
		    "name", path);
	if (exists && S_ISDIR(st.st_mode))
		return err_set(em, E_IO, "%s: is a folder; give -o a file name", path);
	if (exists && !S_ISREG(st.st_mode))
		o->fd = open(path, O_WRONLY | O_CLOEXEC);
	else if (open_temp(o, path, exists ? st.st_mode & 0777 : 0666 & ~mask) != 0)
		o->fd = -1;
	if (o->fd < 0)
		return err_set(em, E_IO, "%s: cannot write: %s", path,
		    strerror(errno));
	o->tty = isatty(o->fd);
	o->out.fd = o->fd;
	return 0;
}

int
output_done(struct output *o, struct errmsg *em)
{
	int err = out_flush(&o->out);

	if (err == EPIPE)
		return 1;
	if (err == 0 && o->temp) {
		if (close(o->fd) != 0)
			err = errno;
		o->fd = -1;
		if (err == 0 && rename(o->temp, o->path) != 0)
			err = errno;
		if (err == 0) {
			free(o->temp);
			o->temp = NULL;
		}
	}
	if (err)
		return err_set(em, E_IO, "%s: cannot write: %s",
		    o->path ? o->path : "stdout", strerror(err));
	return 0;
}

void
output_fini(struct output *o)
{
	if (o->temp) {
		(void)unlink(o->temp);
		free(o->temp);
	}
	if (o->path && o->fd >= 0)
		(void)close(o->fd);
	out_fini(&o->out);
	*o = (struct output){ .fd = -1 };
}
