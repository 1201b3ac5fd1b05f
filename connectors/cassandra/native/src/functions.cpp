#include "arrow.h"
#include "change_gatherer.h"
#include "crc32.h"
#include "lent.h"
#include "functions.h"

namespace native {
namespace {

constexpr int64_t kLeastMutation = 10;
constexpr long kUnsignedTimesVersion = 8;

uint32_t big_endian(const uint8_t* from) {
  return static_cast<uint32_t>(from[0]) << 24 | static_cast<uint32_t>(from[1]) << 16 |
         static_cast<uint32_t>(from[2]) << 8 | from[3];
}

PyObject* bytes_of(const Buffer<int64_t>& numbers) {
  const char* bytes = numbers.size() == 0 ? "" : reinterpret_cast<const char*>(numbers.data());
  return PyBytes_FromStringAndSize(bytes, static_cast<Py_ssize_t>(numbers.size() * sizeof(int64_t)));
}

// Frames one behind the other (CommitLogReader): size, checksum of it, mutation, checksum of both. Where they end.
int64_t find(const uint8_t* data, int64_t size, Buffer<int64_t>* starts, Buffer<int64_t>* sizes) {
  int64_t at = 0;
  while (size - at >= 4) {
    const auto length = static_cast<int32_t>(big_endian(data + at));
    if (length < kLeastMutation || size - at - 12 < length) break;
    const uint32_t of_size = crc32(0, data + at, 4);
    const uint8_t* body = data + at + 8;
    if (of_size != big_endian(data + at + 4)) break;
    if (crc32(of_size, body, static_cast<size_t>(length)) != big_endian(body + length)) break;
    starts->push(at + 8);
    sizes->push(length);
    at += length + 12;
  }
  return at;
}

bool are_inside(const Lent& data, const int64_t* starts, const int64_t* sizes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (starts[i] < 0 || sizes[i] < 0 || starts[i] > data.size() || sizes[i] > data.size() - starts[i]) return false;
  }
  return true;
}

PyObject* gathered_tables(Plan* plan) {
  PyObject* tables = PyList_New(0);
  for (Table& table : plan->tables()) {
    if (tables == nullptr) break;
    PyObject* one = nullptr;
    if (table.gathered.events() == 0) {
      one = Py_None;
      Py_INCREF(one);
    } else {
      one = to_python(table.gathered);
    }
    if (one == nullptr || PyList_Append(tables, one) < 0) Py_CLEAR(tables);
    Py_XDECREF(one);
  }
  return tables;
}

}  // namespace

PyObject* find_frames(PyObject*, PyObject* args) {
  PyObject* given;
  if (!PyArg_ParseTuple(args, "O", &given)) return nullptr;
  const Lent data(given);
  if (!data.ok()) return nullptr;
  Buffer<int64_t> starts, sizes;
  int64_t end = 0;
  if (!unlocked([&] { end = find(data.data(), data.size(), &starts, &sizes); })) return nullptr;
  return Py_BuildValue("(NNL)", bytes_of(starts), bytes_of(sizes), static_cast<long long>(end));
}

PyObject* gather(PyObject*, PyObject* args) {
  PyObject *given, *given_starts, *given_sizes, *given_plan;
  int version;
  if (!PyArg_ParseTuple(args, "OOOiO", &given, &given_starts, &given_sizes, &version, &given_plan)) return nullptr;
  const Lent data(given), starts(given_starts), sizes(given_sizes), plan_bytes(given_plan);
  if (!data.ok() || !starts.ok() || !sizes.ok() || !plan_bytes.ok()) return nullptr;
  const auto* at = reinterpret_cast<const int64_t*>(starts.data());
  const auto* length = reinterpret_cast<const int64_t*>(sizes.data());
  const size_t count = static_cast<size_t>(starts.size()) / sizeof(int64_t);
  if (starts.size() != sizes.size() || !are_inside(data, at, length, count)) {
    PyErr_SetString(PyExc_ValueError, "the mutations are outside of the data");
    return nullptr;
  }
  try {
    Plan plan(plan_bytes.data(), plan_bytes.size());
    Buffer<int64_t> odd;
    const bool done = unlocked([&] {
      Mutation mutation(data.data(), version >= kUnsignedTimesVersion, &plan);
      ChangeGatherer gatherer(data.data());
      for (size_t i = 0; i < count; ++i) {
        try {
          mutation.read(at[i], length[i]);
        } catch (const Odd&) {
          odd.push(static_cast<int64_t>(i));
          continue;
        }
        gatherer.add(mutation, static_cast<int64_t>(i));
      }
    });
    if (!done) return nullptr;
    return Py_BuildValue("(NN)", bytes_of(odd), gathered_tables(&plan));
  } catch (const Odd&) {
    PyErr_SetString(PyExc_ValueError, "the plan of the tables is none");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace native
