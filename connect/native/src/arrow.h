// The Arrow C data interface (arrow.apache.org/docs/format/CDataInterface): arrays in, arrays out.
#pragma once

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "buffer.h"

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}

namespace native {

// An array on its way to Arrow. Owns its buffers until `to_capsules`.
struct Made {
  std::string format;
  std::string name;
  int64_t length = 0;
  int64_t nulls = 0;
  int64_t flags = 2;  // Nullable.
  std::vector<void*> buffers;  // The first one is the validity, null when nothing is.
  std::vector<Made> children;

  Made() = default;
  Made(const Made&) = delete;
  Made(Made&& other) noexcept = default;
  Made& operator=(const Made&) = delete;
  ~Made();
};

// A tuple (arrow_schema, arrow_array) of PyCapsules, nullptr with an exception set.
PyObject* to_capsules(Made&& made);

// Validity bits of bytes that are 0 or 1.
void* packed_bits(const uint8_t* valid, size_t count);

// An array that a Python object exports; null `array` with an exception set when it has none.
class Given {
 public:
  explicit Given(PyObject* exporter);
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  ~Given() { Py_XDECREF(capsules_); }

  const ArrowSchema* schema = nullptr;
  const ArrowArray* array = nullptr;

 private:
  PyObject* capsules_ = nullptr;
};

// Does `work` while other Python threads go on. False: there is no memory left, and MemoryError is set.
template <typename Work>
bool unlocked(Work work) {
  bool enough_memory = true;
  PyThreadState* released = PyEval_SaveThread();
  try {
    work();
  } catch (const std::bad_alloc&) {
    enough_memory = false;
  }
  PyEval_RestoreThread(released);
  if (!enough_memory) PyErr_NoMemory();
  return enough_memory;
}

inline bool bit(const void* bits, int64_t at) {
  return bits == nullptr || (static_cast<const uint8_t*>(bits)[at >> 3] >> (at & 7)) & 1;
}

}  // namespace native
