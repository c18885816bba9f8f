// Each check of --doctor on machines made up for it: a healthy one, and the same with one fault.
#include <catch2/catch.hpp>
#include <filesystem>

#include "helpers.h"
#include "mpi_comm/thread_communicator.h"
#include "train/config.h"
#include "train/doctor/checks.h"
#include "train/doctor/doctor.h"

using namespace skep;
using namespace skep::doctor;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

// `count` ranks on one host of four CPUs where all is well.
std::vector<Facts> healthy(int count = 2) {
  Facts facts;
  facts.place = {"alpha", {0, 1, 2, 3}, 0};
  facts.mpi_library = "Open MPI v4.1.4";
  facts.user_id = 1000;
  facts.granted_processors = 4;
  facts.peak_flops = 50e9;
  facts.available_bytes = 8e9;
  facts.needed_bytes = 1e9;
  facts.shared_memory_bytes = 4e9;
  facts.run_folder = "runs/first";
  facts.checkpoint_folder = "runs/first/ckpt";
  facts.disk_bytes = 100e9;
  facts.checkpoints_bytes = 3e9;
  facts.product_library = "oneDNN";
  facts.networks = {{"eth0", "192.0.2.0/24"}};
  return std::vector<Facts>(static_cast<std::size_t>(count), facts);
}

using Check = Lines (*)(const std::vector<Facts>&);

// The only line of a check, as printed.
std::string line_of(Check check, const std::vector<Facts>& ranks) {
  const Lines lines = check(ranks);
  REQUIRE(lines.size() == 1);
  return to_string(lines[0]);
}

void put_on_two_hosts(std::vector<Facts>& ranks) { ranks.back().place.host = "beta"; }

}  // namespace

TEST_CASE("doctor: on a healthy machine every line says OK") {
  for (int ranks : {1, 2, 3, 4}) {
    const Lines lines = examine(healthy(ranks));
    CHECK(lines.size() == 13);
    for (const Line& line : lines) {
      INFO(to_string(line));
      CHECK(line.verdict == Verdict::ok);
      CHECK(line.remedy.empty());
      CHECK_THAT(to_string(line), StartsWith("OK    " + line.topic + ": "));
    }
  }
}

TEST_CASE("doctor: MPI libraries that differ between hosts") {
  std::vector<Facts> ranks = healthy();
  CHECK_THAT(line_of(check_mpi, ranks),
             Contains("Open MPI v4.1.4") && Contains("2 ranks on alpha"));
  put_on_two_hosts(ranks);
  CHECK_THAT(line_of(check_mpi, ranks), Contains("2 hosts: 1 on alpha, 1 on beta"));
  ranks[1].mpi_library = "Open MPI v5.0.1";
  CHECK_THAT(line_of(check_mpi, ranks), StartsWith("FIX ") && Contains("beta uses Open MPI v5") &&
                                            Contains("-> ssh beta sudo apt-get"));
}

TEST_CASE("doctor: what mpirun needs before it starts") {
  std::vector<Facts> ranks = healthy(1);
  ranks[0].missing_programs = {"ssh"};
  CHECK_THAT(line_of(check_launcher, ranks),
             StartsWith("WARN") && EndsWith("-> sudo apt-get install openssh-client"));
  ranks[0].missing_programs = {"mpirun", "ssh"};
  CHECK_THAT(line_of(check_launcher, ranks), Contains("apt-get install openmpi-bin"));
  ranks[0].missing_programs.clear();
  ranks[0].user_id = 0;
  CHECK_THAT(line_of(check_launcher, ranks),
             StartsWith("WARN") &&
                 EndsWith("-> export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
  ranks[0].variables = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}};
  CHECK_THAT(line_of(check_launcher, ranks), StartsWith("WARN"));
  ranks[0].variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  CHECK_THAT(line_of(check_launcher, ranks), StartsWith("OK "));
  // Ranks that run have been launched.
  ranks = healthy(2);
  ranks[0].missing_programs = {"mpirun", "ssh"};
  ranks[0].user_id = 0;
  CHECK_THAT(line_of(check_launcher, ranks), StartsWith("OK "));
}

