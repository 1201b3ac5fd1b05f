// A row of MariaDB's and MySQL's binary protocol: numbers and times as the server has them, so that it need not write
// them as text.
// Source: MariaDB's protocol documentation, "Resultset row", "Binary resultset row".
#include <charconv>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "mysql_values.h"

namespace native {
namespace {

constexpr size_t kLead = 1;
constexpr size_t kNullsAt = 2;  // The first bits of the nulls belong to no column.
constexpr int64_t kSecondUs = 1'000'000;

template <typename T>
T little(const uint8_t* from) {
  T value;  // The machines with wheels are little-endian, as the protocol is.
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool add_decimal_digits(Column* column, int64_t value, bool is_large) {
  char text[24];
  const auto end = is_large ? std::to_chars(text, text + sizeof text, static_cast<uint64_t>(value)).ptr
                            : std::to_chars(text, text + sizeof text, value).ptr;
  column->add_text(reinterpret_cast<const uint8_t*>(text), static_cast<size_t>(end - text));
  return true;
}

template <typename T>
bool add_integer(Column* column, const uint8_t** at, const uint8_t* end) {
  if (end - *at < static_cast<int64_t>(sizeof(T))) return false;
  const T read = little<T>(*at);
  *at += sizeof(T);
  const auto value = static_cast<int64_t>(read);
  const bool is_large = std::is_same_v<T, uint64_t> && value < 0;
  if (column->kind() == 'u') return add_decimal_digits(column, value, is_large);
  if (column->kind() != 'l' || is_large) return false;
  column->add<int64_t>(value);
  return true;
}

bool add_double(Column* column, const uint8_t** at, const uint8_t* end) {
  if (column->kind() != 'g' || end - *at < static_cast<int64_t>(sizeof(double))) return false;
  column->add(little<double>(*at));
  *at += sizeof(double);
  return true;
}

// A date, and a time of day that is left out when it is zero, as the date is too.
bool add_moment(Column* column, const uint8_t** at, const uint8_t* end) {
  const uint8_t* from;
  size_t size;
  if (!counted(at, end, &from, &size) || (size != 0 && size != 4 && size != 7 && size != 11)) return false;
  Date date{0, 0, 0};
  int64_t us = 0;
  if (size >= 4) date = {little<uint16_t>(from), from[2], from[3]};
  if (size >= 7) {
    if (from[4] > 23 || from[5] > 59 || from[6] > 59) return false;
    us = (from[4] * 3600 + from[5] * 60 + from[6]) * kSecondUs;
  }
  if (size == 11) us += little<uint32_t>(from + 7);
  switch (column->kind()) {
    case 'D': return size <= 4 && add_date(column, date);
    case 't':
    case 'Z': return add_timestamp(column, date, us);
    default: return false;
  }
}

// A time, which may be negative and of many days, as the server's text of it.
bool add_time(Column* column, const uint8_t** at, const uint8_t* end) {
  const uint8_t* from;
  size_t size;
  if (!counted(at, end, &from, &size) || (size != 0 && size != 8 && size != 12) || column->kind() != 'u') return false;
  const bool is_negative = size != 0 && from[0] != 0;
  const uint64_t days = size == 0 ? 0 : little<uint32_t>(from + 1);
  const unsigned hours = size == 0 ? 0 : from[5], minutes = size == 0 ? 0 : from[6], seconds = size == 0 ? 0 : from[7];
  char text[48];
  int length = std::snprintf(text, sizeof text, "%s%02llu:%02u:%02u", is_negative ? "-" : "",
                             static_cast<unsigned long long>(days * 24 + hours), minutes, seconds);
  if (size == 12) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), ".%06u", little<uint32_t>(from + 8));
  }
  column->add_text(reinterpret_cast<const uint8_t*>(text), static_cast<size_t>(length));
  return true;
}

bool add(Column* column, char wire, const uint8_t** at, const uint8_t* end) {
  switch (wire) {
    case 'c': return add_integer<int8_t>(column, at, end);
    case 'C': return add_integer<uint8_t>(column, at, end);
    case 's': return add_integer<int16_t>(column, at, end);
    case 'S': return add_integer<uint16_t>(column, at, end);
    case 'i': return add_integer<int32_t>(column, at, end);
    case 'I': return add_integer<uint32_t>(column, at, end);
    case 'l': return add_integer<int64_t>(column, at, end);
    case 'L': return add_integer<uint64_t>(column, at, end);
    case 'g': return add_double(column, at, end);
    case 't': return add_moment(column, at, end);
    case 'm': return add_time(column, at, end);
    case 'v': break;
    default: return false;
  }
  const uint8_t* value;
  size_t size;
  return counted(at, end, &value, &size) && add_text_value(column, value, size);
}

}  // namespace

bool add_binary_row(Columns* columns, const char* wires, const uint8_t* from, const uint8_t* end) {
  const size_t bits = (columns->size() + kNullsAt + 7) / 8;
  if (end - from < static_cast<int64_t>(kLead + bits) || *from != 0) return false;
  const uint8_t* nulls = from + kLead;
  const uint8_t* at = nulls + bits;
  for (size_t place = 0; place < columns->size(); ++place) {
    Column& column = (*columns)[place];
    const size_t bit = place + kNullsAt;
    if ((nulls[bit / 8] >> (bit % 8) & 1) != 0) {
      column.add_null();
    } else if (!add(&column, wires[place], &at, end)) {
      return false;
    }
  }
  return at == end;
}

}  // namespace native
