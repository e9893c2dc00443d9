// Every allocation of a round trip, of reads of parts, of the filter's callback (rewriting too), of estimates and precision layers, and of
// the first call of a process fails once, and every thread that is started: with one thread and with three. A call that fails says that
// memory is short, loses none, and the next one works. Threads are started for large arrays only, which have too many allocations: of these
// some fail, at growing distances. Linked with --wrap (CMakeLists.txt): what libstdc++ allocates counts too, what the C library allocates
// for itself does not. Prints the number of failed allocations; exits with 1 at the first broken promise.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>

#include "base/memory_pool.h"
#include "hdf5/hdf5_abi.h"
#include "region/kept_readers.h"
#include "small_cases.h"
#include "stz_cd_values.h"
#include "stz_reader.h"

extern "C" {
const void* H5PLget_plugin_info();
void stz_h5_forget();
void* __real_malloc(size_t);
void* __real_calloc(size_t, size_t);
void* __real_realloc(void*, size_t);
void* __real_aligned_alloc(size_t, size_t);
void __real_free(void*);
int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
}

namespace {

using namespace small_cases;

// ---------------------------------------------------------------- failures

// Counts calls; that number `fail_at` fails (0: none), and with `all_later` all after it.
struct Failures {
  std::atomic<long> calls{0}, fail_at{0};
  std::atomic<bool> all_later{false};

  bool next_fails() {
    const long at = fail_at;
    if (!at) return false;
    const long call = ++calls;
    return call == at || (all_later && call > at);
  }
  void arm(long at, bool later) {
    calls = 0;
    all_later = later;
    fail_at = at;
  }
  bool has_failed() const {
    const long at = fail_at;
    return at && calls >= at;
  }
  bool disarm() {  // whether a call failed
    const bool failed = has_failed();
    fail_at = 0;
    return failed;
  }
};
Failures memory, threads;

// In its scope nothing fails, and nothing is counted: for judging what a call has made.
class Paused {
 public:
  Paused() : at_(memory.fail_at.exchange(0)) {}
  ~Paused() { memory.fail_at = at_; }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  const long at_;
};
Failures after_start;  // the thread that has started another one gets no memory next: for the one after that
thread_local bool next_allocation_fails = false;
std::atomic<long> live_blocks{0};

bool allocation_fails() {
  const bool now = next_allocation_fails;
  next_allocation_fails = false;
  return memory.next_fails() || now;
}

void* counted(void* block) {
  if (block) live_blocks++;
  return block;
}

}  // namespace

extern "C" {

void* __wrap_malloc(size_t size) {
  if (!allocation_fails()) return counted(__real_malloc(size));
  errno = ENOMEM;
  return nullptr;
}
void* __wrap_calloc(size_t count, size_t size) { return allocation_fails() ? nullptr : counted(__real_calloc(count, size)); }
void* __wrap_realloc(void* block, size_t size) {
  if (allocation_fails()) return nullptr;
  void* const moved = __real_realloc(block, size);
  return block ? moved : counted(moved);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return allocation_fails() ? nullptr : counted(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void* block) {
  if (block) live_blocks--;
  __real_free(block);
}
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  if (threads.next_fails()) return EAGAIN;
  const int error = __real_pthread_create(thread, attributes, start, argument);
  next_allocation_fails = after_start.next_fails();
  return error;
}

}  // extern "C"

namespace {

// ---------------------------------------------------------------- what is called

// Returns an error code; checks the result if it is STZ_OK. Allocates nothing itself while failures are armed.
struct Operation {
  std::string name;
  std::function<int()> call;
  bool starts_like_another = false;  // its threads are those of another operation: of their failures some are enough
};

// A case with its stream, what the stream decodes to, and room for the results of calls.
struct Prepared {
  Case source;
  Bytes stream, decoded, part, stream_room, array_room, part_room;
  uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK];
  unsigned words[STZ_CD_MAX_WORDS];
  size_t word_count;
};

