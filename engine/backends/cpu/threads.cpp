#include "engine/backends/cpu/threads.h"

#include <omp.h>

namespace skep::cpu {

void set_threads(int count) { omp_set_num_threads(count); }
int threads() { return omp_get_max_threads(); }

}  // namespace skep::cpu
