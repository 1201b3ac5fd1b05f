#include "json_reader.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "text_scan.h"

namespace native {
namespace {

constexpr int kDeepest = 64;
constexpr uint64_t kExactDigits = 1ULL << 53;
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool is_digit(uint8_t byte) { return static_cast<uint8_t>(byte - '0') < 10; }
inline bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

uint8_t* put_utf8(uint8_t* to, uint32_t code) {
  if (code < 0x80) {
    *to++ = static_cast<uint8_t>(code);
  } else if (code < 0x800) {
    *to++ = static_cast<uint8_t>(0xC0 | code >> 6);
    *to++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *to++ = static_cast<uint8_t>(0xE0 | code >> 12);
    *to++ = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    *to++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  } else {
    *to++ = static_cast<uint8_t>(0xF0 | code >> 18);
    *to++ = static_cast<uint8_t>(0x80 | (code >> 12 & 0x3F));
    *to++ = static_cast<uint8_t>(0x80 | (code >> 6 & 0x3F));
    *to++ = static_cast<uint8_t>(0x80 | (code & 0x3F));
  }
  return to;
}

}  // namespace

bool JsonReader::read(JsonColumn* column) {
  skip_space();
  if (!value(column, 0)) return false;
  skip_space();
  return at_ == end_;
}

bool JsonReader::value(JsonColumn* column, int depth) {
  if (at_ >= end_) return false;
  switch (*at_) {
    case '"': return text(column);
    case '{': return depth < kDeepest && object(column, depth + 1);
    case '[': return depth < kDeepest && array(column, depth + 1);
    case 't': return word("true", 4) && column->push_bool(true);
    case 'f': return word("false", 5) && column->push_bool(false);
    case 'n':
      if (!word("null", 4)) return false;
      column->push_null();
      return true;
    default: return number(column);
  }
}

bool JsonReader::word(const char* word, size_t length) {
  if (static_cast<size_t>(end_ - at_) < length || std::memcmp(at_, word, length) != 0) return false;
  at_ += length;
  return true;
}

bool JsonReader::object(JsonColumn* column, int depth) {
  if (!column->become(Kind::kStruct)) return false;
  ++at_;
  const size_t row = column->length();
  size_t place = 0;
  skip_space();
  if (!take('}')) {
    do {
      JsonColumn* field = name(column, &place);
      // A field that has this row's value already is given twice.
      if (field == nullptr || field->length() != row || !value(field, depth)) return false;
      skip_space();
    } while (take(','));
    if (!take('}')) return false;
  }
  for (auto& field : column->fields()) {
    if (field->length() == row) field->push_missing();
  }
  column->push_struct();
  return true;
}

// The column of a field whose name stands here, its colon read too. `place` is where the name is likely to be, and
// becomes where the next one is: rows of one topic have their fields in one order, nearly always.
JsonColumn* JsonReader::name(JsonColumn* column, size_t* place) {
  skip_space();
  if (!take('"')) return nullptr;
  if (!likely_name(column, *place) && !other_name(column, place)) return nullptr;
  skip_space();
  if (!take(':')) return nullptr;
  skip_space();
  return column->fields()[(*place)++].get();
}

bool JsonReader::likely_name(JsonColumn* column, size_t place) {
  if (place >= column->fields().size()) return false;
  const JsonColumn& field = *column->fields()[place];
  const size_t size = field.name().size();
  if (!field.has_plain_name() || static_cast<size_t>(end_ - at_) <= size || at_[size] != '"' ||
      std::memcmp(at_, field.name().data(), size) != 0) {
    return false;
  }
  at_ += size + 1;
  return true;
}

bool JsonReader::other_name(JsonColumn* column, size_t* place) {
  const uint8_t* plain_end = find_special<0x80>(at_, end_);
  if (plain_end < end_ && *plain_end == '"') {
    const std::string_view name(reinterpret_cast<const char*>(at_), static_cast<size_t>(plain_end - at_));
    at_ = plain_end + 1;
    return column->find_field(name, place);
  }
  std::string name(static_cast<size_t>(end_ - at_), '\0');
  auto* begin = reinterpret_cast<uint8_t*>(name.data());
  const uint8_t* end = decoded(begin);
  return end != nullptr && column->find_field(std::string_view(name.data(), static_cast<size_t>(end - begin)), place);
}

bool JsonReader::array(JsonColumn* column, int depth) {
  if (!column->become(Kind::kList)) return false;
  ++at_;
  skip_space();
  if (!take(']')) {
    do {
      skip_space();
      if (!value(column->items(), depth)) return false;
      skip_space();
    } while (take(','));
    if (!take(']')) return false;
  }
  column->push_list();
  return true;
}

bool JsonReader::text(JsonColumn* column) {
  ++at_;
  // No text is longer than its JSON.
  uint8_t* to = column->begin_text(static_cast<size_t>(end_ - at_));
  if (to == nullptr) return false;
  const uint8_t* end = decoded(to);
  return end != nullptr && column->end_text(end);
}

uint8_t* JsonReader::decoded(uint8_t* to) {
  while (true) {
    const uint8_t* stop = find_special<0x80>(at_, end_);
    std::memcpy(to, at_, static_cast<size_t>(stop - at_));
    to += stop - at_;
    at_ = stop;
    if (at_ == end_) return nullptr;
    if (take('"')) return to;
    to = take('\\') ? escape(to) : multibyte(to);
    if (to == nullptr) return nullptr;
  }
}

uint8_t* JsonReader::escape(uint8_t* to) {
  if (at_ >= end_) return nullptr;
  switch (*at_++) {
    case '"': *to = '"'; return to + 1;
    case '\\': *to = '\\'; return to + 1;
    case '/': *to = '/'; return to + 1;
    case 'b': *to = '\b'; return to + 1;
    case 'f': *to = '\f'; return to + 1;
    case 'n': *to = '\n'; return to + 1;
    case 'r': *to = '\r'; return to + 1;
    case 't': *to = '\t'; return to + 1;
    case 'u': break;
    default: return nullptr;
  }
  uint32_t code;
  if (!hex(&code)) return nullptr;
  if (code >= 0xD800 && code < 0xE000) {
    uint32_t low;
    if (code >= 0xDC00 || !take('\\') || !take('u') || !hex(&low) || low < 0xDC00 || low >= 0xE000) return nullptr;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  return put_utf8(to, code);
}

bool JsonReader::hex(uint32_t* code) {
  if (end_ - at_ < 4) return false;
  *code = 0;
  for (int i = 0; i < 4; ++i) {
    const uint8_t byte = *at_++;
    const uint8_t lower = byte | 0x20;
    if (is_digit(byte)) {
      *code = *code << 4 | static_cast<uint32_t>(byte - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      *code = *code << 4 | static_cast<uint32_t>(lower - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

// A character of two to four bytes, shortest form only; a control character is none.
uint8_t* JsonReader::multibyte(uint8_t* to) {
  const uint8_t lead = *at_;
  const int length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || end_ - at_ < length) return nullptr;
  const uint8_t second = at_[1];
  if (!continues(second) || (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return nullptr;
  }
  for (int i = 2; i < length; ++i) {
    if (!continues(at_[i])) return nullptr;
  }
  for (int i = 0; i < length; ++i) *to++ = *at_++;
  return to;
}

bool JsonReader::number(JsonColumn* column) {
  const uint8_t* from = at_;
  const bool negative = take('-');
  if (at_ >= end_ || !is_digit(*at_)) return false;
  if (*at_ == '0' && end_ - at_ > 1 && is_digit(at_[1])) return false;
  const uint8_t* first = at_;
  uint64_t digits = 0;
  while (at_ < end_ && is_digit(*at_)) digits = digits * 10 + (*at_++ - '0');
  const auto count = static_cast<int>(at_ - first);
  if (at_ < end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return fraction(column, from, digits, count <= 19);
  if (column->kind() == Kind::kFloat32 || (column->declared() && column->kind() == Kind::kFloat64)) {
    return fraction(column, from, digits, count <= 18);
  }
  return push_whole(column, from, negative, digits, count);
}

bool JsonReader::push_whole(JsonColumn* column, const uint8_t* from, bool negative, uint64_t digits, int count) {
  // -0 is an integer here and a fraction to Java, by what else the column holds.
  if (negative && digits == 0) return false;
  if (count <= 18) {
    const auto value = static_cast<int64_t>(digits);
    return column->push_int(negative ? -value : value);
  }
  int64_t value;
  const auto* text = reinterpret_cast<const char*>(from);
  const auto* end = reinterpret_cast<const char*>(at_);
  const auto read = std::from_chars(text, end, value);
  return read.ec == std::errc() && read.ptr == end && column->push_int(value);
}

// A number with a fraction or an exponent, or one for a column of such; `digits` are those before, if they fit.
bool JsonReader::fraction(JsonColumn* column, const uint8_t* from, uint64_t digits, bool exact) {
  int exponent = 0;
  if (take('.')) {
    const uint8_t* first = at_;
    while (at_ < end_ && is_digit(*at_)) {
      if (digits >= kExactDigits) exact = false;
      digits = digits * 10 + (*at_++ - '0');
    }
    if (at_ == first) return false;
    exponent = at_ - first > 22 ? 99 : -static_cast<int>(at_ - first);
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    exact = false;
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    const uint8_t* first = at_;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    if (at_ == first) return false;
  }
  const auto* text = reinterpret_cast<const char*>(from);
  const auto* end = reinterpret_cast<const char*>(at_);
  if (column->kind() == Kind::kFloat32) {
    float value;
    const auto read = std::from_chars(text, end, value);
    return read.ec == std::errc() && read.ptr == end && column->push_float32(value);
  }
  double value;
  if (exact && digits < kExactDigits && exponent <= 0 && exponent >= -22) {
    // Both are exact, so their quotient is the nearest double (Clinger, 1990).
    value = static_cast<double>(digits) / kPowers[-exponent];
    if (*from == '-') value = -value;
  } else {
    const auto read = std::from_chars(text, end, value);
    if (read.ec != std::errc() || read.ptr != end) return false;
  }
  return column->push_double(value);
}

}  // namespace native
