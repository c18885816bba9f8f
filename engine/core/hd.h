#pragma once
// HD marks functions that both compilers see: g++ for the CPU, nvcc for host and device.
#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif
