/* A heap whose addresses follow from the order and the sizes of the requests alone.

   The thread that called build_heap_enter() gets its memory from a region at a fixed address: each
   block lies right after the one before, and no address is used twice. build_heap_align() goes on at
   the next multiple of 256 MiB, so that what follows does not depend on how much was taken until
   then, within that. All other threads keep the heap of the C library. Chunks go
   back to the system as soon as no block in use touches them.

   Loaded with LD_PRELOAD. For x86-64, Linux and glibc; written without the headers, thread-local
   storage and atomic built-ins that a small C compiler may lack. */

typedef unsigned long word;

void *__libc_malloc(word size);
void *__libc_calloc(word count, word size);
void *__libc_realloc(void *block, word size);
void *__libc_memalign(word alignment, word size);
void __libc_free(void *block);
void *mmap(void *address, word size, int protection, int flags, int file, long offset);
int madvise(void *address, word size, int advice);
void *memcpy(void *target, const void *source, word size);
int *__errno_location(void);

enum { READ_WRITE = 3, DONTNEED = 4, OUT_OF_MEMORY = 12 };
enum { FLAGS = 0x104022 }; /* MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE */

#define BASE 0x100000000000UL
#define SIZE (1UL << 45)
#define ALIGNMENT (1UL << 28)
#define GROWTH (1UL << 26)
#define CHUNK (1UL << 20)
#define USERS_SIZE (SIZE / CHUNK * sizeof(word))

struct header {
    word size;
    word unused; /* keeps blocks at multiples of 16 */
};

static word owner;
static word next;   /* where the next header may begin */
static word mapped; /* the end of what is mapped */
static int lock;

/* By chunk of the region: how many blocks in use touch it, and one for the chunk of `next`. */
static word *const users = (word *)(BASE - USERS_SIZE);

static word this_thread(void) {
    word id;
    __asm__("movq %%fs:0, %0" : "=r"(id));
    return id;
}

static word add(word *counter, word amount) {
    __asm__ volatile("lock; xaddq %0, %1" : "+r"(amount), "+m"(*counter) : : "memory");
    return amount;
}

static int swap(int *flag, int value) {
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*flag) : : "memory");
    return value;
}

static int is_owner(void) { return owner && owner == this_thread(); }

static int is_ours(const void *block) { return (word)block - BASE < SIZE; }

static word *size_of(void *block) { return &((struct header *)block)[-1].size; }

static int map(word address, word size) {
    return (word)mmap((void *)address, size, READ_WRITE, FLAGS, -1, 0) == address;
}

/* Coarse steps: the length of a text with a time in it must not move the blocks that follow. */
static word rounded(word size) {
    if (size <= 32) return size <= 16 ? 16 : 32;
    return size <= 128 ? 128 : (size + 63) & ~63UL;
}

static word chunk_of(word address) { return (address - BASE) / CHUNK; }

static word first_chunk(word block) { return chunk_of(block - sizeof(struct header)); }

static word last_chunk(word block, word size) { return chunk_of(block + rounded(size) - 1); }

static void leave(word chunk) {
    if (add(&users[chunk], -1UL) == 1) madvise((void *)(BASE + chunk * CHUNK), CHUNK, DONTNEED);
}

static int grow(word end) {
    word size = (end - mapped + GROWTH) & ~(GROWTH - 1);
    if (end < mapped) return 1;
    if (mapped + size > BASE + SIZE || !map(mapped, size)) return 0;
    mapped += size;
    return 1;
}

static void *take_unlocked(word size, word alignment) {
    word block = (next + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
    word end = block + rounded(size);
    word before = chunk_of(next);
    if (size > SIZE || !grow(end)) {
        *__errno_location() = OUT_OF_MEMORY;
        return 0;
    }
    for (word chunk = first_chunk(block); chunk <= last_chunk(block, size); chunk++)
        add(&users[chunk], 1);
    add(&users[chunk_of(end)], 1);
    leave(before);
    next = end;
    *size_of((void *)block) = size;
    return (void *)block;
}

static void acquire(void) {
    while (swap(&lock, 1)) {
    }
}

static void release(void) { swap(&lock, 0); }

static void *take(word size, word alignment) {
    void *block;
    acquire();
    block = take_unlocked(size, alignment);
    release();
    return block;
}

/* From now on the calling thread lives on this heap; returns 0 where the system does not allow it. */
int build_heap_enter(void) {
    if (!mapped) {
        if (!map((word)users, USERS_SIZE)) return 0;
        next = mapped = BASE;
        if (!grow(BASE)) return 0;
        users[0] = 1;
    }
    owner = this_thread();
    return 1;
}

void build_heap_align(void) {
    word before;
    if (!is_owner() || next + 2 * ALIGNMENT > BASE + SIZE) return;
    acquire();
    before = chunk_of(next);
    next = mapped = (next & ~(ALIGNMENT - 1)) + ALIGNMENT;
    add(&users[chunk_of(next)], 1);
    leave(before);
    release();
}

void *malloc(word size) { return is_owner() ? take(size, 16) : __libc_malloc(size); }

void free(void *block) {
    if (!is_ours(block)) {
        __libc_free(block);
        return;
    }
    word last = last_chunk((word)block, *size_of(block));
    for (word chunk = first_chunk((word)block); chunk <= last; chunk++) leave(chunk);
}

void *calloc(word count, word size) {
    if (!is_owner()) return __libc_calloc(count, size);
    if (size && count > -1UL / size) {
        *__errno_location() = OUT_OF_MEMORY;
        return 0;
    }
    return take(count * size, 16); /* Never used before, so the system's zeros. */
}

void *realloc(void *block, word size) {
    void *larger;
    if (!block) return malloc(size);
    if (!is_ours(block)) return __libc_realloc(block, size);
    if (!size) {
        free(block);
        return 0;
    }
    larger = malloc(size);
    if (!larger) return 0;
    memcpy(larger, block, *size_of(block) < size ? *size_of(block) : size);
    free(block);
    return larger;
}

void *memalign(word alignment, word size) {
    if (!is_owner()) return __libc_memalign(alignment, size);
    return take(size, alignment < 16 ? 16 : alignment);
}

void *aligned_alloc(word alignment, word size) { return memalign(alignment, size); }

void *valloc(word size) { return memalign(4096, size); }

int posix_memalign(void **result, word alignment, word size) {
    void *block = memalign(alignment, size);
    if (!block) return OUT_OF_MEMORY;
    *result = block;
    return 0;
}

word malloc_usable_size(void *block) {
    word chunk;
    if (!block) return 0;
    if (is_ours(block)) return *size_of(block);
    chunk = ((word *)block)[-1]; /* glibc: the size of the chunk, and flags in its low bits */
    return (chunk & ~7UL) - (chunk & 2 ? 2 : 1) * sizeof(word);
}
