#pragma once

#include "arrow.h"

namespace native {

// See `encode_json` in _connect.pyi.
PyObject* json_encode(PyObject* self, PyObject* args);

}  // namespace native
