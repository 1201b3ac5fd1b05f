#include "change_gatherer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "blake2b.h"

namespace native {
namespace {

// The places of operations in log/event_arrays.py.
enum Op : uint8_t { kInsert, kUpdate, kDelete, kStatic, kPartitionDelete, kRangeDelete };
constexpr std::string_view kNames[] = {"insert", "update", "delete", "static", "partition", "range"};

Op operation(const Row& row) {
  if (row.is_static) return kStatic;
  if (row.liveness.writetime != kNone) return kInsert;
  return row.deletion.writetime != kNone && row.changes_begin == row.changes_end ? kDelete : kUpdate;
}

int64_t newest(const Mutation& mutation, const Row& row) {
  // A time that no mark and no cell can have.
  bool is_none = true;
  int64_t found = 0;
  const auto look = [&](int64_t writetime) {
    if (is_none || writetime > found) found = writetime;
    is_none = false;
  };
  if (row.liveness.writetime != kNone) look(row.liveness.writetime);
  if (row.deletion.writetime != kNone) look(row.deletion.writetime);
  for (size_t i = row.changes_begin; i < row.changes_end; ++i) {
    const Change& change = mutation.changes[i];
    if (change.cleared != kNone) look(change.cleared);
    for (size_t j = change.cells_begin; j < change.cells_end; ++j) look(mutation.cells[j].written.writetime);
  }
  return found;
}

void push_bound(const Mutation& mutation, const Bound& bound, Ranges* ranges) {
  ranges->sizes.push(static_cast<int64_t>(bound.size));
  ranges->inclusive.push(bound.is_inclusive ? 1 : 0);
  for (size_t i = 0; i < ranges->prefixes.size(); ++i) {
    ranges->prefixes[i].push(i < bound.size ? mutation.slices[bound.values + i] : Slice{});
  }
}

// How many of the first clustering columns have the same value at both ends of a range.
size_t common_values(const Mutation& mutation, const Range& range, const uint8_t* data) {
  const size_t least = std::min(range.start.size, range.end.size);
  for (size_t i = 0; i < least; ++i) {
    const Slice &one = mutation.slices[range.start.values + i], &other = mutation.slices[range.end.values + i];
    if (one.size != other.size) return i;
    if (one.size > 0 && std::memcmp(data + one.start, data + other.start, static_cast<size_t>(one.size)) != 0) return i;
  }
  return least;
}

// Whether something of a change is newer than the moment at which its column was dropped.
bool is_since(const Mutation& mutation, const Change& change, int64_t dropped) {
  if (change.cleared != kNone && change.cleared > dropped) return true;
  for (size_t i = change.cells_begin; i < change.cells_end; ++i) {
    if (mutation.cells[i].written.writetime > dropped) return true;
  }
  return false;
}

void push_mark(Buffer<int64_t>* rows, Times* times, int64_t event, const Written& mark) {
  rows->push(event);
  times->push(mark.writetime, mark.ttl, mark.local);
}

}  // namespace

template <int bytes>
void ChangeGatherer::number(uint64_t value) {
  described_.reserve(bytes);
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) described_.push_reserved(static_cast<uint8_t>(value >> shift));
}

void ChangeGatherer::add(const Mutation& mutation, int64_t frame) {
  for (const Update& update : mutation.updates) {
    Gathered& gathered = update.table->gathered;
    described_.set_end(described_.data());
    described_.append(update.table->id.data(), kIdBytes);
    sized(update.key);
    start_ = described_.size();
    if (update.deletion.writetime != kNone) {
      text(kNames[kPartitionDelete]);
      number<8>(static_cast<uint64_t>(update.deletion.writetime));
      push_mark(&gathered.deleted, &gathered.deleted_times, static_cast<int64_t>(gathered.events()), update.deletion);
      for (Slices& column : gathered.clusterings) column.push({});
      add_event(mutation, update, frame, kPartitionDelete, update.deletion.writetime);
    }
    size_t range = update.ranges_begin;
    for (size_t i = update.rows_begin;; ++i) {
      while (range < update.ranges_end && mutation.ranges[range].row == i) {
        add_range(mutation, update, mutation.ranges[range++], frame);
      }
      if (i == update.rows_end) break;
      add_row(mutation, update, mutation.rows[i], frame);
    }
  }
}

