#include "mpi_comm/plan.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace skep {
namespace {

std::string list(std::string_view verb, std::string_view preposition,
                 const std::vector<Transfer>& transfers) {
  std::string text;
  for (const auto& [peer, range] : transfers)
    text += fmt::format("{}{}-{} {} {}", text.empty() ? "" : ", ", range.begin, range.end,
                        preposition, peer);
  return text.empty() ? text : fmt::format("{} {}", verb, text);
}

}  // namespace

void Round::send(int peer, Range range) {
  if (!range.empty()) sends.push_back({peer, range});
}

void Round::receive(int peer, Range range) {
  if (!range.empty()) receives.push_back({peer, range});
}

std::size_t Plan::elements_sent() const {
  std::size_t sum = 0;
  for (const Round& round : rounds)
    for (const Transfer& transfer : round.sends) sum += transfer.range.size();
  return sum;
}

void Plan::append(Plan&& next) {
  rounds.insert(rounds.end(), std::make_move_iterator(next.rounds.begin()),
                std::make_move_iterator(next.rounds.end()));
}

void Plan::shift(std::size_t elements) {
  for (Round& round : rounds)
    for (auto* transfers : {&round.sends, &round.receives})
      for (Transfer& transfer : *transfers) {
        transfer.range.begin += elements;
        transfer.range.end += elements;
      }
}

std::string to_string(const Plan& plan) {
  std::string text =
      fmt::format("{} {}: {} ranks, {} rounds, {} elements sent\n", plan.topology, plan.operation,
                  plan.participants, plan.rounds.size(), plan.elements_sent());
  for (std::size_t i = 0; i < plan.rounds.size(); ++i) {
    const Round& round = plan.rounds[i];
    const std::string line = fmt::format(
        "{:>3}  {:<7}  {:<24}  {}", i, round.on_arrival == OnArrival::combine ? "combine" : "copy",
        list("send", "to", round.sends), list("receive", "from", round.receives));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace skep
