// The C API of a library that holds no codec: each function passes its call on to the plug-in of the same package. Without the plug-in it
// returns the second argument of its line: STZ_ERROR_LIBRARY, if the function can fail.
#include <atomic>

#include "base/message.h"
#include "forward/plugin_functions.h"
#include "stz.h"
#include "stz_cd_values.h"
#include "stz_learned.h"
#include "stz_reader.h"

namespace {

// Clears an output. The result is that of a function that fails.
template <class Output>
int without(Output* output) noexcept {
  if (output) *output = Output{};
  return STZ_ERROR_LIBRARY;
}

int explain(char* text, size_t size) noexcept {
  stz::Message message;
  message.set("%s", stz::forward::plugin_problem());
  message.copy_to(text, size);
  return STZ_ERROR_LIBRARY;
}

}  // namespace

#define STZ_FORWARD(result, failed, name, parameters, arguments)                          \
  extern "C" STZ_API result name parameters {                                             \
    static std::atomic<decltype(&name)> known{nullptr};                                   \
    decltype(&name) function = known.load(std::memory_order_acquire);                     \
    if (!function) {                                                                      \
      function = reinterpret_cast<decltype(&name)>(stz::forward::plugin_function(#name)); \
      if (!function) return failed;                                                       \
      known.store(function, std::memory_order_release);                                   \
    }                                                                                     \
    return function arguments;                                                            \
  }

// stz.h
STZ_FORWARD(int, 0, stz_version_number, (), ())
STZ_FORWARD(const char*, STZ_VERSION_STRING, stz_version_string, (), ())
STZ_FORWARD(size_t, 0, stz_element_size, (int32_t dtype), (dtype))
STZ_FORWARD(size_t, 0, stz_max_compressed_size, (const stz_layout* layout), (layout))
STZ_FORWARD(int, without(out_size), stz_compress,
            (const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size),
            (layout, data, options, out, capacity, out_size))
STZ_FORWARD(stz_learned*, nullptr, stz_learned_create, (), ())
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_learned_train,
            (stz_learned * learned, const stz_layout* layout, const void* data, const stz_options* options),
            (learned, layout, data, options))
STZ_FORWARD(void, void(), stz_learned_fix, (stz_learned * learned), (learned))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_learned_join, (stz_learned * learned, const stz_learned* other), (learned, other))
STZ_FORWARD(size_t, 0, stz_learned_count, (const stz_learned* learned), (learned))
STZ_FORWARD(void, void(), stz_learned_free, (stz_learned * learned), (learned))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_cd_values_add_learned,
            (const stz_learned* learned, unsigned* words, size_t capacity, size_t* count), (learned, words, capacity, count))
STZ_FORWARD(stz_learned*, nullptr, stz_cd_values_learned, (size_t count, const unsigned* words), (count, words))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_estimate,
            (const stz_layout* layout, const void* data, const stz_options* options, stz_size_estimate* result),
            (layout, data, options, result))
STZ_FORWARD(int, without(out_size), stz_rewrite,
            (const stz_layout* layout, const void* data, const stz_options* options, const void* previous, size_t previous_size, void* out,
             size_t capacity, size_t* out_size),
            (layout, data, options, previous, previous_size, out, capacity, out_size))
STZ_FORWARD(int, without(out_size), stz_rewrite_any,
            (const stz_layout* layout, const void* data, const stz_options* options, const void* const* previous,
             const size_t* previous_sizes, size_t count, void* out, size_t capacity, size_t* out_size),
            (layout, data, options, previous, previous_sizes, count, out, capacity, out_size))
STZ_FORWARD(int, without(out_size), stz_store,
            (const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size),
            (layout, data, options, out, capacity, out_size))
