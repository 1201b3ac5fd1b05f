// A column of byte strings, read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "arrow.h"

namespace native {

class ByteStrings {
 public:
  // Whether a column is one of binary or text, large or not, and has these rows.
  static bool takes(const Given& given, int64_t start, int64_t end) {
    const std::string_view format(given.schema->format);
    const bool known = format == "z" || format == "u" || format == "Z" || format == "U";
    return known && start >= 0 && start <= end && end <= given.array->length;
  }
  explicit ByteStrings(const Given& given) : array_(*given.array) {
    wide_ = given.schema->format[0] < 'a';
    if (array_.null_count != 0) valid_ = array_.buffers[0];
  }
  // A null has no place; an empty value has one, which holds nothing of it.
  void point(int64_t row, void** data, size_t* size) const {
    const int64_t at = array_.offset + row;
    if (!bit(valid_, at)) {
      *data = nullptr;
      *size = 0;
      return;
    }
    const int64_t from = wide_ ? offsets<int64_t>()[at] : offsets<int32_t>()[at];
    const int64_t end = wide_ ? offsets<int64_t>()[at + 1] : offsets<int32_t>()[at + 1];
    const auto* bytes = static_cast<const uint8_t*>(array_.buffers[2]);
    *data = const_cast<uint8_t*>(from == end ? &kNothing : bytes + from);
    *size = static_cast<size_t>(end - from);
  }

 private:
  static constexpr uint8_t kNothing = 0;
  template <typename T>
  const T* offsets() const {
    return static_cast<const T*>(array_.buffers[1]);
  }
  const ArrowArray& array_;
  bool wide_ = false;
  const void* valid_ = nullptr;
};

}  // namespace native
