# Programs of libFuzzer: tests/fuzz/<name>_fuzzer.cpp -> <name>_fuzzer, over the readers of archives alone, which compile in minutes. Only
# clang has libFuzzer; the preset "fuzz" names the one that tools/setup/clang.sh unpacks.

stator_sources(fuzzed_sources "${PROJECT_SOURCE_DIR}/cpp/graph/*.cpp" "${PROJECT_SOURCE_DIR}/cpp/frontend/export/*.cpp"
                              "${PROJECT_SOURCE_DIR}/cpp/frontend/torchscript/pickle*.cpp"
                              "${PROJECT_SOURCE_DIR}/cpp/frontend/torchscript/bound_class.cpp")
add_library(stator_fuzzed STATIC ${fuzzed_sources} "${PROJECT_SOURCE_DIR}/cpp/frontend/archive.cpp"
            "${PROJECT_SOURCE_DIR}/cpp/frontend/json.cpp" "${PROJECT_SOURCE_DIR}/cpp/frontend/tensor_memory.cpp")
target_include_directories(stator_fuzzed PUBLIC "${PROJECT_SOURCE_DIR}/cpp")
# LibTorch is not instrumented: what its functions are called through has other types in its eyes.
target_compile_options(stator_fuzzed PUBLIC -fsanitize=fuzzer-no-link -fno-sanitize=function)
target_link_libraries(stator_fuzzed PUBLIC stator_flags nlohmann_json::headers LibTorch::torch_cpu LibTorch::c10 ZLIB::ZLIB
                                           Threads::Threads ${CMAKE_DL_LIBS})
target_precompile_headers(stator_fuzzed PRIVATE "${PROJECT_SOURCE_DIR}/cpp/precompiled.h")

file(GLOB fuzzers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzzer.cpp")
add_custom_target(fuzzers)
foreach(file IN LISTS fuzzers)
  get_filename_component(name "${file}" NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL "${file}")
  set_target_properties(${name} PROPERTIES BUILD_RPATH "${LibTorch_RUNTIME_DIRS}")
  target_link_libraries(${name} PRIVATE stator_fuzzed)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endforeach()
