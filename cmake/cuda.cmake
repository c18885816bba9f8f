# The CUDA toolkit: its compiler for the files with kernels, its libraries for the rest of the GPU
# backend. The binary runs on machines without a GPU as well.
if(SKEP_SIMULATED_GPU)
  message(FATAL_ERROR "SKEP_CUDA and SKEP_SIMULATED_GPU exclude each other: one GPU backend is built "
                      "for a GPU or for the host. Use a build folder for each.")
endif()
if(SKEP_SANITIZE OR SKEP_WATCH_RACES)
  message(FATAL_ERROR "SKEP_CUDA excludes SKEP_SANITIZE and SKEP_WATCH_RACES: kernels are checked by the "
                      "sanitizers on the simulated GPU (SKEP_SIMULATED_GPU).")
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(SKEP_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(NOT SKEP_NVCC)
    message(FATAL_ERROR "SKEP_CUDA: nvcc is neither on the PATH nor in /usr/local/cuda/bin. Install the "
                        "CUDA toolkit, name its compiler with -DCMAKE_CUDA_COMPILER=..., or build "
                        "without SKEP_CUDA.")
  endif()
  set(CMAKE_CUDA_COMPILER ${SKEP_NVCC})
endif()
# A100 and H100/H200; later GPUs translate the newest one's intermediate code when they first meet it.
set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "GPUs to compile for")
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER} CACHE FILEPATH "Compiles the host's side of kernel files")
# One CUDA runtime, also for the files that g++ compiles.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
# As for C++: assertions stay.
set(CMAKE_CUDA_FLAGS_RELEASE "-O3" CACHE STRING "")
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
# CMake 3.25 does not know yet that nvcc can do C++20.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit 13 REQUIRED)
find_package(cuDNN REQUIRED)
find_package(NCCL)  # without it, gradients pass through the host's memory
