// Arrow columns that grow by one value per row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arrow.h"

namespace native {

// The kinds of columns, one letter each, as the readers' Python sides name them.
//   b boolean, s i l integers of 16, 32, 64 bits, o unsigned 32 bits as 64, f g floats of 32 and 64 bits, u text,
//   z bytes, D days, T microseconds of a day, t and Z microseconds since the epoch without and with a zone
class Column {
 public:
  Column(char kind, std::string name) : kind_(kind), name_(std::move(name)) {
    if (is_text()) offsets_.push(0);
  }

  char kind() const { return kind_; }
  bool is_text() const { return kind_ == 'u' || kind_ == 'z'; }
  size_t size_bytes() const { return data_.size(); }

  void add_null() {
    if (nulls_++ == 0) valid_.fill(1, static_cast<size_t>(rows_));
    valid_.push(0);
    ++rows_;
    if (is_text()) {
      offsets_.push(static_cast<int32_t>(data_.size()));
    } else {
      data_.fill(0, width());
    }
  }
  void add_text(const uint8_t* bytes, size_t size) {
    data_.append(bytes, size);
    offsets_.push(static_cast<int32_t>(data_.size()));
    added();
  }
  template <typename T>
  void add(T value) {
    data_.append(reinterpret_cast<const uint8_t*>(&value), sizeof value);
    added();
  }
  // Room for `times` as many rows as there are.
  void expect(size_t times) {
    data_.reserve(data_.size() * (times - 1));
    offsets_.reserve(offsets_.size() * (times - 1));
  }
  // False when a text is not UTF-8.
  bool is_valid_text() const;
  Made finish();

 private:
  void added() {
    ++rows_;
    if (nulls_ != 0) valid_.push(1);
  }
  size_t width() const;

  char kind_;
  std::string name_;
  int64_t rows_ = 0, nulls_ = 0;
  Buffer<uint8_t> data_, valid_;
  Buffer<int32_t> offsets_;
};

using Columns = std::vector<Column>;

// One column per letter.
Columns columns_of(const char* kinds, size_t count);
// The place of the first column with a text that is not UTF-8, -1 for none.
int first_invalid_text(const Columns& columns);
// The columns as a struct array.
Made rows_of(Columns* columns, int64_t rows);

}  // namespace native
