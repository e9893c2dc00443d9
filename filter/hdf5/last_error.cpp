// Messages go around a ring of slots. Each slot has a sequence number that is odd while the slot is written. A reader takes the newest
// complete slot, and tries again if the slot changed meanwhile. A thread that stops while it writes, as threads do that a fork leaves
// behind, costs its own message alone.
#include "hdf5/last_error.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/common.h"
#include "stz_cd_values.h"

namespace stz::hdf5 {
namespace {

constexpr size_t words_per_text = sizeof(Message) / sizeof(u64);
static_assert(sizeof(Message) % sizeof(u64) == 0);
constexpr u64 slot_count = 16;

struct Slot {
  std::atomic<u64> sequence;  // 2 n + 1 while error n is written, 2 n + 2 when it is complete; 0: nothing yet
  std::atomic<u64> words[words_per_text];
};
Slot slots[slot_count];
std::atomic<u64> errors{0};

void write_slot(const Message& message) {
  u64 words[words_per_text] = {};
  std::memcpy(words, message.text, strnlen(message.text, sizeof message.text - 1));
  for (u64 tries = 0; tries < slot_count; ++tries) {
    const u64 number = errors.fetch_add(1, std::memory_order_relaxed);
    Slot& slot = slots[number % slot_count];
    u64 seen = slot.sequence.load(std::memory_order_relaxed);
    // skip a slot that another thread is writing, or that a fork left half written
    if (seen & 1 || seen > 2 * number || !slot.sequence.compare_exchange_strong(seen, 2 * number + 1, std::memory_order_acquire)) continue;
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < words_per_text; ++i) slot.words[i].store(words[i], std::memory_order_relaxed);
    slot.sequence.store(2 * number + 2, std::memory_order_release);
    return;
  }
}

// Reads the text of a slot whose sequence was `complete`; false if it has changed since.
bool read_slot(const Slot& slot, u64 complete, Message& message) {
  u64 words[words_per_text];
  for (size_t i = 0; i < words_per_text; ++i) words[i] = slot.words[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (slot.sequence.load(std::memory_order_relaxed) != complete) return false;
  std::memcpy(message.text, words, sizeof message.text);
  return true;
}

// Reads the latest complete error; false if there is none. Tries again if another failing thread changes the slot meanwhile.
bool read_latest(Message& message) {
  constexpr int most_tries = 1000;
  for (int tries = 0; tries < most_tries && errors.load(std::memory_order_acquire) > 0; ++tries) {
    const Slot* latest = nullptr;
    u64 complete = 0;
    for (const Slot& slot : slots)
      if (const u64 seen = slot.sequence.load(std::memory_order_acquire); !(seen & 1) && seen > complete) {
        latest = &slot;
        complete = seen;
      }
    if (latest && read_slot(*latest, complete, message)) return true;
  }
  return false;
}

bool prints() {
  const char* const text = std::getenv("H5STZ_STDERR");
  return text && std::strcmp(text, "1") == 0;
}

}  // namespace

void record_error(const char* callback, const Message& message) noexcept {
  write_slot(message);
  if (!prints()) return;
  char line[sizeof message.text + 64];
  const int length = std::snprintf(line, sizeof line, "h5stz: %s: %s\n", callback, message.text);
  // One call, so that lines of several threads do not mix. A failure is ignored: there is nobody to report it to.
  const size_t size = length < 0 ? 0 : std::min(static_cast<size_t>(length), sizeof line - 1);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, size);
}

}  // namespace stz::hdf5

extern "C" STZ_API size_t stz_h5_last_error(char* text, size_t capacity) {
  using namespace stz::hdf5;
  stz::Message message;
  read_latest(message);
  if (text && capacity) std::snprintf(text, capacity, "%s", message.text);
  return std::strlen(message.text);
}
