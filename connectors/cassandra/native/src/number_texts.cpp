// Decimals and varints as text, as java.math.BigDecimal writes them. The twin is values.py.
#include <charconv>
#include <cstring>

#include "arrow.h"
#include "byte_reader.h"
#include "lent.h"
#include "functions.h"

namespace native {
namespace {

constexpr size_t kScaleBytes = 4, kMostBytes = 8;
constexpr int64_t kMostText = 48;  // A sign, 20 digits, a point, 6 zeros, an exponent of 11 characters.

int64_t two_complement(const uint8_t* from, size_t size) {
  uint64_t value = size != 0 && (from[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | from[i];
  return static_cast<int64_t>(value);
}

char* repeat(char* to, char what, int64_t count) {
  std::memset(to, what, static_cast<size_t>(count));
  return to + count;
}

char* copy(char* to, const char* from, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count));
  return to + count;
}

// Behind the text of unscaled * 10^-scale.
char* write(char* to, int64_t unscaled, int64_t scale) {
  char digits[24];
  const uint64_t size = unscaled < 0 ? ~static_cast<uint64_t>(unscaled) + 1 : static_cast<uint64_t>(unscaled);
  const int64_t count = std::to_chars(digits, digits + sizeof digits, size).ptr - digits;
  if (unscaled < 0) *to++ = '-';
  const int64_t whole = count - scale;  // Digits before the point.
  if (scale == 0) return copy(to, digits, count);
  if (scale > 0 && whole > -6) {
    if (whole > 0) {
      to = copy(to, digits, whole);
    } else {
      *to++ = '0';
    }
    *to++ = '.';
    if (whole < 0) to = repeat(to, '0', -whole);
    return whole > 0 ? copy(to, digits + whole, scale) : copy(to, digits, count);
  }
  *to++ = digits[0];
  if (count > 1) {
    *to++ = '.';
    to = copy(to, digits + 1, count - 1);
  }
  *to++ = 'E';
  if (whole > 0) *to++ = '+';
  return std::to_chars(to, to + 20, whole - 1).ptr;
}

// False where a value is too large, or none of its type.
bool write_all(const Lent& data, const int64_t* starts, const int64_t* sizes, size_t count, bool is_decimal, Made* made) {
  const size_t head = is_decimal ? kScaleBytes : 0;
  Buffer<int32_t> ends;
  Buffer<uint8_t> text, valid;
  ends.push(0);
  for (size_t i = 0; i < count; ++i) {
    // Empty bytes are a value of their own in old tables, which no other system has.
    const bool is_value = sizes[i] > 0;
    valid.push(is_value ? 1 : 0);
    if (is_value) {
      const auto size = static_cast<size_t>(sizes[i]);
      if (size < head || size - head > kMostBytes || starts[i] < 0 || starts[i] > data.size() - sizes[i]) return false;
      const uint8_t* from = data.data() + starts[i];
      const int64_t scale = is_decimal ? two_complement(from, kScaleBytes) : 0;
      text.reserve(kMostText);
      auto* to = reinterpret_cast<char*>(text.end());
      text.set_end(reinterpret_cast<uint8_t*>(write(to, two_complement(from + head, size - head), scale)));
    } else {
      ++made->nulls;
    }
    ends.push(static_cast<int32_t>(text.size()));
  }
  made->format = "u";
  made->length = static_cast<int64_t>(count);
  made->buffers = {made->nulls == 0 ? nullptr : packed_bits(valid.data(), count), ends.take(), text.take()};
  return true;
}

}  // namespace

PyObject* number_texts(PyObject*, PyObject* args) {
  PyObject *given, *given_starts, *given_sizes;
  int is_decimal;
  if (!PyArg_ParseTuple(args, "OOOp", &given, &given_starts, &given_sizes, &is_decimal)) return nullptr;
  const Lent data(given), starts(given_starts), sizes(given_sizes);
  if (!data.ok() || !starts.ok() || !sizes.ok()) return nullptr;
  if (starts.size() != sizes.size()) {
    PyErr_SetString(PyExc_ValueError, "starts and sizes are of different lengths");
    return nullptr;
  }
  Made made;
  bool is_mine = false;
  const bool done = unlocked([&] {
    is_mine = write_all(data, reinterpret_cast<const int64_t*>(starts.data()),
                        reinterpret_cast<const int64_t*>(sizes.data()),
                        static_cast<size_t>(starts.size()) / sizeof(int64_t), is_decimal != 0, &made);
  });
  if (!done) return nullptr;
  if (!is_mine) Py_RETURN_NONE;
  return to_capsules(std::move(made));
}

}  // namespace native
