# stz.wasm: the core as a WebAssembly module for browsers, node and others, without JavaScript of its own
# (examples/browser/decode.mjs loads it).
# With emscripten, preset "wasm". It imports some functions of WASI, which may all fail, and nothing else that does anything.
set(exported_functions
    malloc free stz_version_number stz_error_text stz_max_compressed_size stz_compress stz_info stz_decompress stz_verify
    stz_options_parse_text stz_reader_open_memory stz_reader_read stz_reader_close)
list(TRANSFORM exported_functions PREPEND "_")
list(JOIN exported_functions "," exported_functions)
add_executable(stz_module ${core_objects})
set_target_properties(stz_module PROPERTIES OUTPUT_NAME stz SUFFIX .wasm LINKER_LANGUAGE CXX)
target_link_options(stz_module PRIVATE --no-entry -sSTANDALONE_WASM=1 -sALLOW_MEMORY_GROWTH=1 -sWASM_BIGINT=1
                    -sEXPORTED_FUNCTIONS=${exported_functions})
