# Tests, test tools and benchmarks. Every file found is built; nothing is listed by hand.
#
# Labels: quick, or slow for a test whose name says so (GoogleTest suite "*Slow", file "*_slow.c").
#         threads for what the thread sanitizer's run looks at (suite "*Thread*" or "*Pool*", file "*thread*" or "*pool*").

set(models "${PROJECT_BINARY_DIR}/models")
set(test_bin "${PROJECT_BINARY_DIR}/tests")
set(suppressions "${PROJECT_SOURCE_DIR}/tools/setup/sanitizers")
set(test_environment
  "STATOR_TORCH_HOME=${LibTorch_HOME}"
  "STATOR_TEST_MODELS=${models}"
  "STATOR_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "STATOR_BUILD_DIR=${PROJECT_BINARY_DIR}")
if(STATOR_SANITIZE)
  list(APPEND test_environment
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:detect_odr_violation=1"
    "LSAN_OPTIONS=suppressions=${suppressions}/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1:suppressions=${suppressions}/ubsan.supp"
    "TSAN_OPTIONS=suppressions=${suppressions}/tsan.supp:halt_on_error=0:second_deadlock_stack=1"
    "OMP_NUM_THREADS=1")
endif()
if(STATOR_SANITIZE MATCHES "thread")
  # LibTorch's OpenMP is not instrumented: its barriers would read as races. Whatever number a run sets, LibTorch then works alone, and
  # bound kernels share their work by std::thread.
  list(APPEND test_environment "OMP_THREAD_LIMIT=1")
endif()

# Executables of tests link LibTorch by path, unlike what is installed.
set(CMAKE_BUILD_RPATH "${PROJECT_BINARY_DIR}/lib;${LibTorch_RUNTIME_DIRS}")

function(stator_test_labels variable name)
  set(labels quick)
  if(name MATCHES "([Ss]low)")
    set(labels slow)
  endif()
  if(name MATCHES "([Tt]hread|[Pp]ool)")
    list(APPEND labels threads)
  endif()
  set(${variable} "${labels}" PARENT_SCOPE)
endfunction()

function(stator_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MODELS" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${test_environment};${arg_ENVIRONMENT}")
  if(arg_MODELS)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED models)
  endif()
endfunction()

# Test tools: tests/tools/<name>.cpp. make_models OUTDIR writes the models that other tests load. ------------------

