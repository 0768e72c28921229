#include "mcpdiag/sandbox.h"

#include <stddef.h>

/* A leak check at the end needs what is forbidden here. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

unsigned
sandbox(const struct sandbox_opts *o)
{
	(void)o;
	return 0;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

/* ---- Landlock ---- */

/* Numbers of the kernel's interface; its header here may be older than the
 * kernel.  The three calls have one number everywhere. */
#define LL_CREATE 444
#define LL_ADD_RULE 445
#define LL_RESTRICT 446
#define LL_VERSION 1U
#define LL_PATH_BENEATH 1

#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_REG (1ULL << 8)
#define FS_TRUNCATE (1ULL << 14)
#define NET_ALL 3ULL			/* bind and connect, TCP */
#define SCOPE_ABSTRACT_UNIX 1ULL

struct ll_ruleset {
	uint64_t fs, net, scoped;
};

struct ll_path {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* Access rights to files that each version of the interface knows. */
static uint64_t
all_rights(long version)
{
	if (version >= 5)
		return (1ULL << 16) - 1;	/* ioctl of devices */
	if (version >= 3)
		return (1ULL << 15) - 1;	/* truncate */
	if (version == 2)
		return (1ULL << 14) - 1;	/* refer */
	return (1ULL << 13) - 1;
}

static void
allow(int ruleset, const char *const *paths, uint64_t folder, uint64_t file)
{
	struct stat st;

	for (; paths && *paths; paths++) {
		struct ll_path rule = { .fd = open(*paths, O_PATH | O_CLOEXEC) };

		if (rule.fd < 0)
			continue;
		if (fstat(rule.fd, &st) == 0) {
			rule.allowed = S_ISDIR(st.st_mode) ? folder : file;
			(void)syscall(LL_ADD_RULE, ruleset, LL_PATH_BENEATH, &rule, 0U);
		}
		(void)close(rule.fd);
	}
}

static bool
restrict_files(const struct sandbox_opts *o)
{
	long version = syscall(LL_CREATE, NULL, (size_t)0, LL_VERSION);
	struct ll_ruleset r = { 0 };
	uint64_t change = FS_WRITE_FILE | FS_READ_FILE | FS_REMOVE_FILE | FS_MAKE_REG |
	    FS_TRUNCATE;
	size_t size = sizeof r;
	bool ok;
	int fd;

	if (version < 1)
		return false;
	r.fs = all_rights(version);
	if (version >= 4)
		r.net = NET_ALL;
	else
		size = offsetof(struct ll_ruleset, net);
	if (version >= 6)
		r.scoped = SCOPE_ABSTRACT_UNIX;
	else if (version >= 4)
		size = offsetof(struct ll_ruleset, scoped);
	fd = (int)syscall(LL_CREATE, &r, size, 0U);
	if (fd < 0)
		return false;
	allow(fd, o->write, change & r.fs, FS_WRITE_FILE | FS_READ_FILE |
	    (FS_TRUNCATE & r.fs));
	allow(fd, o->read, FS_READ_FILE, FS_READ_FILE);
	ok = syscall(LL_RESTRICT, fd, 0U) == 0;
	(void)close(fd);
	return ok;
}

/* ---- seccomp ---- */

#ifdef HAVE_SECCOMP

static const int calls[] = {
	/* files and descriptors */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write),
	SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(_llseek),
	SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(stat),
	SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatat64),
	SCMP_SYS(fstat64), SCMP_SYS(stat64), SCMP_SYS(statx), SCMP_SYS(access),
	SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(getcwd), SCMP_SYS(umask), SCMP_SYS(fchmod),
	SCMP_SYS(ftruncate), SCMP_SYS(ftruncate64), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
	SCMP_SYS(fadvise64), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(dup), SCMP_SYS(dup2),
	SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(pipe),
	SCMP_SYS(pipe2), SCMP_SYS(recvfrom), SCMP_SYS(getsockopt),
	/* waiting, and the time */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(_newselect),
	SCMP_SYS(pselect6), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(times),
	SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_settime64),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* signals and itself */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(pause),
	SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getppid), SCMP_SYS(getpgrp), SCMP_SYS(getpgid), SCMP_SYS(getsid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrandom), SCMP_SYS(getrusage),
	SCMP_SYS(getrlimit), SCMP_SYS(ugetrlimit),
};

/* Of a terminal, and of the descriptor that packets come from. */
static const unsigned long ioctls[] = {
	TCGETS, TCSETS, TCSETSW, TCSETSF, TCGETA, TCSETA, TCSETAW, TCSETAF, TCFLSH, TCXONC,
	TCSBRK, TIOCGWINSZ, TIOCGPGRP, TIOCOUTQ, FIONREAD, FIONBIO, 0x8913 /* SIOCGIFFLAGS */,
};

/* The macros of the header are not for compilers that are told to be pedantic. */
static struct scmp_arg_cmp
equal(unsigned arg, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = arg, .op = SCMP_CMP_EQ,
	    .datum_a = (uint32_t)value };
}

static int
allow_calls(scmp_filter_ctx ctx)
{
	int rc = 0;
	const struct scmp_arg_cmp no_exec = { .arg = 2, .op = SCMP_CMP_MASKED_EQ,
	    .datum_a = PROT_EXEC };
	const scmp_datum_t self = (scmp_datum_t)getpid();

	/* What this machine does not have is no error (-EDOM). */
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		(void)seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	for (size_t i = 0; i < sizeof ioctls / sizeof ioctls[0]; i++)
		rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
		    equal(1, ioctls[i]));
	/* No code is made at run time. */
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);
	(void)seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap2), 1, no_exec);
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
	    equal(2, 0));
	/* It may stop itself, or with 0 the job it is part of; and abort. */
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1,
	    equal(0, self));
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1,
	    equal(0, 0));
	rc |= seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
	    equal(0, self));
	return rc;
}

static bool
restrict_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	bool ok;

	if (ctx == NULL)
		return false;
	ok = allow_calls(ctx) == 0 && seccomp_load(ctx) == 0;
	seccomp_release(ctx);
	return ok;
}

#else

static bool
restrict_calls(void)
{
	return false;
}

#endif

unsigned
sandbox(const struct sandbox_opts *o)
{
	unsigned holds = 0;

	/* Both may be asked for by anybody who can gain nothing by it. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return 0;
	if (restrict_files(o))
		holds |= SANDBOX_FILES;
	if (restrict_calls())
		holds |= SANDBOX_CALLS;
	return holds;
}

#endif