void ChangeGatherer::add_row(const Mutation& mutation, const Update& update, const Row& row, int64_t frame) {
  Gathered& gathered = update.table->gathered;
  const auto event = static_cast<int64_t>(gathered.events());
  const Op op = operation(row);
  if (row.liveness.writetime != kNone) push_mark(&gathered.live, &gathered.live_times, event, row.liveness);
  if (row.deletion.writetime != kNone) push_mark(&gathered.deleted, &gathered.deleted_times, event, row.deletion);
  add_changes(mutation, row, update.table, event);
  for (size_t i = 0; i < gathered.clusterings.size(); ++i) {
    gathered.clusterings[i].push(row.is_static ? Slice{} : mutation.slices[row.clustering + i]);
  }
  describe_row(mutation, update, row, op);
  add_event(mutation, update, frame, op, newest(mutation, row));
}

void ChangeGatherer::add_range(const Mutation& mutation, const Update& update, const Range& range, int64_t frame) {
  Gathered& gathered = update.table->gathered;
  const auto event = static_cast<int64_t>(gathered.events());
  push_mark(&gathered.deleted, &gathered.deleted_times, event, range.deletion);
  gathered.ranges.rows.push(event);
  gathered.ranges.common.push(static_cast<int64_t>(common_values(mutation, range, data_)));
  push_bound(mutation, range.start, &gathered.ranges);
  push_bound(mutation, range.end, &gathered.ranges);
  for (Slices& column : gathered.clusterings) column.push({});
  describe_range(mutation, range);
  add_event(mutation, update, frame, kRangeDelete, range.deletion.writetime);
}

void ChangeGatherer::add_changes(const Mutation& mutation, const Row& row, Table* table, int64_t event) const {
  for (size_t i = row.changes_begin; i < row.changes_end; ++i) {
    const Change& change = mutation.changes[i];
    const int64_t place = table->columns[change.column].place, dropped = table->columns[change.column].dropped;
    // What a dropped column held is gone with it.
    if (place < 0 || (dropped != kNone && !is_since(mutation, change, dropped))) continue;
    Changes& column = table->gathered.columns[static_cast<size_t>(place)];
    column.rows.push(event);
    for (size_t j = change.cells_begin; j < change.cells_end; ++j) {
      const Cell& cell = mutation.cells[j];
      if (dropped != kNone && cell.written.writetime <= dropped) continue;
      column.values.push(cell.value);
      column.times.push(cell.written.writetime, cell.written.ttl, cell.written.local);
      if (change.is_multicell) column.paths.push(cell.path);
    }
    if (!change.is_multicell) continue;
    column.cleared.push(dropped != kNone && change.cleared <= dropped ? kNone : change.cleared);
    column.ends.push(static_cast<int64_t>(column.values.starts.size()));
  }
}

void ChangeGatherer::add_event(const Mutation& mutation, const Update& update, int64_t frame, uint8_t op,
                               int64_t writetime) {
  static const char kDigits[] = "0123456789abcdef";
  Gathered& gathered = update.table->gathered;
  gathered.frames.push(frame);
  gathered.ops.push(op);
  gathered.writetimes.push(writetime);
  for (size_t i = 0; i < gathered.keys.size(); ++i) gathered.keys[i].push(mutation.slices[update.key_parts + i]);
  uint8_t digest[kDigestBytes];
  blake2b(described_.data(), described_.size(), digest);
  gathered.ids.reserve(2 * kDigestBytes);
  for (const uint8_t byte : digest) {
    gathered.ids.push_reserved(static_cast<uint8_t>(kDigits[byte >> 4]));
    gathered.ids.push_reserved(static_cast<uint8_t>(kDigits[byte & 15]));
  }
  described_.set_end(described_.data() + start_);
}

