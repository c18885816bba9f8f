#include "mpi_comm/fingerprint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace skep {
namespace {

bool reduces(const Fingerprint& print) {
  return print.operation.view().find("reduce") != std::string_view::npos;
}

std::string_view name_of(Combine how) {
  switch (how) {
    case Combine::sum:
      return "sum";
    case Combine::max:
      return "max";
    case Combine::min:
      return "min";
  }
  return "?";
}

// The ranks that make the same call.
struct Camp {
  Fingerprint call;
  std::vector<int> ranks;
};

std::vector<Camp> camps_of(std::span<const Fingerprint> prints) {
  std::vector<Fingerprint> sorted(prints.begin(), prints.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  std::vector<Camp> camps;
  for (const Fingerprint& print : sorted) {
    const auto camp = std::find_if(camps.begin(), camps.end(),
                                   [&](const Camp& other) { return fit(other.call, print); });
    if (camp != camps.end())
      camp->ranks.push_back(print.rank);
    else
      camps.push_back({print, {print.rank}});
  }
  return camps;
}

bool same_but_for_the_group(Fingerprint a, const Fingerprint& b) {
  a.group = b.group;
  return fit(a, b);
}

}  // namespace

Fingerprint fingerprint_of(const Plan& plan, const PlanBuffer& buffer, Combine how,
                           std::uint64_t sequence, int rank) {
  Fingerprint print;
  print.sequence = sequence;
  print.count = plan.numbering == Numbering::shared ? buffer.count() : 0;
  print.step = plan.step;
  print.rank = rank;
  print.root = plan.root;
  print.group = hash_of_group(plan.group);
  print.type = buffer.type();
  print.how = how;
  print.operation = std::string_view(plan.operation);
  print.topology = std::string_view(plan.topology);
  return print;
}

std::uint32_t hash_of_group(std::span<const int> ranks) {
  std::uint32_t hash = 2166136261u;  // FNV-1a, a rank at a time
  for (const int rank : ranks) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 16777619u;
  return hash;
}

bool fit(const Fingerprint& a, const Fingerprint& b) {
  Fingerprint other = b;
  other.rank = a.rank;
  return a == other;
}

std::string to_string(const Fingerprint& print) {
  std::string what =
      fmt::format("{} of {} {}", print.operation.view(), print.count, name_of(print.type));
  if (print.root >= 0) what += fmt::format(" from rank {}", print.root);
  const std::string how = reduces(print) ? fmt::format("{}, ", name_of(print.how)) : "";
  return fmt::format("{} ({}{}, step {})", what, how, print.topology.view(), print.step);
}

std::string describe_mismatch(std::span<const Fingerprint> prints) {
  const std::vector<Camp> camps = camps_of(prints);
  std::string sides;
  for (const Camp& camp : camps) {
    sides += fmt::format("{}rank{} {} start{} {}", sides.empty() ? "" : ", ",
                         camp.ranks.size() > 1 ? "s" : "", fmt::join(camp.ranks, ","),
                         camp.ranks.size() > 1 ? "" : "s", to_string(camp.call));
    if (&camp != &camps.front() && same_but_for_the_group(camps.front().call, camp.call))
      sides += " in another group";
  }
  return fmt::format(
      "the ranks disagree about collective #{}: {}; all must make the same calls in the same order",
      prints.front().sequence, sides);
}

}  // namespace skep
