#include "interrupt.h"

#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace dgrad::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void Remember(int signal) { caught = signal; }

}  // namespace

void CatchSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // as nohup wants it
    struct sigaction action = {};
    action.sa_handler = &Remember;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

bool WasInterrupted() noexcept { return caught != 0; }

void StopIfInterrupted() {
  if (WasInterrupted()) throw Interrupted();
}

void DieOfSignal() {
  std::signal(caught, SIG_DFL);
  std::raise(caught);
  std::_Exit(128 + caught);
}

}  // namespace dgrad::cli
