// A mutation as it stands in the commit log, taken apart: flat lists, one behind the other, that are used again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "byte_reader.h"
#include "gathered.h"
#include "plan.h"

namespace native {

// When a cell or a mark was written, and when it ends (kNone, kNoTtl).
struct Written {
  int64_t writetime = kNone;
  int64_t local = kNone;
  int32_t ttl = kNoTtl;
};

// No `value`: the cell is a removal.
struct Cell {
  Written written;
  Slice value, path;
};

// A column that a row has a change of. `cleared` kNone: nothing was removed before.
struct Change {
  size_t column;
  bool is_multicell;
  int64_t cleared;
  size_t cells_begin, cells_end;
};

// Writetimes of kNone: the row has no such mark.
struct Row {
  bool is_static;
  size_t clustering;  // Where its values begin.
  Written liveness, deletion;
  size_t changes_begin, changes_end;
};

// One end of a deleted range: values of the first clustering columns, from `values` on, and whether rows with them are
// in the range.
struct Bound {
  size_t values, size;
  bool is_inclusive;
};

// A deleted range, in the order of the table. `row`: the row that it comes before.
struct Range {
  size_t row;
  Bound start, end;
  Written deletion;
};

struct Update {
  Table* table;
  const Header *header, *static_header;
  Slice key;
  size_t key_parts;  // Where the key's columns begin.
  Written deletion;
  size_t rows_begin, rows_end;
  size_t ranges_begin, ranges_end;
};

class Mutation {
 public:
  Mutation(const uint8_t* data, bool has_unsigned_times, Plan* plan)
      : data_(data), has_unsigned_times_(has_unsigned_times), plan_(plan) {}

  // Takes data[start, start + size) apart. Throws Odd where it is not all known. No updates: of a table left out.
  void read(int64_t start, int64_t size);

  std::vector<Update> updates;
  std::vector<Row> rows;
  std::vector<Range> ranges;
  std::vector<Change> changes;
  std::vector<Cell> cells;
  std::vector<Slice> slices;  // Of keys, clustering columns and bounds.

 private:
  // What the numbers of an update are counted from.
  struct Base {
    int64_t writetime, local;
    int32_t ttl;
  };

  void read_update(ByteReader* reader);
  void read_key(const Table& table, const Slice& key);
  void read_rows(ByteReader* reader, const Table& table, const Header& header, const Base& base);
  // Values of the first `size` clustering columns.
  void read_clustering(ByteReader* reader, const Table& table, size_t size);
  // The end of the range that was begun, the begin of the next one, or both.
  void read_marker(ByteReader* reader, const Table& table, const Base& base, std::optional<Bound>* begun);
  void read_row(ByteReader* reader, const Table& table, const Header& header, const Base& base, uint8_t flags);
  void read_changes(ByteReader* reader, const Table& table, const Header& header, const Base& base, uint8_t flags,
                    const Written& liveness);
  Cell read_cell(ByteReader* reader, const PlanColumn& column, const Base& base, const Written& liveness) const;
  // Fills `present_` with the places of the header's columns that the row has.
  void read_subset(ByteReader* reader, size_t columns);
  Written read_deletion(ByteReader* reader, const Base& base) const;
  int64_t local(uint64_t seconds) const;

  const uint8_t* data_;
  bool has_unsigned_times_;
  Plan* plan_;
  std::vector<size_t> present_;
};

}  // namespace native
