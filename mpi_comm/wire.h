#pragma once
// What travels: the element types of the wire and two untyped views of a caller's buffer.
// A view remembers its element type, so that one executor serves all types and still adds floats
// as floats. Counts are of elements.
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace skep {

enum class WireType { f32, f64, i32, i64, u8 };

std::size_t size_of(WireType type);       // bytes of one element
std::string_view name_of(WireType type);  // "f32", …

namespace detail {
template <class T>
constexpr int wire_index = std::is_same_v<T, float>          ? 0
                           : std::is_same_v<T, double>       ? 1
                           : std::is_same_v<T, std::int32_t> ? 2
                           : std::is_same_v<T, std::int64_t> ? 3
                           : std::is_same_v<T, std::uint8_t> ? 4
                           : std::is_same_v<T, std::byte>    ? 4
                                                             : -1;
}  // namespace detail

template <class T>
concept WireElement = (detail::wire_index<std::remove_cv_t<T>> >= 0);

/// A contiguous buffer of wire elements: a vector, an array, a span.
template <class R>
concept WireBuffer = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    WireElement<std::ranges::range_value_t<R>>;

/// One that can be written to and is no temporary: what arrives must be seen.
template <class R>
concept WritableWireBuffer = WireBuffer<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

template <WireElement T>
constexpr WireType wire_type_of = static_cast<WireType>(detail::wire_index<std::remove_cv_t<T>>);

/// Elements to write to. Does not own them: the buffer outlives every operation on it.
class WireSpan {
 public:
  WireSpan(std::byte* data, std::size_t count, WireType type)
      : data_(data), count_(count), type_(type) {}
  template <WritableWireBuffer R>
  WireSpan(R&& buffer)  // implicit: callers pass their vectors and spans as they are
      : WireSpan(reinterpret_cast<std::byte*>(std::ranges::data(buffer)), std::ranges::size(buffer),
                 wire_type_of<std::ranges::range_value_t<R>>) {}

  std::byte* data() const { return data_; }
  std::size_t count() const { return count_; }
  WireType type() const { return type_; }
  std::size_t size_bytes() const { return count_ * size_of(type_); }
  /// Elements [begin, begin + count).
  WireSpan part(std::size_t begin, std::size_t count) const {
    return {data_ + begin * size_of(type_), count, type_};
  }

 private:
  std::byte* data_;
  std::size_t count_;
  WireType type_;
};

/// Elements to read from. Does not own them either.
class WireView {
 public:
  WireView(const std::byte* data, std::size_t count, WireType type)
      : data_(data), count_(count), type_(type) {}
  WireView(const WireSpan& span) : WireView(span.data(), span.count(), span.type()) {}
  template <WireBuffer R>
  WireView(const R& buffer)
      : WireView(reinterpret_cast<const std::byte*>(std::ranges::data(buffer)),
                 std::ranges::size(buffer), wire_type_of<std::ranges::range_value_t<R>>) {}

  const std::byte* data() const { return data_; }
  std::size_t count() const { return count_; }
  WireType type() const { return type_; }
  std::size_t size_bytes() const { return count_ * size_of(type_); }
  /// Elements [begin, begin + count).
  WireView part(std::size_t begin, std::size_t count) const {
    return {data_ + begin * size_of(type_), count, type_};
  }

 private:
  const std::byte* data_;
  std::size_t count_;
  WireType type_;
};

}  // namespace skep
