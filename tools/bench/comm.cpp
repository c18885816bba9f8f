// bench comm: collectives over every topology beside MPI's own, in the columns of the field.
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "mpi_comm/mpi_communicator.h"
#include "mpi_comm/topologies/automatic.h"
#include "tools/bench/comm_measurement.h"
#include "tools/bench/commands.h"
#include "tools/common/print.h"
#include "train/together.h"

namespace skep {
namespace {

struct CommBench {
  std::string collective = "all_reduce", topology = "all";
  std::int64_t least = 4, most = 64 << 20, factor = 4, repetitions = 15, cluster_size = 4;
  bool fit = false, json = false;
};

std::unique_ptr<CLI::App> make_comm_flags(CommBench& bench) {
  auto flags = make_flags(
      "bench comm",
      "Times collectives under mpirun: `mpirun -np 2 bench comm`. The rows: mpi, the library's own "
      "default; auto, what comm.topology and comm.transport auto choose; one row a topology. To "
      "time one of Open MPI's all_reduce algorithms (1 linear, 2 tree, 3 recursive doubling, 4 "
      "ring, "
      "5 segmented ring, 6 Rabenseifner) instead of its default: mpirun --mca "
      "coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm K.");
  flags
      ->add_option("--collective", bench.collective,
                   "all_reduce, reduce_scatter, all_gather, broadcast, all")
      ->type_name("NAME");
  flags->add_option("--topology", bench.topology, "only this one")->type_name("NAME");
  add_number(*flags, "--min", "BYTES", bench.least, "smallest buffer");
  add_number(*flags, "--max", "BYTES", bench.most, "largest buffer");
  add_number(*flags, "--factor", "F", bench.factor, "from one size to the next");
  add_number(*flags, "--repetitions", "N", bench.repetitions, "whose median counts");
  add_number(*flags, "--cluster-size", "C", bench.cluster_size, "ranks in a cluster at most");
  flags->add_flag("--fit", bench.fit, "print the costs fitted here, predictions and their errors");
  flags->add_flag("--json", bench.json, "print JSON instead of a table");
  return flags;
}

void check_bench(const CommBench& bench) {
  if (bench.least < 4 || bench.least % 4 != 0 || bench.most < bench.least)
    fail(ErrorKind::usage, "--min must be a multiple of 4 bytes, and --max at least --min");
  if (bench.factor < 2) fail(ErrorKind::usage, "--factor must be at least 2");
  if (bench.repetitions < 1) fail(ErrorKind::usage, "--repetitions must be at least 1");
  if (bench.cluster_size < 1) fail(ErrorKind::usage, "--cluster-size must be at least 1");
  if (bench.collective != "all") find_collective(bench.collective);
  if (bench.topology != "all") make_topology(bench.topology);
}

// mpirun hands its --mca settings on through the environment.
std::string library_row_name() {
  const char* algorithm = std::getenv("OMPI_MCA_coll_tuned_allreduce_algorithm");
  return algorithm ? fmt::format("mpi {}", algorithm) : "mpi";
}

// What is timed, and the topologies behind it.
struct Field {
  std::vector<std::unique_ptr<Topology>> topologies;
  std::unique_ptr<Automatic> automatic;
  std::vector<Contender> contenders;
};

Field make_field(const CommBench& bench, const Calibration& calibration,
                 const TopologySettings& settings, int ranks) {
  Field field;
  field.automatic = std::make_unique<Automatic>(calibration.costs, settings);
  field.contenders.push_back({library_row_name(), &default_topology(), Carrier::mpi});
  field.contenders.push_back({"auto", field.automatic.get(), Carrier::automatic});
  for (const std::string& name : topology_names()) {
    if (bench.topology != "all" && bench.topology != name) continue;
    auto topology = make_topology(name, settings);
    if (topology->reach(ranks) != Reach::global) {  // another question, another answer
      if (bench.topology == name)
        fail(ErrorKind::usage,
             "--topology {} brings only some of {} ranks together: no collective of all to time",
             name, ranks);
      continue;
    }
    field.contenders.push_back({name, topology.get(), Carrier::plans});
    field.topologies.push_back(std::move(topology));
  }
  return field;
}

double predict(const Contender& contender, const CommMeasurement& m, const LinkCosts& costs) {
  if (contender.carrier != Carrier::plans) return 0;
  const auto count = static_cast<std::size_t>(m.bytes) / sizeof(float);
  return price(plans_of_all(*contender.topology, m.collective, {.size = m.ranks}, count),
               sizeof(float), costs);
}

class CommTable {
 public:
  CommTable(const CommBench& bench, const Calibration& calibration, int ranks)
      : bench_(bench), calibration_(calibration) {
    if (bench.json) return;
    print(fmt::format("{} ranks; wires: {}\n", ranks, to_string(calibration.costs)));
    print(fmt::format("{:<14} {:<18} {:>11} {:>11} {:>8} {:>8} {:>7}{} {:>7}\n", "collective", "by",
                      "bytes", "time us", "algbw", "busbw", "of mpi",
                      bench.fit ? "  predicted  error" : "", "#wrong"));
  }

