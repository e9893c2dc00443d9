// Round trips and reads of parts, of all kinds of streams, small: for a run under valgrind (test_memcheck.py), which reports every
// decision and every system call that depends on memory that was never written. Prints the number of checks; exits with 1 at the first
// result that is outside of the bound or differs from the whole array.
#include "small_cases.h"
#include "stz_reader.h"

namespace {

using namespace small_cases;

template <class T>
bool within_bound(const Case& each, const Bytes& decoded) {
  for (size_t i = 0; i < decoded.size(); i += sizeof(T)) {
    T x, y;
    std::memcpy(&x, &each.array[i], sizeof(T));
    std::memcpy(&y, &decoded[i], sizeof(T));
    if (std::memcmp(&x, &y, sizeof(T)) == 0) continue;
    const double limit = each.options.mode == STZ_POINTWISE_RELATIVE ? each.options.bound * std::fabs(double(x)) : each.options.bound;
    if (!(std::fabs(double(x) - double(y)) <= limit)) return false;
  }
  return true;
}

bool within_bound(const Case& each, const Bytes& decoded) {
  if (each.array == decoded) return true;
  switch (each.layout.dtype) {
    case STZ_F16:
      return each.options.mode == STZ_ABSOLUTE;  // no type for it here; other tests judge it
    case STZ_F32:
    case STZ_C64:
      return within_bound<float>(each, decoded);
    case STZ_F64:
    case STZ_C128:
      return within_bound<double>(each, decoded);
    case STZ_U16:
      return within_bound<uint16_t>(each, decoded);
    case STZ_I64:
      return within_bound<int64_t>(each, decoded);
    default:
      return false;
  }
}

// Boxes with steps, each with what the reads before it left, in comparison with the whole array.
void read_boxes(const Case& each, const Bytes& stream, const Bytes& decoded) {
  stz_reader* reader = nullptr;
  check(stz_reader_open_memory(stream.data(), stream.size(), 1 << 16, &reader) == STZ_OK, each.name, ", a reader opens");
  std::mt19937 random(3);
  const size_t size = stz_element_size(each.layout.dtype);
  const int rank = each.layout.rank;
  const uint64_t* const shape = each.layout.shape;
  for (int turn = 0; turn < 4; turn++) {
    uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK], elements = 1;
    for (int axis = 0; axis < rank; axis++) {
      step[axis] = turn == 1 ? 2 : 1;
      start[axis] = random() % shape[axis];
      count[axis] = 1 + random() % ((shape[axis] - start[axis] - 1) / step[axis] + 1);
      elements *= count[axis];
    }
    Bytes part(elements * size);
    check(stz_reader_read(reader, start, count, step, part.data(), part.size(), 1) == STZ_OK, each.name, ", a part is read");
    bool same = true;
    for (uint64_t element = 0; element < elements; element++) {
      uint64_t from = 0, stride = 1, rest = element;
      for (int axis = rank - 1; axis >= 0; axis--) {
        from += (start[axis] + rest % count[axis] * step[axis]) * stride;
        stride *= shape[axis];
        rest /= count[axis];
      }
      same = same && std::memcmp(&part[element * size], &decoded[from * size], size) == 0;
    }
    check(same, each.name, ", a part");
  }
  stz_reader_close(reader);
}

}  // namespace

int main(int argc, char** argv) {
  for (Case& each : cases()) {
    if (argc > 1 && each.name != argv[1]) continue;
    for (const int block : {STZ_BLOCK_DEFAULT, STZ_BLOCK_REGION}) {
      each.options.block = block;
      Bytes stream(stz_max_compressed_size(&each.layout)), decoded(each.array.size());
      size_t size = 0;
      check(stz_compress(&each.layout, each.array.data(), &each.options, stream.data(), stream.size(), &size) == STZ_OK, each.name);
      stream.resize(size);
      check(stz_decompress(stream.data(), size, decoded.data(), decoded.size()) == STZ_OK, each.name);
      check(within_bound(each, decoded), each.name, ", the bound");
      read_boxes(each, stream, decoded);
    }
  }
  std::printf("%d checks\n", checks);
}