TEST_CASE("doctor: ranks pinned to one CPU although there are others") {
  std::vector<Facts> ranks = healthy(3);
  for (Facts& facts : ranks) facts.place.processors = {0};
  CHECK_THAT(line_of(check_slots, ranks),
             StartsWith("FIX ") &&
                 Contains("ranks 0, 1, 2 on alpha are pinned to the same 1 CPU") &&
                 EndsWith("-> mpirun --bind-to core -np 3 ..."));
  ranks[1].place.processors = {1};
  CHECK_THAT(line_of(check_slots, ranks), Contains("ranks 0, 2 on alpha"));
  ranks[2].place.processors = {2};
  CHECK_THAT(line_of(check_slots, ranks), StartsWith("OK "));
}

TEST_CASE("doctor: more ranks than CPUs") {
  std::vector<Facts> ranks = healthy(5);
  CHECK_THAT(line_of(check_slots, ranks), StartsWith("FIX ") &&
                                              Contains("5 ranks on alpha share 4 CPUs") &&
                                              EndsWith("-> export OMPI_MCA_mpi_yield_when_idle=1"));
  for (Facts& facts : ranks) facts.variables["OMPI_MCA_mpi_yield_when_idle"] = "1";
  CHECK_THAT(line_of(check_slots, ranks), StartsWith("WARN") && EndsWith("-> mpirun -np 4 ..."));
  // A container that grants less time than it shows CPUs.
  ranks = healthy(4);
  CHECK_THAT(line_of(check_slots, ranks), StartsWith("OK "));
  for (Facts& facts : ranks) facts.processor_quota = 2.5;
  CHECK_THAT(line_of(check_slots, ranks), StartsWith("FIX ") && Contains("share 2 CPUs"));
}

TEST_CASE("doctor: threads against CPUs, on each host") {
  std::vector<Facts> ranks = healthy();
  CHECK_THAT(line_of(check_threads, ranks),
             StartsWith("OK ") && EndsWith("4 threads of 2 ranks on 4 CPUs of alpha"));
  for (Facts& facts : ranks) facts.place.wished_threads = 4;
  CHECK_THAT(line_of(check_threads, ranks), StartsWith("FIX ") && Contains("8 threads") &&
                                                EndsWith("-> export OMP_NUM_THREADS=2"));
  for (Facts& facts : ranks) facts.place.wished_threads = 1;
  CHECK_THAT(line_of(check_threads, ranks), StartsWith("WARN") && EndsWith("-> mpirun -np 4 ..."));
  put_on_two_hosts(ranks);
  ranks[0].place.wished_threads = 4;
  ranks[1].place.wished_threads = 5;
  const Lines lines = check_threads(ranks);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].verdict == Verdict::ok);
  CHECK_THAT(to_string(lines[1]), StartsWith("FIX ") && Contains("5 threads of 1 rank on 4 CPUs"));
}

TEST_CASE("doctor: one slow rank holds up all") {
  std::vector<Facts> ranks = healthy(3);
  CHECK_THAT(line_of(check_speed, ranks), StartsWith("OK ") && Contains("50 GFLOP/s"));
  ranks[2].peak_flops = 10e9;
  CHECK_THAT(line_of(check_speed, ranks),
             StartsWith("WARN") && Contains("rank 2 on alpha") && EndsWith("-> ssh alpha top"));
}

