#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "guarded.h"

namespace check {

namespace {

char current[64] = "", current_case[400] = "";
unsigned long long current_seed;

sigjmp_buf before_fault;

void fault(int signal) { siglongjmp(before_fault, signal); }

std::string formatted(const char* format, va_list arguments) {
  char text[400];
  vsnprintf(text, sizeof text, format, arguments);
  return text;
}

}  // namespace

void note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(current_case, sizeof current_case, format, arguments);
  va_end(arguments);
}

void wrong(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = formatted(format, arguments);
  va_end(arguments);
  throw Wrong{text};
}

void start_kernel(const char* isa, const char* kernel, u64 seed) {
  snprintf(current, sizeof current, "%s %s", isa, kernel);
  current_seed = seed;
  note("before the first case");
}
std::string place() { return std::string(current) + ", seed " + std::to_string(current_seed) + ", " + current_case; }

// The objects of frames that a fault jumps over are lost: their arrays are given back, the rest is little.
void with_faults(const std::function<void()>& f) {
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) signal(s, fault);
  if (const int caught = sigsetjmp(before_fault, 1)) {
    release_arenas();
    wrong(caught == SIGILL   ? "an instruction that this machine lacks"
          : caught == SIGFPE ? "traps"
                             : "touches memory that it may not touch");
  }
  f();
}

std::string text_of(double v) {
  char text[60];
  snprintf(text, sizeof text, "%.17g (%016llx)", v, (unsigned long long)bit_cast_to<u64>(v));
  return text;
}
std::string text_of(float v) {
  char text[60];
  snprintf(text, sizeof text, "%.9g (%08x)", double(v), bit_cast_to<u32>(v));
  return text;
}

void Random::fill(u8* to, size_t n) {
  static const std::vector<u8> noise = [] {
    Random random(1);
    std::vector<u8> bytes(1 << 16);
    for (u8& b : bytes) b = u8(random.next());
    return bytes;
  }();
  for (size_t at = below(noise.size()); n;) {
    const size_t piece = std::min(n, noise.size() - at);
    memcpy(to, noise.data() + at, piece);
    to += piece, n -= piece, at = 0;
  }
}

namespace {
std::vector<std::unique_ptr<Arena>> arenas;
}

Arena& take_arena(size_t bytes) {
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), size = std::max(page, size_t(1) << ceil_log2(bytes));
  for (auto& arena : arenas)
    if (!arena->used && arena->size == size) {
      arena->used = true;
      return *arena;
    }
  void* start = mmap(nullptr, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  u8* base = static_cast<u8*>(start) + page;
  if (start == MAP_FAILED || mprotect(base, size, PROT_READ | PROT_WRITE) != 0) wrong("no memory for a test's arrays");
  arenas.push_back(std::make_unique<Arena>(Arena{base, size, true, {}}));
  return *arenas.back();
}

void release_arenas() {
  for (auto& arena : arenas) arena->used = false;
}

Kernels with_slot(const Kernels& from, const Kernels& replacement, size_t slot) {
  Kernels mixed = from;
  memcpy(reinterpret_cast<char*>(&mixed) + slot * sizeof(void*), reinterpret_cast<const char*>(&replacement) + slot * sizeof(void*),
         sizeof(void*));
  return mixed;
}

std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  for (auto add : {add_rows, add_numbers, add_integers, add_classes, add_feedback, add_fit, add_bytes, add_layers, add_fields,
                   add_remainders, add_enhancement, add_rans})
    add(entries);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.slot < b.slot; });
  // all members before `isa` are function pointers, and what follows it is not called
  static_assert(offsetof(Kernels, can_stream) == offsetof(Kernels, isa) + sizeof(void*));
  for (size_t slot = 0; slot < offsetof(Kernels, isa) / sizeof(void*); slot++) {
    if (slot >= entries.size() || entries[slot].slot != slot) wrong("function pointer %zu of struct Kernels has no check, or two", slot);
    for (const Kernels* k : {&reference, &wrong_kernels(reference)})
      if (const Kernels none{}, one = with_slot(none, *k, slot); memcmp(&none, &one, sizeof none) == 0)
        wrong("%s has no %s kernel", entries[slot].name, k->isa);
  }
  return entries;
}

}  // namespace check
