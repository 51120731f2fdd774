// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A library for LD_PRELOAD: stream sockets of TCP become MPTCP sockets. If the kernel, a container or a
 * security policy refuses MPTCP, the socket is TCP.
 *
 * The library names no other library, so that it loads with glibc and with musl. It includes no header, so
 * that it compiles for architectures whose headers are absent.
 */

#define AF_INET     2
#define AF_INET6    10
#define SOCK_STREAM 1
/* Without SOCK_CLOEXEC and SOCK_NONBLOCK. */
#define SOCK_TYPE_MASK 0xf
#define IPPROTO_TCP    6
#define IPPROTO_MPTCP  262
#define RTLD_NEXT      ((void *)-1l)

#if defined(__x86_64__)
#define SYS_socket 41
#elif defined(__aarch64__) || defined(__riscv)
#define SYS_socket 198
#else
#error "add the number of the system call socket (asm/unistd.h)"
#endif

typedef int socket_function(int domain, int type, int protocol);

extern int *__errno_location(void);
extern long syscall(long number, ...);
/* Absent in programs that use glibc before 2.34 without libdl. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

int socket(int domain, int type, int protocol);

/* The function of the next preloaded library, or libc's. */
static socket_function *next;

/* Found before main(): dlsym() must not be called in signal handlers and after fork(), socket() may. */
__attribute__((constructor)) static void find_next(void)
{
	if (dlsym)
		next = (socket_function *)dlsym(RTLD_NEXT, "socket");
}

static int open_socket(int domain, int type, int protocol)
{
	/* A constructor of another library may open sockets before ours has run. */
	if (!next)
		find_next();
	if (next)
		return next(domain, type, protocol);
	return (int)syscall(SYS_socket, domain, type, protocol);
}

static int is_tcp(int domain, int type, int protocol)
{
	return (domain == AF_INET || domain == AF_INET6) &&
	       (type & SOCK_TYPE_MASK) == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP);
}

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
	if (is_tcp(domain, type, protocol)) {
		int *error = __errno_location();
		int before = *error;
		int opened = open_socket(domain, type, IPPROTO_MPTCP);

		if (opened >= 0)
			return opened;
		*error = before;
	}
	return open_socket(domain, type, protocol);
}
