# Flags every target shares. g++ gets them by itself, and from nvcc where that calls it for the
# host's side of a file with kernels.
add_library(skep_flags INTERFACE)
target_include_directories(skep_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                $<INSTALL_INTERFACE:include/skep>)
target_compile_features(skep_flags INTERFACE cxx_std_20)
set_property(TARGET skep_flags PROPERTY INTERFACE_POSITION_INDEPENDENT_CODE ON)

# Adds flags of g++; after HERE, not for those who use the installed libraries.
function(skep_compile_options)
  cmake_parse_arguments(PARSE_ARGV 0 given HERE "" "")
  set(flags ${given_UNPARSED_ARGUMENTS})
  set(for_cxx "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")
  if(given_HERE)
    set(for_cxx "$<BUILD_INTERFACE:${for_cxx}>")
  endif()
  target_compile_options(skep_flags INTERFACE "${for_cxx}")
  list(JOIN flags "," joined)
  target_compile_options(skep_flags INTERFACE
    "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${joined}>>")
endfunction()

# g++ 12 warns falsely about overlapping strings (-Wrestrict, PR 105329), and about fmt 9 writing past
# its fill character (-Wstringop-overflow); how vectors are passed is no surprise within one build
# (-Wpsabi). -fno-math-errno lets sqrt vectorise; nothing here changes the value of an expression (no
# -ffast-math: it loses NaN).
skep_compile_options(HERE -Wall -Wextra -Wno-restrict -Wno-stringop-overflow -Wno-psabi
                     -fno-math-errno -fno-trapping-math)
if(SKEP_NATIVE)
  # Also for those who use the installed libraries: kernels in the headers pass vectors by value, and
  # both sides must agree on how.
  skep_compile_options(-march=native -mprefer-vector-width=512)
endif()
if(SKEP_SANITIZE)
  skep_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer
                       -fno-sanitize-recover=undefined)
  target_link_options(skep_flags INTERFACE -fsanitize=address,undefined)
endif()
if(SKEP_WATCH_RACES)
  if(SKEP_SANITIZE)
    message(FATAL_ERROR "SKEP_WATCH_RACES and SKEP_SANITIZE exclude each other. Use a build folder for each.")
  endif()
  skep_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(skep_flags INTERFACE -fsanitize=thread)
endif()
