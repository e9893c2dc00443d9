# What every object of the project is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# No fast-math of any kind and no contraction: encoder and decoder must compute the same bits on every machine.
add_compile_options(-ffp-contract=off -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-psabi) # vectors are passed between inlined functions only: how a call would pass them does not matter
endif()
if(H5STZ_WERROR)
  add_compile_options(-Werror)
endif()
if(H5STZ_STAGE_CLOCKS)
  add_compile_definitions(STZ_STAGES)
endif()
if(H5STZ_FAULTS)
  add_compile_definitions(STZ_FAULTS)
endif()
if(H5STZ_SANITIZERS)
  add_compile_options(-fsanitize=${H5STZ_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${H5STZ_SANITIZERS})
endif()
if(H5STZ_LIBFUZZER)
  # Comparisons are not traced: that takes a quarter of the time, and codecs have few numbers to guess.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX "LINKER:--exclude-libs,ALL" linker_excludes_libs) # not zig's, for which the version scripts do it alone

# For libraries that are loaded into programs of others: they bring the C++ runtime along, show only what the version script names, and
# bind their own calls to themselves, as another copy of the core may be in the process.
function(stz_isolate target exports)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  if(APPLE) # untested. Libraries bind their own calls to themselves there, and the C++ runtime is part of the system
    target_link_options(${target} PRIVATE LINKER:-undefined,dynamic_lookup) # weak references to HDF5
    return()
  endif()
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports} LINKER:-Bsymbolic LINKER:--as-needed
                      LINKER:-z,nodelete # HDF5 may unload a plug-in while per-thread state is alive
                      $<$<BOOL:${linker_excludes_libs}>:LINKER:--exclude-libs,ALL>)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
  if(NOT H5STZ_SANITIZERS)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--no-undefined)
  endif()
endfunction()

function(stz_version target)
  if(H5STZ_VERSIONED_LIBRARIES)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  endif()
endfunction()
