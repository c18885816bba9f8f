#include "engine/backends/cuda/simulated/group.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "engine/backends/cuda/simulated/memory.h"
#include "engine/backends/cuda/simulated/streams.h"
#include "engine/core/error.h"

namespace skep::simulated {
namespace {

constexpr std::size_t piece = 16384;  // floats that each rank lays down at a time

// Zero is how a fresh file begins.
struct Meeting {
  std::atomic<std::int32_t> arrived, passed;
};

class SharedGroup final : public cuda::Group {
 public:
  SharedGroup(const std::string& name, int rank, int size) : rank_(rank), size_(size) {
    const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    check(file >= 0 && ftruncate(file, static_cast<off_t>(bytes())) == 0,
          "simulated GPU: no shared memory for a group");
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    check(memory != MAP_FAILED, "simulated GPU: no shared memory for a group");
    meeting_ = static_cast<Meeting*>(memory);
    meet();
    shm_unlink(name.c_str());  // by the first; for the others it is gone
  }
  ~SharedGroup() override { munmap(meeting_, bytes()); }
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  // The numbers are there at once, but nobody who does not wait for the stream sees them.
  void sum(float* data, std::size_t count, cuda::StreamId stream) override {
    check(stream == cuda::StreamId::copy, "simulated GPU: groups sum on the copy stream");
    std::vector<float> result(count);
    {
      const DeviceMemory::Opening opening(device_memory());
      for (std::size_t begin = 0; begin < count; begin += piece)
        sum_piece(std::span(data, count).subspan(begin, std::min(piece, count - begin)),
                  result.data() + begin);
      std::memset(data, 0xff, count * sizeof(float));
    }
    streams().add_copy([data, result = std::move(result)] {
      const DeviceMemory::Opening opening(device_memory());
      std::copy(result.begin(), result.end(), data);
    });
  }

 private:
  std::size_t bytes() const {
    return sizeof(Meeting) + static_cast<std::size_t>(size_) * piece * sizeof(float);
  }
  float* place(int rank) const {
    return reinterpret_cast<float*>(meeting_ + 1) + static_cast<std::size_t>(rank) * piece;
  }

  void sum_piece(std::span<const float> own, float* result) {
    std::copy(own.begin(), own.end(), place(rank_));
    meet();
    for (std::size_t i = 0; i < own.size(); ++i) {
      result[i] = 0;
      for (int rank = 0; rank < size_; ++rank) result[i] += place(rank)[i];
    }
    meet();  // before anybody lays down the next
  }

  void meet() {
    const std::int32_t now = meeting_->passed.load();
    if (meeting_->arrived.fetch_add(1) + 1 == size_) {
      meeting_->arrived = 0;
      meeting_->passed = now + 1;
      return;
    }
    while (meeting_->passed.load() == now) sched_yield();
  }

  int rank_, size_;
  Meeting* meeting_ = nullptr;
};

}  // namespace

cuda::GroupId make_group_id() {
  cuda::GroupId id{};
  std::random_device entropy;
  for (std::byte& b : std::span(id).first(16)) b = static_cast<std::byte>(entropy());
  return id;
}

std::unique_ptr<cuda::Group> join(const cuda::GroupId& id, int rank, int size) {
  std::string name = "/skep-gpus-";
  for (const std::byte b : std::span(id).first(16))
    name += fmt::format("{:02x}", std::to_integer<int>(b));
  return std::make_unique<SharedGroup>(name, rank, size);
}

}  // namespace skep::simulated
