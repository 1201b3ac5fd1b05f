// Brings the changes of mutations into the columns of their tables.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mutation.h"

namespace native {

class ChangeGatherer {
 public:
  explicit ChangeGatherer(const uint8_t* data) : data_(data) {}

  // All events of a mutation, the number `frame` of those that were given.
  void add(const Mutation& mutation, int64_t frame);

 private:
  void add_row(const Mutation& mutation, const Update& update, const Row& row, int64_t frame);
  void add_range(const Mutation& mutation, const Update& update, const Range& range, int64_t frame);
  void add_changes(const Mutation& mutation, const Row& row, Table* table, int64_t event) const;
  // The bytes whose digest is the event's id (log/event_id.py).
  void describe_row(const Mutation& mutation, const Update& update, const Row& row, uint8_t op);
  void describe_range(const Mutation& mutation, const Range& range);
  void describe_cells(const Mutation& mutation, const Change& change);
  void describe_cell(const Cell& cell);
  // Times of writing, and when what was written expires, if it does.
  void describe_times(const Written& written);
  void describe_values(const Mutation& mutation, size_t begin, size_t count);
  void add_event(const Mutation& mutation, const Update& update, int64_t frame, uint8_t op, int64_t writetime);

  void text(std::string_view ascii);
  template <int bytes>
  void number(uint64_t value);
  void sized(const Slice& slice);
  void sized(const uint8_t* bytes, size_t size);

  const uint8_t* data_;
  Buffer<uint8_t> described_;
  size_t start_ = 0;  // Bytes of it that tell the partition, which all of its events begin with.
  std::vector<size_t> order_, places_;
};

}  // namespace native