TEST_CASE("doctor: memory for all ranks of a host") {
  std::vector<Facts> ranks = healthy(4);  // of 1 GB each
  CHECK_THAT(line_of(check_memory, ranks), StartsWith("OK "));
  for (Facts& facts : ranks) facts.available_bytes = 7e9;
  CHECK_THAT(line_of(check_memory, ranks),
             StartsWith("WARN") && Contains("4.0 GB") && Contains("--batch.micro_batch 1"));
  for (Facts& facts : ranks) facts.available_bytes = 3e9;
  CHECK_THAT(line_of(check_memory, ranks), StartsWith("FIX ") &&
                                               Contains("3.0 GB available on alpha") &&
                                               Contains("--model.width"));
}

TEST_CASE("doctor: a small /dev/shm") {
  std::vector<Facts> ranks = healthy(4);
  for (Facts& facts : ranks) facts.shared_memory_bytes = 60e6;  // Docker's default is 64 MB
  CHECK_THAT(line_of(check_shared_memory, ranks),
             StartsWith("FIX ") && Contains("60.0 MB free") && Contains("--shm-size=1g") &&
                 EndsWith("-> export OMPI_MCA_btl_vader_backing_directory=/tmp"));
  for (Facts& facts : ranks) facts.variables["OMPI_MCA_btl_vader_backing_directory"] = "/tmp";
  CHECK_THAT(line_of(check_shared_memory, ranks), StartsWith("OK "));
  std::vector<Facts> alone = healthy(1);
  alone[0].shared_memory_bytes = 0;
  CHECK_THAT(line_of(check_shared_memory, alone), StartsWith("OK "));
}

TEST_CASE("doctor: folders that cannot be written, and full disks") {
  std::vector<Facts> ranks = healthy();
  CHECK_THAT(line_of(check_disk, ranks), StartsWith("OK "));
  ranks[0].disk_bytes = 5e9;
  CHECK_THAT(line_of(check_disk, ranks),
             StartsWith("WARN") && EndsWith("-> train --checkpoint.keep 1 ..."));
  ranks[0].disk_bytes = 2e9;
  CHECK_THAT(line_of(check_disk, ranks), StartsWith("FIX ") && Contains("2.0 GB free"));
  ranks[0].checkpoint_problem = "/data cannot be written: Read-only file system";
  CHECK_THAT(line_of(check_disk, ranks),
             StartsWith("FIX ") && Contains("Read-only") && Contains("--checkpoint.dir"));
  ranks[1].run_problem = "/runs cannot be written: Permission denied";  // a log every rank writes
  CHECK_THAT(line_of(check_disk, ranks),
             StartsWith("FIX ") && Contains("Permission denied") && Contains("--run.dir"));
}

TEST_CASE("doctor: the library of products and the instruction sets") {
  std::vector<Facts> ranks = healthy();
  CHECK_THAT(line_of(check_products, ranks), StartsWith("OK ") && EndsWith("bf16 included"));
  ranks[1].bf16_products = false;
  CHECK_THAT(line_of(check_products, ranks),
             StartsWith("OK ") && EndsWith("multiplies bf16 no faster than fp32"));
  ranks[1].product_library = "Eigen";
  CHECK_THAT(line_of(check_products, ranks),
             StartsWith("WARN") && Contains("Eigen") && Contains("apt-get install libdnnl-dev"));
  CHECK_THAT(line_of(check_instructions, ranks), StartsWith("OK "));
  ranks[1].unused_instructions = {"AVX2", "FMA"};
  CHECK_THAT(line_of(check_instructions, ranks),
             StartsWith("WARN") && Contains("AVX2, FMA") && Contains("-DSKEP_NATIVE=ON"));
  ranks[1].missing_instructions = {"AVX-512"};
  CHECK_THAT(line_of(check_instructions, ranks),
             StartsWith("FIX ") && Contains("built for AVX-512") && Contains("-DSKEP_NATIVE=OFF"));
}

