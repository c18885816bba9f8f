#include "mpi_comm/agreement.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "mpi_comm/comm_error.h"

namespace skep {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// For fingerprints under way when something is wrong already. Ranks that know more than this one
// end the run earlier (leave.cpp).
constexpr auto patience = 1s;
constexpr auto explaining_time = 250ms;  // for all sides to be heard

}  // namespace

void Agreement::announce(const Fingerprint& mine, const std::vector<int>& group,
                         TrafficCounts& counts) {
  announced_ = mine.sequence + 1;
  if (channel_ && group.size() > 1) {
    const auto self = std::find(group.begin(), group.end(), mine.rank) - group.begin();
    const auto size = static_cast<std::ptrdiff_t>(group.size());
    const std::ptrdiff_t peers = check_ == Check::full ? size - 1 : 1;
    for (std::ptrdiff_t i = 1; i <= peers; ++i)
      channel_->send(group[static_cast<std::size_t>((self + i) % size)], mine);
    counts.check_bytes_sent += static_cast<std::uint64_t>(peers) * sizeof(Fingerprint);
    expected_.push_back({mine, static_cast<int>(peers), {}});
  }
  if (early_.empty()) return;
  for (const Fingerprint& print : std::exchange(early_, {})) consider(print);
}

bool Agreement::listen() {
  bool any = false;
  for (Fingerprint print; channel_ && channel_->receive(print); any = true) consider(print);
  return any;
}

void Agreement::consider(const Fingerprint& print) {
  if (print.sequence >= announced_) {
    early_.push_back(print);
    return;
  }
  Expected* expected = find(print.sequence);
  if (expected == nullptr) {  // this rank saw itself in another group, or alone
    const auto mine = recorder_.find(print.sequence);
    if (mine && !fit(mine->call, print)) fail_with(std::array{mine->call, print});
    return;
  }
  if (check_ == Check::full) expected->seen.push_back(print);
  if (!fit(expected->mine, print)) fail(*expected, print);
  --expected->missing;
  while (!expected_.empty() && expected_.front().missing == 0) expected_.pop_front();
}

void Agreement::fail(const Expected& expected, const Fingerprint& other) {
  std::vector<Fingerprint> sides = expected.seen;
  sides.push_back(expected.mine);
  if (check_ == Check::basic) sides.push_back(other);
  // With full every rank of the group is telling what it starts: hear them all.
  for (const auto end = Clock::now() + explaining_time;
       check_ == Check::full && Clock::now() < end;) {
    Fingerprint print;
    if (!channel_->receive(print))
      std::this_thread::sleep_for(1ms);
    else if (print.sequence == other.sequence)
      sides.push_back(print);
  }
  fail_with(sides);
}

void Agreement::fail_with(std::span<const Fingerprint> sides) {
  failed_ = true;
  comm_fail(CommFailure::bug, "{}", describe_mismatch(sides));
}

Agreement::Expected* Agreement::find(std::uint64_t sequence) {
  const auto found = std::find_if(expected_.begin(), expected_.end(), [&](const Expected& e) {
    return e.mine.sequence == sequence && e.missing > 0;
  });
  return found == expected_.end() ? nullptr : &*found;
}

bool Agreement::reached(std::uint64_t sequence) const {
  return std::none_of(expected_.begin(), expected_.end(), [&](const Expected& e) {
    return e.mine.sequence == sequence && e.missing > 0;
  });
}

void Agreement::look_for_mismatch() {
  for (const auto end = Clock::now() + patience; Clock::now() < end;)
    if (!listen()) std::this_thread::sleep_for(1ms);
}

}  // namespace skep
