#include "java_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "text_scan.h"

namespace native {
namespace {

constexpr size_t kMostNumber = 40;
constexpr char kHex[] = "0123456789ABCDEF";
constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A number as digits, the first one before the point, and a power of ten.
struct Digits {
  char digits[kMostNumber];
  int count = 0;
  int exponent = 0;
};

// From d.ddde±nn; trailing zeros are dropped.
Digits digits_of(const char* from, const char* end) {
  Digits found;
  for (; from < end && *from != 'e'; ++from) {
    if (*from != '.') found.digits[found.count++] = *from;
  }
  while (found.count > 1 && found.digits[found.count - 1] == '0') --found.count;
  if (from < end) {
    ++from;
    if (*from == '+') ++from;
    std::from_chars(from, end, found.exponent);
  }
  return found;
}

// The correctly rounded text of `precision` digits behind the point, if it reads back as the same number.
template <typename Float>
bool rounded(Float value, int precision, Digits* found) {
  char text[kMostNumber];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, precision).ptr;
  Float back = 0;
  const auto read = std::from_chars(text, end, back);
  if (read.ec != std::errc() || back != value) return false;
  *found = digits_of(text, end);
  return true;
}

template <typename Float>
Digits shortest(Float value) {
  char text[kMostNumber];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  Digits found = digits_of(text, end);
  // With two digits to write anyway, the two nearest to the value are taken: 4.9E-324, not 5.0E-324.
  if (found.count == 1) rounded(value, 1, &found);
  return found;
}

Digits digits_of_value(double value) { return shortest(value); }

Digits digits_of_value(float value) {
  Digits found = shortest(value);
  // At a power of two, the shortest digits may be others than those that rounding gives.
  for (int precision = found.count > 1 ? found.count - 1 : 1; precision < 9; ++precision) {
    if (rounded(value, precision, &found)) break;
  }
  return found;
}

uint8_t* put_digits(uint8_t* to, const Digits& number) {
  const int point = number.exponent + 1;
  if (point > -3 && point <= 0) {
    *to++ = '0';
    *to++ = '.';
    for (int i = point; i < 0; ++i) *to++ = '0';
    for (int i = 0; i < number.count; ++i) *to++ = static_cast<uint8_t>(number.digits[i]);
    return to;
  }
  const bool plain = point > 0 && point <= 7;
  const int whole = plain ? point : 1;
  for (int i = 0; i < whole; ++i) *to++ = static_cast<uint8_t>(i < number.count ? number.digits[i] : '0');
  *to++ = '.';
  if (number.count <= whole) *to++ = '0';
  for (int i = whole; i < number.count; ++i) *to++ = static_cast<uint8_t>(number.digits[i]);
  if (plain) return to;
  *to++ = 'E';
  auto* chars = reinterpret_cast<char*>(to);
  return reinterpret_cast<uint8_t*>(std::to_chars(chars, chars + 6, number.exponent).ptr);
}

// Two digits each of 00 to 99.
struct Pairs {
  char text[200];
  constexpr Pairs() : text() {
    for (int i = 0; i < 100; ++i) {
      text[2 * i] = static_cast<char>('0' + i / 10);
      text[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
  }
};
constexpr Pairs kPairs;

uint8_t* put_whole(uint8_t* to, uint64_t value) {
  char text[20];
  char* from = text + sizeof text;
  for (; value >= 100; value /= 100) std::memcpy(from -= 2, kPairs.text + 2 * (value % 100), 2);
  if (value >= 10) {
    std::memcpy(from -= 2, kPairs.text + 2 * value, 2);
  } else {
    *--from = static_cast<char>('0' + value);
  }
  const auto count = static_cast<size_t>(text + sizeof text - from);
  std::memcpy(to, from, count);
  return to + count;
}

// A number that is written plainly and has four digits behind the point at most; null for any other. At most 15 digits
// that read back as the number are the shortest ones, as no two such texts are the same double.
uint8_t* put_short(uint8_t* to, double value) {
  constexpr double kScale = 10'000;
  if (!(value >= 1e-3 && value < 1e7)) return nullptr;
  const double scaled = value * kScale;
  const auto whole = static_cast<uint64_t>(scaled);
  if (static_cast<double>(whole) != scaled || scaled / kScale != value) return nullptr;
  to = put_whole(to, whole / 10'000);
  *to++ = '.';
  const uint64_t fraction = whole % 10'000;
  std::memcpy(to, kPairs.text + 2 * (fraction / 100), 2);
  std::memcpy(to + 2, kPairs.text + 2 * (fraction % 100), 2);
  int digits = 4;
  while (digits > 1 && to[digits - 1] == '0') --digits;
  return to + digits;
}

template <typename Float>
void put_float_of(Text* text, Float value) {
  if (std::isnan(value)) return put(text, "\"NaN\"", 5);
  if (std::isinf(value)) return value > 0 ? put(text, "\"Infinity\"", 10) : put(text, "\"-Infinity\"", 11);
  text->reserve(kMostNumber);
  uint8_t* to = text->end();
  if (std::signbit(value)) *to++ = '-';
  if constexpr (std::is_same_v<Float, double>) {
    if (uint8_t* end = put_short(to, std::fabs(value))) return text->set_end(end);
  }
  text->set_end(put_digits(to, digits_of_value(std::fabs(value))));
}

uint8_t* put_escaped(uint8_t* to, uint32_t code) {
  *to++ = '\\';
  *to++ = 'u';
  for (int shift = 12; shift >= 0; shift -= 4) *to++ = static_cast<uint8_t>(kHex[code >> shift & 15]);
  return to;
}

uint8_t short_escape(uint8_t byte) {
  switch (byte) {
    case '\b': return 'b';
    case '\t': return 't';
    case '\n': return 'n';
    case '\f': return 'f';
    case '\r': return 'r';
    case '"':
    case '\\': return byte;
    default: return 0;
  }
}

// The one special character at `from`, which moves behind it; null when it is no UTF-8.
uint8_t* put_special(uint8_t* to, const uint8_t** from, const uint8_t* end) {
  const uint8_t lead = **from;
  if (lead < 0xF0) {
    ++*from;
    const uint8_t letter = short_escape(lead);
    if (letter == 0) return put_escaped(to, lead);
    *to++ = '\\';
    *to++ = letter;
    return to;
  }
  if (end - *from < 4) return nullptr;
  uint32_t code = lead & 7;
  for (int i = 1; i < 4; ++i) code = code << 6 | ((*from)[i] & 0x3F);
  if (code < 0x10000 || code > 0x10FFFF) return nullptr;
  *from += 4;
  code -= 0x10000;
  return put_escaped(put_escaped(to, 0xD800 + (code >> 10)), 0xDC00 + (code & 0x3FF));
}

}  // namespace

void put(Text* text, const char* chars, size_t count) { text->append(reinterpret_cast<const uint8_t*>(chars), count); }

void put_int(Text* text, int64_t value) {
  text->reserve(kMostNumber);
  uint8_t* to = text->end();
  if (value < 0) *to++ = '-';
  text->set_end(put_whole(to, value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value)));
}

void put_double(Text* text, double value) { put_float_of(text, value); }
void put_float(Text* text, float value) { put_float_of(text, value); }

bool put_string(Text* text, const uint8_t* from, size_t count) {
  const uint8_t* end = from + count;
  text->reserve(count + 2);
  text->push_reserved('"');
  while (true) {
    const uint8_t* stop = find_special<0xF0>(from, end);
    std::memcpy(text->end(), from, static_cast<size_t>(stop - from));
    text->set_end(text->end() + (stop - from));
    from = stop;
    if (from == end) break;
    // An escape is at most twelve bytes; the rest may come as it is.
    text->reserve(static_cast<size_t>(end - from) + 16);
    uint8_t* to = put_special(text->end(), &from, end);
    if (to == nullptr) return false;
    text->set_end(to);
  }
  text->push('"');
  return true;
}

void put_base64(Text* text, const uint8_t* from, size_t count) {
  text->reserve(count / 3 * 4 + 8);
  uint8_t* to = text->end();
  *to++ = '"';
  for (; count >= 3; count -= 3, from += 3) {
    const uint32_t group = static_cast<uint32_t>(from[0]) << 16 | static_cast<uint32_t>(from[1]) << 8 | from[2];
    for (int shift = 18; shift >= 0; shift -= 6) *to++ = static_cast<uint8_t>(kBase64[group >> shift & 63]);
  }
  if (count > 0) {
    const uint32_t group = static_cast<uint32_t>(from[0]) << 16 | (count == 2 ? static_cast<uint32_t>(from[1]) << 8 : 0);
    *to++ = static_cast<uint8_t>(kBase64[group >> 18]);
    *to++ = static_cast<uint8_t>(kBase64[group >> 12 & 63]);
    *to++ = static_cast<uint8_t>(count == 2 ? kBase64[group >> 6 & 63] : '=');
    *to++ = '=';
  }
  *to++ = '"';
  text->set_end(to);
}

void put_decimal(Text* text, const uint8_t* little_endian) {
  uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = little_endian[15 - i];
  const uint8_t* from = bytes;
  // A leading byte is redundant while the next one has the same sign bit (BigInteger.toByteArray).
  const uint8_t sign = (bytes[0] & 0x80) != 0 ? 0xFF : 0;
  while (from < bytes + 15 && *from == sign && (from[1] & 0x80) == (sign & 0x80)) ++from;
  put_base64(text, from, static_cast<size_t>(bytes + 16 - from));
}

}  // namespace native
