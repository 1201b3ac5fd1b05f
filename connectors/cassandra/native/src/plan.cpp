#include "plan.h"

#include <algorithm>
#include <numeric>

namespace native {
namespace {

std::string_view text(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

constexpr uint64_t kLeastTable = kIdBytes + 7, kLeastColumn = 16, kValueSize = 4;
// A plan has no bytes for the columns of keys. Cassandra's keys are of 64 KiB at most, and of a few columns.
constexpr uint16_t kMostKeyColumns = 1024;

// One more than the size, so that zero stands for sizes that are told.
int64_t value_size(ByteReader* reader) { return static_cast<int64_t>(reader->u32()) - 1; }

}  // namespace

Plan::Plan(const uint8_t* bytes, int64_t size) {
  ByteReader reader(bytes, 0, size);
  tables_.resize(reader.count(reader.u32(), kLeastTable));
  for (Table& table : tables_) {
    std::copy_n(bytes + reader.take(kIdBytes).start, kIdBytes, table.id.begin());
    table.is_watched = reader.u8() != 0;
    table.key_columns = reader.u16();
    if (table.key_columns > kMostKeyColumns) throw Odd{};
    table.clustering.resize(reader.count(reader.u16(), kValueSize));
    for (int64_t& column : table.clustering) column = value_size(&reader);
    table.columns.resize(reader.count(reader.u16(), kLeastColumn));
    int64_t place = 0;
    for (PlanColumn& column : table.columns) {
      const size_t length = reader.u16();
      column.name = text(bytes + reader.take(length).start, length);
      column.is_multicell = reader.u8() != 0;
      column.place = reader.u8() != 0 ? place++ : -1;
      column.size = value_size(&reader);
      column.dropped = static_cast<int64_t>(static_cast<uint64_t>(reader.u32()) << 32);
      column.dropped |= static_cast<int64_t>(reader.u32());
    }
    table.gathered.keys.resize(table.key_columns);
    table.gathered.clusterings.resize(table.clustering.size());
    table.gathered.ranges.prefixes.resize(table.clustering.size());
    table.gathered.columns.resize(static_cast<size_t>(place));
  }
  if (!reader.is_at_end()) throw Odd{};
  // From here on nothing moves, so that views of names stay.
  for (size_t i = 0; i < tables_.size(); ++i) {
    Table& table = tables_[i];
    by_id_.emplace(text(table.id.data(), kIdBytes), i);
    for (size_t j = 0; j < table.columns.size(); ++j) table.by_name_.emplace(table.columns[j].name, j);
  }
}

Table* Plan::find(const uint8_t* id) {
  const auto found = by_id_.find(text(id, kIdBytes));
  return found == by_id_.end() ? nullptr : &tables_[found->second];
}

const Header& Table::header(ByteReader* reader, bool is_static) {
  Header& last = last_[is_static ? 1 : 0];
  if (!last.bytes.empty() && last.bytes.size() <= reader->left() &&
      text(reader->here(), last.bytes.size()) == last.bytes) {
    reader->take(last.bytes.size());
    return last;
  }
  last.bytes.clear();
  const uint8_t* begin = reader->here();
  const uint64_t count = reader->vint();
  if (count > columns.size()) throw Odd{};
  last.columns.clear();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = reader->vint();
    const uint8_t* name = reader->here();
    reader->take(size);
    const auto found = by_name_.find(text(name, size));
    if (found == by_name_.end()) throw Odd{};
    if (std::find(last.columns.begin(), last.columns.end(), found->second) != last.columns.end()) throw Odd{};
    last.columns.push_back(found->second);
  }
  last.by_name.resize(last.columns.size());
  std::iota(last.by_name.begin(), last.by_name.end(), 0);
  std::sort(last.by_name.begin(), last.by_name.end(), [&](size_t one, size_t other) {
    return columns[last.columns[one]].name < columns[last.columns[other]].name;
  });
  last.bytes.assign(reinterpret_cast<const char*>(begin), static_cast<size_t>(reader->here() - begin));
  return last;
}

}  // namespace native
