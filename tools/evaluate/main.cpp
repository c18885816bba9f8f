// evaluate: the loss of a model on a file. Each rank computes its share of the windows; rank 0
// tells. Preparing does not communicate: afterwards all ranks agree that it went well.
#include "engine/backends/cpu/threads.h"
#include "mpi_comm/mpi_communicator.h"
#include "tools/common/print.h"
#include "tools/evaluate/evaluation.h"
#include "tools/evaluate/options.h"
#include "train/checkpoint/saved_model.h"
#include "train/evaluate.h"
#include "train/placement.h"
#include "train/together.h"

namespace skep {
namespace {

void evaluate_file(const EvaluateOptions& options, const Environment& environment) {
  MpiCommunicator comm(environment);
  const std::vector<Placement> ranks = gather_placements(comm, find_placement(options.threads));
  cpu::set_threads(threads_of(ranks, comm.rank()));
  SavedModel saved;
  EvaluationData data;
  together([&] {
    saved = open_saved_model(options.model);
    data = open_evaluation_data(options.data, saved.folder, saved.loaded.model->config(),
                                options.context);
  });
  const EvaluationLoader loader(data.windows, data.windows.windows(), options.batch, comm.rank(),
                                comm.size());
  const auto objective = make_next_token();
  const StepTotals totals = evaluate(*saved.loaded.model, *objective, loader, comm);
  together([&] {
    const std::string report = format_report(totals, data.target_bytes);
    if (comm.rank() == 0) print(report);
  });
}

void run(int argc, char** argv) {
  const Environment environment(argc, argv);
  EvaluateOptions options;
  together([&] { options = parse_evaluate(Arguments(argv + 1, argv + argc)); });
  if (options.help.empty())
    evaluate_file(options, environment);
  else if (environment.rank() == 0)
    print(options.help);
}

}  // namespace
}  // namespace skep

int main(int argc, char** argv) {
  try {
    skep::run(argc, argv);
    return 0;
  } catch (const std::exception&) {
    skep::leave_with_current_exception();
  }
}
