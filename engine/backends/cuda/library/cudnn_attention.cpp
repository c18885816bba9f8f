#include "engine/backends/cuda/library/cudnn_attention.h"

#include <limits>

namespace skep::cuda {
namespace {

using cudnn::Binding;

constexpr int oldest_capability = 80;        // tensor cores for bf16
constexpr std::size_t oldest_cudnn = 91501;  // before, backward read past keys not in 128s
constexpr std::int64_t width_step = 8;       // 16 bytes of a narrow type: one vector load
constexpr std::uintptr_t vector_bytes = 16;

// Backward's widest heads; forward alone would take wider ones.
std::int64_t widest_head(int compute_capability) {
  return compute_capability / 10 == 9 ? 256 : 128;
}

std::string layout_refusal(const Tensor& t, std::string_view name) {
  if (const std::string fault = cudnn::layout_fault(cudnn::head_layout(t)); !fault.empty())
    return fmt::format("the {} {}", name, fault);
  if (reinterpret_cast<std::uintptr_t>(t.raw()) % vector_bytes != 0)
    return fmt::format("the {} does not begin at a multiple of {} bytes", name, vector_bytes);
  return {};
}

std::string width_refusal(const AttentionArgs& args, int compute_capability) {
  const std::int64_t widest = widest_head(compute_capability);
  for (const std::int64_t width : {args.query.size(3), args.value.size(3)})
    if (width % width_step != 0 || width > widest)
      return fmt::format("a head is {} wide, not a multiple of {} up to {}", width, width_step,
                         widest);
  return {};
}

// Where a tensor begins is no part of its layout.
cudnn::Layout checked_layout(const Tensor& t, std::string_view name) {
  const std::string why = layout_refusal(t, name);
  check(why.empty(), "attention: {}", why);
  return cudnn::head_layout(t);
}
void check_log_sum_exp(const Tensor& t, const Tensor& query) {
  const Shape shape{query.size(0), query.size(2), query.size(1)};
  check(t.shape() == shape && t.dtype() == DType::f32 && t.is_contiguous(),
        "attention: log-sum-exp {} {} must be fp32 {} without gaps", name_of(t.dtype()), t.shape(),
        shape);
}

// The scalars of one run; cuDNN reads them while the run is being started.
struct Scalars {
  float scale, minus_infinity = std::numeric_limits<float>::lowest(), one = 1;
  std::int32_t key_count, query_count;

  explicit Scalars(const AttentionArgs& args)
      : scale(static_cast<float>(args.scale)),
        key_count(static_cast<std::int32_t>(args.key.size(1))),
        query_count(static_cast<std::int32_t>(args.query.size(1))) {}

