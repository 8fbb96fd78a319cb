// Sets the clock of a process back by years, for OpenSSL too, when it is preloaded.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t) {
	int code = (int)syscall(SYS_clock_gettime, id, t);
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) t->tv_sec -= atol(getenv("CLOCK_BEHIND"));
	return code;
}

time_t time(time_t *out) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	if (out) *out = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
	struct timespec t;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	out->tv_sec = t.tv_sec, out->tv_usec = t.tv_nsec / 1000;
	return 0;
}
