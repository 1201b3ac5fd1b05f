// Memory of a Python object.
#pragma once

#include <Python.h>

#include <cstdint>

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

}  // namespace native
