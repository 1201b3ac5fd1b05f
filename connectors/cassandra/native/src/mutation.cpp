// Source: Mutation, PartitionUpdate, UnfilteredSerializer, Cell.Serializer and Columns.Serializer of Cassandra 4.0 to
// 5.0. The twin is log/decode.py.
#include "mutation.h"

#include <algorithm>
#include <numeric>

namespace native {
namespace {

// EncodingStats: 22 September 2015.
constexpr uint64_t kEpochUs = 1442880000000000, kEpochS = 1442880000;
// Flags of a partition, a row and a cell.
constexpr uint8_t kEmpty = 1, kPartitionDeleted = 4, kHasStatic = 8, kHasEstimate = 16;
constexpr uint8_t kEnd = 1, kMarker = 2, kHasTime = 4, kHasTtl = 8, kRowDeleted = 16, kAllColumns = 32,
                  kComplexDeleted = 64, kExtended = 128;
constexpr uint8_t kTombstone = 1, kExpiring = 2, kNoValue = 4, kRowTime = 8, kRowTtl = 16;
// Kinds of bounds (ClusteringPrefix.Kind). Two of them end one range and begin another.
constexpr uint8_t kExclEnd = 0, kInclStart = 1, kExclEndInclStart = 2, kInclEndExclStart = 5, kInclEnd = 6,
                  kExclStart = 7;
constexpr size_t kBitmapColumns = 64;  // From so many on, columns are listed.

// Deltas wrap around, as Java's integers do.
int64_t time(ByteReader* reader, int64_t base) {
  return static_cast<int64_t>(reader->vint() + static_cast<uint64_t>(base));
}

int32_t seconds(ByteReader* reader, int32_t base) {
  const auto sum = static_cast<int32_t>(static_cast<uint32_t>(reader->vint()) + static_cast<uint32_t>(base));
  if (sum == kNoTtl) throw Odd{};
  return sum;
}

}  // namespace

void Mutation::read(int64_t start, int64_t size) {
  updates.clear();
  rows.clear();
  ranges.clear();
  changes.clear();
  cells.clear();
  slices.clear();
  ByteReader reader(data_, start, start + size);
  const uint64_t count = reader.vint();
  if (count == 1 && reader.left() >= kIdBytes) {
    const Table* table = plan_->find(reader.here());
    if (table != nullptr && !table->is_watched) return;
  }
  for (uint64_t i = 0; i < count; ++i) read_update(&reader);
  if (!reader.is_at_end()) throw Odd{};
}

void Mutation::read_update(ByteReader* reader) {
  Table* table = plan_->find(data_ + reader->take(kIdBytes).start);
  if (table == nullptr || !table->is_watched) throw Odd{};
  // Two updates of one table would share its remembered header.
  for (const Update& other : updates) {
    if (other.table == table) throw Odd{};
  }
  Update update{};
  update.table = table;
  update.key = reader->vbytes();
  update.key_parts = slices.size();
  read_key(*table, update.key);
  update.rows_begin = rows.size();
  update.ranges_begin = ranges.size();
  const uint8_t flags = reader->u8();
  if ((flags & kEmpty) == 0) {
    Base base{};
    base.writetime = time(reader, static_cast<int64_t>(kEpochUs));
    base.local = local(reader->vint() + kEpochS);
    base.ttl = seconds(reader, 0);
    if ((flags & kHasStatic) != 0) update.static_header = &table->header(reader, true);
    update.header = &table->header(reader, false);
    if ((flags & kPartitionDeleted) != 0) update.deletion = read_deletion(reader, base);
    if ((flags & kHasStatic) != 0) {
      const uint8_t row_flags = reader->u8();
      if ((row_flags & kExtended) != 0) reader->u8();
      rows.push_back({true, slices.size(), {}, {}, 0, 0});
      read_row(reader, *table, *update.static_header, base, row_flags);
    }
    if ((flags & kHasEstimate) != 0) reader->vint();
    read_rows(reader, *table, *update.header, base);
  }
  update.rows_end = rows.size();
  update.ranges_end = ranges.size();
  updates.push_back(update);
}

void Mutation::read_rows(ByteReader* reader, const Table& table, const Header& header, const Base& base) {
  std::optional<Bound> begun;
  for (uint8_t flags; ((flags = reader->u8()) & kEnd) == 0;) {
    if ((flags & kMarker) != 0) {
      read_marker(reader, table, base, &begun);
      continue;
    }
    if ((flags & kExtended) != 0) reader->u8();
    rows.push_back({false, slices.size(), {}, {}, 0, 0});
    read_clustering(reader, table, table.clustering.size());
    read_row(reader, table, header, base, flags);
  }
}

void Mutation::read_marker(ByteReader* reader, const Table& table, const Base& base, std::optional<Bound>* begun) {
  const uint8_t kind = reader->u8();
  const bool is_boundary = kind == kExclEndInclStart || kind == kInclEndExclStart;
  const bool ends = is_boundary || kind == kExclEnd || kind == kInclEnd;
  const bool begins = is_boundary || kind == kInclStart || kind == kExclStart;
  if (!ends && !begins) throw Odd{};
  Bound bound{slices.size(), reader->u16(), kind == kInclEnd || kind == kInclEndExclStart};
  if (bound.size > table.clustering.size()) throw Odd{};
  read_clustering(reader, table, bound.size);
  if (ends) {
    const Written deletion = read_deletion(reader, base);
    if (begun->has_value() && deletion.writetime != kNone) ranges.push_back({rows.size(), **begun, bound, deletion});
  }
  begun->reset();
  if (!begins || read_deletion(reader, base).writetime == kNone) return;
  bound.is_inclusive = kind == kInclStart || kind == kExclEndInclStart;
  *begun = bound;
}

// A key of several columns: of each 2 bytes of length, the value, a zero byte.
void Mutation::read_key(const Table& table, const Slice& key) {
  if (table.key_columns == 1) {
    slices.push_back(key);
    return;
  }
  ByteReader reader(data_, key.start, key.start + key.size);
  for (size_t i = 0; i < table.key_columns; ++i) {
    slices.push_back(reader.take(reader.u16()));
    reader.u8();
  }
  if (!reader.is_at_end()) throw Odd{};
}

void Mutation::read_clustering(ByteReader* reader, const Table& table, size_t size) {
  uint64_t header = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 32 == 0) header = reader->vint();
    const uint64_t kind = header >> 2 * (i % 32) & 3;
    if ((kind & 1) != 0) {
      slices.push_back({reader->at(), 0});
    } else if (kind != 0) {
      slices.push_back({});
    } else {
      const int64_t fixed = table.clustering[i];
      slices.push_back(fixed == kCounted ? reader->vbytes() : reader->take(static_cast<uint64_t>(fixed)));
    }
  }
}

