#pragma once

#include "arrow.h"

namespace native {

// See the function of this name in _connect.pyi.
PyObject* sum_crc32(PyObject* self, PyObject* args);

}  // namespace native