Prepared prepare(const Case& source, int thread_count) {
  Prepared made{source, {}, {}, {}, {}, {}, {}, {}, {}, {}, 0};
  made.source.options.threads = thread_count;
  const stz_layout& layout = made.source.layout;
  made.stream_room.resize(stz_max_compressed_size(&layout));
  made.array_room.resize(source.array.size());
  size_t size = 0;
  check(stz_compress(&layout, source.array.data(), &made.source.options, made.stream_room.data(), made.stream_room.size(), &size) == STZ_OK,
        source.name);
  made.stream.assign(made.stream_room.begin(), made.stream_room.begin() + std::ptrdiff_t(size));
  made.decoded.resize(source.array.size());
  check(stz_decompress(made.stream.data(), size, made.decoded.data(), made.decoded.size()) == STZ_OK, source.name);
  size_t elements = 1;
  for (int axis = 0; axis < layout.rank; axis++) {
    made.start[axis] = layout.shape[axis] / 3;
    made.count[axis] = layout.shape[axis] / 3 + 1;
    elements *= made.count[axis];
  }
  made.part.resize(elements * stz_element_size(layout.dtype));
  made.part_room.resize(made.part.size());
  stz_reader* reader = nullptr;
  check(stz_reader_open_memory(made.stream.data(), size, 0, &reader) == STZ_OK &&
            stz_reader_read(reader, made.start, made.count, nullptr, made.part.data(), made.part.size(), 1) == STZ_OK,
        source.name);
  stz_reader_close(reader);
  check(stz_cd_values_pack(&made.source.options, &layout, made.words, STZ_CD_MAX_WORDS, &made.word_count, nullptr, 0) == STZ_OK,
        source.name);
  return made;
}

int compress(Prepared& p) {
  const Case& c = p.source;
  size_t size = 0;
  const int error = stz_compress(&c.layout, c.array.data(), &c.options, p.stream_room.data(), p.stream_room.size(), &size);
  if (error) return error;
  check(size == p.stream.size() && std::memcmp(p.stream_room.data(), p.stream.data(), size) == 0, c.name, ", the stream");
  return STZ_OK;
}

int decompress(Prepared& p) {
  const int error =
      stz_decompress_threads(p.stream.data(), p.stream.size(), p.array_room.data(), p.array_room.size(), p.source.options.threads);
  check(error || p.array_room == p.decoded, p.source.name, ", the array");
  return error;
}

int read_part(Prepared& p, stz_reader* reader) {
  const int error = stz_reader_read(reader, p.start, p.count, nullptr, p.part_room.data(), p.part_room.size(), p.source.options.threads);
  check(error || p.part_room == p.part, p.source.name, ", a part");
  return error;
}

int open_and_read(Prepared& p) {
  stz_reader* reader = nullptr;
  int error = stz_reader_open_memory(p.stream.data(), p.stream.size(), 1 << 20, &reader);
  if (error) return error;
  error = read_part(p, reader);
  if (error) {  // a reader can be used further
    memory.disarm();
    check(read_part(p, reader) == STZ_OK, p.source.name, ", a part after a failure");
  }
  stz_reader_close(reader);
  return error;
}

// A chunk is stored without loss where memory is short: otherwise HDF5 would store the samples by itself.
void check_encoded(Prepared& p, const void* stream, size_t size) {
  if (size == p.stream.size() && std::memcmp(stream, p.stream.data(), size) == 0) return;
  const bool failed = memory.has_failed() || after_start.has_failed();
  const Paused paused;
  check(failed && stz_decompress(stream, size, p.array_room.data(), p.array_room.size()) == STZ_OK && p.array_room == p.source.array,
        p.source.name, ", a chunk that was stored for want of memory");
}

// HDF5 calls it with a buffer of its own, which stays as it is if the callback fails. Here is no HDF5: malloc and free take its place.
int filter_chunk(Prepared& p, bool decode) {
  const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());
  const Bytes& from = decode ? p.stream : p.source.array;
  void* const given = __real_malloc(from.size());
  live_blocks++;
  std::memcpy(given, from.data(), from.size());
  void* buffer = given;
  size_t buffer_size = from.size();
  const unsigned flags = decode ? stz::hdf5::flag_reverse : 0;
  const size_t size = filter->filter(flags, p.word_count, p.words, from.size(), &buffer_size, &buffer);
  if (size && decode)
    check(size == p.decoded.size() && std::memcmp(buffer, p.decoded.data(), size) == 0, p.source.name, ", a chunk");
  else if (size)
    check_encoded(p, buffer, size);
  else
    check(buffer == given && buffer_size == from.size() && std::memcmp(given, from.data(), from.size()) == 0, p.source.name,
          ", the buffer of a chunk that failed");
  __wrap_free(buffer);
  stz_h5_forget();
  return size ? STZ_OK : STZ_ERROR_MEMORY;  // it says no more than that it failed
}

