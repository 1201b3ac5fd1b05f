#pragma once

#include "arrow.h"

namespace native {

// See `decode_json` in _connect.pyi.
PyObject* json_decode(PyObject* self, PyObject* args);

}  // namespace native
