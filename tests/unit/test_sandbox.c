#include "mcpdiag/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "util.h"

static char folder[] = "/tmp/test_sandbox.XXXXXX";
static char in[64], out[64];		/* two folders in it */

/* ---- what is tried: 0, or an errno ---- */

static int
opened(int fd)
{
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int
at(const char *where, const char *name, int flags)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", where, name);
	return opened(open(path, flags, 0600));
}

static int make_in(void) { return at(in, "new", O_WRONLY | O_CREAT | O_TRUNC); }
static int again_in(void) { return at(in, "old", O_WRONLY | O_TRUNC); }
static int back_in(void) { return at(in, "old", O_RDONLY); }
static int make_out(void) { return at(out, "new", O_WRONLY | O_CREAT); }
static int change_out(void) { return at(out, "old", O_WRONLY); }
static int read_named(void) { return at(out, "named", O_RDONLY); }
static int write_named(void) { return at(out, "named", O_WRONLY); }
static int read_out(void) { return opened(open("/etc/passwd", O_RDONLY)); }
static int sock(void) { return opened(socket(AF_INET, SOCK_STREAM, 0)); }

static int
move_in(void)
{
	char a[128], b[128];

	(void)snprintf(a, sizeof a, "%s/old", in);
	(void)snprintf(b, sizeof b, "%s/older", in);
	return rename(a, b) == 0 && unlink(b) == 0 ? 0 : errno;
}

static int
remove_out(void)
{
	char a[128];

	(void)snprintf(a, sizeof a, "%s/old", out);
	return unlink(a) == 0 ? 0 : errno;
}

static int
process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0 ? 0 : errno;
}

static int
program(void)
{
	char name[] = "true", *argv[] = { name, NULL };

	(void)execv("/bin/true", argv);
	return errno;
}

static int
code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED ? errno : 0;
}

static int
memory(void)
{
	void *p = malloc(64 << 20);

	if (p == NULL)
		return errno;
	free(p);
	return 0;
}

static int parent(void) { return kill(getppid(), 0) == 0 ? 0 : errno; }
static int self(void) { return kill(getpid(), 0) == 0 && raise(0) == 0 ? 0 : errno; }

static int
type_ahead(void)
{
	char c = 'x';

	return ioctl(STDIN_FILENO, TIOCSTI, &c) == 0 ? 0 : errno;
}

static const struct {
	const char *what;
	int (*try)(void);
	unsigned needs;		/* the layer that forbids it; 0: allowed */
} rows[] = {
	{ "a new file in the folder", make_in, 0 },
	{ "an old file in the folder, emptied", again_in, 0 },
	{ "read there", back_in, 0 },
	{ "renamed and removed there", move_in, 0 },
	{ "a file that is named, read", read_named, 0 },
	{ "memory", memory, 0 },
	{ "a signal to itself", self, 0 },
	{ "a new file elsewhere", make_out, SANDBOX_FILES },
	{ "an old file elsewhere", change_out, SANDBOX_FILES },
	{ "removed elsewhere", remove_out, SANDBOX_FILES },
	{ "read elsewhere", read_out, SANDBOX_FILES },
	{ "a file that is named, written", write_named, SANDBOX_FILES },
	{ "a socket", sock, SANDBOX_CALLS },
	{ "a process", process, SANDBOX_CALLS },
	{ "a program", program, SANDBOX_FILES },
	{ "a program", program, SANDBOX_CALLS },
	{ "memory with code", code, SANDBOX_CALLS },
	{ "a signal to another", parent, SANDBOX_CALLS },
	{ "keys put into the terminal", type_ahead, SANDBOX_CALLS },
};

/* What the attempt comes to in a child that has gone into it. */
static int
in_child(int (*try)(void), unsigned *holds)
{
	const char *const folders[] = { in, "/no/such/folder", NULL };
	char named[128];
	const char *const files[] = { named, NULL };
	const struct sandbox_opts o = { folders, files };
	int fds[2], st;
	pid_t pid;

	(void)snprintf(named, sizeof named, "%s/named", out);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		unsigned got = sandbox(&o);

		if (write(fds[1], &got, sizeof got) != sizeof got)
			_exit(255);
		_exit(try());
	}
	(void)close(fds[1]);
	assert_int_equal(read(fds[0], holds, sizeof *holds), sizeof *holds);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFEXITED(st));
	return WEXITSTATUS(st);
}

static void
put(const char *where, const char *name)
{
	assert_int_equal(at(where, name, O_WRONLY | O_CREAT), 0);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		unsigned holds;
		int got;

		put(in, "old");
		put(out, "old");
		put(out, "named");
		got = in_child(rows[i].try, &holds);
		print_message("%s: %s\n", rows[i].what, strerror(got));
		if (rows[i].needs == 0)
			assert_int_equal(got, 0);
		else if (holds & rows[i].needs)
			assert_true(got == EACCES || got == EPERM);
	}
}

static int
enter(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(in, sizeof in, "%s/in", folder);
	(void)snprintf(out, sizeof out, "%s/out", folder);
	return mkdir(in, 0700) == 0 ? mkdir(out, 0700) : -1;
}

static int
leave(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests_name("sandbox", tests, enter, leave);
}
