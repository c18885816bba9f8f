#include "train/health/diagnosis.h"

#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/core/files.h"
#include "mpi_comm/leave.h"
#include "train/gather.h"
#include "train/health/first_non_finite.h"

namespace skep {
namespace {

// One sequence an element.
nlohmann::json rows(const std::vector<std::int32_t>& ids, std::int64_t columns) {
  auto all = nlohmann::json::array();
  for (auto at = ids.begin(); at != ids.end(); at += columns)
    all.push_back(std::vector<std::int32_t>(at, at + columns));
  return all;
}

// A file that cannot be written is told, but the step is skipped all the same.
std::string keep_batch(const FailedStep& step, int rank, std::int64_t micro_batch,
                       const Batch& batch, const std::string& finding) {
  if (step.folder.empty()) return "";
  const std::string path =
      fmt::format("{}/bad_batch.rank-{}.step-{}.json", step.folder, rank, step.number);
  nlohmann::ordered_json json;
  json["step"] = step.number;
  json["rank"] = rank;
  json["micro_batch"] = micro_batch;
  json["finding"] = finding;
  json["samples"] = batch.samples;
  json["tokens"] = rows(batch.inputs, batch.T);
  json["targets"] = rows(batch.targets, batch.T);
  try {
    write_file(path, json.dump() + "\n");
    return "";
  } catch (const Error& error) {
    return fmt::format(" (its batch is not kept: {})", error.what());
  }
}

// Of this rank's share; empty when nothing is found.
std::string search(Parts& parts, const FailedStep& step) {
  const Suspect suspect{*parts.model, *parts.objective, *parts.parameters, parts.scaler->scale()};
  parts.parameters->clear_gradients();
  for (std::int64_t i = 0; i < parts.loader->split().accumulation; ++i) {
    const Batch batch = parts.loader->micro_batch(step.position, i);
    const std::string finding = first_non_finite(suspect, batch, training_pass(batch, step.seed));
    if (!finding.empty()) return finding + keep_batch(step, parts.comm.rank(), i, batch, finding);
  }
  return "";
}

// Ranks that found the same share a clause.
std::string describe(const std::vector<std::string>& by_rank) {
  std::map<std::string, std::vector<std::size_t>> ranks_of;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    if (!by_rank[rank].empty()) ranks_of[by_rank[rank]].push_back(rank);
  std::vector<std::string> parts;
  for (const auto& [finding, ranks] : ranks_of)
    parts.push_back(
        fmt::format("rank{} {}: {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "), finding));
  if (parts.empty())
    return by_rank.size() > 1 ? "computed again, every rank's own share is finite: their sum is not"
                              : "computed again, the step is finite";
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string diagnose(Parts& parts, const FailedStep& step, Replicas replicas) {
  parts.comm.doing("looking for what is not finite");
  const std::string mine = search(parts, step);
  const auto rank = static_cast<std::size_t>(parts.comm.rank());
  std::vector<std::string> findings(static_cast<std::size_t>(parts.comm.size()));
  if (replicas == Replicas::apart)
    findings[rank] = mine;
  else
    findings = gather_texts(parts.comm, mine);
  const std::string line = fmt::format("step {}: {}", step.number, describe(findings));
  // Only the log of rank 0 is also on the terminal.
  if (replicas == Replicas::apart && rank != 0) tell(parts.comm.rank(), line);
  return line;
}

}  // namespace skep
