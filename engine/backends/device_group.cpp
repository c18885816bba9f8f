#include "engine/backends/device_group.h"

#ifdef SKEP_HAS_GPU
#include "engine/backends/cuda/runtime.h"
#endif

namespace skep {

#ifdef SKEP_HAS_GPU

namespace {

using cuda::StreamId;

class SumUnderWay final : public DeviceSum {
 public:
  explicit SumUnderWay(std::unique_ptr<cuda::Event> made) : made_(std::move(made)) {}
  void hold_back() override { made_->hold_back(StreamId::compute); }

 private:
  std::unique_ptr<cuda::Event> made_;
};

class Gpus final : public DeviceGroup {
 public:
  Gpus(cuda::Runtime& gpu, std::unique_ptr<cuda::Group> group)
      : gpu_(gpu), group_(std::move(group)) {}

  std::unique_ptr<DeviceSum> start_sum(const Tensor& part) override {
    check(part.is_contiguous() && part.dtype() == DType::f32, "a group sums flat fp32 tensors");
    const auto asked = gpu_.make_event();
    asked->record(StreamId::compute);
    asked->hold_back(StreamId::copy);
    group_->sum(part.data<float>(), static_cast<std::size_t>(part.numel()), StreamId::copy);
    auto made = gpu_.make_event();
    made->record(StreamId::copy);
    return std::make_unique<SumUnderWay>(std::move(made));
  }

 private:
  cuda::Runtime& gpu_;
  std::unique_ptr<cuda::Group> group_;
};

}  // namespace

DeviceGroupId make_group_id(Device device) { return cuda::runtime(device.index).make_group_id(); }

std::unique_ptr<DeviceGroup> join_group(Device device, const DeviceGroupId& id, int rank,
                                        int size) {
  cuda::Runtime& gpu = cuda::runtime(device.index);
  return std::make_unique<Gpus>(gpu, gpu.join(id, rank, size));
}

std::string why_no_groups(Device device) {
  if (device.kind != Device::Kind::cuda) return "this rank computes on the CPU";
  return cuda::runtime(device.index).why_no_groups();
}

#else

DeviceGroupId make_group_id(Device) { fail(ErrorKind::bug, "this build has no CUDA"); }
std::unique_ptr<DeviceGroup> join_group(Device, const DeviceGroupId&, int, int) {
  fail(ErrorKind::bug, "this build has no CUDA");
}
std::string why_no_groups(Device) { return "this build has no CUDA"; }

#endif

}  // namespace skep
