#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcpdiag/xmem.h"

#define PIECE (256U << 10)

static int
open_input(const char *path)
{
	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void
close_input(int fd)
{
	if (fd > STDIN_FILENO)
		(void)close(fd);
}

/* tee(2) shows what is in a pipe without taking it out. */
static bool
peek_pipe(int fd, char *c)
{
	int copy[2];
	bool ok;

	if (pipe2(copy, O_CLOEXEC) != 0)
		return false;
	ok = tee(fd, copy[1], 1, 0) == 1 && read(copy[0], c, 1) == 1;
	(void)close(copy[0]);
	(void)close(copy[1]);
	return ok;
}

bool
input_is_events(const char *path)
{
	struct stat st;
	bool is_stdin = strcmp(path, "-") == 0, ok = false;
	char c = 0;
	int fd;

	/* To open a named pipe and close it again would end its writer. */
	if (!is_stdin && (stat(path, &st) != 0 || !S_ISREG(st.st_mode)))
		return false;
	fd = open_input(path);
	if (fd < 0 || fstat(fd, &st) != 0)
		return false;
	if (S_ISREG(st.st_mode))
		ok = pread(fd, &c, 1, is_stdin ? lseek(fd, 0, SEEK_CUR) : 0) == 1;
	else if (S_ISFIFO(st.st_mode))
		ok = peek_pipe(fd, &c);
	else if (S_ISSOCK(st.st_mode))
		ok = recv(fd, &c, 1, MSG_PEEK) == 1;
	close_input(fd);
	return ok && c == '{';
}

int
input_events(const char *path, struct ndjson_in *in, const volatile int *stop,
    struct errmsg *em)
{
	int fd = open_input(path), rc = 0;
	char *piece;

	if (fd < 0)
		return err_set(em, E_IO, "%s: %s", path, strerror(errno));
	piece = xmalloc(PIECE);
	while (!*stop) {
		ssize_t n = read(fd, piece, PIECE);

		if (n > 0)
			ndjson_in_feed(in, piece, (size_t)n);
		else if (n == 0)
			break;
		else if (errno != EINTR) {
			rc = err_set(em, E_IO, "%s: %s", path, strerror(errno));
			break;
		}
	}
	ndjson_in_eof(in);
	free(piece);
	close_input(fd);
	return rc;
}
