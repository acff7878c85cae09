/* Stands between a process and the C library, and lets chosen calls below one folder go wrong.

   Preloaded (LD_PRELOAD) into a test's child, which arms it with fault_arm(). A call that changes something below the
   folder is counted; the one with the chosen number is not made: the process kills itself, or makes half of a write
   and then kills itself, or the call fails with an errno, or it writes half. Every call that was made can be traced
   into a file, data included, so that a test can say what a power failure would have left.
   What a library does by system calls of its own (the temporary files of tantivy are renamed so) is not seen. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, RENAME = 4, UNLINK = 8, OPEN = 16, MKDIR = 32, TRUNCATE = 64, READ = 128 };
enum { PASS, KILL, TORN, FAIL, SHORT };

struct record { /* of a trace: this, then the two paths, then the data */
    uint8_t what, sync_folder;
    uint16_t path_size, other_size;
    uint32_t flags;
    int64_t offset, size;
} __attribute__((packed));

static char root[PATH_MAX];
static size_t root_size;
static int armed, mode, mask, code, sticky, trace_fd = -1;
static long at;
long fault_count; /* calls so far */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fault_arm(const char *folder, int mode_, int mask_, long at_, int code_, int sticky_, int trace_fd_) {
    snprintf(root, sizeof root, "%s", folder);
    root_size = strlen(root);
    mode = mode_, mask = mask_, at = at_, code = code_, sticky = sticky_, trace_fd = trace_fd_;
    fault_count = 0;
    armed = 1;
}

void fault_disarm(void) { armed = 0; }

#define REAL(type, name, ...)                                  \
    static type (*real)(__VA_ARGS__);                          \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static ssize_t emit(const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    return real(trace_fd, data, size);
}

static void note(int what, const char *path, const char *other, int64_t offset, int64_t size, uint32_t flags,
                 const void *data) {
    if (trace_fd < 0) return;
    struct record r = {(uint8_t)what, 0, (uint16_t)strlen(path), (uint16_t)(other ? strlen(other) : 0), flags, offset, size};
    emit(&r, sizeof r);
    emit(path, r.path_size);
    if (other) emit(other, r.other_size);
    if (data) emit(data, (size_t)size);
}

void fault_mark(const char *text) {
    if (!armed) return;
    pthread_mutex_lock(&lock);
    note(0, text, NULL, 0, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
}

/* The path of a name or descriptor, if it is below the folder; else NULL. */
static const char *inside(int fd, const char *name, char *room) {
    if (!armed) return NULL;
    if (name && name[0] == '/') {
        snprintf(room, PATH_MAX, "%s", name);
    } else {
        char link[64];
        if (name && fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, room, PATH_MAX - 1);
        if (n <= 0) return NULL;
        room[n] = 0;
        if (name && *name) snprintf(room + n, PATH_MAX - (size_t)n, "/%s", name);
    }
    return strncmp(room, root, root_size) == 0 && room[root_size] == '/' ? room : NULL;
}

/* Count a call. 0: make it; -1: fail, errno is set; 1: make half of it. */
static int judge(int what) {
    if (!(what & mask)) return 0;
    long number = fault_count++;
    if (!(sticky ? number >= at : number == at)) return 0;
    switch (mode) {
    case KILL: kill(getpid(), SIGKILL); pause(); return 0;
    case TORN: if (what == WRITE) return 1; kill(getpid(), SIGKILL); pause(); return 0;
    case SHORT: return what == WRITE ? 1 : 0;
    case FAIL: errno = code; return -1;
    default: return 0;
    }
}

static size_t cut(int verdict, size_t size) { return verdict == 1 && size > 1 ? size / 2 : size; }

static void after_half(int verdict) {
    if (verdict == 1 && mode == TORN) { kill(getpid(), SIGKILL); pause(); }
}

/* --- writing ------------------------------------------------------------------------------------------------ */

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset, int positioned) {
    static ssize_t (*seq)(int, const void *, size_t);
    static ssize_t (*pos)(int, const void *, size_t, off_t);
    if (!seq) seq = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!pos) pos = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
    char room[PATH_MAX];
    const char *path = inside(fd, NULL, room);
    if (!path) return positioned ? pos(fd, data, size, offset) : seq(fd, data, size);
    pthread_mutex_lock(&lock);
    int verdict = judge(WRITE);
    ssize_t done = -1;
    if (verdict >= 0) {
        done = positioned ? pos(fd, data, cut(verdict, size), offset) : seq(fd, data, cut(verdict, size));
        if (done > 0) note(WRITE, path, NULL, positioned ? offset : lseek(fd, 0, SEEK_CUR) - done, done, 0, data);
        after_half(verdict);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t write(int fd, const void *data, size_t size) { return write_at(fd, data, size, 0, 0); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset, 1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return write_at(fd, data, size, offset, 1); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char room[PATH_MAX];
    if (!inside(fd, NULL, room)) return real(fd, parts, count);
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return write(fd, parts[i].iov_base, parts[i].iov_len); /* a short count is allowed */
    return 0;
}

/* Python copies files by these; it writes by itself where the system does not have them. */
ssize_t sendfile64(int out, int in, off_t *offset, size_t size) {
    REAL(ssize_t, "sendfile64", int, int, off_t *, size_t);
    char room[PATH_MAX];
    if (!inside(out, NULL, room)) return real(out, in, offset, size);
    errno = ENOTSOCK;
    return -1;
}

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t size, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off_t *, int, off_t *, size_t, unsigned);
    char room[PATH_MAX];
    if (!inside(out, NULL, room)) return real(in, from, out, to, size, flags);
    errno = EOPNOTSUPP;
    return -1;
}