file(GLOB tools CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/tools/*.cpp")
foreach(file IN LISTS tools)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(${name} "${file}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${test_bin}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE stator_flags $<LINK_LIBRARY:WHOLE_ARCHIVE,stator_cpp>)
endforeach()

if(TARGET make_models)
  stator_test(make_models COMMAND make_models "${models}" LABELS quick threads)
  set_tests_properties(make_models PROPERTIES FIXTURES_SETUP models)
else()
  message(WARNING "tests/tools/make_models.cpp is missing: tests that load models will fail")
endif()

# Unit tests: GoogleTest over the C++ core. ------------------------------------------------------------------------

stator_sources(unit_sources "${PROJECT_SOURCE_DIR}/tests/unit/*.cpp")
if(unit_sources)
  # Objects first, because executables are compiled with -fPIE, which the core's precompiled header is not.
  add_library(stator_unit_objects OBJECT ${unit_sources})
  stator_few_at_once(stator_unit_objects 4)
  target_precompile_headers(stator_unit_objects REUSE_FROM stator_cpp)
  target_include_directories(stator_unit_objects PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/tests/unit")
  target_link_libraries(stator_unit_objects PRIVATE stator_flags stator_cpp gtest::library)
  add_executable(stator_unit_tests $<TARGET_OBJECTS:stator_unit_objects>)
  set_target_properties(stator_unit_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${test_bin}" LINKER_LANGUAGE CXX)
  target_link_libraries(stator_unit_tests PRIVATE
    stator_flags $<LINK_LIBRARY:WHOLE_ARCHIVE,stator_cpp> gtest::main gtest::library)

  # Few processes instead of one per test: starting a program with LibTorch takes longer than nearly all tests
  # (600 tests: 10 s in one process, 300 s in their own). A failing test is named in the output and can be run alone:
  # build/tests/stator_unit_tests --gtest_filter=Suite.name
  set(runs quick.0 quick.1 slow)
  if(STATOR_SANITIZE MATCHES "thread")
    list(APPEND runs threads)
  endif()
  set(filter_quick "-*Slow*")
  set(filter_slow "*Slow*")
  set(filter_threads "*Thread*:*Pool*")
  foreach(run IN LISTS runs)
    string(REGEX REPLACE "\\..*" "" label "${run}")
    set(shard "")
    if(run MATCHES "\\.([0-9])$")
      set(shard "GTEST_TOTAL_SHARDS=2" "GTEST_SHARD_INDEX=${CMAKE_MATCH_1}")
    endif()
    stator_test(unit.${run} LABELS ${label} MODELS TIMEOUT 1200 ENVIRONMENT ${shard} COMMAND
      stator_unit_tests --gtest_brief=1 "--gtest_filter=${filter_${label}}")
    if(label STREQUAL "quick")
      # GoogleTest is content when a filter leaves nothing.
      set_tests_properties(unit.${run} PROPERTIES FAIL_REGULAR_EXPRESSION "[^0-9]0 tests from")
    endif()
  endforeach()
else()
  message(WARNING "tests/unit/*.cpp: no file yet")
endif()

# Libraries of operators: tests/operators/<name> -> tests/operators/lib<name>.so, loaded by path. --------------------

file(GLOB operator_libraries CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/operators/*.c*")
foreach(file IN LISTS operator_libraries)
  get_filename_component(name "${file}" NAME_WE)
  add_library(operators_${name} MODULE "${file}")
  set_target_properties(operators_${name} PROPERTIES
    OUTPUT_NAME "${name}"
    LIBRARY_OUTPUT_DIRECTORY "${test_bin}/operators"
    # As where they are used: LibTorch is found because the process has it.
    SKIP_BUILD_RPATH ON)
  if(file MATCHES "\\.cpp$")
    target_link_libraries(operators_${name} PRIVATE stator_flags LibTorch::torch_cpu LibTorch::c10)
  endif()
endforeach()

# The C ABI: each tests/capi/<name>.c is a program linked with libstator alone; support/*.c is shared by them. -----

if(TARGET stator)
  file(GLOB capi_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/capi/*.c")
  file(GLOB capi_support CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/capi/support/*.c")
  set(capi_flags -Wall -Wextra -Wpedantic -Werror)
  if(capi_support)
    add_library(stator_capi_support STATIC ${capi_support})
    target_compile_options(stator_capi_support PRIVATE ${capi_flags})
    target_link_libraries(stator_capi_support PUBLIC stator)
  endif()
  foreach(file IN LISTS capi_tests)
    get_filename_component(name "${file}" NAME_WE)
    add_executable(capi_${name} "${file}")
    # What a test defines in place of the C library's (malloc) is for all libraries of the process.
    set_target_properties(capi_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${test_bin}" BUILD_RPATH "${PROJECT_BINARY_DIR}/lib" ENABLE_EXPORTS ON)
    target_include_directories(capi_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/capi")
    target_compile_options(capi_${name} PRIVATE ${capi_flags})
    target_link_libraries(capi_${name} PRIVATE $<TARGET_NAME_IF_EXISTS:stator_capi_support> stator Threads::Threads m)
    stator_test_labels(labels "${name}")
    stator_test(capi.${name} COMMAND capi_${name} LABELS ${labels} MODELS)
  endforeach()
  if(NOT capi_tests)
    message(WARNING "tests/capi/*.c: no file yet")
  endif()
endif()

# The conformance table, through the C ABI; the other languages run it among their own tests. ----------------------

if(TARGET stator AND EXISTS "${PROJECT_SOURCE_DIR}/tests/conformance/run_c.cpp")
  add_executable(run_c "${PROJECT_SOURCE_DIR}/tests/conformance/run_c.cpp")
  set_target_properties(run_c PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${test_bin}" BUILD_RPATH "${PROJECT_BINARY_DIR}/lib")
  target_link_libraries(run_c PRIVATE stator_flags stator nlohmann_json::headers)
  stator_test(conformance.c LABELS quick MODELS COMMAND
    run_c "${PROJECT_SOURCE_DIR}/tests/conformance/cases.json" "${models}"
    # It names no LibTorch, so this is also the test of the loader finding one.
    ENVIRONMENT "LD_LIBRARY_PATH=${LibTorch_HOME}/lib")
endif()

# Each public header compiles alone, as C and as C++. --------------------------------------------------------------

file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/capi/include/stator/*.h")
foreach(header IN LISTS headers)
  get_filename_component(name "${header}" NAME)
  foreach(language c:c11 c++:c++17 c++:c++20)
    string(REPLACE ":" ";" parts "${language}")
    list(GET parts 0 kind)
    list(GET parts 1 standard)
    set(compiler "${CMAKE_CXX_COMPILER}")
    if(kind STREQUAL "c")
      set(compiler "${CMAKE_C_COMPILER}")
    endif()
    stator_test(header.${name}.${standard} LABELS quick COMMAND
      "${compiler}" -x ${kind} -std=${standard} -Wall -Wextra -Wpedantic -Werror -fsyntax-only
      -I "${PROJECT_SOURCE_DIR}/capi/include" -include "stator/${name}" /dev/null)
  endforeach()
endforeach()

# The product: what the libraries export and need, and that an installed copy can be used. --------------------------

if(TARGET stator_core AND TARGET stator AND NOT STATOR_SANITIZE)
  find_program(STATOR_READELF NAMES ${CMAKE_READELF} readelf REQUIRED)
  find_program(STATOR_PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
  set(package_scripts "${PROJECT_SOURCE_DIR}/tests/packaging")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  stator_test(package.dependencies LABELS quick COMMAND "${Python3_EXECUTABLE}" "${package_scripts}/dependencies.py")
  stator_test(package.libraries LABELS quick COMMAND "${package_scripts}/libraries.sh"
    "$<TARGET_FILE:stator>" "$<TARGET_FILE:stator_core>")
  set(simd_objects "")
  foreach(target IN ITEMS stator_simd_default stator_simd_avx2 stator_simd_avx512)
    if(TARGET ${target})
      list(APPEND simd_objects "$<TARGET_OBJECTS:${target}>")
    endif()
  endforeach()
  stator_test(package.simd_objects LABELS quick COMMAND "${package_scripts}/simd_objects.sh" ${simd_objects})
  foreach(way cmake pkg_config)
    stator_test(package.${way} LABELS quick COMMAND "${package_scripts}/consumer.sh" ${way}
      ENVIRONMENT "CC=${CMAKE_C_COMPILER}" "CXX=${CMAKE_CXX_COMPILER}" "CMAKE=${CMAKE_COMMAND}"
                  "PKG_CONFIG=${STATOR_PKG_CONFIG}" "CMAKE_GENERATOR=${CMAKE_GENERATOR}")
  endforeach()
endif()

# Examples: examples/{c,cpp}/<name> -> bin/example_<name>; the demo's C program and its oracle. ---------------------

if(TARGET stator)
  file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/c/*.c" "${PROJECT_SOURCE_DIR}/examples/cpp/*.cpp")
  foreach(file IN LISTS examples)
    get_filename_component(name "${file}" NAME_WE)
    if(file MATCHES "/cpp/")
      set(name "cpp_${name}")
    endif()
    add_executable(example_${name} "${file}")
    set_target_properties(example_${name} PROPERTIES BUILD_RPATH "${PROJECT_BINARY_DIR}/lib")
    target_link_libraries(example_${name} PRIVATE stator_flags stator Threads::Threads m)
  endforeach()

  file(GLOB vad_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/vad/c/*.c")
  if(vad_sources)
    add_executable(vad_c ${vad_sources})
    set_target_properties(vad_c PROPERTIES BUILD_RPATH "${PROJECT_BINARY_DIR}/lib" C_EXTENSIONS ON)
    target_link_libraries(vad_c PRIVATE stator_flags stator m)
  endif()
endif()
if(NOT STATOR_SANITIZE AND EXISTS "${PROJECT_SOURCE_DIR}/examples/vad/reference.cpp")
  add_executable(vad_reference "${PROJECT_SOURCE_DIR}/examples/vad/reference.cpp")
  target_link_libraries(vad_reference PRIVATE stator_flags LibTorch::torch_cpu LibTorch::c10 Threads::Threads)
endif()

# The benchmark, run by tests/bench/bench.py: Stator through the C ABI and the peers of LibTorch; and its core without the C ABI. ------

if(TARGET stator AND NOT STATOR_SANITIZE)
  file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/bench/*.cpp")
  set(bench_core "${PROJECT_SOURCE_DIR}/tests/bench/core.cpp")
  set(bench_common "${PROJECT_SOURCE_DIR}/tests/bench/bench.cpp" "${PROJECT_SOURCE_DIR}/tests/bench/model_data.cpp"
                   "${PROJECT_SOURCE_DIR}/tests/bench/peer.cpp")
  set(bench_lengths "${PROJECT_SOURCE_DIR}/tests/bench/lengths.cpp")
  set(bench_matching "${PROJECT_SOURCE_DIR}/tests/bench/matching.cpp")
  list(REMOVE_ITEM bench_sources ${bench_common} "${bench_core}" "${bench_lengths}" "${bench_matching}")
  add_library(stator_bench_common OBJECT ${bench_common})
  add_executable(stator_bench ${bench_sources} $<TARGET_OBJECTS:stator_bench_common>)
  add_executable(stator_bench_core "${bench_core}" $<TARGET_OBJECTS:stator_bench_common>)
  add_executable(stator_lengths "${bench_lengths}")
  add_executable(stator_matching "${bench_matching}")
  target_link_libraries(stator_bench_common PRIVATE stator_flags LibTorch::torch_cpu LibTorch::c10 nlohmann_json::headers)
  target_link_libraries(stator_bench PRIVATE
    stator_flags stator LibTorch::torch_cpu LibTorch::c10 nlohmann_json::headers Threads::Threads ${CMAKE_DL_LIBS})
  target_link_libraries(stator_bench_core PRIVATE
    stator_flags $<LINK_LIBRARY:WHOLE_ARCHIVE,stator_cpp> nlohmann_json::headers)
  target_link_libraries(stator_lengths PRIVATE stator_flags stator nlohmann_json::headers)
  target_link_libraries(stator_matching PRIVATE stator_flags stator_cpp)
  foreach(program stator_bench_common stator_bench stator_bench_core)
    target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  endforeach()
endif()