STZ_FORWARD(int, without(out_size), stz_drop_layers,
            (const void* stream, size_t size, double max_error, void* out, size_t capacity, size_t* out_size),
            (stream, size, max_error, out, capacity, out_size))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_decompress, (const void* stream, size_t size, void* out, size_t out_size),
            (stream, size, out, out_size))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_decompress_threads, (const void* stream, size_t size, void* out, size_t out_size, int threads),
            (stream, size, out, out_size, threads))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_decompress_verified,
            (const void* stream, size_t size, void* out, size_t out_size, int threads, uint64_t* blocks),
            (stream, size, out, out_size, threads, blocks))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_verify, (const void* stream, size_t size, int threads, uint64_t* blocks),
            (stream, size, threads, blocks))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_info, (const void* stream, size_t size, stz_stream_info* info), (stream, size, info))
STZ_FORWARD(int, 1, stz_environment_threads, (), ())
STZ_FORWARD(int, 1, stz_environment_verify, (), ())
STZ_FORWARD(int, STZ_CHECK_NONE, stz_environment_check, (), ())
STZ_FORWARD(uint64_t, 0, stz_environment_max_bytes, (), ())
STZ_FORWARD(double, 0, stz_environment_max_error, (), ())
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_find_missing_value, (const stz_layout* layout, const void* data, stz_options* options),
            (layout, data, options))
STZ_FORWARD(const char*, stz::forward::plugin_problem(), stz_error_text, (int code), (code))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_missing_feature, (const void* stream, size_t size, char* text, size_t capacity),
            (stream, size, text, capacity))

// stz_cd_values.h
STZ_FORWARD(int, explain(message, message_size), stz_cd_values_parse,
            (size_t count, const unsigned* values, stz_options* options, stz_layout* layout, char* message, size_t message_size),
            (count, values, options, layout, message, message_size))
STZ_FORWARD(int, explain(message, message_size), stz_cd_values_pack,
            (const stz_options* options, const stz_layout* layout, unsigned* out, size_t capacity, size_t* count, char* message,
             size_t message_size),
            (options, layout, out, capacity, count, message, message_size))
STZ_FORWARD(int, explain(message, message_size), stz_options_parse_text,
            (const char* text, int32_t* dtype, stz_options* options, char* message, size_t message_size),
            (text, dtype, options, message, message_size))
STZ_FORWARD(int, explain(message, message_size), stz_options_print_text,
            (const stz_options* options, int32_t dtype, char* text, size_t capacity, size_t* length, char* message, size_t message_size),
            (options, dtype, text, capacity, length, message, message_size))

// stz_reader.h
STZ_FORWARD(int, without(reader), stz_reader_open, (const stz_source* source, uint64_t cache_bytes, stz_reader** reader),
            (source, cache_bytes, reader))
STZ_FORWARD(int, without(reader), stz_reader_open_memory, (const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader),
            (stream, size, cache_bytes, reader))
STZ_FORWARD(int, without(reader), stz_reader_open_file, (int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader),
            (fd, offset, size, cache_bytes, reader))
STZ_FORWARD(void, void(), stz_reader_close, (stz_reader * reader), (reader))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_info, (const stz_reader* reader, stz_stream_info* info), (reader, info))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_read,
            (stz_reader * reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out, size_t out_size,
             int threads),
            (reader, start, count, step, out, out_size, threads))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_verify, (stz_reader * reader, int verify), (reader, verify))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_max_error, (stz_reader * reader, double max_error), (reader, max_error))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_enhance, (stz_reader * reader, int enhance), (reader, enhance))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_on_error, (stz_reader * reader, const void* element), (reader, element))
STZ_FORWARD(size_t, 0, stz_reader_damage_count, (const stz_reader* reader), (reader))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_damage, (const stz_reader* reader, size_t index, stz_damage* damage),
            (reader, index, damage))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_plan,
            (stz_reader * reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges, size_t capacity,
             size_t* range_count),
            (reader, start, count, step, ranges, capacity, range_count))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_get_stats, (const stz_reader* reader, stz_reader_stats* stats), (reader, stats))
STZ_FORWARD(int, STZ_ERROR_LIBRARY, stz_reader_limit, (stz_reader * reader, uint64_t cache_bytes), (reader, cache_bytes))
#undef STZ_FORWARD
