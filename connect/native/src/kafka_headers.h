#pragma once

#include "arrow.h"

namespace native {

// The headers that all rows of a call have, in librdkafka's form, of which each row gets a copy.
class SharedHeaders {
 public:
  // `pairs`: a list of name and value, a text and bytes or None; others set an exception, and leave it without a list.
  explicit SharedHeaders(PyObject* pairs);
  SharedHeaders(const SharedHeaders&) = delete;
  SharedHeaders& operator=(const SharedHeaders&) = delete;
  ~SharedHeaders();

  bool is_made() const { return list_ != nullptr; }
  // A row's own, to be given to librdkafka or to `destroy`.
  void* copy() const;
  static void destroy(void* headers);

 private:
  void* list_ = nullptr;  // rd_kafka_headers_t
};

}  // namespace native
