# The files with kernels go through nvcc, all others stay with g++.
set(kernel_files ${sources})
list(FILTER kernel_files INCLUDE REGEX "/(ops|optim|kernels|backends/cuda)/[^/]+\\.cpp$")
set_source_files_properties(${kernel_files} PROPERTIES LANGUAGE CUDA)
# fmt 9 turns its checks of format strings off under nvcc, and then does not compile as C++20.
target_compile_options(engine PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-DFMT_USE_CONSTEXPR=1>")
target_link_libraries(engine PRIVATE CUDA::cudart CUDA::cublasLt cudnn::cudnn)
if(NCCL_FOUND)
  target_link_libraries(engine PRIVATE nccl::nccl)
  target_compile_definitions(engine PRIVATE SKEP_HAS_NCCL)
endif()
