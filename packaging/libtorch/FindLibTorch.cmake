# Finds LibTorch without its own TorchConfig.cmake, which asks for a CUDA toolkit when the wheel is a CUDA build.
#
# In:  STATOR_TORCH_HOME (cache or environment), else see locate.sh
# Out: LibTorch_HOME, LibTorch_VERSION, LibTorch_MINOR ("2_15"), LibTorch_RUNTIME_DIRS,
#      targets LibTorch::torch_cpu and LibTorch::c10

set(STATOR_TORCH_HOME "" CACHE PATH "LibTorch: the torch folder of an installed wheel, or an unpacked libtorch")

if(STATOR_TORCH_HOME)
  set(_env "STATOR_TORCH_HOME=${STATOR_TORCH_HOME}")
else()
  set(_env "STATOR_TORCH_HOME=$ENV{STATOR_TORCH_HOME}")
endif()
foreach(_what HOME VERSION)
  set(_flag "")
  if(_what STREQUAL "VERSION")
    set(_flag --version)
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env "${_env}" "${CMAKE_CURRENT_LIST_DIR}/locate.sh" ${_flag}
    OUTPUT_VARIABLE LibTorch_${_what}
    ERROR_VARIABLE _error
    RESULT_VARIABLE _status
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT _status EQUAL 0)
    message(FATAL_ERROR "LibTorch: ${_error}")
  endif()
endforeach()
if(_error)
  message(STATUS "LibTorch: ${_error}")
endif()
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "\\1_\\2" LibTorch_MINOR "${LibTorch_VERSION}")

# Read by tools/setup, which configures anew when another LibTorch is named.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/torch-home" CONTENT "@LibTorch_HOME@\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/locate.sh"
                                                               "${CMAKE_CURRENT_LIST_DIR}/supported")

# libtorch_cpu.so of a CUDA wheel needs libcudart and libcupti, which are wheels of their own beside torch.
set(LibTorch_RUNTIME_DIRS "${LibTorch_HOME}/lib")
file(GLOB_RECURSE _cuda "${LibTorch_HOME}/../nvidia/libcudart.so.*" "${LibTorch_HOME}/../nvidia/libcupti.so.*")
foreach(_library IN LISTS _cuda)
  get_filename_component(_directory "${_library}" DIRECTORY)
  get_filename_component(_directory "${_directory}" REALPATH)
  list(APPEND LibTorch_RUNTIME_DIRS "${_directory}")
endforeach()
list(REMOVE_DUPLICATES LibTorch_RUNTIME_DIRS)

foreach(_name c10 torch_cpu)
  if(NOT TARGET LibTorch::${_name})
    add_library(LibTorch::${_name} SHARED IMPORTED)
    set_target_properties(LibTorch::${_name} PROPERTIES
      IMPORTED_LOCATION "${LibTorch_HOME}/lib/lib${_name}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_HOME}/include;${LibTorch_HOME}/include/torch/csrc/api/include")
    foreach(_directory IN LISTS LibTorch_RUNTIME_DIRS)
      set_property(TARGET LibTorch::${_name} APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:-rpath-link,${_directory}")
    endforeach()
    set_property(TARGET LibTorch::${_name} APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
  endif()
endforeach()

message(STATUS "LibTorch ${LibTorch_VERSION}: ${LibTorch_HOME}")
set(LibTorch_FOUND TRUE)