void Mutation::read_row(ByteReader* reader, const Table& table, const Header& header, const Base& base, uint8_t flags) {
  Row& row = rows.back();
  if ((flags & kHasTime) != 0) {
    row.liveness.writetime = time(reader, base.writetime);
    if (row.liveness.writetime == kNone) throw Odd{};
    if ((flags & kHasTtl) != 0) {
      row.liveness.ttl = seconds(reader, base.ttl);
      row.liveness.local = local(reader->vint() + static_cast<uint64_t>(base.local));
    }
  }
  if ((flags & kRowDeleted) != 0) row.deletion = read_deletion(reader, base);
  row.changes_begin = changes.size();
  if ((flags & kAllColumns) == 0) {
    read_subset(reader, header.columns.size());
  } else {
    present_.resize(header.columns.size());
    std::iota(present_.begin(), present_.end(), 0);
  }
  read_changes(reader, table, header, base, flags, row.liveness);
  row.changes_end = changes.size();
}

void Mutation::read_changes(ByteReader* reader, const Table& table, const Header& header, const Base& base,
                            uint8_t flags, const Written& liveness) {
  for (const size_t place : present_) {
    const PlanColumn& column = table.columns[header.columns[place]];
    Change change{header.columns[place], column.is_multicell, kNone, cells.size(), 0};
    uint64_t count = 1;
    if (column.is_multicell) {
      if ((flags & kComplexDeleted) != 0) change.cleared = read_deletion(reader, base).writetime;
      count = reader->vint();
    }
    for (uint64_t i = 0; i < count; ++i) cells.push_back(read_cell(reader, column, base, liveness));
    change.cells_end = cells.size();
    changes.push_back(change);
  }
}

Cell Mutation::read_cell(ByteReader* reader, const PlanColumn& column, const Base& base,
                         const Written& liveness) const {
  Cell cell;
  const uint8_t flags = reader->u8();
  if ((flags & (kRowTime | kRowTtl)) != 0 && liveness.writetime == kNone) throw Odd{};
  cell.written.writetime = (flags & kRowTime) != 0 ? liveness.writetime : time(reader, base.writetime);
  if ((flags & kRowTtl) != 0) {
    cell.written.ttl = liveness.ttl;
    cell.written.local = liveness.local;
  } else {
    if ((flags & (kTombstone | kExpiring)) != 0) {
      cell.written.local = local(reader->vint() + static_cast<uint64_t>(base.local));
    }
    if ((flags & kExpiring) != 0) cell.written.ttl = seconds(reader, base.ttl);
  }
  if (column.is_multicell) cell.path = reader->vbytes();
  if ((flags & kNoValue) != 0) {
    if ((flags & kTombstone) == 0) cell.value = {reader->at(), 0};
  } else if (column.size == kCounted || column.is_multicell) {
    cell.value = reader->vbytes();
  } else {
    cell.value = reader->take(static_cast<uint64_t>(column.size));
  }
  return cell;
}

// Columns.Serializer.deserializeSubset.
void Mutation::read_subset(ByteReader* reader, size_t columns) {
  present_.clear();
  const uint64_t encoded = reader->vint();
  if (encoded != 0 && columns >= kBitmapColumns) {
    if (encoded > columns) throw Odd{};
    const size_t count = columns - encoded;
    if (count < columns / 2) {
      for (size_t i = 0; i < count; ++i) {
        const uint64_t place = reader->vint();
        // In order, as the node writes them.
        if (place >= columns || (!present_.empty() && place <= present_.back())) throw Odd{};
        present_.push_back(place);
      }
      return;
    }
    size_t next = 0;
    for (uint64_t i = 0; i < encoded; ++i) {
      const uint64_t missing = reader->vint();
      if (missing < next || missing >= columns) throw Odd{};
      while (next < missing) present_.push_back(next++);
      ++next;
    }
    while (next < columns) present_.push_back(next++);
    return;
  }
  for (size_t i = 0; i < columns; ++i) {
    if (encoded == 0 || (encoded >> i & 1) == 0) present_.push_back(i);
  }
}

Written Mutation::read_deletion(ByteReader* reader, const Base& base) const {
  Written deletion;
  deletion.writetime = time(reader, base.writetime);
  deletion.local = local(reader->vint() + static_cast<uint64_t>(base.local));
  return deletion;
}

// Up to version 7 of the commit log these are Java's signed integers, then unsigned ones.
int64_t Mutation::local(uint64_t seconds) const {
  const auto low = static_cast<uint32_t>(seconds);
  return has_unsigned_times_ ? static_cast<int64_t>(low) : static_cast<int64_t>(static_cast<int32_t>(low));
}

}  // namespace native
