# Cython declarations of the C ABI; filter/include/stz.h documents the functions.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint64_t


cdef extern from "stz.h" nogil:
    int STZ_FORMAT_VERSION
    int STZ_MAX_RANK
    int STZ_MAX_LAYERS

    enum:
        STZ_OK
        STZ_ERROR_LIBRARY
        STZ_ERROR_ARGUMENT
        STZ_ERROR_SHAPE
        STZ_ERROR_BOUND
        STZ_ERROR_OPTION
        STZ_ERROR_CAPACITY
        STZ_ERROR_READ
        STZ_ERROR_VERSION

    enum:
        STZ_F16, STZ_F32, STZ_F64, STZ_I8, STZ_U8, STZ_I16, STZ_U16
        STZ_I32, STZ_U32, STZ_I64, STZ_U64, STZ_C64, STZ_C128, STZ_BF16, STZ_F8_E4M3, STZ_F8_E5M2

    enum:
        STZ_LITTLE, STZ_BIG

    enum:
        STZ_LOSSLESS, STZ_ABSOLUTE, STZ_POINTWISE_RELATIVE

    enum:
        STZ_INTEGERS_BOUNDED

    const double STZ_UNKNOWN_BOUND

    ctypedef struct stz_layout:
        int32_t dtype
        int32_t byte_order
        int32_t rank
        int32_t reserved
        uint64_t* shape

    ctypedef struct stz_learned:
        pass

    ctypedef struct stz_options:
        size_t struct_size
        int32_t mode
        int32_t has_fill
        double bound
        uint64_t fill
        int32_t integers
        int32_t bound_used
        double prior_bound
        double layer_bounds[6]
        stz_learned* learned
        double valid_range[2]

    ctypedef struct stz_stream_info:
        size_t struct_size
        stz_layout layout
        int32_t mode
        int32_t has_fill
        double bound
        uint64_t fill
        uint64_t array_bytes
        const char* form
        int32_t block
        int32_t format_version
        int32_t levels
        int32_t content_check
        uint64_t* level_bytes
        int32_t patches
        int32_t bound_used
        double accumulated_bound
        int32_t layers
        uint64_t* layer_bytes
        double* layer_error
        double* layer_rmse
        double relaxed_bound
        int32_t enhanced
        double preview_error
        uint64_t preview_bytes

    ctypedef struct stz_size_estimate:
        size_t struct_size
        double bytes
        double variance
        double mean_squared_error
        int32_t exact

    int stz_version_number()
    const char* stz_version_string()
    size_t stz_element_size(int32_t dtype)
    size_t stz_max_compressed_size(const stz_layout* layout)
    int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out,
                     size_t capacity, size_t* out_size)
    int stz_estimate(const stz_layout* layout, const void* data, const stz_options* options, stz_size_estimate* result)
    int stz_drop_layers(const void* stream, size_t size, double max_error, void* out, size_t capacity, size_t* out_size) nogil
    int stz_rewrite(const stz_layout* layout, const void* data, const stz_options* options, const void* previous, size_t previous_size,
                    void* out, size_t capacity, size_t* out_size)
    int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads)
    int stz_decompress_verified(const void* stream, size_t size, void* out, size_t out_size, int threads, uint64_t* blocks)
    int stz_verify(const void* stream, size_t size, int threads, uint64_t* blocks)
    int stz_info(const void* stream, size_t size, stz_stream_info* info)
    int stz_environment_threads()
    int stz_environment_verify()
    int stz_environment_check()
    uint64_t stz_environment_max_bytes()
    double stz_environment_max_error()
    int stz_find_missing_value(const stz_layout* layout, const void* data, stz_options* options)
    const char* stz_error_text(int code)
    int stz_missing_feature(const void* stream, size_t size, char* text, size_t capacity)


cdef extern from "stz_reader.h" nogil:
    ctypedef struct stz_source:
        size_t struct_size
        int (*read)(void* handle, uint64_t offset, size_t size, void* out) noexcept
        void* handle
        uint64_t size

    ctypedef struct stz_reader:
        pass

    ctypedef struct stz_reader_stats:
        size_t struct_size
        uint64_t bytes_read
        uint64_t blocks_decoded
        uint64_t blocks_present
        uint64_t cached_bytes

    ctypedef struct stz_damage:
        size_t struct_size
        int32_t error
        int32_t level
        int32_t patch
        int32_t reserved
        uint64_t block
        uint64_t lost
        uint64_t* start
        uint64_t* extent

    int stz_reader_open(const stz_source* source, uint64_t cache_bytes, stz_reader** reader)
    int stz_reader_open_memory(const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader)
    int stz_reader_open_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader)
    void stz_reader_close(stz_reader* reader)
    int stz_reader_info(const stz_reader* reader, stz_stream_info* info)
    int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step,
                        void* out, size_t out_size, int threads)
    int stz_reader_verify(stz_reader* reader, int verify)
    int stz_reader_max_error(stz_reader* reader, double max_error)
    int stz_reader_enhance(stz_reader* reader, int enhance)
    int stz_reader_on_error(stz_reader* reader, const void* element)
    size_t stz_reader_damage_count(const stz_reader* reader)
    int stz_reader_damage(const stz_reader* reader, size_t index, stz_damage* damage)
    int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step,
                        uint64_t* ranges, size_t capacity, size_t* range_count)
    int stz_reader_get_stats(const stz_reader* reader, stz_reader_stats* stats)
    int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes)


cdef extern from "stz_cd_values.h" nogil:
    enum:
        STZ_FILTER_ID
        STZ_CD_MAX_WORDS

    int stz_cd_values_parse(size_t count, const unsigned int* values, stz_options* options, stz_layout* layout,
                            char* message, size_t message_size)
    int stz_cd_values_pack(const stz_options* options, const stz_layout* layout, unsigned int* out, size_t capacity,
                           size_t* count, char* message, size_t message_size)
    int stz_options_parse_text(const char* text, int32_t* dtype, stz_options* options, char* message, size_t message_size)
    int stz_options_print_text(const stz_options* options, int32_t dtype, char* text, size_t capacity, size_t* length,
                               char* message, size_t message_size)


cdef extern from "stz_learned.h" nogil:
    stz_learned* stz_learned_create()
    int stz_learned_train(stz_learned* learned, const stz_layout* layout, const void* data, const stz_options* options)
    int stz_learned_join(stz_learned* learned, const stz_learned* other)
    size_t stz_learned_count(const stz_learned* learned)
    void stz_learned_free(stz_learned* learned)
    int stz_cd_values_add_learned(const stz_learned* learned, unsigned int* words, size_t capacity, size_t* count)
    stz_learned* stz_cd_values_learned(size_t count, const unsigned int* words)
