# Flags of our own targets, and kernels compiled once per CPU capability.

add_library(stator_flags INTERFACE)
target_compile_options(stator_flags INTERFACE
  -Wall -Wextra
  # Fields that a designated initializer leaves out are meant to have their defaults.
  -Wno-missing-field-initializers
  # The core is opened with dlopen, where the static TLS that other models assume may be used up.
  -ftls-model=global-dynamic)
if(STATOR_WERROR)
  target_compile_options(stator_flags INTERFACE -Werror)
endif()
if(STATOR_CCACHE)
  target_compile_options(stator_flags INTERFACE -fpch-preprocess)
endif()

if(STATOR_ASSERTIONS)
  # Same flags as always, less NDEBUG.
  foreach(_config RELWITHDEBINFO RELEASE)
    string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${_config} "${CMAKE_C_FLAGS_${_config}}")
    string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_${_config} "${CMAKE_CXX_FLAGS_${_config}}")
  endforeach()
  target_compile_definitions(stator_flags INTERFACE STATOR_ASSERTIONS=1)
endif()

if(STATOR_SANITIZE)
  # vptr is left out: it needs the type information of LibTorch's hidden classes.
  set(_sanitize -fsanitize=${STATOR_SANITIZE} -fno-omit-frame-pointer)
  if(STATOR_SANITIZE MATCHES "undefined")
    list(APPEND _sanitize -fno-sanitize=vptr -fno-sanitize-recover=undefined)
  endif()
  add_compile_options(${_sanitize})
  add_link_options(${_sanitize})
else()
  target_link_options(stator_flags INTERFACE "LINKER:--no-undefined")
endif()

# With STATOR_UNITY_BUILD a few neighbours of a folder are compiled as one: much of the time that a file takes is LibTorch's headers,
# precompiled or not. In its anonymous namespaces a folder must therefore name a thing once.
function(stator_few_at_once target count)
  get_target_property(files ${target} SOURCES)
  list(SORT files)
  foreach(file IN LISTS files)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${file}")
    get_filename_component(folder "${folder}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED in_${folder})
      set(in_${folder} 0)
    endif()
    math(EXPR group "${in_${folder}} / ${count}")
    math(EXPR in_${folder} "${in_${folder}} + 1")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "${folder}_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STATOR_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
endfunction()

# Each file is compiled once per capability into the target, as LibTorch does with its own native/cpu kernels:
# CPU_CAPABILITY names the namespace that at::vec and the file's own code live in. The baseline objects come first
# in the archive: where all of them hold the same inline function of another library, the linker keeps the first,
# and that one must run everywhere.
function(stator_simd_objects target)
  set(files ${ARGN})
  if(NOT files)
    return()
  endif()
  set(capabilities DEFAULT)
  set(flags_DEFAULT "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(APPEND capabilities AVX2 AVX512)
    set(flags_AVX2 -mavx2 -mfma -mf16c)
    # GCC 12 takes the undefined operands of its own AVX-512 intrinsics for uninitialized variables.
    set(flags_AVX512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -Wno-maybe-uninitialized)
    target_compile_definitions(${target} PUBLIC STATOR_HAVE_AVX2_KERNELS=1 STATOR_HAVE_AVX512_KERNELS=1)
  endif()
  foreach(capability IN LISTS capabilities)
    string(TOLOWER "stator_simd_${capability}" objects)
    add_library(${objects} OBJECT ${files})
    target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/cpp")
    target_compile_definitions(${objects} PRIVATE CPU_CAPABILITY=${capability} CPU_CAPABILITY_${capability}
                                                  $<TARGET_PROPERTY:${target},INTERFACE_COMPILE_DEFINITIONS>)
    target_compile_options(${objects} PRIVATE -O3 ${flags_${capability}})
    target_link_libraries(${objects} PRIVATE stator_flags LibTorch::torch_cpu LibTorch::c10)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()
