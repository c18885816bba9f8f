#pragma once
// The checks, in the order in which they are printed. Each is a pure function from the facts of all
// ranks to the lines that tell what it found; at least one.
#include "train/doctor/facts.h"
#include "train/doctor/line.h"

namespace skep::doctor {

Lines check_mpi(const std::vector<Facts>& ranks);
Lines check_launcher(const std::vector<Facts>& ranks);
Lines check_slots(const std::vector<Facts>& ranks);
Lines check_threads(const std::vector<Facts>& ranks);
Lines check_speed(const std::vector<Facts>& ranks);
Lines check_memory(const std::vector<Facts>& ranks);
Lines check_shared_memory(const std::vector<Facts>& ranks);
Lines check_disk(const std::vector<Facts>& ranks);
Lines check_products(const std::vector<Facts>& ranks);
Lines check_instructions(const std::vector<Facts>& ranks);
Lines check_gpu(const std::vector<Facts>& ranks);
Lines check_single_copy(const std::vector<Facts>& ranks);
Lines check_network(const std::vector<Facts>& ranks);

}  // namespace skep::doctor
