// Fuzz target: arbitrary bytes as a stream. Decoding must end with an array or an error code, quickly and in bounded memory.
//
// Built with STZ_FUZZING every check is accepted, so mutated streams reach the parsers behind the checks. What comes out of a damaged
// stream is not judged here (tests/stream/test_corruption.py does that, with checksums); decoding twice must give the same bytes, also with
// several threads and while it is verified (some of the inputs, and all that have a content check). Streams of large arrays are left to
// fuzz_reader, which reads parts of them.
#include <sys/resource.h>

#include "streams.h"

namespace fuzz {
namespace {

constexpr uint64_t largest_array = uint64_t(1) << 18;

long peak_memory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void decode(const uint8_t* data, size_t size) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  const int told = stz_info(data, size, &info);
  if (told || info.array_bytes > largest_array) {  // the latter: refused because the buffer has another size
    Bytes out(64);
    promise(stz_decompress(data, size, out.data(), out.size()) != STZ_OK,
            "a stream that stz_info refuses, or that is longer, is not decoded");
    return;
  }
  promise(info.form != nullptr && info.levels >= 1 && info.layout.rank <= STZ_MAX_RANK, "stz_info is complete");
  const uint64_t turn = Random(size * 31 + data[size / 2]).bits();
  Bytes first(info.array_bytes, 0), second(info.array_bytes, 0xff);
  const long before = peak_memory();
  const int error = stz_decompress(data, size, first.data(), first.size());
  promise(error != STZ_ERROR_INTERNAL, "decoding does not fail inside");
  promise(peak_memory() - before < 200 * 1024, "memory is bounded by what the array needs");
  inputs_accepted += !error;
  const bool always = !error && info.content_check;
  if (turn % (error ? 8 : 4) && !always) return;
  const int threads = turn % 32 == 0 ? 3 : 1;
  const int again = stz_decompress_threads(data, size, second.data(), second.size(), threads);
  promise(error == again, "the same stream has the same result with several threads");
  if (!error) promise(first == second, "the same stream gives the same array");
  if (turn / 32 % 2 && !always) return;
  uint64_t blocks = 0;
  const int verified = stz_verify(data, size, threads, &blocks);
  promise(verified != STZ_ERROR_INTERNAL && (!error || verified), "what cannot be decoded cannot be verified");
}

}  // namespace

Bytes seed_input(uint64_t number) { return make_stream(number % 4000); }
void mutate_input(Bytes& input, uint64_t random_seed) { mutate_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Bytes stream = fuzz::with_this_version(data, size);
  static const uint8_t nothing = 0;
  fuzz::decode(size ? stream.data() : &nothing, size);
  return 0;
}
