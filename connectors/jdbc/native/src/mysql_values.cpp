// Source: MariaDB's protocol documentation, "Protocol data types".
#include "mysql_values.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace native {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
// What stands for a zero date, as in temporal.py.
constexpr int64_t kNoTimestamp = INT64_MIN;
constexpr int32_t kNoDate = INT32_MIN;

// Two digits, -1 when they are none.
int two(const char* from) {
  const unsigned tens = static_cast<unsigned>(from[0] - '0'), ones = static_cast<unsigned>(from[1] - '0');
  return tens > 9 || ones > 9 ? -1 : static_cast<int>(tens * 10 + ones);
}

// YYYY-MM-DD. Nothing for any other form.
std::optional<Date> date_of(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int century = two(text.data()), year = two(text.data() + 2);
  const int month = two(text.data() + 5), day = two(text.data() + 8);
  if (century < 0 || year < 0 || month < 0 || day < 0) return std::nullopt;
  const Date date{century * 100 + year, month, day};
  if (!date.is_zero() && !date.is_real()) return std::nullopt;
  return date;
}

// HH:MM:SS, and up to six digits of a fraction, in microseconds.
std::optional<int64_t> time_of(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const int hours = two(text.data()), minutes = two(text.data() + 3), seconds = two(text.data() + 6);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59) return std::nullopt;
  int64_t us = (hours * 3600 + minutes * 60 + seconds) * INT64_C(1'000'000);
  if (text.size() == 8) return us;
  if (text[8] != '.' || text.size() < 10 || text.size() > 15) return std::nullopt;
  int64_t unit = 100'000;
  for (const char digit : text.substr(9)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    us += (digit - '0') * unit;
    unit /= 10;
  }
  return us;
}

template <typename T>
bool add_number(Column* column, std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  column->add(value);
  return true;
}

bool add_date_text(Column* column, std::string_view text) {
  const auto date = date_of(text);
  return date && text.size() == 10 && add_date(column, *date);
}

bool add_timestamp_text(Column* column, std::string_view text) {
  const auto date = date_of(text);
  if (!date || text.size() < 19 || text[10] != ' ') return false;
  const auto time = time_of(text.substr(11));
  return time && add_timestamp(column, *date, *time);
}

}  // namespace

// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
int32_t Date::days() const {
  const int y = month <= 2 ? year - 1 : year;
  const int era = y / 400, of_era = y - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

bool Date::is_real() const {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (leap && month == 2 ? 1 : 0);
}

bool add_date(Column* column, const Date& date) {
  if (!date.is_zero() && !date.is_real()) return false;
  column->add<int32_t>(date.is_zero() ? kNoDate : date.days());
  return true;
}

bool add_timestamp(Column* column, const Date& date, int64_t of_day_us) {
  if (!date.is_zero() && !date.is_real()) return false;
  column->add<int64_t>(date.is_zero() ? kNoTimestamp : date.days() * kDayUs + of_day_us);
  return true;
}

bool add_text_value(Column* column, const uint8_t* from, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(from), size);
  switch (column->kind()) {
    case 'u':
    case 'z': column->add_text(from, size); return true;
    case 'l': return add_number<int64_t>(column, text);
    case 'g': return add_number<double>(column, text);
    case 'D': return add_date_text(column, text);
    case 't':
    case 'Z': return add_timestamp_text(column, text);
    default: return false;
  }
}

bool counted(const uint8_t** at, const uint8_t* end, const uint8_t** from, size_t* size) {
  if (*at >= end) return false;
  const uint8_t lead = *(*at)++;
  uint64_t length = lead;
  if (lead >= 0xFB) {
    const int octets = lead == 0xFC ? 2 : lead == 0xFD ? 3 : 8;
    if (end - *at < octets || lead == 0xFB || lead == 0xFF) return false;
    length = 0;
    for (int i = 0; i < octets; ++i) length |= static_cast<uint64_t>((*at)[i]) << (8 * i);
    *at += octets;
  }
  if (length > static_cast<uint64_t>(end - *at)) return false;
  *from = *at;
  *size = static_cast<size_t>(length);
  *at += length;
  return true;
}

}  // namespace native
