#pragma once
// Signals that ask a run to stop: SIGUSR1 (schedulers send it before the time limit), SIGTERM, and
// the first SIGINT (Ctrl-C). They are only remembered; the trainer looks at the end of each step,
// so no step is cut and no file is torn.
namespace skep {

/// Before MPI_Init, which otherwise leaves the defaults: to die at once.
void listen_for_stop_signals();

/// The last such signal that arrived, or 0.
int stop_signal();

}  // namespace skep
