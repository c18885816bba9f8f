# What the programs tell of themselves: manual pages from --help where help2man is installed, and
# bash's completion of train from its table of keys. An instrumented build is not for installing.
if(SKEP_SANITIZE OR SKEP_WATCH_RACES)
  return()
endif()

function(skep_manual program purpose)
  set(page ${CMAKE_BINARY_DIR}/man/${program}.1)
  # help2man ends an option's name at the dot of --SECTION.KEY.
  add_custom_command(OUTPUT ${page} DEPENDS ${program}
    COMMAND ${HELP2MAN} --no-info --name=${purpose} --version-string=${PROJECT_VERSION} --output=${page} $<TARGET_FILE:${program}>
    COMMAND sed -i -E "s/\\\\fR\\.([a-z0-9_]+)$/.\\1\\\\fR/" ${page}
    COMMENT "Manual page of ${program}" VERBATIM)
  add_custom_target(manual_${program} ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

find_program(HELP2MAN help2man)
if(HELP2MAN)
  set(SKEP_MANUALS ON)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
  skep_manual(train "train a transformer with MPI")
  skep_manual(generate "continue a prompt with a trained model")
  skep_manual(evaluate "measure the loss of a model on a file")
  skep_manual(tokenize "turn text into token ids and back")
  skep_manual(inspect "look into the engine and into a model")
  skep_manual(bench "measure the speed of training steps")
else()
  set(SKEP_MANUALS OFF)
  message(STATUS "help2man not found: no manual pages")
endif()

set(completion ${CMAKE_BINARY_DIR}/completions/train)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completions)
add_custom_command(OUTPUT ${completion} DEPENDS train
  COMMAND sh -c "\"$0\" --print-completion >\"$1\"" $<TARGET_FILE:train> ${completion}
  COMMENT "Completion of train" VERBATIM)
add_custom_target(completion ALL DEPENDS ${completion})
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
