#pragma once
// How many threads the matrix libraries use in this process. One rank per core with one thread each
// beats one rank with several.
namespace skep::cpu {

void set_threads(int count);
int threads();

}  // namespace skep::cpu
