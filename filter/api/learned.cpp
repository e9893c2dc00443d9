// The C API of a memory for arrays that resemble each other.
#include "base/guard.h"
#include "base/parallel.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "encoder/encode.h"
#include "encoder/learning.h"
#include "format/convert.h"
#include "stz_learned.h"

using namespace stz;

extern "C" {

stz_learned* stz_learned_create(void) {
  try {
    return new stz_learned;
  } catch (...) {
    return nullptr;
  }
}

int stz_learned_train(stz_learned* learned, const stz_layout* layout, const void* data, const stz_options* options) {
  if (!learned || !layout || layout->reserved != 0 || !options) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    stz_options given;
    const int code = take_input(options, given);
    require(code == STZ_OK, code);
    require(!learned->is_fixed(), STZ_ERROR_ARGUMENT);
    require(data || element_count(*layout) == 0, STZ_ERROR_ARGUMENT);
    given.threads = useful_threads(thread_count(given.threads), sample_count(*layout));
    const Team team(given.threads);
    train(*layout, static_cast<const u8*>(data), given, *learned);
  });
}

int stz_learned_join(stz_learned* learned, const stz_learned* other) {
  if (!learned || !other) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    require(!learned->is_fixed() && learned != other, STZ_ERROR_ARGUMENT);
    for (const auto& set : other->sets()) require(learned->add(set, true), STZ_ERROR_MEMORY);
  });
}

void stz_learned_fix(stz_learned* learned) {
  if (learned) learned->fix();
}

size_t stz_learned_count(const stz_learned* learned) { return learned ? learned->sets().size() : 0; }

void stz_learned_free(stz_learned* learned) { delete learned; }

}  // extern "C"
