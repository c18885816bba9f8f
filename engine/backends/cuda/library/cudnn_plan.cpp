#include "engine/backends/cuda/library/cudnn_graph.h"

#include <utility>

namespace skep::cuda::cudnn {

Descriptor device_properties(const std::string& json) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set_values<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json)
      .finalize("device properties");
  return properties;
}

std::vector<Descriptor> configurations(const Descriptor& finished_graph, const Target& target) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, finished_graph.get())
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  if (target.properties != nullptr)
    heuristics.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties->get());
  heuristics.finalize("heuristics");
  constexpr std::size_t most = 32;
  return heuristics.children(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                             most);
}

int count_configurations(const Graph& graph, const std::string& device_properties_json) {
  const Descriptor properties = device_properties(device_properties_json);
  const Descriptor finished = graph.finished(nullptr);
  return static_cast<int>(configurations(finished, {.properties = &properties}).size());
}

Plan::Plan(const Graph& graph, cudnnHandle_t handle)
    : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  const Descriptor finished = graph.finished(handle);
  std::string why = "no configuration fits";
  for (const Descriptor& configuration : configurations(finished, {.handle = handle})) {
    try {
      Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle)
          .set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.get())
          .finalize("execution plan");
      const std::int64_t bytes = plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
      plan_ = std::move(plan);
      workspace_bytes_ = static_cast<std::size_t>(bytes);
      return;
    } catch (const Error& error) {
      why = error.what();  // the next one may do: kernels are compiled only here
    }
  }
  fail(ErrorKind::bug, "cuDNN cannot run a graph of {} operations on this device: {}",
       graph.operations().size(), why);
}

void Plan::run(cudnnHandle_t handle, std::span<const Binding> bindings, void* workspace) const {
  std::vector<std::int64_t> names;
  std::vector<void*> pointers;
  for (const Binding& binding : bindings) {
    names.push_back(binding.name);
    pointers.push_back(binding.data);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, names)
      .set_values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
      .finalize("variant pack");
  check_status(cudnnBackendExecute(handle, plan_.get(), pack.get()), "running a plan");
}

}  // namespace skep::cuda::cudnn
