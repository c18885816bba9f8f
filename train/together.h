#pragma once
// Stages before the real work end together: each rank does its part, then all agree that it went
// well, and a mistake all ranks see is told once.
#include <functional>

namespace skep {

/// Collective. Runs `stage` on this rank; unless it went well on all, the lowest failing rank tells
/// and every rank leaves with its exit code. Stages do not communicate.
void together(const std::function<void()>& stage);

/// The exit code of the exception being handled, and its text: for the catch at the top of a main.
[[noreturn]] void leave_with_current_exception();

}  // namespace skep
