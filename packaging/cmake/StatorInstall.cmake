# Installed files, and stator.pc for the build tree (bindings find the library by pkg-config in both places).

include(CMakePackageConfigHelpers)
set(_templates "${PROJECT_SOURCE_DIR}/packaging/cmake")

set(STATOR_PC_PREFIX "${PROJECT_BINARY_DIR}")
set(STATOR_PC_INCLUDEDIR "${PROJECT_SOURCE_DIR}/capi/include")
set(STATOR_PC_LIBDIR "${PROJECT_BINARY_DIR}/lib")
set(STATOR_PC_RPATH "-Wl,-rpath,\${libdir} ")
configure_file("${_templates}/stator.pc.in" "${PROJECT_BINARY_DIR}/pkgconfig/stator.pc" @ONLY)

if(NOT TARGET stator)
  return()
endif()

file(RELATIVE_PATH _prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" _prefix_from_pc "${_prefix_from_pc}")
set(STATOR_PC_PREFIX "\${pcfiledir}/${_prefix_from_pc}")
set(STATOR_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
set(STATOR_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(STATOR_PC_RPATH "")
configure_file("${_templates}/stator.pc.in" "${PROJECT_BINARY_DIR}/install/stator.pc" @ONLY)

install(TARGETS stator EXPORT statorTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET stator_core)
  install(TARGETS stator_core LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET stator_cli)
  install(TARGETS stator_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/capi/include/stator" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
if(TARGET stator_cli)
  # The command writes its own completions, so they cannot differ from it. It needs no LibTorch for that.
  foreach(entry "bash=bash-completion/completions/stator" "zsh=zsh/site-functions/_stator" "fish=fish/vendor_completions.d/stator.fish")
    string(REGEX MATCH "^[^=]+" shell "${entry}")
    string(REGEX REPLACE "^[^=]+=" "" destination "${entry}")
    get_filename_component(folder "${destination}" DIRECTORY)
    get_filename_component(name "${destination}" NAME)
    set(script "${PROJECT_BINARY_DIR}/install/completion.${shell}")
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:stator_cli>\" completion ${shell} OUTPUT_FILE \"${script}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES "${script}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}" RENAME "${name}")
  endforeach()
endif()

set(_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stator")
install(EXPORT statorTargets NAMESPACE stator:: DESTINATION "${_cmake_dir}")
configure_package_config_file("${_templates}/statorConfig.cmake.in" "${PROJECT_BINARY_DIR}/install/statorConfig.cmake"
                              INSTALL_DESTINATION "${_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/install/statorConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/install/statorConfig.cmake" "${PROJECT_BINARY_DIR}/install/statorConfigVersion.cmake"
        DESTINATION "${_cmake_dir}")
install(FILES "${PROJECT_BINARY_DIR}/install/stator.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
