#include "columns.h"

#include <cstring>

namespace native {
namespace {

// How many bytes at the start of [from, end) are ASCII.
const uint8_t* skip_ascii(const uint8_t* from, const uint8_t* end) {
  while (end - from >= 64) {
    uint64_t words[8], any = 0;
    std::memcpy(words, from, sizeof words);
    for (const uint64_t word : words) any |= word;
    if ((any & 0x8080808080808080ULL) != 0) break;
    from += sizeof words;
  }
  while (from < end && *from < 0x80) ++from;
  return from;
}

// The bytes of the character at `from`, 0 when it is none (Unicode, table 3-7).
int character(const uint8_t* from, const uint8_t* end) {
  const uint8_t lead = from[0];
  const int size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || end - from < size) return 0;
  const uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (from[1] < least || from[1] > most) return 0;
  for (int i = 2; i < size; ++i) {
    if ((from[i] & 0xC0) != 0x80) return 0;
  }
  return size;
}

bool is_utf8(const uint8_t* from, const uint8_t* end) {
  while ((from = skip_ascii(from, end)) < end) {
    const int size = character(from, end);
    if (size == 0) return false;
    from += size;
  }
  return true;
}

}  // namespace

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
