#pragma once
// The stream of metrics for a program of the user's, on this host or, through ssh or nc, another.
// The run never waits for it: lines are handed over as fast as the program takes them, some are
// kept for it, and what is too much is dropped.
#include <functional>
#include <memory>
#include <string>

#include "train/observe/observer.h"

namespace skep {

/// The most that is kept for a program that is busy.
constexpr std::size_t pipe_buffer_bytes = std::size_t{1} << 20;

/// Runs `sh -c command`; its standard input gets the lines of metrics.jsonl, whole lines only. That
/// it has ended, or that lines are dropped, is told to `warn` once each. In the end it has
/// `end_seconds` to take what is left and to finish, before it is stopped. The program ignores
/// SIGPIPE. Error(usage) when no
/// program can be started.
std::unique_ptr<Observer> make_metrics_pipe(const std::string& command,
                                            std::function<void(const std::string&)> warn,
                                            double end_seconds = 5);

}  // namespace skep