void ChangeGatherer::describe_row(const Mutation& mutation, const Update& update, const Row& row, uint8_t op) {
  const Table& table = *update.table;
  text(kNames[op]);
  if (!row.is_static) describe_values(mutation, row.clustering, table.clustering.size());
  if (row.liveness.writetime != kNone) {
    text("live");
    describe_times(row.liveness);
  }
  if (row.deletion.writetime != kNone) {
    text("deleted");
    number<8>(static_cast<uint64_t>(row.deletion.writetime));
  }
  // By the names of the columns, which the header has in another order where it has collections.
  const Header& header = row.is_static ? *update.static_header : *update.header;
  places_.assign(table.columns.size(), 0);
  for (size_t i = row.changes_begin; i < row.changes_end; ++i) places_[mutation.changes[i].column] = i + 1;
  for (const size_t place : header.by_name) {
    const size_t column = header.columns[place];
    if (places_[column] == 0) continue;
    const std::string& name = table.columns[column].name;
    sized(reinterpret_cast<const uint8_t*>(name.data()), name.size());
    describe_cells(mutation, mutation.changes[places_[column] - 1]);
  }
}

void ChangeGatherer::describe_range(const Mutation& mutation, const Range& range) {
  text(kNames[kRangeDelete]);
  number<1>(range.start.is_inclusive);
  number<1>(range.end.is_inclusive);
  describe_values(mutation, range.start.values, range.start.size);
  describe_values(mutation, range.end.values, range.end.size);
  number<8>(static_cast<uint64_t>(range.deletion.writetime));
}

void ChangeGatherer::describe_cells(const Mutation& mutation, const Change& change) {
  if (!change.is_multicell) {
    describe_cell(mutation.cells[change.cells_begin]);
    return;
  }
  number<4>(change.cleared == kNone ? 0 : 8);
  if (change.cleared != kNone) number<8>(static_cast<uint64_t>(change.cleared));
  order_.resize(change.cells_end - change.cells_begin);
  std::iota(order_.begin(), order_.end(), change.cells_begin);
  std::stable_sort(order_.begin(), order_.end(), [&](size_t one, size_t other) {
    const Slice &left = mutation.cells[one].path, &right = mutation.cells[other].path;
    const int order = std::memcmp(data_ + left.start, data_ + right.start,
                                  static_cast<size_t>(std::min(left.size, right.size)));
    return order != 0 ? order < 0 : left.size < right.size;
  });
  for (const size_t i : order_) {
    sized(mutation.cells[i].path);
    describe_cell(mutation.cells[i]);
  }
}

void ChangeGatherer::describe_cell(const Cell& cell) {
  describe_times(cell.written);
  text(cell.value.size < 0 ? "-" : "+");
  if (cell.value.size >= 0) sized(cell.value);
}

void ChangeGatherer::describe_times(const Written& written) {
  number<8>(static_cast<uint64_t>(written.writetime));
  number<4>(written.ttl == kNoTtl ? 0 : static_cast<uint32_t>(written.ttl));
  if (written.ttl != kNoTtl) number<8>(static_cast<uint64_t>(written.local));
}

void ChangeGatherer::describe_values(const Mutation& mutation, size_t begin, size_t count) {
  for (size_t i = begin; i < begin + count; ++i) {
    const Slice& value = mutation.slices[i];
    text(value.size < 0 ? "-" : "+");
    if (value.size >= 0) sized(value);
  }
}

void ChangeGatherer::text(std::string_view ascii) {
  described_.append(reinterpret_cast<const uint8_t*>(ascii.data()), ascii.size());
}

void ChangeGatherer::sized(const Slice& slice) { sized(data_ + slice.start, static_cast<size_t>(slice.size)); }

void ChangeGatherer::sized(const uint8_t* bytes, size_t size) {
  number<4>(size);
  described_.append(bytes, size);
}

}  // namespace native
