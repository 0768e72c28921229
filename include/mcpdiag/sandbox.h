/* sandbox: what a process that parses packets may still ask of the system.
 * To be called when everything is open, after privdrop().  Two layers, each of
 * them where the kernel and the build have it: Landlock for files, seccomp for
 * system calls.  What is not allowed fails with an error and kills nothing: a
 * call that was forgotten costs a feature, not the run.
 * Sources: landlock(7), seccomp(2). */
#ifndef MCPDIAG_SANDBOX_H
#define MCPDIAG_SANDBOX_H

/* Lists that end with NULL, or NULL; what cannot be opened is left out. */
struct sandbox_opts {
	const char *const *write;	/* folders: files in them may be made,
					 * read, changed and removed */
	const char *const *read;	/* files, or folders with all in them */
};

enum {
	SANDBOX_FILES = 1,	/* other files cannot be opened any more, and no
				 * TCP port be bound or connected to */
	SANDBOX_CALLS = 2,	/* no new process, program or socket; what remains
				 * is memory, time, files and a terminal */
};

/* For good, for the calling thread and what it starts.  Sets no_new_privs.
 * Which of the two hold now; none is no error: an old kernel, a container that
 * forbids it, a build without libseccomp or with a sanitizer. */
unsigned sandbox(const struct sandbox_opts *);

#endif