TEST_CASE("doctor: GPUs, and why none is used") {
  std::vector<Facts> ranks = healthy();
  ranks[0].no_gpu_reason = "this build has no CUDA";
  CHECK_THAT(line_of(check_gpu, ranks), StartsWith("OK ") &&
                                            Contains("off, because this build has no CUDA") &&
                                            Contains("alpha has no device node"));
  ranks[0].gpu_signs = {"/dev/nvidia0", "libcuda.so.1"};
  CHECK_THAT(line_of(check_gpu, ranks), Contains("alpha has /dev/nvidia0 and libcuda.so.1"));
  ranks[0].gpus = 2;
  CHECK_THAT(line_of(check_gpu, ranks), StartsWith("OK ") && Contains("2 GPUs on alpha"));
}

TEST_CASE("doctor: containers that forbid reading a neighbour's memory") {
  const std::string variable = "OMPI_MCA_btl_vader_single_copy_mechanism";
  std::vector<Facts> ranks = healthy(3);
  CHECK_THAT(line_of(check_single_copy, ranks), Contains("read each other's memory"));
  ranks[1].single_copy_problem = "Operation not permitted";
  CHECK_THAT(line_of(check_single_copy, ranks), StartsWith("FIX ") &&
                                                    Contains("Operation not permitted") &&
                                                    EndsWith("-> export " + variable + "=none"));
  for (Facts& facts : ranks) facts.variables[variable] = "none";
  CHECK_THAT(line_of(check_single_copy, ranks), StartsWith("OK ") && Contains("switched off"));
}

TEST_CASE("doctor: several networks on several hosts") {
  std::vector<Facts> ranks = healthy();
  ranks[0].networks["docker0"] = "198.51.100.0/24";
  CHECK_THAT(line_of(check_network, ranks), StartsWith("OK ") && Contains("one host"));
  put_on_two_hosts(ranks);
  CHECK_THAT(line_of(check_network, ranks),
             StartsWith("WARN") && Contains("docker0 198.51.100.0/24") &&
                 EndsWith("-> export OMPI_MCA_btl_tcp_if_include=192.0.2.0/24"));
  ranks[1].networks = {{"eth0", "203.0.113.0/24"}};
  CHECK_THAT(line_of(check_network, ranks), StartsWith("FIX ") && Contains("share no network"));
  for (Facts& facts : ranks) facts.variables["OMPI_MCA_btl_tcp_if_include"] = "eth0";
  CHECK_THAT(line_of(check_network, ranks), StartsWith("OK ") && Contains("over eth0"));
}

TEST_CASE("doctor: disk for checkpoints counts those that kept ones continue") {
  Config config;
  config.checkpoint.keep = 3;
  const auto bytes = [&] {
    double found = 0;
    run_ranks(1, [&](Communicator& comm) {
      found = gather_facts(config, comm).front().checkpoints_bytes;
    });
    return found;
  };
  const double whole = bytes() / 4;  // one more than are kept, while it is written
  CHECK(whole > 0);
  config.checkpoint.kind = "base_diff";
  config.checkpoint.max_diffs = 5;
  CHECK(bytes() == Approx(9 * whole));
}

TEST_CASE("doctor: facts of this machine agree with what it says elsewhere") {
  Facts facts;
  find_memory(facts);
  CHECK(facts.available_bytes > 1e7);
  CHECK(facts.available_bytes < 1e15);  // some limit was found
  const auto free_bytes = static_cast<double>(std::filesystem::space("/dev/shm").available);
  CHECK(facts.shared_memory_bytes == Approx(free_bytes).epsilon(0.2));

  const TemporaryFolder folder;
  facts.run_folder = folder / "not/yet/there";
  facts.checkpoint_folder = folder.file("file", "") + "/ckpt";
  find_disk(facts);
  CHECK(facts.run_problem.empty());
  CHECK(facts.checkpoint_problem == folder / "file" + " is not a folder");
  CHECK(folder.entries() == 1);  // looking has made nothing
  find_instructions(facts);
  CHECK(facts.missing_instructions.empty());  // or this test could not have come so far
}
