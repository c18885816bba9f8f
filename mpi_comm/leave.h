#pragma once
// Ways to end a run in which all ranks leave with one exit code and one line on stderr,
// `rank r (host): message`.
// - abort_all: something went wrong on this rank, perhaps on others too; nobody can be waited for.
// - agree, leave_together: all ranks get here, so they can leave in good order.
// Without mpirun all of them work for the single rank.
#include <string_view>

namespace skep {

/// Ends all ranks, whatever they are doing, with this code within seconds. Ranks that fail at the
/// same time settle who speaks: the lowest, naming those that say the same. Called from a catch at
/// the top of main; also before MPI_Init and after MPI_Finalize.
[[noreturn]] void abort_all(int exit_code, std::string_view message);

/// Collective. Each rank reports how it fared, 0 for well. Returns when all are well; otherwise the
/// lowest failing rank prints its message and all leave with its code, after their writes.
void agree(int exit_code, std::string_view message);

/// Collective. All leave with this code, after everyone has arrived; rank 0 prints the message
/// unless it is empty. For errors all ranks share, and for agreed ends such as a checkpointed stop.
[[noreturn]] void leave_together(int exit_code, std::string_view message);

/// Prints the line `rank r (host): message` on stderr, newlines made spaces; from any thread.
void tell(int rank, std::string_view message);

/// This rank's message shall begin with a new line: another rank draws a progress bar on the
/// terminal, and its cursor stands behind it.
void begin_message_on_new_line() noexcept;

/// By the transport, when an exception leaves messages under way: their buffers are about to
/// vanish, after which abort_all must not let MPI move anything. So the ranks settle now who
/// speaks.
void messages_abandoned() noexcept;

/// Collective, by Environment: sets up the channel on which failing ranks find each other.
void prepare_to_leave();

}  // namespace skep
