// The functions of the module, see _cassandra.pyi.
#pragma once

#define Py_LIMITED_API 0x030B0000
#include <Python.h>

namespace native {

PyObject* find_cells(PyObject*, PyObject* args);
PyObject* find_frames(PyObject*, PyObject* args);
PyObject* gather(PyObject*, PyObject* args);
PyObject* number_texts(PyObject*, PyObject* args);

}  // namespace native
