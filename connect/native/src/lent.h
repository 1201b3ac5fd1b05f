// Memory of a Python object.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>

namespace native {

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

// Bytes of an argument, for the units y*, s* and z* of PyArg_ParseTuple. The units with # are not of the stable ABI:
// a module built with the headers of Python 3.13 fails with them on older ones.
class Argument {
 public:
  Argument() = default;
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() { PyBuffer_Release(&view_); }  // does nothing where the argument was not parsed
  Py_buffer* parsed() { return &view_; }
  const char* data() const { return static_cast<const char*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }
  std::string_view text() const { return {data(), size()}; }

 private:
  Py_buffer view_{};
};

}  // namespace native
