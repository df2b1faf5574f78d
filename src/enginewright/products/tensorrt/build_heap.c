/* A heap whose addresses follow from the order and the sizes of the requests alone.

   The thread that called build_heap_enter() gets its memory from a region at a fixed address: each
   block lies right after the one before, and no address is used twice. build_heap_align() goes on at
   the next multiple of 256 MiB, so that what follows does not depend on how much was taken until
   then, within that. All other threads keep the heap of the C library.

   A chunk is free as soon as no block in use touches it. Its pages then move, emptied, to where the
   heap goes on, which costs less than giving them back and asking for new ones.

   Loaded with LD_PRELOAD. For x86-64, Linux and glibc; written without the headers, thread-local
   storage and atomic built-ins that a small C compiler may lack, and with macros where such a
   compiler would make calls: a large model takes 60 million blocks. */

typedef unsigned long word;

void *__libc_malloc(word size);
void *__libc_calloc(word count, word size);
void *__libc_realloc(void *block, word size);
void *__libc_memalign(word alignment, word size);
void __libc_free(void *block);
void *mmap(void *address, word size, int protection, int flags, int file, long offset);
void *mremap(void *address, word size, word new_size, int flags, void *target);
int madvise(void *address, word size, int advice);
void *memcpy(void *target, const void *source, word size);
void *memset(void *target, int value, word size);
int *__errno_location(void);

enum { READ_WRITE = 3, DONTNEED = 4, POPULATE = 23, OUT_OF_MEMORY = 12 };
enum { FLAGS = 0x104022 }; /* MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE */
enum { MOVE_THERE = 3 };   /* MREMAP_MAYMOVE | MREMAP_FIXED */

#define BASE 0x100000000000UL
#define SIZE (1UL << 45)
#define ALIGNMENT (1UL << 28)
#define GROWTH (1UL << 26)
#define CHUNK (1UL << 20)
#define PAGE 4096UL
#define USERS_SIZE (SIZE / CHUNK * sizeof(word))
#define OPEN (1UL << 40)
#define SPARES 64
#define MOVES 20000 /* each leaves up to two more mappings, and Linux allows 65530 */

#define CHUNK_OF(address) (((address) - BASE) / CHUNK)
#define ADDRESS_OF(chunk) ((void *)(BASE + (chunk) * CHUNK))
#define SIZE_OF(block) (((struct header *)(block))[-1].size)
#define IS_OURS(block) ((word)(block) - BASE < SIZE)

/* Coarse steps: the length of a text with a time in it must not move the blocks that follow. */
#define ROUNDED(size) \
    ((size) > 128 ? ((size) + 63) & ~63UL : (size) > 32 ? 128 : (size) > 16 ? 32 : 16)

struct header {
    word size;
    word unused; /* keeps blocks at multiples of 16 */
};

static word owner;
static word next;   /* where the next header may begin */
static word mapped; /* the end of what is mapped */

/* By chunk of the region: how many blocks in use touch it. The chunk of `next` has OPEN for those
   that were put there, and `taken` counts them. */
static word *const users = (word *)(BASE - USERS_SIZE);
static word open_chunk;
static word taken;

static word spare[SPARES]; /* free chunks whose pages wait for another place */
static word spares;
static word moves;
static int lock; /* of the three above */

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

static void acquire(void) {
    while (swap(&lock, 1)) {
    }
}

static void release(void) { swap(&lock, 0); }

static int map(word address, word size) {
    return (word)mmap((void *)address, size, READ_WRITE, FLAGS, -1, 0) == address;
}

static int grow(word end) {
    word size = (end - mapped + GROWTH) & ~(GROWTH - 1);
    if (end < mapped) return 1;
    if (mapped + size > BASE + SIZE || !map(mapped, size)) return 0;
    mapped += size;
    return 1;
}

static void retire(word chunk) {
    int kept;
    acquire();
    kept = spares < SPARES && moves < MOVES;
    if (kept) spare[spares++] = chunk;
    release();
    if (!kept) madvise(ADDRESS_OF(chunk), CHUNK, DONTNEED);
}

/* Get pages at once, which costs less than one by one when they are used. Linux before 5.14 cannot. */
static void populate(word address, word size) {
    word first = address & ~(PAGE - 1);
    madvise((void *)first, (address + size - first + PAGE - 1) & ~(PAGE - 1), POPULATE);
}