// The chunk comes back from HDF5 with its first bytes changed; all others must keep their bits, whatever of the chunk could not be
// remembered. Then nothing of it is remembered any more.
int rewrite_chunk(Prepared& p) {
  const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());
  const size_t changed = std::min<size_t>(16, p.decoded.size());
  void* buffer = __real_malloc(p.stream.size());
  live_blocks++;
  std::memcpy(buffer, p.stream.data(), p.stream.size());
  size_t buffer_size = p.stream.size();
  size_t size = filter->filter(stz::hdf5::flag_reverse, p.word_count, p.words, p.stream.size(), &buffer_size, &buffer);
  if (size) {
    std::memset(buffer, 0, changed);
    void* const given = buffer;
    size = filter->filter(0, p.word_count, p.words, size, &buffer_size, &buffer);
    check(size || buffer == given, p.source.name, ", the buffer of a chunk that failed");
  }
  if (size) {
    const Paused paused;
    check(stz_decompress(buffer, size, p.array_room.data(), p.array_room.size()) == STZ_OK, p.source.name, ", a rewritten chunk");
    check(std::memcmp(p.array_room.data() + changed, p.decoded.data() + changed, p.decoded.size() - changed) == 0, p.source.name,
          ", samples of a rewritten chunk that were not written");
  }
  __wrap_free(buffer);
  stz_h5_forget();
  return size ? STZ_OK : STZ_ERROR_MEMORY;
}

// The same where nothing of the chunk is remembered, so that it is stored without loss: makes the tables for that, once. Chunks are stored
// so as well where memory is short.
void rewrite_forgotten(Prepared& p) {
  stz_options exact = p.source.options;
  exact.mode = STZ_LOSSLESS;
  exact.bound = 0;
  exact.bound_used = 1;
  size_t size = 0;
  check(stz_compress(&p.source.layout, p.source.array.data(), &exact, p.stream_room.data(), p.stream_room.size(), &size) == STZ_OK &&
            stz_decompress(p.stream_room.data(), size, p.array_room.data(), p.array_room.size()) == STZ_OK,
        p.source.name, ", without loss");
  setenv("H5STZ_REWRITE_MEMORY", "0", 1);
  stz_h5_forget();
  check(rewrite_chunk(p) == STZ_OK, p.source.name, ", a chunk of which nothing is remembered");
  unsetenv("H5STZ_REWRITE_MEMORY");
  stz_h5_forget();
}

int estimate(Prepared& p) {
  stz_size_estimate result = STZ_SIZE_ESTIMATE_INIT;
  return stz_estimate(&p.source.layout, p.source.array.data(), &p.source.options, &result);
}

int verify(Prepared& p) {
  uint64_t blocks = 0;
  return stz_verify(p.stream.data(), p.stream.size(), p.source.options.threads, &blocks);
}

// As few precision layers as keep eight times the bound.
int drop_layers(Prepared& p) {
  size_t size = 0;
  const int error =
      stz_drop_layers(p.stream.data(), p.stream.size(), 8 * p.source.options.bound, p.stream_room.data(), p.stream_room.size(), &size);
  check(error || (size > 0 && size <= p.stream.size()), p.source.name, ", the stream without layers");
  return error;
}

// A part with as few layers as keep eight times the bound.
int read_layers(Prepared& p) {
  stz_reader* reader = nullptr;
  int error = stz_reader_open_memory(p.stream.data(), p.stream.size(), 1 << 20, &reader);
  if (error) return error;
  error = stz_reader_max_error(reader, 8 * p.source.options.bound);
  if (!error) error = stz_reader_read(reader, p.start, p.count, nullptr, p.part_room.data(), p.part_room.size(), p.source.options.threads);
  stz_reader_close(reader);
  return error;
}

// A reader that lives on between reads, of a file that was written long ago.
int read_kept(Prepared& p, stz::region::KeptReaders& kept, int file) try {
  int error = STZ_ERROR_MEMORY;
  kept.with(file, 0, p.stream.size(), [&](stz_reader* reader) {
    error = read_part(p, reader);
    return error == STZ_OK;
  });
  return error;
} catch (const std::bad_alloc&) {
  return STZ_ERROR_MEMORY;
}

// ---------------------------------------------------------------- the promises

long failures_made = 0;
long step = 1, first = 1, growth = 8;  // failures first, first + step, ... are made; of sparse ones, 1 + k / growth after number k

