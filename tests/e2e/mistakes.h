#pragma once
// One row a mistake: what is prepared, what the user types, and how it has to end. Rows are run
// through the real binaries at 1 and 3 ranks, each in a folder of its own that holds
//   text.txt   a text to train on
//   small.toml the settings of a model that trains in a second, writing to run
//   run/       a finished run of it, with the checkpoints step-1 and step-2
// and whose name has a space and a letter outside ASCII, as people's folders have.
#include <string>
#include <vector>

namespace skep::test {

/// What surrounds the ranks. Where the system does not permit it, a row is skipped and says so.
enum class Inside {
  nothing,
  small_disk,    ///< disk/ has room for one checkpoint, not for two; left/ is what it held at last
  full_disk,     ///< disk/ has room for 4 KB
  read_only,     ///< disk/ cannot be written, run/ is in it too
  unprivileged,  ///< permissions count, even for root
  small_files,   ///< no file may be larger than 32 KB
};

struct Mistake {
  std::string name;
  std::string setup;    ///< shell, in the row's folder
  std::string command;  ///< shell words, started by mpirun in the row's folder
  int code;             ///< the exit code
  std::string says;     ///< words of the only line on stderr
  Inside inside = Inside::nothing;
  std::string intact = "run";  ///< the folder whose files must be the same bytes afterwards
  std::vector<int> ranks = {1, 3};
  std::string afterwards = "";  ///< shell that must then succeed
};

/// Runs the rows several at a time, and checks for each: its exit code; one line, with its words;
/// all ranks gone; the folder `intact` unchanged.
void check_mistakes(const std::vector<Mistake>& rows);

/// A good file of 3001 tokens to damage: a header of 1024 bytes, then ids.
inline const std::string tokens =
    "tokenize encode --tokenizer byte text.txt --out tokens.bin >/dev/null; ";
/// Replaces bytes of a file: octal escapes, position.
inline std::string poke(const std::string& file, const std::string& bytes, int position) {
  return "printf '" + bytes + "' | dd of=" + file + " bs=1 seek=" + std::to_string(position) +
         " conv=notrunc status=none; ";
}

/// A command that must work, though it may not look so.
struct Example {
  std::string name, setup, command;
  std::string says;  ///< words on stdout
};

/// Checks for each: exit code 0, nothing on stderr, its words, all ranks gone.
void check_works(const std::vector<Example>& examples);

}  // namespace skep::test
