# Files of 'cmake --install': the program, its man page and completions, and the library with its CMake and pkg-config
# files. Installing copies files and runs nothing, so every build lets the program write the man page and completions.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS gputopo COMPONENT Program)
# Scripts that Slurm and mpirun start on the nodes of a cluster.
install(PROGRAMS packaging/cluster/measure.sh packaging/cluster/health-check.sh packaging/cluster/fleet.sbatch
        DESTINATION ${CMAKE_INSTALL_DATADIR}/gputopo/cluster COMPONENT Program)

# The library: the files that programs load, and those for building them.
install(TARGETS gputopo_library EXPORT gputopoTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Library NAMELINK_COMPONENT Development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/gputopo/gputopo.h include/gputopo/gputopo.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gputopo COMPONENT Development)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gputopo)
install(EXPORT gputopoTargets NAMESPACE gputopo:: DESTINATION ${package_folder} COMPONENT Development)
configure_package_config_file(cmake/gputopoConfig.cmake.in ${PROJECT_BINARY_DIR}/gputopoConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# Until 1.0, another minor version may have another interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gputopoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gputopoConfig.cmake ${PROJECT_BINARY_DIR}/gputopoConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT Development)

# For pkg-config, relocatable; absolute folders of the user stay absolute.
set(GPUTOPO_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
foreach(folder LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(GPUTOPO_PC_${folder} "${CMAKE_INSTALL_${folder}}")
  else()
    set(GPUTOPO_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(GPUTOPO_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(cmake/gputopo.pc.in ${PROJECT_BINARY_DIR}/gputopo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gputopo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "A cross build cannot run gputopo (CMAKE_CROSSCOMPILING_EMULATOR is not set): "
                 "no man page and no completions are installed")
  return()
endif()

set(documents ${PROJECT_BINARY_DIR}/documents)
file(MAKE_DIRECTORY ${documents})
add_custom_command(
  TARGET gputopo POST_BUILD
  COMMAND gputopo man > gputopo.1
  COMMAND gputopo completion bash > gputopo.bash
  COMMAND gputopo completion zsh > gputopo.zsh
  COMMAND gputopo completion fish > gputopo.fish
  BYPRODUCTS ${documents}/gputopo.1 ${documents}/gputopo.bash ${documents}/gputopo.zsh ${documents}/gputopo.fish
  WORKING_DIRECTORY ${documents}
  VERBATIM)
install(FILES ${documents}/gputopo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT Program)
install(FILES ${documents}/gputopo.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gputopo
        COMPONENT Program)
install(FILES ${documents}/gputopo.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _gputopo COMPONENT Program)
install(FILES ${documents}/gputopo.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT Program)
