// What computes: the library of matrix products, the instruction sets, the GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "train/doctor/checks.h"
#include "train/placement.h"

namespace skep::doctor {
namespace {

constexpr const char* rebuild =
    "cmake --preset release -DSKEP_NATIVE=ON && cmake --build --preset release";

}  // namespace

Lines check_products(const std::vector<Facts>& ranks) {
  for (const Facts& facts : ranks)
    if (facts.product_library != "oneDNN")
      return {{Verdict::warn, "products",
               fmt::format("matrix products use {}; oneDNN is about half as fast again",
                           facts.product_library),
               "sudo apt-get install libdnnl-dev && cmake --preset release && cmake --build "
               "--preset release"}};
  for (const Facts& facts : ranks)
    if (!facts.bf16_products)
      return {{Verdict::ok, "products",
               fmt::format("matrix products use oneDNN; the CPU of {} multiplies bf16 no faster "
                           "than fp32",
                           facts.place.host),
               ""}};
  return {{Verdict::ok, "products", "matrix products use oneDNN, bf16 included", ""}};
}

Lines check_instructions(const std::vector<Facts>& ranks) {
  for (const Facts& facts : ranks)
    if (!facts.missing_instructions.empty())
      return {{Verdict::fix, "instructions",
               fmt::format("built for {}, which the CPU of {} does not have: it stops at the first "
                           "of them",
                           fmt::join(facts.missing_instructions, ", "), facts.place.host),
               "cmake --preset release -DSKEP_NATIVE=OFF && cmake --build --preset release"}};
  for (const Facts& facts : ranks)
    if (!facts.unused_instructions.empty())
      return {{Verdict::warn, "instructions",
               fmt::format("the CPU of {} has {}, the build does not use it", facts.place.host,
                           fmt::join(facts.unused_instructions, ", ")),
               rebuild}};
  return {{Verdict::ok, "instructions", "built for these CPUs", ""}};
}

Lines check_gpu(const std::vector<Facts>& ranks) {
  const Facts& facts = ranks.front();
  if (facts.gpus > 0)
    return {{Verdict::ok, "gpu",
             fmt::format("{} on {}; --device.kind cpu leaves {} alone", counted(facts.gpus, "GPU"),
                         facts.place.host, facts.gpus > 1 ? "them" : "it"),
             ""}};
  const std::string found = facts.gpu_signs.empty()
                                ? "no device node and no libcuda.so.1"
                                : fmt::format("{}", fmt::join(facts.gpu_signs, " and "));
  return {{Verdict::ok, "gpu",
           fmt::format("off, because {} ({} has {})", facts.no_gpu_reason, facts.place.host, found),
           ""}};
}

}  // namespace skep::doctor
