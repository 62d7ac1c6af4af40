// What an application does with a Java client of 0.9 or 0.10: run as `java -cp CLASSES:JARS OldClient BOOTSTRAP PREFIX COUNT`.
// The topics PREFIX-new-CODEC, of two partitions, hold COUNT records each already; PREFIX-old-CODEC are written here.
// Prints one line a step; the first difference ends it with a stack trace and exit code 1.
// tests/conformance/test_old_clients.py makes the same records.

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class OldClient {
  static final int PARTITIONS = 2;
  static final long PATIENCE_MS = 30_000;
  static final List<String> CODECS = Arrays.asList("none", "gzip", "snappy", "lz4");
  static String bootstrap;
  static int count;

  public static void main(String[] args) throws Exception {
    bootstrap = args[0];
    count = Integer.parseInt(args[2]);
    List<String> written = new ArrayList<>();
    List<String> topics = new ArrayList<>();
    for (String codec : CODECS) {
      produce(args[1] + "-old-" + codec, codec);
      written.add(args[1] + "-old-" + codec);
      topics.add(args[1] + "-new-" + codec);
    }
    System.out.println("produced");
    topics.addAll(written);
    read(written, topics, args[1] + "-group");
    System.out.println("all steps passed");
  }

  static Properties common() {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", bootstrap);
    return properties;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] key(int i) {
    return i % 3 == 0 ? null : bytes("key-" + i);
  }

  static byte[] value(int i) {
    if (i % 17 == 16) {
      return null;
    }
    StringBuilder text = new StringBuilder();
    for (int j = 0; j < i % 13; j++) {
      text.append("value-").append(i);
    }
    return bytes(text.toString());
  }

  static void produce(String topic, String codec) throws Exception {
    Properties properties = common();
    properties.put("key.serializer", ByteArraySerializer.class.getName());
    properties.put("value.serializer", ByteArraySerializer.class.getName());
    properties.put("compression.type", codec);
    properties.put("acks", "all");
    properties.put("linger.ms", "5");
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
      for (int i = 0; i < count; i++) {
        sent.add(producer.send(new ProducerRecord<>(topic, i % PARTITIONS, key(i), value(i))));
      }
      for (int i = 0; i < count; i++) {
        RecordMetadata metadata = sent.get(i).get();
        check(metadata.offset() == i / PARTITIONS, topic + ": offset " + metadata.offset() + " of record " + i);
      }
    }
  }

  static KafkaConsumer<byte[], byte[]> consumer(String group) {
    Properties properties = common();
    properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
    properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
    properties.put("group.id", group);
    properties.put("enable.auto.commit", "false");
    properties.put("auto.offset.reset", "earliest");
    return new KafkaConsumer<>(properties);
  }

  // One member reads the first topics and commits, the next one of the group reads only what is left of all of them.
  static void read(List<String> first, List<String> topics, String group) {
    Map<String, Set<Integer>> seen = new HashMap<>();
    int wanted = topics.size() * count;
    int read = 0;
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(group)) {
      consumer.subscribe(first);
      read = takeUpTo(consumer, 0, first.size() * count, seen);
      consumer.commitSync();
    }
    System.out.println("read " + read + " and committed");
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(group)) {
      consumer.subscribe(topics);
      read = takeUpTo(consumer, read, wanted, seen);
      consumer.commitSync();
      check(consumer.assignment().size() == topics.size() * PARTITIONS, "assigned " + consumer.assignment());
      for (TopicPartition place : consumer.assignment()) {
        OffsetAndMetadata committed = consumer.committed(place);
        check(committed != null && committed.offset() == consumer.position(place), place + ": committed " + committed);
      }
    }
    check(read == wanted, read + " records, not " + wanted);
  }

  static int takeUpTo(KafkaConsumer<byte[], byte[]> consumer, int read, int wanted, Map<String, Set<Integer>> seen) {
    long deadline = System.currentTimeMillis() + PATIENCE_MS;
    while (read < wanted) {
      check(System.currentTimeMillis() < deadline, "only " + read + " records of " + wanted);
      read += take(consumer, seen);
    }
    return read;
  }

  static int take(KafkaConsumer<byte[], byte[]> consumer, Map<String, Set<Integer>> seen) {
    int taken = 0;
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(200)) {
      Set<Integer> indexes = seen.computeIfAbsent(record.topic(), topic -> new HashSet<>());
      // In each partition are the records of one remainder, in order.
      int index = record.partition();
      while (indexes.contains(index)) {
        index += PARTITIONS;
      }
      indexes.add(index);
      check(Arrays.equals(record.key(), key(index)), record + " is not key " + index);
      check(Arrays.equals(record.value(), value(index)), record + " is not value " + index);
      taken++;
    }
    return taken;
  }

  static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
