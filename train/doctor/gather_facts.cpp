// Collects this rank's facts and exchanges them as JSON; which fields travel is listed once.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/backends/cpu/gemm.h"
#include "engine/backends/cpu/threads.h"
#include "engine/backends/devices.h"
#include "mpi_comm/environment.h"
#include "train/build.h"
#include "train/doctor/facts.h"
#include "train/gather.h"
#include "train/observe/peak.h"

extern char** environ;

namespace skep::doctor {
namespace {

template <class Visit>
void visit(Facts& f, Visit&& field) {
  field("mpi_library", f.mpi_library);
  field("variables", f.variables);
  field("user_id", f.user_id);
  field("missing_programs", f.missing_programs);
  field("granted_processors", f.granted_processors);
  field("processor_quota", f.processor_quota);
  field("peak_flops", f.peak_flops);
  field("available_bytes", f.available_bytes);
  field("needed_bytes", f.needed_bytes);
  field("shared_memory_bytes", f.shared_memory_bytes);
  field("run_folder", f.run_folder);
  field("checkpoint_folder", f.checkpoint_folder);
  field("run_problem", f.run_problem);
  field("checkpoint_problem", f.checkpoint_problem);
  field("disk_bytes", f.disk_bytes);
  field("checkpoints_bytes", f.checkpoints_bytes);
  field("product_library", f.product_library);
  field("bf16_products", f.bf16_products);
  field("missing_instructions", f.missing_instructions);
  field("unused_instructions", f.unused_instructions);
  field("gpus", f.gpus);
  field("no_gpu_reason", f.no_gpu_reason);
  field("gpu_signs", f.gpu_signs);
  field("single_copy_problem", f.single_copy_problem);
  field("networks", f.networks);
}

void find_launcher(Facts& f) {
  f.mpi_library = mpi_library();
  f.user_id = static_cast<int>(geteuid());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("OMPI_") || text.starts_with("SLURM_"))
      f.variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const char* program : {"mpirun", "ssh"}) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    bool found = false;
    for (std::string folder; std::getline(folders, folder, ':');)
      found = found || access((folder + "/" + program).c_str(), X_OK) == 0;
    if (!found) f.missing_programs.push_back(program);
  }
}

// A launcher pins its ranks, but not itself.
int processors_of(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(process, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

void find_gpu(Facts& f) {
  for (const char* node : {"/dev/nvidia0", "/dev/dxg", "/dev/kfd"})
    if (std::filesystem::exists(node)) f.gpu_signs.push_back(node);
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
    f.gpu_signs.push_back("libcuda.so.1");
    dlclose(driver);
  }
}

// A vocabulary that only the data tells is taken for that of bytes.
void find_needs(Facts& f, const Config& config) {
  const std::int64_t rows = config.model.vocab > 0 ? config.model.vocab : 256;
  f.needed_bytes = least_training_bytes(model_config(config.model, rows, rows));
  // Weights and two moments are three of the four numbers a parameter; one more checkpoint than are
  // kept exists while it is written. A difference is no larger than a whole one.
  f.checkpoints_bytes =
      0.75 * f.needed_bytes * (static_cast<double>(most_checkpoints(config.checkpoint)) + 1);
  f.run_folder = run_directory(config);
  f.checkpoint_folder = checkpoint_directory(config);
}

}  // namespace

std::string Facts::variable(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

std::vector<HostGroup> hosts_of(const std::vector<Facts>& ranks) {
  std::vector<Placement> places;
  for (const Facts& facts : ranks) places.push_back(facts.place);
  return group_by_host(places);
}

std::vector<Facts> gather_facts(const Config& config, Communicator& comm) {
  const std::vector<Placement> places = gather_placements(comm, find_placement(config.run.threads));
  Facts mine;
  mine.place = places.at(static_cast<std::size_t>(comm.rank()));
  find_launcher(mine);
  find_needs(mine, config);
  find_memory(mine);
  find_disk(mine);
  find_instructions(mine);
  find_gpu(mine);
  find_networks(mine);
  mine.granted_processors =
      std::max(processors_of(getppid()), static_cast<int>(mine.place.processors.size()));
  mine.product_library = cpu::has_onednn() ? "oneDNN" : "Eigen";
  const GpuSupport gpus = gpu_support();
  mine.gpus = gpus.simulated ? 0 : gpus.devices;
  mine.no_gpu_reason = gpus.simulated ? "the GPU of this build is only simulated" : gpus.reason;
  mine.bf16_products = cpu::has_bf16_products();
  try_single_copy(mine, comm);
  cpu::set_threads(threads_of(places, comm.rank()));
  comm.barrier();
  mine.peak_flops = measure_peak_flops(compute_dtype(config.precision));

  nlohmann::json sent;
  visit(mine, [&](const char* name, auto& value) { sent[name] = value; });
  std::vector<Facts> all;
  using nlohmann::json;
  for (const std::string& text :
       gather_texts(comm, sent.dump(-1, ' ', false, json::error_handler_t::replace))) {
    const json received = json::parse(text);
    Facts facts;
    visit(facts, [&](const char* name, auto& value) { received.at(name).get_to(value); });
    facts.place = places.at(all.size());
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace skep::doctor
