// One column that grows value by value while JSON is read; its type is declared, or the one its values have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arrow.h"

namespace native {

enum class Kind { kNull, kBool, kInt, kFloat32, kFloat64, kText, kList, kStruct };

class JsonColumn {
 public:
  explicit JsonColumn(std::string name);
  // A declared column; `ok` becomes false where the type has no JSON reader here.
  JsonColumn(const ArrowSchema& declared, bool* ok);

  Kind kind() const { return kind_; }
  bool declared() const { return declared_; }
  const std::string& name() const { return name_; }
  // The name is written in JSON as it is.
  bool has_plain_name() const { return has_plain_name_; }
  size_t length() const { return length_; }

  void push_null();
  void push_nulls(size_t count);
  // Each returns false when the value does not fit what the column has been so far.
  bool push_bool(bool value);
  bool push_int(int64_t value);
  bool push_double(double value);
  bool push_float32(float value);
  // Room for a text of at most `most` bytes; `end_text` tells where it ended.
  uint8_t* begin_text(size_t most);
  bool end_text(const uint8_t* end);
  bool become(Kind kind);
  void push_list();
  void push_struct() { push_valid(); }
  // A row's object lacks this field, which others have.
  void push_missing() {
    is_whole_ = false;
    push_null();
  }
  // Every value can be told from the finished array: no object lacks a field, no integer became a double.
  bool is_whole() const;

  JsonColumn* items() { return children_[0].get(); }
  // The place of the field of this name, made when it is new here; false when it may not be new, or there are too many.
  bool find_field(std::string_view name, size_t* place);
  std::vector<std::unique_ptr<JsonColumn>>& fields() { return children_; }

  // The Arrow array; `ok` becomes false where Arrow's own reader would have no exact result either.
  Made finish(bool* ok);

 private:
  void push_valid() {
    if (nulls_ != 0) valid_.push(1);
    ++length_;
  }
  void push_filler(size_t count);
  bool turn_to_double();

  std::string name_;
  bool has_plain_name_ = false;
  std::string format_;
  Kind kind_ = Kind::kNull;
  bool declared_ = false;
  bool is_whole_ = true;
  int64_t least_ = INT64_MIN, most_ = INT64_MAX;
  int width_ = 8;
  size_t length_ = 0;
  size_t nulls_ = 0;
  Buffer<uint8_t> valid_;
  Buffer<int64_t> ints_;
  Buffer<double> doubles_;
  Buffer<float> floats_;
  Buffer<uint8_t> bytes_;  // Texts, or one byte per boolean.
  Buffer<int32_t> offsets_;
  std::vector<std::unique_ptr<JsonColumn>> children_;
  std::unordered_map<std::string_view, size_t> places_;
};

}  // namespace native