/* Give `chunk`, which is mapped and was never used, the pages of a free one. */
static void furnish(word chunk) {
    void *to = ADDRESS_OF(chunk);
    void *from = 0;
    acquire();
    if (spares) {
        from = ADDRESS_OF(spare[--spares]);
        moves++;
    }
    release();
    if (!from)
        populate((word)to, CHUNK);
    else if (mremap(from, CHUNK, CHUNK, MOVE_THERE, to) == to)
        memset(to, 0, CHUNK);
    else
        map((word)to, CHUNK); /* where the move took the old mapping away */
}

static void begin(word chunk) {
    open_chunk = chunk;
    users[chunk] = OPEN;
    taken = 0;
}

static void finish(void) {
    if (add(&users[open_chunk], taken - OPEN) == OPEN - taken) retire(open_chunk);
}

static void go_on(word block, word size, word last) {
    word first = CHUNK_OF(block - sizeof(struct header));
    if (first == open_chunk) {
        taken++;
        first++;
    }
    finish();
    for (; first < last; first++) users[first] = 1;
    begin(last);
    if (size < CHUNK)
        furnish(last);
    else if (size <= ALIGNMENT) /* a larger one may be a reserve that nobody uses up */
        populate(block, size);
}

static void *take(word size, word alignment) {
    word block = (next + sizeof(struct header) + alignment - 1) & ~(alignment - 1);
    word end = block + ROUNDED(size);
    word last = CHUNK_OF(end - 1);
    if (size > SIZE || (end > mapped && !grow(end))) {
        *__errno_location() = OUT_OF_MEMORY;
        return 0;
    }
    if (last != open_chunk) go_on(block, size, last);
    taken++;
    next = end;
    SIZE_OF(block) = size;
    return (void *)block;
}

static void leave(word chunk) {
    if (add(&users[chunk], -1UL) == 1) retire(chunk);
}

static void give_back(word block) {
    word size = SIZE_OF(block);
    word first = CHUNK_OF(block - sizeof(struct header));
    word last = CHUNK_OF(block + ROUNDED(size) - 1);
    if (last > first + 1) /* what lies between is this block's alone */
        madvise(ADDRESS_OF(first + 1), (last - first - 1) * CHUNK, DONTNEED);
    if (last != first) leave(last);
    leave(first);
}

/* From now on the calling thread lives on this heap; returns 0 where the system does not allow it. */
int build_heap_enter(void) {
    if (!mapped) {
        if (!map((word)users, USERS_SIZE)) return 0;
        next = mapped = BASE;
        if (!grow(BASE)) return 0;
        begin(0);
    }
    owner = this_thread();
    return 1;
}

void build_heap_align(void) {
    if (owner != this_thread() || next + 2 * ALIGNMENT > BASE + SIZE) return;
    finish();
    next = mapped = (next & ~(ALIGNMENT - 1)) + ALIGNMENT;
    begin(CHUNK_OF(next));
    if (grow(next)) furnish(open_chunk);
}

void *malloc(word size) {
    return owner == this_thread() ? take(size, 16) : __libc_malloc(size);
}

void free(void *block) {
    if (IS_OURS(block))
        give_back((word)block);
    else
        __libc_free(block);
}

void *calloc(word count, word size) {
    if (owner != this_thread()) return __libc_calloc(count, size);
    if (size && count > -1UL / size) {
        *__errno_location() = OUT_OF_MEMORY;
        return 0;
    }
    return take(count * size, 16); /* Nothing was there before, so zeros. */
}

void *realloc(void *block, word size) {
    void *larger;
    if (!block) return malloc(size);
    if (!IS_OURS(block)) return __libc_realloc(block, size);
    if (!size) {
        free(block);
        return 0;
    }
    larger = malloc(size);
    if (!larger) return 0;
    memcpy(larger, block, SIZE_OF(block) < size ? SIZE_OF(block) : size);
    free(block);
    return larger;
}

void *memalign(word alignment, word size) {
    if (owner != this_thread()) return __libc_memalign(alignment, size);
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
    if (IS_OURS(block)) return SIZE_OF(block);
    chunk = ((word *)block)[-1]; /* glibc: the size of the chunk, and flags in its low bits */
    return (chunk & ~7UL) - (chunk & 2 ? 2 : 1) * sizeof(word);
}
