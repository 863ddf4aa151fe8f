# What 'cmake --install' puts in place: the program, its man page and its completions. Installing copies files and runs
# nothing: the page and the completions are what the program says of itself, and are written whenever it is built.
include(GNUInstallDirs)
install(TARGETS gputopo)

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
install(FILES ${documents}/gputopo.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${documents}/gputopo.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gputopo)
install(FILES ${documents}/gputopo.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _gputopo)
install(FILES ${documents}/gputopo.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
