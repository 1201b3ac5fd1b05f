#pragma once

#include "arrow.h"

namespace native {

// See `compact_json` in _connect.pyi.
PyObject* json_compact(PyObject* self, PyObject* args);

}  // namespace native
