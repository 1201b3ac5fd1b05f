// The sum of the CRC-32 of each row of two columns.
#include "crc32_sum.h"

#include <optional>

#include "byte_strings.h"
#include "crc32.h"

namespace native {
namespace {

uint64_t sum(const ByteStrings& values, const ByteStrings* keys, int64_t rows) {
  uint64_t sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    void *value, *key = nullptr;
    size_t value_size, key_size = 0;
    values.point(row, &value, &value_size);
    if (keys != nullptr) keys->point(row, &key, &key_size);
    const uint32_t of_key = crc32(value == nullptr ? 1 : 0, key, key_size);
    sum += crc32(of_key, value, value_size);
  }
  return sum;
}

}  // namespace

PyObject* sum_crc32(PyObject*, PyObject* args) {
  PyObject *values, *keys;
  if (!PyArg_ParseTuple(args, "OO", &values, &keys)) return nullptr;
  const Given given_values(values);
  if (given_values.array == nullptr) return nullptr;
  std::optional<Given> given_keys;
  if (keys != Py_None && given_keys.emplace(keys).array == nullptr) return nullptr;
  const int64_t rows = given_values.array->length;
  const bool are_keys = !given_keys || (given_keys->array->length == rows && ByteStrings::takes(*given_keys, 0, rows));
  if (!are_keys || !ByteStrings::takes(given_values, 0, rows)) {
    PyErr_SetString(PyExc_ValueError, "a checksum is made of binary or string columns of one length");
    return nullptr;
  }
  const ByteStrings strings(given_values);
  std::optional<ByteStrings> of_keys;
  if (given_keys) of_keys.emplace(*given_keys);
  uint64_t found = 0;
  if (!unlocked([&] { found = sum(strings, of_keys ? &*of_keys : nullptr, rows); })) return nullptr;
  return PyLong_FromUnsignedLongLong(found);
}

}  // namespace native