static int truncated(int fd, off_t size) {
    REAL(int, "ftruncate64", int, off_t);
    char room[PATH_MAX];
    const char *path = inside(fd, NULL, room);
    if (!path) return real(fd, size);
    pthread_mutex_lock(&lock);
    int done = judge(TRUNCATE) < 0 ? -1 : real(fd, size);
    if (!done) note(TRUNCATE, path, NULL, size, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate64(int fd, off_t size) { return truncated(fd, size); }
int ftruncate(int fd, off_t size) { return truncated(fd, size); }

/* --- making durable ----------------------------------------------------------------------------------------- */

static int synced(int fd, int (*real)(int)) {
    char room[PATH_MAX];
    const char *path = inside(fd, NULL, room);
    if (!path && armed) { /* the folder itself */
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, room, PATH_MAX - 1);
        if (n > 0 && (size_t)n == root_size && !memcmp(room, root, root_size)) { room[n] = 0; path = room; }
    }
    if (!path) return real(fd);
    pthread_mutex_lock(&lock);
    int done = judge(SYNC) < 0 ? -1 : real(fd);
    if (!done) note(SYNC, path, NULL, 0, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) { REAL(int, "fsync", int); return synced(fd, real); }
int fdatasync(int fd) { REAL(int, "fdatasync", int); return synced(fd, real); }

/* --- names -------------------------------------------------------------------------------------------------- */

static int opened(int folder, const char *name, int flags, mode_t bits) {
    REAL(int, "openat64", int, const char *, int, ...);
    char room[PATH_MAX];
    const char *path = inside(folder, name, room);
    if (!path) return real(folder, name, flags, bits);
    int writes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
    pthread_mutex_lock(&lock);
    struct stat before;
    int existed = (flags & O_CREAT) ? !fstatat(folder, name, &before, 0) : 1;
    int done = judge(writes ? OPEN : READ) < 0 ? -1 : real(folder, name, flags, bits);
    if (done >= 0 && (!existed || (flags & O_TRUNC)))
        note(OPEN, path, NULL, 0, 0, (uint32_t)((existed ? 0 : 1) | (flags & O_TRUNC ? 2 : 0)), NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

#define OPENED(folder)                                          \
    mode_t bits = 0;                                            \
    if (flags & (O_CREAT | __O_TMPFILE)) {                      \
        va_list more;                                           \
        va_start(more, flags);                                  \
        bits = va_arg(more, mode_t);                            \
        va_end(more);                                           \
    }                                                           \
    return opened(folder, name, flags, bits)

int open(const char *name, int flags, ...) { OPENED(AT_FDCWD); }
int open64(const char *name, int flags, ...) { OPENED(AT_FDCWD); }
int openat(int folder, const char *name, int flags, ...) { OPENED(folder); }
int openat64(int folder, const char *name, int flags, ...) { OPENED(folder); }

static int named(int what, int from, const char *old, int to, const char *new, unsigned flags, int links) {
    static int (*rename_)(int, const char *, int, const char *), (*link_)(int, const char *, int, const char *, int);
    if (!rename_) rename_ = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    if (!link_) link_ = (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    char first[PATH_MAX], second[PATH_MAX];
    const char *source = inside(from, old, first), *target = inside(to, new, second);
    int verdict = 0;
    pthread_mutex_lock(&lock);
    if (source || target) verdict = judge(what);
    int done = verdict < 0 ? -1 : links ? link_(from, old, to, new, (int)flags) : rename_(from, old, to, new);
    if (!done && source && target) note(RENAME, source, target, 0, 0, links ? 1 : 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int rename(const char *old, const char *new) { return named(RENAME, AT_FDCWD, old, AT_FDCWD, new, 0, 0); }
int renameat(int from, const char *old, int to, const char *new) { return named(RENAME, from, old, to, new, 0, 0); }
int link(const char *old, const char *new) { return named(RENAME, AT_FDCWD, old, AT_FDCWD, new, 0, 1); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    return named(RENAME, from, old, to, new, (unsigned)flags, 1);
}

static int removed(int folder, const char *name, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    char room[PATH_MAX];
    const char *path = inside(folder, name, room);
    if (!path) return real(folder, name, flags);
    pthread_mutex_lock(&lock);
    int done = judge(UNLINK) < 0 ? -1 : real(folder, name, flags);
    if (!done) note(UNLINK, path, NULL, 0, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }

static int made(int folder, const char *name, mode_t bits) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    char room[PATH_MAX];
    const char *path = inside(folder, name, room);
    if (!path) return real(folder, name, bits);
    pthread_mutex_lock(&lock);
    int done = judge(MKDIR) < 0 ? -1 : real(folder, name, bits);
    if (!done) note(MKDIR, path, NULL, 0, 0, 0, NULL);
    pthread_mutex_unlock(&lock);
    return done;
}

int mkdir(const char *name, mode_t bits) { return made(AT_FDCWD, name, bits); }
int mkdirat(int folder, const char *name, mode_t bits) { return made(folder, name, bits); }
