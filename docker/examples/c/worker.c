/* Reads orders and writes a receipt for each, until SIGTERM. */

#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t stopped = 0;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

static void die(const char *what) {
  fprintf(stderr, "worker: %s\n", what);
  exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
  char text[512];
  if (rd_kafka_conf_set(conf, name, value, text, sizeof text) != RD_KAFKA_CONF_OK) die(text);
}

static rd_kafka_t *make(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
  char text[512];
  set(conf, "bootstrap.servers", getenv("BOOTSTRAP_SERVERS"));
  rd_kafka_t *client = rd_kafka_new(type, conf, text, sizeof text);
  if (client == NULL) die(text);
  return client;
}

static rd_kafka_t *make_consumer(const char *topic) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  set(conf, "group.id", "worker");
  set(conf, "auto.offset.reset", "earliest");
  rd_kafka_t *consumer = make(RD_KAFKA_CONSUMER, conf);
  rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
  rd_kafka_resp_err_t error = rd_kafka_subscribe(consumer, topics);
  if (error) die(rd_kafka_err2str(error));
  rd_kafka_topic_partition_list_destroy(topics);
  return consumer;
}

static void answer(rd_kafka_t *producer, const rd_kafka_message_t *order) {
  char receipt[512];
  int size = snprintf(receipt, sizeof receipt, "receipt for %.*s", (int)order->len,
                      (const char *)order->payload);
  rd_kafka_resp_err_t error = rd_kafka_producev(
      producer, RD_KAFKA_V_TOPIC("receipts"), RD_KAFKA_V_KEY(order->key, order->key_len),
      RD_KAFKA_V_VALUE(receipt, size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
  if (error) die(rd_kafka_err2str(error));
  rd_kafka_poll(producer, 0);
}

int main(void) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  rd_kafka_t *producer = make(RD_KAFKA_PRODUCER, rd_kafka_conf_new());
  rd_kafka_t *consumer = make_consumer("orders");
  while (!stopped) {
    rd_kafka_message_t *order = rd_kafka_consumer_poll(consumer, 200);
    if (order == NULL) continue;
    if (order->err) die(rd_kafka_message_errstr(order));
    answer(producer, order);
    rd_kafka_message_destroy(order);
  }
  rd_kafka_flush(producer, 5000);
  rd_kafka_consumer_close(consumer);
  rd_kafka_destroy(consumer);
  rd_kafka_destroy(producer);
  return 0;
}
