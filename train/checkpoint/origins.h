#pragma once
// Where the fields of a checkpoint's state come from, in the words of the settings: for what is
// said when a run goes on with others than it was saved with.
#include <string>
#include <string_view>
#include <vector>

namespace skep {

struct FieldOrigin {
  std::string_view prefix;  ///< of the names of the fields
  std::string_view what;    ///< they hold
  std::string_view keys;    ///< that decide whether they are there
  /// A run that finds none goes on as a new one would begin.
  enum class Absent { begins_empty, refused } absent;
  /// Whether ranks may differ in it.
  enum class Of { each_rank, the_run } of;
};

/// Null for a field that every checkpoint has, or none.
const FieldOrigin* origin_of(std::string_view field);

/// What a loaded state and a run do not have in common, each of it once.
class Leftovers {
 public:
  /// A field of the run that the checkpoint lacks. False when the run cannot go on without it.
  bool missing(std::string_view field);
  /// A field of the checkpoint that the run has no use for.
  void unread(std::string_view field);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void add(std::string note);
  std::vector<std::string> notes_;
};

}  // namespace skep
