#pragma once

#include "arrow.h"

namespace native {

// See the functions of these names in _rows.pyi.
PyObject* bind_libpq(PyObject* self, PyObject* args);
PyObject* read_copy(PyObject* self, PyObject* args);
PyObject* find_rows(PyObject* self, PyObject* args);
PyObject* read_text_rows(PyObject* self, PyObject* args);
PyObject* read_binary_rows(PyObject* self, PyObject* args);

}  // namespace native
