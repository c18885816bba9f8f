# NCCL, as a rule within the CUDA toolkit: the target nccl::nccl.
find_path(NCCL_INCLUDE nccl.h PATHS /usr/local/cuda $ENV{NCCL_HOME} $ENV{CUDA_HOME} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl PATHS /usr/local/cuda $ENV{NCCL_HOME} $ENV{CUDA_HOME} PATH_SUFFIXES lib64 lib)
mark_as_advanced(NCCL_INCLUDE NCCL_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE)
if(NCCL_FOUND AND NOT TARGET nccl::nccl)
  add_library(nccl::nccl UNKNOWN IMPORTED)
  set_target_properties(nccl::nccl PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
                                              INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE})
endif()
