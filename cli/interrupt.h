// Ctrl-C and the like: work stops between two tasks, temporary files go away, and then the signal
// ends the program as it would have at once.
#ifndef DGRAD_CLI_INTERRUPT_H_
#define DGRAD_CLI_INTERRUPT_H_

namespace dgrad::cli {

class Interrupted {};

// From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag; the second one kills. SIGPIPE
// is ignored: a closed pipe is an error of the write.
void CatchSignals();

bool WasInterrupted() noexcept;

// Throws Interrupted if a signal came.
void StopIfInterrupted();

// Ends the program by the signal that came.
[[noreturn]] void DieOfSignal();

}  // namespace dgrad::cli

#endif  // DGRAD_CLI_INTERRUPT_H_