  void bind(const AttentionArgs& args, std::vector<Binding>& to) {
    to.push_back({cudnn::scale, &scale});
    if (args.causal == AttentionArgs::Causal::no) return;
    to.push_back({cudnn::minus_infinity, &minus_infinity});
    if (key_count == query_count) return;
    to.push_back({cudnn::key_count, &key_count});
    to.push_back({cudnn::query_count, &query_count});
  }
};

cudnn::ForwardLayouts layouts_of(const AttentionArgs& args, const Tensor& out) {
  return {checked_layout(args.query, "query"), checked_layout(args.key, "key"),
          checked_layout(args.value, "value"), checked_layout(out, "result"), args.causal};
}

// Memory for one run: given back in the order of the stream, after the run.
class Workspace {
 public:
  Workspace(Runtime& memory, std::size_t bytes)
      : memory_(memory), data_(bytes > 0 ? memory.allocate(bytes) : nullptr) {}
  ~Workspace() {
    if (data_ != nullptr) memory_.release(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data() const { return data_; }

 private:
  Runtime& memory_;
  void* data_;
};

}  // namespace

std::string refusal_of_attention(const AttentionArgs& args, int compute_capability) {
  if (compute_capability < oldest_capability)
    return fmt::format("the device's compute capability {}.{} is below {}.{}",
                       compute_capability / 10, compute_capability % 10, oldest_capability / 10,
                       oldest_capability % 10);
  if (cudnnGetVersion() < oldest_cudnn)
    return fmt::format("cuDNN {} is older than {}", cudnnGetVersion(), oldest_cudnn);
  if (args.mask.defined()) return "there is a mask";
  const DType dtype = args.query.dtype();
  if (dtype != DType::bf16 && dtype != DType::f16)
    return fmt::format("the query is {}, not bf16 or fp16", name_of(dtype));
  if (args.key.dtype() != dtype || args.value.dtype() != dtype)
    return "query, key and value differ in type";
  // One query for each new token: our kernel reads every key once, and a plan for every length
  // would cost far more.
  if (args.query.size(1) == 1) return "there is one query only";
  if (std::string why = width_refusal(args, compute_capability); !why.empty()) return why;
  if (std::string why = layout_refusal(args.query, "query"); !why.empty()) return why;
  if (std::string why = layout_refusal(args.key, "key"); !why.empty()) return why;
  return layout_refusal(args.value, "value");
}

CudnnAttention::~CudnnAttention() {
  if (handle_ != nullptr) cudnnDestroy(handle_);
}

cudnnHandle_t CudnnAttention::handle() {
  if (handle_ == nullptr) cudnn::check_status(cudnnCreate(&handle_), "starting");
  return handle_;
}

void CudnnAttention::forward(const AttentionArgs& args, const Tensor& out,
                             const Tensor& log_sum_exp, cudaStream_t compute) {
  check_log_sum_exp(log_sum_exp, args.query);
  const cudnn::ForwardLayouts layouts = layouts_of(args, out);
  Scalars scalars(args);
  std::vector<Binding> bindings{{cudnn::query, args.query.raw()},
                                {cudnn::key, args.key.raw()},
                                {cudnn::value, args.value.raw()},
                                {cudnn::out, out.raw()},
                                {cudnn::log_sum_exp, log_sum_exp.raw()}};
  scalars.bind(args, bindings);
  const std::lock_guard lock(mutex_);
  auto found = forward_plans_.find(layouts);
  if (found == forward_plans_.end())
    found = forward_plans_.try_emplace(layouts, cudnn::forward_graph(layouts), handle()).first;
  const Workspace workspace(memory_, found->second.workspace_bytes());
  cudnn::check_status(cudnnSetStream(handle(), compute), "setting the stream");
  found->second.run(handle(), bindings, workspace.data());
}

void CudnnAttention::backward(const AttentionArgs& args, const Tensor& out,
                              const Tensor& log_sum_exp, const Tensor& grad_out,
                              const Tensor& grad_query, const Tensor& grad_key,
                              const Tensor& grad_value, cudaStream_t compute) {
  check_log_sum_exp(log_sum_exp, args.query);
  const cudnn::BackwardLayouts layouts{
      layouts_of(args, out), checked_layout(grad_out, "result's gradient"),
      checked_layout(grad_query, "query's gradient"), checked_layout(grad_key, "key's gradient"),
      checked_layout(grad_value, "value's gradient")};
  Scalars scalars(args);
  const std::lock_guard lock(mutex_);
  auto found = backward_plans_.find(layouts);
  if (found == backward_plans_.end())
    found = backward_plans_.try_emplace(layouts, cudnn::backward_graph(layouts), handle()).first;
  const Workspace deltas(memory_, log_sum_exp.bytes());
  const Workspace workspace(memory_, found->second.workspace_bytes());
  std::vector<Binding> bindings{{cudnn::query, args.query.raw()},
                                {cudnn::key, args.key.raw()},
                                {cudnn::value, args.value.raw()},
                                {cudnn::out, out.raw()},
                                {cudnn::log_sum_exp, log_sum_exp.raw()},
                                {cudnn::grad_out, grad_out.raw()},
                                {cudnn::grad_query, grad_query.raw()},
                                {cudnn::grad_key, grad_key.raw()},
                                {cudnn::grad_value, grad_value.raw()},
                                {cudnn::delta, deltas.data()},
                                {cudnn::one, &scalars.one}};
  scalars.bind(args, bindings);
  cudnn::check_status(cudnnSetStream(handle(), compute), "setting the stream");
  found->second.run(handle(), bindings, workspace.data());
}

}  // namespace skep::cuda
