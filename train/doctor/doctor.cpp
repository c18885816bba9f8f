#include "train/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "engine/core/error.h"
#include "mpi_comm/leave.h"
#include "train/doctor/checks.h"

namespace skep {

doctor::Lines doctor::examine(const std::vector<Facts>& ranks) {
  Lines all;
  for (const auto& check : {check_mpi, check_launcher, check_slots, check_threads, check_speed,
                            check_memory, check_shared_memory, check_disk, check_products,
                            check_instructions, check_gpu, check_single_copy, check_network}) {
    const Lines lines = check(ranks);
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

void run_doctor(const Config& config, Communicator& comm) {
  const doctor::Lines lines = doctor::examine(doctor::gather_facts(config, comm));
  const auto fixes = std::count_if(lines.begin(), lines.end(), [](const doctor::Line& line) {
    return line.verdict == doctor::Verdict::fix;
  });
  if (comm.rank() == 0)
    for (const doctor::Line& line : lines) fmt::print("{}\n", to_string(line));
  if (fixes > 0) leave_together(static_cast<int>(ErrorKind::usage), "");
}

}  // namespace skep
