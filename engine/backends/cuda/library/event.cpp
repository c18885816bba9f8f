#include "engine/backends/cuda/library/event.h"

#include "engine/backends/cuda/library/cuda_check.h"

namespace skep::cuda {
namespace {

class StreamEvent final : public Event {
 public:
  explicit StreamEvent(const Context& context) : context_(context) {
    context.enter();
    // Nobody asks for times, and events without them are cheaper.
    CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  }
  ~StreamEvent() override {
    if (cudaEventDestroy(event_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  void record(StreamId stream) override {
    CUDA_CHECK(cudaEventRecord(event_, context_.stream(stream)));
  }
  bool done() override {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // an answer, which the next launch takes for an error
      return false;
    }
    CUDA_CHECK(code);
    return true;
  }
  void hold_back(StreamId stream) override {
    CUDA_CHECK(cudaStreamWaitEvent(context_.stream(stream), event_));
  }

 private:
  const Context& context_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace

std::unique_ptr<Event> make_event(const Context& context) {
  return std::make_unique<StreamEvent>(context);
}

}  // namespace skep::cuda