// Calls with one failure of `kind` after another until there are no more calls to fail; with `sparse` at growing distances. Where
// `may_fail` is false the call must succeed.
void fail_each(const Operation& operation, Failures& kind, bool all_later, bool may_fail, bool sparse = false) {
  const std::string& name = operation.name;
  check(operation.call() == STZ_OK, name, ", without failures");
  stz::drop_kept_memory();  // each call asks for all its memory
  const long live = live_blocks;
  for (long at = sparse ? 1 : first;; at += sparse ? 1 + at / growth : step) {
    kind.arm(at, all_later);
    const int error = operation.call();
    const bool failed = kind.disarm() || error;  // a call may disarm it
    next_allocation_fails = false;
    stz::drop_kept_memory();
    const long lost = live_blocks - live;
    sigset_t signals;
    pthread_sigmask(SIG_SETMASK, nullptr, &signals);
    check(!sigismember(&signals, SIGTERM), name, ", signals are blocked after a failure");
    const bool fine = error == STZ_OK || (may_fail && error == STZ_ERROR_MEMORY), works_again = operation.call() == STZ_OK;
    stz::drop_kept_memory();
    if (!fine || lost || !works_again) std::printf("call %ld: error %d, %ld blocks lost\n", at, error, lost);
    check(fine, name, ", the result of a call in which something fails");
    check(lost == 0, name, ", a leak");
    check(works_again, name, ", the call after a failure");
    if (!failed) return;
    failures_made++;
  }
}

// The first call of a process makes tables and asks the machine; each failure in a process of its own, so they are sparse too.
void fail_in_first_call(const Operation& operation) {
  for (long at = 1;; at += 1 + at / growth) {
    std::fflush(stdout);
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
      memory.arm(at, false);
      const int error = operation.call();
      const bool failed = memory.disarm();
      check(error == STZ_OK || error == STZ_ERROR_MEMORY, operation.name, ", a failure in the first call");
      check(operation.call() == STZ_OK, operation.name, ", after a failure in the first call");
      std::_Exit(failed ? 0 : 3);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3),
          operation.name, ", the first call ends the process");
    if (WEXITSTATUS(status) == 3) return;
    failures_made++;
  }
}

int file_of(const Bytes& stream) {
  char path[] = "/tmp/h5stz-allocations-XXXXXX";
  const int file = mkstemp(path);
  check(file >= 0 && unlink(path) == 0, "a temporary file");
  check(write(file, stream.data(), stream.size()) == ssize_t(stream.size()), "a file is written");
  const timespec long_ago[] = {{1'000'000'000, 1}, {1'000'000'000, 1}};
  check(futimens(file, long_ago) == 0, "a file has a time");
  return file;
}

// What is done with precision layers and with the encoder's estimates. Sparsely: most of their allocations are those of the others.
void fail_in_layers(const Case& source) {
  Prepared p = prepare(source, 1);
  const std::string prefix = source.name + ", ";
  check(source.options.mode != STZ_LOSSLESS || (p.stream[4] & 3) == 3, source.name, ", boxes are not stored as differences");
  rewrite_forgotten(p);
  const Operation operations[] = {
      {prefix + "compress", [&] { return compress(p); }},       {prefix + "estimate", [&] { return estimate(p); }},
      {prefix + "verify", [&] { return verify(p); }},           {prefix + "drop layers", [&] { return drop_layers(p); }},
      {prefix + "read layers", [&] { return read_layers(p); }}, {prefix + "filter, rewrite", [&] { return rewrite_chunk(p); }},
  };
  for (const Operation& operation : operations) fail_each(operation, memory, false, true, true);
}

void fail_everywhere(const Case& source, int thread_count, bool sparse) {
  Prepared p = prepare(source, thread_count);
  const std::string prefix = source.name + ", " + std::to_string(thread_count) + " threads, ";
  const int file = file_of(p.stream);
  rewrite_forgotten(p);
  const Operation operations[] = {
      {prefix + "compress", [&] { return compress(p); }},
      {prefix + "decompress", [&] { return decompress(p); }},
      {prefix + "read", [&] { return open_and_read(p); }},
      {prefix + "filter, encode", [&] { return filter_chunk(p, false); }, true},
      {prefix + "filter, decode", [&] { return filter_chunk(p, true); }},
      {prefix + "filter, rewrite", [&] { return rewrite_chunk(p); }},
      {prefix + "kept reader",
       [&] {
         stz::region::KeptReaders kept;
         return read_kept(p, kept, file);
       }},
  };
  if (thread_count > 1)
    for (const Operation& operation : operations) {
      fail_each(operation, threads, false, false, operation.starts_like_another);
      fail_each(operation, threads, true, false, true);
      fail_each(operation, after_start, false, true, operation.starts_like_another);
    }
  for (const Operation& operation : operations) {
    fail_each(operation, memory, false, true, sparse);
    fail_each(operation, memory, true, true, true);
  }
  close(file);
}