  void add(const Field& field, const std::vector<CommMeasurement>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double predicted =
          bench_.fit ? predict(field.contenders[i], rows[i], calibration_.costs) : 0;
      bench_.json ? keep(rows[i], predicted) : print_row(rows[i], rows[0].seconds, predicted);
    }
    if (!bench_.json) print("\n");
  }

  void finish() {
    if (!bench_.json) return;
    const LinkCosts& costs = calibration_.costs;
    json_["alpha_s"] = costs.alpha_seconds;
    json_["beta_s_per_byte"] = costs.beta_seconds_per_byte;
    json_["gamma_s_per_byte"] = costs.gamma_seconds_per_byte;
    print(json_.dump(1) + "\n");
  }

 private:
  // Bandwidths in GB/s (1e9).
  void print_row(const CommMeasurement& m, double library_seconds, double predicted) {
    std::string text = fmt::format("{:<14} {:<18} {:>11} {:>11.2f} {:>8.3f} {:>8.3f} {:>7.2f}",
                                   name_of(m.collective), m.name, m.bytes, m.seconds * 1e6,
                                   m.algorithm_bandwidth() / 1e9, m.bus_bandwidth() / 1e9,
                                   m.seconds / library_seconds);
    if (bench_.fit)
      text += predicted > 0 ? fmt::format(" {:>10.2f} {:>+5.0f}%", predicted * 1e6,
                                          100 * (predicted / m.seconds - 1))
                            : fmt::format(" {:>10} {:>6}", "", "");
    print(text + fmt::format(" {:>7}\n", m.wrong));
  }

  void keep(const CommMeasurement& m, double predicted) {
    nlohmann::ordered_json row = {{"collective", name_of(m.collective)},
                                  {"by", m.name},
                                  {"ranks", m.ranks},
                                  {"bytes", m.bytes},
                                  {"seconds", m.seconds},
                                  {"algbw", m.algorithm_bandwidth()},
                                  {"busbw", m.bus_bandwidth()},
                                  {"wrong", m.wrong}};
    if (predicted > 0) row["predicted_seconds"] = predicted;
    json_["rows"].push_back(std::move(row));
  }

  const CommBench& bench_;
  const Calibration& calibration_;
  nlohmann::ordered_json json_;
};

void measure(const CommBench& bench, const Environment& environment) {
  MpiCommunicator comm(environment);
  TopologySettings settings;
  settings.cluster_size = static_cast<int>(bench.cluster_size);
  settings.hosts = environment.hosts();
  const Calibration calibration = calibrate(comm, settings);
  const Field field = make_field(bench, calibration, settings, comm.size());
  std::unique_ptr<CommTable> table;
  if (comm.rank() == 0) table = std::make_unique<CommTable>(bench, calibration, comm.size());
  for (const Collective collective : all_collectives()) {
    if (bench.collective != "all" && bench.collective != name_of(collective)) continue;
    for (std::int64_t bytes = bench.least; bytes <= bench.most; bytes *= bench.factor) {
      const auto rows =
          measure_size(comm, collective, field.contenders, calibration, bytes, bench.repetitions);
      if (table) table->add(field, rows);
    }
  }
  if (table) table->finish();
}

}  // namespace

int bench_comm(int argc, char** argv) {
  try {
    const Environment environment(argc, argv);
    CommBench bench;
    std::string help;
    together([&] {
      help = parse(*make_comm_flags(bench), Arguments(argv + 2, argv + argc));
      check_bench(bench);
    });
    if (help.empty()) {
      measure(bench, environment);
    } else if (environment.rank() == 0) {
      print(help);
    }
    return 0;
  } catch (const std::exception&) {
    leave_with_current_exception();
  }
}

}  // namespace skep
