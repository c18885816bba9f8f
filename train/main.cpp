// train: reads the configuration, builds the parts, runs the trainer. Stages before training end
// together: each rank does its part, then all agree that it went well, and a mistake in the input
// is told once. During training an error on any rank ends all.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "engine/backends/backend.h"
#include "engine/backends/cpu/threads.h"
#include "engine/core/files.h"
#include "mpi_comm/environment.h"
#include "mpi_comm/leave.h"
#include "mpi_comm/mpi_communicator.h"
#include "train/banner.h"
#include "train/build.h"
#include "train/build_sync.h"
#include "train/checkpoint/folder.h"
#include "train/data/chaos_seed.h"
#include "train/doctor/doctor.h"
#include "train/explain.h"
#include "train/observe/console.h"
#include "train/observe/peak.h"
#include "train/run_folder.h"
#include "train/same_start.h"
#include "train/signals.h"
#include "train/together.h"

namespace skep {
namespace {

constexpr int exit_after_signal = 75;  // EX_TEMPFAIL: schedulers requeue on it

std::string joined(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i ? " " : "") + std::string(argv[i]);
  return line;
}

/// The checkpoint run.resume means, or nothing; what was passed over goes to `notes`.
std::string checkpoint_to_resume(const Config& config, std::vector<std::string>& notes) {
  const std::string& wish = config.run.resume;
  if (wish == "none") return {};
  if (wish != "auto") return wish;
  const std::string folder = checkpoint_directory(config);
  std::string found =
      newest_checkpoint(folder, [&](const std::string& note) { notes.push_back(note); });
  if (!found.empty()) return found;
  if (!notes.empty())
    fail(ErrorKind::data,
         "run.resume auto: no checkpoint in {} is whole (the newest: {}); run.resume none begins "
         "anew",
         folder, notes.front());
  notes.push_back(fmt::format("no checkpoint in {}: starting from the beginning", folder));
  return found;
}

/// A chaotic run that is given no seed goes on with its checkpoint's, or has one drawn. Collective.
void settle_chaos_seed(DataSection& data, const std::string& checkpoint, Communicator& comm,
                       const std::string& host) {
  if (data.sharding != "chaos" || data.chaos_seed > 0) return;
  together([&] { data.chaos_seed = saved_chaos_seed(checkpoint); });
  if (data.chaos_seed == 0) data.chaos_seed = draw_chaos_seed(comm, host);
}

std::vector<std::unique_ptr<RunLock>> lock_folders(const Config& config) {
  std::vector<std::unique_ptr<RunLock>> locks;
  locks.push_back(std::make_unique<RunLock>(run_directory(config), "run.name or run.dir"));
  if (!config.checkpoint.dir.empty())
    locks.push_back(std::make_unique<RunLock>(checkpoint_directory(config), "checkpoint.dir"));
  return locks;
}

void resume(Trainer& trainer, const std::string& checkpoint, std::int64_t steps,
            std::vector<std::string>& notes) {
  const auto started = std::chrono::steady_clock::now();
  std::vector<std::string> told = trainer.resume(checkpoint);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started;
  for (std::string& line : told) notes.push_back(std::move(line));
  notes.push_back(fmt::format("resumed from {} at step {} (after {:.3f} s)", checkpoint,
                              trainer.first_step(), taken.count()));
  if (trainer.first_step() >= steps)
    notes.push_back(fmt::format("nothing left to train: run.steps is {}", steps));
}

RunEnd run_and_tell_speed(Trainer& trainer, Parts& parts, DType compute) {
  using Clock = std::chrono::steady_clock;
  const double flops = backend({}).product_flops();
  const auto start = Clock::now();
  const RunEnd end = trainer.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const std::string speed = describe_speed(backend({}).product_flops() - flops, seconds, compute);
  const std::string traffic =
      "sent by this rank, over which wires and for what:\n" + to_string(parts.comm.traffic());
  for (auto& observer : parts.observers) {
    if (parts.comm.size() > 1) observer->on_message(traffic);
    observer->on_message(
        fmt::format("{} for this run, each rank {}", format_duration(seconds), speed));
  }
  return end;
}

void train(const ParsedCommand& command, const Environment& environment,
           const std::string& command_line) {
  Config config = command.config;
  MpiCommunicator comm(environment);
  const std::vector<Placement> ranks = gather_placements(comm, find_placement(config.run.threads));
  cpu::set_threads(threads_of(ranks, comm.rank()));
  std::unique_ptr<Parts> parts;
  std::unique_ptr<Trainer> trainer;
  std::string checkpoint;
  std::vector<std::string> notes;
  const std::string difference = find_different_start(config, ranks, comm);
  together([&] {
    if (!difference.empty()) fail(ErrorKind::usage, "{}", difference);
    validate(config, environment.size());
    checkpoint = checkpoint_to_resume(config, notes);
  });
  settle_chaos_seed(config.data, checkpoint, comm, environment.host());
  prepare_wires(config, comm, environment.hosts());
  together([&] {
    parts = std::make_unique<Parts>(build_parts(config, comm, environment.hosts()));
    trainer = std::make_unique<Trainer>(*parts, build_limits(config));
    if (!checkpoint.empty()) resume(*trainer, checkpoint, config.run.steps, notes);
  });
  std::vector<std::unique_ptr<RunLock>> locks;
  together([&] {
    if (environment.rank() == 0) locks = lock_folders(config);
  });
  std::string lack_of_room;
  together([&] {
    if (environment.rank() == 0)
      lack_of_room = prepare_run_folder(config, trainer->first_step(), trainer->checkpoint_bytes(),
                                        environment, command_line);
  });
  together([&] { add_observers(*parts, config, trainer->first_step()); });
  std::unique_ptr<Watchdog> watchdog = build_watchdog(config, comm);
  notes.insert(notes.begin(), describe_run(config, *parts, ranks));
  for (std::string& idle : find_idle_settings(config)) notes.push_back(std::move(idle));
  const std::string crowding = find_crowding(group_by_host(ranks));
  for (auto& observer : parts->observers) {
    for (const std::string& note : notes) observer->on_message(note);
    for (const std::string& warning : {crowding, lack_of_room})
      if (!warning.empty()) observer->on_warning(warning);
  }
  // First, so that it has spoken before a progress bar is drawn.
  if (command.explain == Explain::yes && environment.rank() == 0)
    parts->observers.insert(parts->observers.begin(), make_explainer(*parts));
  const RunEnd end = run_and_tell_speed(*trainer, *parts, compute_dtype(config.precision));
  if (end == RunEnd::finished) return;
  parts->observers.clear();  // a progress bar ends its line
  watchdog.reset();
  leave_together(exit_after_signal,
                 "stopped on a signal after a checkpoint; go on with --run.resume auto");
}

void run(int argc, char** argv) {
  const Environment environment(argc, argv);
  ParsedCommand command;
  together([&] { command = parse_command_line(argc, argv); });
  if (command.action == Action::train) {
    train(command, environment, joined(argc, argv));
  } else if (command.action == Action::doctor) {
    MpiCommunicator comm(environment);
    run_doctor(command.config, comm);
  } else if (environment.rank() == 0) {
    if (std::fputs(command.text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
      fail(ErrorKind::storage, "standard output cannot be written: {}",
           describe_write_error(errno));
  }
}

}  // namespace
}  // namespace skep

int main(int argc, char** argv) {
  // A file that hits the size limit shall be a failed write with a message, not a killed process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);  // nor a console that went away
  skep::listen_for_stop_signals();
  try {
    skep::run(argc, argv);
    return 0;
  } catch (const std::exception&) {
    skep::leave_with_current_exception();
  }
}
