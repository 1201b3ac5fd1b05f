// Rows of PostgreSQL's COPY in binary form, from libpq into Arrow columns.
// Source: PostgreSQL's documentation, "COPY", "Binary Format", and libpq's "Functions Associated with COPY".
#include "readers.h"

#include <dlfcn.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "columns.h"
#include "lent.h"

namespace native {
namespace {

constexpr int64_t kEpochUs = 946'684'800'000'000;  // 2000-01-01, PostgreSQL's first day, since 1970.
constexpr int32_t kEpochDays = 10'957;
constexpr size_t kSignature = 11;

constexpr std::chrono::microseconds kNap{300};
constexpr int kPollMs = 1000;
constexpr int kLost = -2;  // PQgetCopyData's own answer to a connection that is gone.
constexpr int64_t kSample = 256;  // Rows after which the size of all is guessed.

struct Libpq {
  int (*get_copy_data)(void* connection, char** buffer, int async);
  int (*consume_input)(void* connection);
  int (*socket)(const void* connection);
  void (*free_memory)(void* memory);
};
Libpq libpq;  // Written once, with the GIL held, before anything is read.

enum Status : int { kMore = 0, kEnd = 1, kFailed = 2, kMalformed = 3, kNotUtf8 = 4 };

template <typename T>
T number(const uint8_t* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | from[i]);
  return value;
}

uint32_t word(const uint8_t* from) {
  uint32_t value;
  std::memcpy(&value, from, 4);
  return __builtin_bswap32(value);
}
uint64_t long_word(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  return __builtin_bswap64(value);
}

// False when a value has another size than its column's type.
bool add(Column* column, const uint8_t* from, size_t size) {
  switch (column->kind()) {
    case 'u':
    case 'z': column->add_text(from, size); return true;
    case 'b': return size == 1 && (column->add<uint8_t>(from[0] != 0), true);
    case 's': return size == 2 && (column->add(number<uint16_t>(from)), true);
    case 'i':
    case 'f': return size == 4 && (column->add(word(from)), true);
    case 'o': return size == 4 && (column->add<int64_t>(word(from)), true);
    case 'l':
    case 'g':
    case 'T': return size == 8 && (column->add(long_word(from)), true);
    // Infinity is the largest or the least number: it wraps around to one that is before every date.
    case 'D': return size == 4 && (column->add(word(from) + static_cast<uint32_t>(kEpochDays)), true);
    case 't':
    case 'Z': return size == 8 && (column->add(long_word(from) + static_cast<uint64_t>(kEpochUs)), true);
    default: return false;
  }
}

struct Read {
  int64_t rows = 0;
  Status status = kMore;
};

// One message: a row, the end's mark, or before the first row the signature. False: malformed.
bool take(Columns* columns, const uint8_t* from, size_t size, bool* first, Read* read) {
  const uint8_t* end = from + size;
  if (*first) {
    if (size < kSignature + 8 || std::memcmp(from, "PGCOPY\n\377\r\n", kSignature) != 0) return false;
    const uint32_t extension = word(from + kSignature + 4);
    from += kSignature + 8;
    if (extension > static_cast<size_t>(end - from)) return false;
    from += extension;
    *first = false;
    if (from == end) return true;
  }
  if (end - from < 2) return false;
  const auto fields = static_cast<int16_t>(number<uint16_t>(from));
  from += 2;
  if (fields == -1) return from == end;
  if (static_cast<size_t>(fields) != columns->size()) return false;
  for (Column& column : *columns) {
    if (end - from < 4) return false;
    const auto length = static_cast<int32_t>(word(from));
    from += 4;
    if (length == -1) {
      column.add_null();
      continue;
    }
    if (length < 0 || end - from < length || !add(&column, from, static_cast<size_t>(length))) return false;
    from += length;
  }
  ++read->rows;
  return from == end;
}

// The next message as of PQgetCopyData; waits for it.
//
// The server sends 8 KiB at a time. Who waits for each is woken for each; after a nap there is much at once.
int next_message(void* connection, char** message) {
  for (int tries = 0;; ++tries) {
    int size = libpq.get_copy_data(connection, message, 1);
    if (size != 0) return size;
    if (libpq.consume_input(connection) == 0) return kLost;
    size = libpq.get_copy_data(connection, message, 1);
    if (size != 0) return size;
    if (tries == 0) {
      std::this_thread::sleep_for(kNap);
      continue;
    }
    pollfd waited{libpq.socket(connection), POLLIN, 0};
    if (waited.fd < 0) return kLost;
    poll(&waited, 1, kPollMs);
  }
}

Read read_rows(void* connection, Columns* columns, bool first, int64_t most_rows, size_t most_bytes) {
  Read read;
  size_t bytes = 0;
  while (read.status == kMore && read.rows < most_rows && bytes < most_bytes) {
    char* message = nullptr;
    const int size = next_message(connection, &message);
    if (size < 0) {
      read.status = size == -1 ? kEnd : kFailed;
      break;
    }
    try {
      if (!take(columns, reinterpret_cast<uint8_t*>(message), static_cast<size_t>(size), &first, &read)) {
        read.status = kMalformed;
      }
    } catch (...) {
      libpq.free_memory(message);
      throw;
    }
    libpq.free_memory(message);
    bytes += static_cast<size_t>(size);
    if (read.rows == kSample) {
      const auto rows = std::min(static_cast<size_t>(most_rows), most_bytes / (bytes / kSample + 1));
      for (Column& column : *columns) column.expect(rows / kSample + 1);
    }
  }
  return read;
}

}  // namespace

