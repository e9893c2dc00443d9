// The adaptive binary coder: limits of what is read, whatever the bytes are. What is written is read: fuzz/fuzz_stages.cpp.
#include "coding/binary_coder.h"

#include "unit.h"

using namespace unit;

TEST(numbers_above_a_limit_fail) {
  for (u64 limit : {u64(0), u64(1), u64(6), u64(7), u64(1000000)})
    for (u64 value : {limit, limit + 1}) {
      NumberModel written, read;
      BinaryEncoder out;
      out.number(written, value);
      AtPageEnd stream(out.finish());
      u64 got = 0;
      const int code = failure_of([&] { got = BinaryDecoder(stream.begin(), stream.size()).number(read, limit); });
      CHECK(value > limit ? code == STZ_ERROR_CORRUPT : code == 0 && got == value, "%d", code);
    }
}

// Bytes that cost least for each decision: the decoder stays below the upper end of its range, and every model learns zeros.
TEST(no_bytes_hold_more_decisions_than_promised) {
  for (size_t size : {size_t(0), size_t(4), size_t(5), size_t(40), size_t(300)}) {
    Bytes bytes(size, 0xff);
    if (size > 3) bytes[3] = 0xfe;
    AtPageEnd stream(bytes);
    BitModel model;
    u64 decisions = 0;
    const int code = failure_of([&] {
      BinaryDecoder in(stream.begin(), stream.size());
      for (;; decisions++) in.bit(model);
    });
    CHECK(code == STZ_ERROR_TRUNCATED, "%d", code);
    CHECK(decisions <= most_decisions(size), "%llu in %zu bytes", (unsigned long long)decisions, size);
    CHECK(size < 40 || decisions > most_decisions(size) / 2, "%llu in %zu bytes", (unsigned long long)decisions, size);
  }
  CHECK(most_decisions(~u64(0)) == ~u64(0));
}
