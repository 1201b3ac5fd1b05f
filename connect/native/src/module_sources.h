// What a module was built from (setup.py), as its constant `sources`: see connect/lib/native_build.py.
#pragma once

#include <Python.h>

#define CONNECT_TEXT_OF(name) #name
#define CONNECT_TEXT(name) CONNECT_TEXT_OF(name)

namespace native {

inline PyObject* with_sources(PyObject* module) {
  if (module != nullptr && PyModule_AddStringConstant(module, "sources", CONNECT_TEXT(CONNECT_SOURCES)) < 0) {
    Py_CLEAR(module);
  }
  return module;
}

}  // namespace native
