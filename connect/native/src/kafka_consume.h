#pragma once

#include "arrow.h"

namespace native {

// See `consume` in _connect.pyi.
PyObject* consume(PyObject* self, PyObject* args);

}  // namespace native
