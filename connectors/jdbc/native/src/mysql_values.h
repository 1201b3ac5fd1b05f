// Values of MariaDB's and MySQL's protocols.
#pragma once

#include <cstddef>
#include <cstdint>

#include "columns.h"

namespace native {

struct Date {
  int year, month, day;
  bool is_zero() const { return month == 0 || day == 0; }
  // The year 0 is left to the twin, to which it is a zero date or not by what else there is.
  bool is_real() const;
  int32_t days() const;
};

// A value that comes as text, in the column's form; false when it is not of that form.
bool add_text_value(Column* column, const uint8_t* from, size_t size);
// False for a date that is neither zero nor real.
bool add_date(Column* column, const Date& date);
bool add_timestamp(Column* column, const Date& date, int64_t of_day_us);

// A string that begins with its length: where it is and how long. False when it is not before `end`. The lead byte of
// null, 0xFB, is none.
bool counted(const uint8_t** at, const uint8_t* end, const uint8_t** from, size_t* size);

// One row within its packet; false when a value is not of its column's form, or not within the packet.
bool add_text_row(Columns* columns, const uint8_t* from, const uint8_t* end);
bool add_binary_row(Columns* columns, const char* wires, const uint8_t* from, const uint8_t* end);

}  // namespace native
