# Installs the build into a folder, moves that folder, and builds and runs the consumer against it:
# what it prints is known, and none of its programs or libraries may look into the build.
# -D BUILD, CONFIG, COMPILER, MPIRUN, MANUALS (whether manual pages were made).
function(run)
  cmake_parse_arguments(PARSE_ARGV 0 step "" "OUTPUT" "COMMAND")
  execute_process(COMMAND ${step_COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${step_COMMAND}\nended with ${code}\n${out}${err}")
  endif()
  if(step_OUTPUT)
    set(${step_OUTPUT} "${out}" PARENT_SCOPE)
  endif()
endfunction()

function(expect text wanted)
  string(FIND "${text}" "${wanted}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "\"${wanted}\" is not in\n${text}")
  endif()
endfunction()

set(scratch "${BUILD}/install test")  # with a space on purpose
set(prefix "${scratch}/moved")
file(REMOVE_RECURSE "${scratch}")
run(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${scratch}/first" --config "${CONFIG}")
file(RENAME "${scratch}/first" "${prefix}")

run(COMMAND "${prefix}/bin/train" --config "${prefix}/share/skep/presets/quickstart.toml" --print-config
    OUTPUT config)
expect("${config}" "context = 128")
file(READ "${prefix}/share/bash-completion/completions/train" completion)
expect("${completion}" "--data.train) _skep_offer")
if(MANUALS)
  file(READ "${prefix}/share/man/man1/train.1" manual)
  expect("${manual}" "\\fB\\-\\-data.train\\fR\n")
  expect("${manual}" ".SH EXAMPLES")
endif()

foreach(program train generate evaluate tokenize inspect bench)
  run(COMMAND ldd "${prefix}/bin/${program}" OUTPUT libraries)
  expect("${libraries}" "${prefix}/bin/../lib")
  string(REPLACE "${scratch}" "" elsewhere "${libraries}")
  if(elsewhere MATCHES "${BUILD}|not found")
    message(FATAL_ERROR "${program} looks into the build, or misses a library\n${libraries}")
  endif()
endforeach()

run(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${scratch}/consumer" -G Ninja
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run(COMMAND "${CMAKE_COMMAND}" --build "${scratch}/consumer")
# x is 1 2 3 on one rank and 2 3 4 on the other: sums of squares 14 and 29, gradients 2x.
run(COMMAND "${MPIRUN}" -np 2 "${scratch}/consumer/consumer" OUTPUT out)
expect("${out}" "2 ranks: loss 43, gradient [6, 10, 14]")
