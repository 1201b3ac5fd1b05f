// What of librdkafka is called here: its ABI is kept within a major version (rdkafka.h 2.16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace native {

struct KafkaMessage {  // rd_kafka_message_t
  int32_t err;
  void* topic;
  int32_t partition;
  void* payload;
  size_t size;
  void* key;
  size_t key_size;
  int64_t offset;
  void* opaque;
};

struct KafkaField {  // rd_kafka_vu_t: one argument of rd_kafka_produceva
  int32_t kind;
  union {
    void* pointer;
    int32_t number;
    struct {
      void* data;
      size_t size;
    } bytes;
    char room[64];
  };
};

using OnNew = int32_t(void* client, const void* conf, void* opaque, char* error, size_t error_size);
using OnAcknowledgement = int32_t(void* client, KafkaMessage* message, void* opaque);

struct KafkaLibrary {
  ssize_t (*consume_batch_queue)(void* queue, int timeout_ms, KafkaMessage** messages, size_t most);
  void (*message_destroy)(KafkaMessage* message);
  const char* (*topic_name)(const void* topic);
  int64_t (*message_timestamp)(const KafkaMessage* message, int32_t* kind);
  int32_t (*message_headers)(const KafkaMessage* message, void** headers);
  int32_t (*header_get_all)(const void* headers, size_t at, const char** name, const void** value, size_t* size);
  const char* (*message_errstr)(const KafkaMessage* message);
  int (*produce_batch)(void* topic, int32_t partition, int flags, KafkaMessage* messages, int count);
  void* (*produce_row)(void* client, const KafkaField* fields, size_t count);
  void* (*headers_new)(size_t room);
  void* (*headers_copy)(const void* headers);
  void (*headers_destroy)(void* headers);
  int32_t (*header_add)(void* headers, const char* name, ssize_t name_size, const void* value, ssize_t value_size);
  int32_t (*error_code)(const void* error);
  void (*error_destroy)(void* error);
  int (*outq_len)(void* client);
  int32_t (*flush)(void* client, int timeout_ms);
  int32_t (*conf_add_on_new)(void* conf, const char* name, OnNew* on_new, void* opaque);
  int32_t (*add_on_acknowledgement)(void* client, const char* name, OnAcknowledgement* called, void* opaque);
};

// The one librdkafka of this process; `bind_librdkafka` fills it, with the GIL held, before anything else is called.
extern KafkaLibrary kafka;

constexpr int32_t kNoTimestamp = 0;
constexpr int32_t kQueueFull = -184;
constexpr int32_t kPartitionEnd = -191;
constexpr int32_t kTopicField = 2, kPartitionField = 3, kValueField = 4, kKeyField = 5, kOpaqueField = 6;
constexpr int32_t kHeadersField = 10;

}  // namespace native
