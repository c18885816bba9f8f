# cuDNN with its header, usually within the CUDA toolkit: the target cudnn::cudnn. And the toolkit's
# stand-in for the driver, CUDA_DRIVER_STUB, with which cuDNN starts on machines without a GPU.
set(cudnn_places /usr/local/cuda $ENV{CUDNN_HOME} $ENV{CUDA_HOME})
find_path(CUDNN_INCLUDE cudnn_graph.h PATHS ${cudnn_places} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY cudnn PATHS ${cudnn_places} PATH_SUFFIXES lib64 lib)
find_path(CUDA_RUNTIME_INCLUDE cuda_runtime_api.h PATHS ${cudnn_places} PATH_SUFFIXES include)
find_file(CUDA_DRIVER_STUB libcuda.so PATHS ${cudnn_places} PATH_SUFFIXES lib64/stubs lib/stubs
          NO_DEFAULT_PATH)
mark_as_advanced(CUDNN_INCLUDE CUDNN_LIBRARY CUDA_RUNTIME_INCLUDE CUDA_DRIVER_STUB)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE CUDA_RUNTIME_INCLUDE)
if(cuDNN_FOUND AND NOT TARGET cudnn::cudnn)
  add_library(cudnn::cudnn UNKNOWN IMPORTED)
  set_target_properties(cudnn::cudnn PROPERTIES IMPORTED_LOCATION ${CUDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE};${CUDA_RUNTIME_INCLUDE}")
endif()
