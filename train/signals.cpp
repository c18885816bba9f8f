#include "train/signals.h"

#include <csignal>
#include <initializer_list>

namespace skep {
namespace {

volatile std::sig_atomic_t received = 0;

void remember(int signal) { received = signal; }

}  // namespace

void listen_for_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGUSR1, SIGTERM}) sigaction(signal, &action, nullptr);
  action.sa_flags = SA_RESTART | SA_RESETHAND;  // a second Ctrl-C ends it at once
  sigaction(SIGINT, &action, nullptr);
}

int stop_signal() { return received; }

}  // namespace skep
