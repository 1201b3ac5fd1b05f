// The Python module connectors.jdbc.native._rows; what its functions do is told in _rows.pyi.
#include "module_sources.h"
#include "readers.h"

namespace {

PyMethodDef kMethods[] = {
    {"bind_libpq", native::bind_libpq, METH_VARARGS, nullptr},
    {"read_copy", native::read_copy, METH_VARARGS, nullptr},
    {"find_rows", native::find_rows, METH_VARARGS, nullptr},
    {"read_text_rows", native::read_text_rows, METH_VARARGS, nullptr},
    {"read_binary_rows", native::read_binary_rows, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_rows", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__rows() { return native::with_sources(PyModule_Create(&kModule)); }
