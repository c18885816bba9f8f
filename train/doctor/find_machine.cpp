// Disk, instruction sets and network interfaces of this rank's host.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/core/files.h"
#include "train/doctor/facts.h"

namespace skep::doctor {
namespace {

std::string find_write_problem(const std::string& path) {
  const std::string folder = nearest_existing(path);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return fmt::format("{} is not a folder", folder);
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fmt::format("{} cannot be written: {}", folder, std::strerror(errno));
}

// The network of an address: "192.0.2.0/24".
std::string network_of(const ifaddrs& entry) {
  const auto& address = *reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
  const auto& mask = *reinterpret_cast<const sockaddr_in*>(entry.ifa_netmask);
  const in_addr network{address.sin_addr.s_addr & mask.sin_addr.s_addr};
  char text[INET_ADDRSTRLEN]{};
  inet_ntop(AF_INET, &network, text, sizeof text);
  return fmt::format("{}/{}", text, std::popcount(mask.sin_addr.s_addr));
}

}  // namespace

void find_disk(Facts& facts) {
  facts.run_problem = find_write_problem(facts.run_folder);
  facts.checkpoint_problem = find_write_problem(facts.checkpoint_folder);
  facts.disk_bytes = free_bytes(facts.checkpoint_folder).value_or(0);
}

void find_instructions([[maybe_unused]] Facts& facts) {
#ifdef __x86_64__
  enum class Built { no, yes };
  const auto compare = [&](const char* name, Built built, int supported) {
    if (built == Built::yes && supported == 0) facts.missing_instructions.push_back(name);
    if (built == Built::no && supported != 0) facts.unused_instructions.push_back(name);
  };
  Built avx2 = Built::no, fma = Built::no, avx512 = Built::no;
#ifdef __AVX2__
  avx2 = Built::yes;
#endif
#ifdef __FMA__
  fma = Built::yes;
#endif
#ifdef __AVX512F__
  avx512 = Built::yes;
#endif
  compare("AVX2", avx2, __builtin_cpu_supports("avx2"));
  compare("FMA", fma, __builtin_cpu_supports("fma"));
  compare("AVX-512", avx512, __builtin_cpu_supports("avx512f"));
#endif
}

void find_networks(Facts& facts) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const unsigned wanted = IFF_UP | IFF_RUNNING;
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET ||
        entry->ifa_netmask == nullptr || (entry->ifa_flags & wanted) != wanted ||
        (entry->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    facts.networks[entry->ifa_name] = network_of(*entry);
  }
  freeifaddrs(first);
}

}  // namespace skep::doctor
