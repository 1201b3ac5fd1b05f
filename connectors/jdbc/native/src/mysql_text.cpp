// A row of MariaDB's and MySQL's text protocol.
// Source: MariaDB's protocol documentation, "Resultset row", "Text resultset row".
#include "mysql_values.h"

namespace native {
namespace {

constexpr uint8_t kNull = 0xFB;

}  // namespace

bool add_text_row(Columns* columns, const uint8_t* from, const uint8_t* end) {
  for (Column& column : *columns) {
    if (from < end && *from == kNull) {
      column.add_null();
      ++from;
      continue;
    }
    const uint8_t* value;
    size_t size;
    if (!counted(&from, end, &value, &size) || !add_text_value(&column, value, size)) return false;
  }
  return from == end;
}

}  // namespace native
