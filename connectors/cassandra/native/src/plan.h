// The tables whose changes are gathered, as `native.plan_of` writes them down.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byte_reader.h"
#include "gathered.h"

namespace native {

constexpr size_t kIdBytes = 16;
constexpr int64_t kCounted = -1;  // Values of this size have their size before them.

struct PlanColumn {
  std::string name;
  bool is_multicell;
  int64_t size;
  int64_t place;  // Among the columns of the events; negative: it was dropped.
  int64_t dropped;  // Of one that was added again: what was written until then is gone. kNone: it was never dropped.
};

// A list of columns as a mutation has it, and the bytes it was read from.
struct Header {
  std::string bytes;
  std::vector<size_t> columns;
  std::vector<size_t> by_name;  // Places in `columns` in the order of the names.
};

struct Table {
  std::array<uint8_t, kIdBytes> id;
  bool is_watched;
  std::vector<int64_t> clustering;  // The sizes of the values.
  size_t key_columns;
  std::vector<PlanColumn> columns;
  Gathered gathered;

  // The next columns of the bytes. The last list is remembered: mostly the next mutation has the same.
  const Header& header(ByteReader* reader, bool is_static);

 private:
  std::unordered_map<std::string_view, size_t> by_name_;
  std::array<Header, 2> last_;
  friend class Plan;
};

class Plan {
 public:
  // Throws Odd where these bytes are no plan.
  Plan(const uint8_t* bytes, int64_t size);

  // nullptr: a table that is not known.
  Table* find(const uint8_t* id);
  std::vector<Table>& tables() { return tables_; }

 private:
  std::vector<Table> tables_;
  std::unordered_map<std::string_view, size_t> by_id_;
};

}  // namespace native
