# What the build needs from outside. Debian files that the machine lacks lie unpacked below .deps (tools/setup/debs.sh).

set(_deps "${PROJECT_SOURCE_DIR}/.deps/usr")
list(APPEND CMAKE_PREFIX_PATH "${_deps}")
list(APPEND CMAKE_LIBRARY_PATH "${_deps}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")

find_program(STATOR_CCACHE ccache HINTS "${_deps}/bin")
if(STATOR_CCACHE)
  # The sloppiness is what makes ccache accept a precompiled header at all.
  set(_launcher "${CMAKE_COMMAND}" -E env "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
                "${STATOR_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${_launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${_launcher}")
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibTorch REQUIRED)

# Finds a library by its header and, for those that have one, its file; Debian's own CMake files name packages
# that are of no use here (gmock, sources of GoogleTest).
function(stator_find name header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LIBRARY;PACKAGE" "")
  string(MAKE_C_IDENTIFIER "${name}" id)
  find_path(STATOR_${id}_INCLUDE "${header}" HINTS "${_deps}/include")
  if(NOT STATOR_${id}_INCLUDE)
    message(FATAL_ERROR "${header} not found: run make, or install ${arg_PACKAGE}")
  endif()
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  if(NOT STATOR_${id}_INCLUDE STREQUAL "/usr/include")
    target_include_directories(${name} SYSTEM INTERFACE "${STATOR_${id}_INCLUDE}")
  endif()
  if(arg_LIBRARY)
    find_library(STATOR_${id}_LIBRARY ${arg_LIBRARY})
    if(NOT STATOR_${id}_LIBRARY)
      message(FATAL_ERROR "library ${arg_LIBRARY} not found: run make, or install ${arg_PACKAGE}")
    endif()
    target_link_libraries(${name} INTERFACE "${STATOR_${id}_LIBRARY}")
  endif()
endfunction()

stator_find(CLI11::headers CLI/CLI.hpp PACKAGE libcli11-dev)
stator_find(nlohmann_json::headers nlohmann/json.hpp PACKAGE nlohmann-json3-dev)
if(STATOR_DEVELOPER_MODE)
  stator_find(gtest::library gtest/gtest.h LIBRARY gtest PACKAGE libgtest-dev)
  stator_find(gtest::main gtest/gtest.h LIBRARY gtest_main PACKAGE libgtest-dev)
endif()
