#pragma once

#include "arrow.h"

namespace native {

// See the functions of these names in _connect.pyi.
PyObject* produce(PyObject* self, PyObject* args);
PyObject* copied_rows(PyObject* self, PyObject* args);
PyObject* refused_rows(PyObject* self, PyObject* args);
PyObject* open_rows(PyObject* self, PyObject* args);
PyObject* forget_rows(PyObject* self, PyObject* args);

}  // namespace native