std::vector<Case> smallest_cases() {
  const std::vector<uint64_t> shape = {5, 8, 9};
  std::vector<Case> list;
  list.push_back(make<float>("f4", STZ_F32, shape, STZ_ABSOLUTE, 1e-2));
  list.push_back(make<float>("f4, masked", STZ_F32, shape, STZ_ABSOLUTE, 1e-2, 7));
  list.push_back(make<double>("f8, point-wise", STZ_F64, {19, 23}, STZ_POINTWISE_RELATIVE, 1e-4));
  list.push_back(make<double>("f8, lossless", STZ_F64, {11, 23}, STZ_LOSSLESS, 0));
  list.push_back(make<float>("c8", STZ_C64, {12, 13}, STZ_ABSOLUTE, 1e-2));
  list.push_back(make<int32_t>("i4", STZ_I32, shape, STZ_LOSSLESS, 0));
  list.push_back(make<uint16_t>("u2, masked", STZ_U16, shape, STZ_ABSOLUTE, 2, 13));
  list.push_back(make<int64_t>("i8", STZ_I64, {400}, STZ_ABSOLUTE, 1));
  list.push_back(make<uint8_t>("one sample", STZ_U8, {1}, STZ_LOSSLESS, 0));
  list.push_back(make<float>("f4, all masked", STZ_F32, shape, STZ_ABSOLUTE, 1e-2, 1));
  for (size_t i = 0; i < list.back().array.size(); i += 4) std::memcpy(&list.back().array[i], "\0\0\xc0\x7f", 4);
  return list;
}

// Streams of which the encoder decodes what it writes: in precision layers, and with a filter that enhances. And one with repeats.
std::vector<Case> decoding_cases() {
  std::vector<Case> list;
  list.push_back(make<float>("f4, layers", STZ_F32, {9, 16, 17}, STZ_ABSOLUTE, 1e-2));
  list.back().options.layers = 3;
  list.push_back(make<float>("f4, enhanced", STZ_F32, {18, 20, 22}, STZ_ABSOLUTE, 1e-1));
  list.back().options.enhance = STZ_ENHANCE_STRICT;
  list.push_back(make<float>("f4, repeats", STZ_F32, {24, 16, 20}, STZ_LOSSLESS, 0));
  Bytes& twice = list.back().array;
  std::copy(twice.begin(), twice.begin() + std::ptrdiff_t(twice.size() / 2), twice.begin() + std::ptrdiff_t(twice.size() / 2));
  return list;
}

// A round trip in a process that has done nothing yet. Its result is checked by the other processes.
int first_calls(const Case& source) try {
  Bytes stream(stz_max_compressed_size(&source.layout)), array(source.array.size());
  size_t size = 0;
  const int error = stz_compress(&source.layout, source.array.data(), &source.options, stream.data(), stream.size(), &size);
  return error ? error : stz_decompress(stream.data(), size, array.data(), array.size());
} catch (const std::bad_alloc&) {
  return STZ_ERROR_MEMORY;  // the two arrays here
}

}  // namespace

// With a number n: a fifth of the failures, 1 + n % 5, 6 + n % 5, ...; sparse ones are at larger distances.
int main(int argc, char** argv) {
  if (argc > 1) {
    step = 5;
    first = 1 + std::atol(argv[1]) % step;
    growth = 3;
  }
  const std::vector<Case> smallest = smallest_cases();
  for (const size_t number : {1, 5}) fail_in_first_call({smallest[number].name, [&] { return first_calls(smallest[number]); }});
  for (const Case& each : smallest) fail_everywhere(each, 1, false);
  for (const size_t number : {1, 5}) fail_everywhere(smallest[number], 3, false);
  for (const Case& each : decoding_cases()) fail_in_layers(each);
  Case large = make<float>("large", STZ_F32, {40, 64, 64}, STZ_ABSOLUTE, 1e-2, 1000);
  large.options.block = STZ_BLOCK_REGION;
  fail_everywhere(large, 3, true);
  std::printf("%ld failures\n", failures_made);
}
