#include "columns.h"

#include "utf8.h"

namespace native {

size_t Column::width() const {
  switch (kind_) {
    case 'b': return 1;
    case 's': return 2;
    case 'i': case 'f': case 'D': return 4;
    default: return 8;
  }
}

bool Column::is_valid_text() const {
  if (kind_ != 'u') return true;
  const uint8_t* data = data_.data();
  if (skip_ascii(data, data + data_.size()) == data + data_.size()) return true;
  for (int64_t row = 0; row < rows_; ++row) {
    if (!is_utf8(data + offsets_.data()[row], data + offsets_.data()[row + 1])) return false;
  }
  return true;
}

Made Column::finish() {
  static const struct { char kind; const char* format; } kFormats[] = {
      {'o', "l"}, {'D', "tdD"}, {'T', "ttu"}, {'t', "tsu:"}, {'Z', "tsu:UTC"}};
  Made made;
  made.format = std::string(1, kind_);
  for (const auto& known : kFormats) {
    if (known.kind == kind_) made.format = known.format;
  }
  made.name = name_;
  made.length = rows_;
  made.nulls = nulls_;
  made.buffers.push_back(nulls_ == 0 ? nullptr : packed_bits(valid_.data(), valid_.size()));
  if (is_text()) made.buffers.push_back(offsets_.take());
  made.buffers.push_back(kind_ == 'b' ? packed_bits(data_.data(), data_.size()) : data_.take());
  return made;
}

Columns columns_of(const char* kinds, size_t count) {
  Columns columns;
  columns.reserve(count);
  for (size_t i = 0; i < count; ++i) columns.emplace_back(kinds[i], std::to_string(i));
  return columns;
}

int first_invalid_text(const Columns& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].is_valid_text()) return static_cast<int>(i);
  }
  return -1;
}

Made rows_of(Columns* columns, int64_t rows) {
  Made made;
  made.format = "+s";
  made.length = rows;
  made.buffers.push_back(nullptr);
  for (Column& column : *columns) made.children.push_back(column.finish());
  return made;
}

}  // namespace native
