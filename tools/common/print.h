#pragma once
// Standard output and input. A full disk or a closed device behind them is an error like any other.
#include <string>
#include <string_view>

namespace skep {

/// Writes and flushes; Error(storage) when standard output does not take it.
void print(std::string_view text);

/// One line on standard error: what the user should know though all is well.
void print_note(std::string_view text);

/// A file's bytes, or those of standard input when `path` is "-". Error(data).
std::string read_input(const std::string& path);

}  // namespace skep
