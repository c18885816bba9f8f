#pragma once
// What the GPU backend needs from a GPU: memory, copies, streams, events, sums among GPUs, matrix
// products, attention. Two implementations: library/ (the CUDA libraries) and simulated/ (on the
// host, so that everything above this line can be tested where no GPU is). Kernels are not here:
// they start through launch() (kernels/gpu.h).
#include <cstddef>
#include <memory>
#include <string>

#include "engine/backends/backend.h"
#include "engine/backends/device_group.h"

namespace skep::cuda {

/// Work on one stream happens in order; between streams, events order it.
enum class StreamId { compute, copy };

/// A point in a stream's work. Empty until recorded.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(StreamId stream) = 0;
  /// True when everything before the last record has happened. Never blocks.
  virtual bool done() = 0;
  /// Later work of `stream` waits for this point; the host does not.
  virtual void hold_back(StreamId stream) = 0;
};

/// This GPU among those of other processes with which it sums: Runtime::join.
class Group {
 public:
  virtual ~Group() = default;
  /// In place, over the group, in the order of the stream.
  virtual void sum(float* data, std::size_t count, StreamId stream) = 0;
};
using GroupId = DeviceGroupId;

struct DeviceInfo {
  std::string name;
  std::size_t total_bytes = 0, free_bytes = 0;
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual DeviceInfo info() = 0;

  /// Device memory aligned to 256 bytes; throws Error(usage) when there is not enough. Both happen
  /// in the order of the compute stream.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data) = 0;
  /// Taken from the device so far, kept for reuse.
  virtual std::size_t reserved_bytes() = 0;
  /// Host memory that copies reach without a detour; lives until the process ends.
  virtual void* allocate_pinned(std::size_t bytes) = 0;

  /// Between device and host or within the device, in the order of the stream; the memory must stay
  /// as it is until then.
  virtual void copy(void* to, const void* from, std::size_t bytes, StreamId stream) = 0;
  /// The host waits until the stream has nothing left to do.
  virtual void synchronize(StreamId stream) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// As Backend::expose.
  virtual std::shared_ptr<void> expose() = 0;

  /// As the functions of device_group.h.
  virtual std::string why_no_groups() = 0;
  virtual GroupId make_group_id() = 0;
  virtual std::unique_ptr<Group> join(const GroupId& id, int rank, int size) = 0;

  /// c (=, +=) alpha a b + bias on the compute stream. a, b and c are dense, c has adjacent
  /// columns; a and b have one type; c has it too, or fp32 for narrow a and b; a bias has one value
  /// per column and c's compute type.
  virtual void gemm(const Matrix& a, const Matrix& b, const Matrix& c,
                    const GemmOptions& options) = 0;

  /// Attention of the vendor's library, for the arguments it takes; with the kernels of attention.h
  /// for all others. As Backend::attention_*.
  virtual bool takes_attention(const AttentionArgs& args) = 0;
  virtual void attention_forward(const AttentionArgs& args, const Tensor& out,
                                 const Tensor& log_sum_exp) = 0;
  virtual void attention_backward(const AttentionArgs& args, const Tensor& out,
                                  const Tensor& log_sum_exp, const Tensor& grad_out,
                                  const Tensor& grad_query, const Tensor& grad_key,
                                  const Tensor& grad_value) = 0;
};

/// GPUs that this process may use, or the reason why there is none.
struct Availability {
  int devices = 0;
  std::string reason;
  bool simulated = false;
};
Availability available();

/// Of a device that is available; lives until the process ends.
Runtime& runtime(int device);

}  // namespace skep::cuda
