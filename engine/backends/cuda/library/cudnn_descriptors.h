#pragma once
// Ownership and errors for cuDNN's graph API, which speaks in opaque descriptors: created by kind,
// filled attribute by attribute, then finalized and from there on fixed. cuDNN's own text about
// what was wrong becomes an Error.
#include <cudnn_graph.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace skep::cuda::cudnn {

/// Throws Error(bug) with cuDNN's text unless the status is success.
void check_status(cudnnStatus_t status, std::string_view what);

/// The tag that tells cuDNN the type of an attribute's values.
template <class T>
inline constexpr int attribute_type = -1;
template <>
inline constexpr int attribute_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr int attribute_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr int attribute_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr int attribute_type<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr int attribute_type<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr int attribute_type<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr int attribute_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr int attribute_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr int attribute_type<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t kind);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  cudnnBackendDescriptorType_t kind() const { return kind_; }
  cudnnBackendDescriptor_t get() const { return handle_; }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, T value) {
    return set_values(name, std::span<const T>(&value, 1));
  }
  template <class T>
  Descriptor& set_values(cudnnBackendAttributeName_t name, std::span<const T> values) {
    static_assert(attribute_type<T> >= 0, "cuDNN has no tag for this type");
    return set_raw(name, attribute_type<T>, values.size(), values.data());
  }
  /// Of other descriptors, which must outlive this one.
  Descriptor& set_descriptors(cudnnBackendAttributeName_t name,
                              std::span<const cudnnBackendDescriptor_t> values) {
    return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, values.size(), values.data());
  }
  Descriptor& set_descriptor(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    return set_descriptors(name, {&value, 1});
  }
  /// From here on the descriptor can be used and no longer changed.
  Descriptor& finalize(std::string_view what);

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  /// All values of an attribute, at most `most` of them.
  template <class T>
  std::vector<T> values(cudnnBackendAttributeName_t name, std::size_t most) const {
    std::vector<T> found(most);
    found.resize(get_raw(name, attribute_type<T>, most, found.data()));
    return found;
  }
  /// The descriptors of an attribute, all of one kind, at most `most` of them.
  std::vector<Descriptor> children(cudnnBackendAttributeName_t name,
                                   cudnnBackendDescriptorType_t kind, std::size_t most) const;

 private:
  Descriptor& set_raw(cudnnBackendAttributeName_t name, int type, std::size_t count,
                      const void* values);
  std::size_t get_raw(cudnnBackendAttributeName_t name, int type, std::size_t room,
                      void* values) const;
  cudnnBackendDescriptorType_t kind_;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace skep::cuda::cudnn
