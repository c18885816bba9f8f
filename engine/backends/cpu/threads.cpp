#include "engine/backends/cpu/threads.h"

#include <omp.h>

namespace skep::cpu {

void set_threads(int count) { omp_set_num_threads(count); }

}  // namespace skep::cpu