PyObject* bind_libpq(PyObject*, PyObject* args) {
  const char* path;
  if (!PyArg_ParseTuple(args, "s", &path)) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return PyErr_Format(PyExc_OSError, "%s", dlerror());
  libpq.get_copy_data = reinterpret_cast<decltype(libpq.get_copy_data)>(dlsym(library, "PQgetCopyData"));
  libpq.free_memory = reinterpret_cast<decltype(libpq.free_memory)>(dlsym(library, "PQfreemem"));
  libpq.consume_input = reinterpret_cast<decltype(libpq.consume_input)>(dlsym(library, "PQconsumeInput"));
  libpq.socket = reinterpret_cast<decltype(libpq.socket)>(dlsym(library, "PQsocket"));
  if (libpq.get_copy_data == nullptr || libpq.free_memory == nullptr || libpq.consume_input == nullptr ||
      libpq.socket == nullptr) {
    return PyErr_Format(PyExc_OSError, "%s is no libpq", path);
  }
  Py_RETURN_NONE;
}

PyObject* read_copy(PyObject*, PyObject* args) {
  unsigned long long connection;
  Argument kinds;
  int first;
  long long most_rows, most_bytes;
  if (!PyArg_ParseTuple(args, "Ks*pLL", &connection, kinds.parsed(), &first, &most_rows, &most_bytes)) return nullptr;
  if (libpq.get_copy_data == nullptr) {
    PyErr_SetString(PyExc_ValueError, "bind_libpq comes first");
    return nullptr;
  }
  Columns columns = columns_of(kinds.data(), kinds.size());
  Read read;
  std::optional<Made> made;
  int place = -1;
  const bool done = unlocked([&] {
    read = read_rows(reinterpret_cast<void*>(static_cast<uintptr_t>(connection)), &columns, first != 0, most_rows,
                     static_cast<size_t>(most_bytes));
    place = first_invalid_text(columns);
    if (place >= 0 && read.status <= kEnd) read.status = kNotUtf8;
    if (read.status <= kEnd) made.emplace(rows_of(&columns, read.rows));
  });
  if (!done) return nullptr;
  if (read.status > kEnd) return Py_BuildValue("(iiO)", static_cast<int>(read.status), place, Py_None);
  PyObject* capsules = to_capsules(std::move(*made));
  if (capsules == nullptr) return nullptr;
  return Py_BuildValue("(iiN)", static_cast<int>(read.status), place, capsules);
}

}  // namespace native
