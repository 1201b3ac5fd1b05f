// Rows of MariaDB's and MySQL's text protocol, from the bytes of their packets into Arrow columns.
// Source: MariaDB's protocol documentation, "Resultset row" and "Protocol data types".
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>

#include "columns.h"
#include "readers.h"

namespace native {
namespace {

constexpr size_t kHeader = 4;
constexpr uint32_t kLongest = 0xFFFFFF;
constexpr size_t kSample = 256;  // Rows after which the size of all is guessed.
constexpr int64_t kDayUs = 86'400'000'000;
// What stands for a zero date, as in temporal.py.
constexpr int64_t kNoTimestamp = INT64_MIN;
constexpr int32_t kNoDate = INT32_MIN;

uint32_t packet_length(const uint8_t* header) {
  return static_cast<uint32_t>(header[0]) | static_cast<uint32_t>(header[1]) << 8 | static_cast<uint32_t>(header[2]) << 16;
}

// A memory that Python lends.
class Lent {
 public:
  explicit Lent(PyObject* object) { ok_ = PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) == 0; }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    if (ok_) PyBuffer_Release(&view_);
  }
  bool ok() const { return ok_; }
  const uint8_t* data() const { return static_cast<const uint8_t*>(view_.buf); }
  int64_t size() const { return view_.len; }

 private:
  Py_buffer view_{};
  bool ok_ = false;
};

// Two digits, -1 when they are none.
int two(const char* from) {
  const unsigned tens = static_cast<unsigned>(from[0] - '0'), ones = static_cast<unsigned>(from[1] - '0');
  return tens > 9 || ones > 9 ? -1 : static_cast<int>(tens * 10 + ones);
}

struct Date {
  int year, month, day;
  // The year 0 is left to the twin, to which it is a zero date or not by what else there is.
  bool is_zero() const { return month == 0 || day == 0; }
  // Days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil).
  int32_t days() const {
    const int y = month <= 2 ? year - 1 : year;
    const int era = y / 400, of_era = y - era * 400;
    const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
  }
  bool is_real() const {
    static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= kDays[month - 1] + (leap && month == 2 ? 1 : 0);
  }
};

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

bool add_date(Column* column, std::string_view text) {
  const auto date = date_of(text);
  if (!date || text.size() != 10) return false;
  column->add<int32_t>(date->is_zero() ? kNoDate : date->days());
  return true;
}

bool add_timestamp(Column* column, std::string_view text) {
  const auto date = date_of(text);
  if (!date || text.size() < 19 || text[10] != ' ') return false;
  const auto time = time_of(text.substr(11));
  if (!time) return false;
  column->add<int64_t>(date->is_zero() ? kNoTimestamp : date->days() * kDayUs + *time);
  return true;
}

bool add(Column* column, const uint8_t* from, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(from), size);
  switch (column->kind()) {
    case 'u':
    case 'z': column->add_text(from, size); return true;
    case 'l': return add_number<int64_t>(column, text);
    case 'g': return add_number<double>(column, text);
    case 'D': return add_date(column, text);
    case 't':
    case 'Z': return add_timestamp(column, text);
    default: return false;
  }
}

// False when a value is not of its column's form, or not within the packet.
bool add_row(Columns* columns, const uint8_t* from, const uint8_t* end) {
  for (Column& column : *columns) {
    if (from >= end) return false;
    const uint8_t lead = *from++;
    if (lead == 0xFB) {
      column.add_null();
      continue;
    }
    uint64_t size = lead;
    if (lead > 0xFB) {
      const int octets = lead == 0xFC ? 2 : lead == 0xFD ? 3 : 8;
      if (end - from < octets || lead == 0xFF) return false;
      size = 0;
      for (int i = 0; i < octets; ++i) size |= static_cast<uint64_t>(from[i]) << (8 * i);
      from += octets;
    }
    if (size > static_cast<uint64_t>(end - from) || !add(&column, from, static_cast<size_t>(size))) return false;
    from += size;
  }
  return from == end;
}

bool add_rows(Columns* columns, const uint8_t* data, int64_t size, const int64_t* starts, size_t count) {
  for (size_t row = 0; row < count; ++row) {
    if (starts[row] < static_cast<int64_t>(kHeader) || starts[row] > size) return false;
    const uint32_t length = packet_length(data + starts[row] - kHeader);
    if (length > size - starts[row]) return false;
    if (!add_row(columns, data + starts[row], data + starts[row] + length)) return false;
    if (row + 1 == kSample) {
      for (Column& column : *columns) column.expect(count / kSample + 1);
    }
  }
  return first_invalid_text(*columns) < 0;
}

}  // namespace

PyObject* find_text_rows(PyObject*, PyObject* args) {
  PyObject* buffer;
  long long at, have, most;
  if (!PyArg_ParseTuple(args, "OLLL", &buffer, &at, &have, &most)) return nullptr;
  const Lent lent(buffer);
  if (!lent.ok()) return nullptr;
  if (at < 0 || have > lent.size()) {
    PyErr_SetString(PyExc_ValueError, "the packets are outside of the buffer");
    return nullptr;
  }
  Buffer<int64_t> starts;
  bool is_row = true;
  try {
    while (is_row && static_cast<int64_t>(starts.size()) < most && have - at >= static_cast<int64_t>(kHeader)) {
      const uint32_t length = packet_length(lent.data() + at);
      const int64_t start = at + static_cast<int64_t>(kHeader);
      if (have - start < length) break;
      // No row begins with these: they announce an end, an error, or a value that fills a packet.
      is_row = length > 0 && length < kLongest && lent.data()[start] <= 0xFD;
      if (!is_row) break;
      starts.push(start);
      at = start + length;
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  // A null pointer would become None.
  const char* bytes = starts.size() == 0 ? "" : reinterpret_cast<const char*>(starts.data());
  return Py_BuildValue("(y#LO)", bytes, static_cast<Py_ssize_t>(starts.size() * sizeof(int64_t)),
                       static_cast<long long>(at), is_row ? Py_False : Py_True);
}

PyObject* read_text_rows(PyObject*, PyObject* args) {
  PyObject *buffer, *starts;
  const char* kinds;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OOs#", &buffer, &starts, &kinds, &count)) return nullptr;
  const Lent lent(buffer);
  if (!lent.ok()) return nullptr;
  const Lent places(starts);
  if (!places.ok()) return nullptr;
  Columns columns = columns_of(kinds, static_cast<size_t>(count));
  const size_t rows = static_cast<size_t>(places.size()) / sizeof(int64_t);
  std::optional<Made> made;
  const bool done = unlocked([&] {
    const auto* at = reinterpret_cast<const int64_t*>(places.data());
    if (add_rows(&columns, lent.data(), lent.size(), at, rows)) made.emplace(rows_of(&columns, static_cast<int64_t>(rows)));
  });
  if (!done) return nullptr;
  if (!made) Py_RETURN_NONE;
  return to_capsules(std::move(*made));
}

}  // namespace native
