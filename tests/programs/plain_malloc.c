/* An allocator for LD_PRELOAD that says nothing of its blocks: it has no malloc_usable_size, and no header that another allocator has.
   A freed block is given out again as soon as one of its size class is asked for, so that a chunk lies where another one was.
   Compile it with -fno-builtin and without optimisation: gcc makes calloc of malloc and memset, which then calls itself. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 64                      /* of every block; the bytes before it hold its header */
#define SMALL 16384                       /* classes are multiples of 64 bytes up to this size, then an eighth apart */
#define SMALL_CLASSES (SMALL / ALIGNMENT)
#define CLASSES 1024
#define MOST ((size_t)1 << 40)
#define MAPPED ((size_t)1 << 24)          /* bytes asked of the system at a time */
#define ALIGNED ((uint64_t)1 << 32)       /* a block inside another one, which is never given back */

struct header {
  uint64_t class_of_block, next;
};

static volatile int locked;
static void *free_blocks[CLASSES];
static char *at, *end;

static void lock(void) {
  while (__sync_lock_test_and_set(&locked, 1)) continue;
}

static void unlock(void) { __sync_lock_release(&locked); }

static struct header *header_of(void *block) { return (struct header *)block - 1; }

static size_t next_size(size_t size) { return size + size / 8; }

static int class_of(size_t bytes) {
  if (bytes <= SMALL) return (int)((bytes + ALIGNMENT - 1) / ALIGNMENT);
  int found = SMALL_CLASSES + 1;
  for (size_t size = next_size(SMALL); size < bytes; size = next_size(size)) found++;
  return found;
}

static size_t size_of(int class_of_block) {
  if (class_of_block <= SMALL_CLASSES) return (size_t)class_of_block * ALIGNMENT;
  size_t size = next_size(SMALL);
  for (int each = SMALL_CLASSES + 1; each < class_of_block; each++) size = next_size(size);
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void *new_block(int class_of_block) {
  const size_t needed = size_of(class_of_block) + ALIGNMENT;
  if ((size_t)(end - at) < needed) {
    const size_t bytes = needed > MAPPED ? needed : MAPPED;
    char *mapped = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return 0;
    at = mapped;
    end = mapped + bytes;
  }
  void *block = at + ALIGNMENT;
  at += needed;
  header_of(block)->class_of_block = (uint64_t)class_of_block;
  return block;
}

void *malloc(size_t bytes) {
  void *block = 0;
  if (bytes <= MOST) {
    const int class_of_block = class_of(bytes ? bytes : 1);
    lock();
    block = free_blocks[class_of_block];
    if (block)
      free_blocks[class_of_block] = *(void **)block;
    else
      block = new_block(class_of_block);
    unlock();
  }
  if (!block) errno = ENOMEM;
  return block;
}

void free(void *block) {
  if (!block) return;
  const uint64_t class_of_block = header_of(block)->class_of_block;
  if (class_of_block & ALIGNED) return;
  lock();
  *(void **)block = free_blocks[class_of_block];
  free_blocks[class_of_block] = block;
  unlock();
}

void *calloc(size_t count, size_t bytes) {
  if (bytes && count > MOST / bytes) {
    errno = ENOMEM;
    return 0;
  }
  void *block = malloc(count * bytes);
  if (block) memset(block, 0, count * bytes);
  return block;
}

void *realloc(void *block, size_t bytes) {
  if (!block) return malloc(bytes);
  const uint64_t class_of_block = header_of(block)->class_of_block;
  const size_t held = class_of_block & ALIGNED ? class_of_block & ~ALIGNED : size_of((int)class_of_block);
  if (bytes <= held) return block;
  void *larger = malloc(bytes);
  if (!larger) return 0;
  memcpy(larger, block, held);
  free(block);
  return larger;
}

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  const size_t padded = alignment <= ALIGNMENT ? bytes : bytes + alignment + ALIGNMENT;
  char *outer = malloc(padded);
  if (!outer) return ENOMEM;
  if (alignment <= ALIGNMENT) {
    *block = outer;
    return 0;
  }
  *block = (void *)(((uintptr_t)outer + ALIGNMENT + alignment - 1) / alignment * alignment);
  header_of(*block)->class_of_block = ALIGNED | (bytes < ALIGNED ? bytes : ALIGNED - 1);
  return 0;
}

void *memalign(size_t alignment, size_t bytes) {
  void *block = 0;
  return posix_memalign(&block, alignment, bytes) ? 0 : block;
}

void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
